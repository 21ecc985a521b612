/* run_starts.c - RUN/env.json: what each start of a run was made with. */
#include "train/run_starts.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"

#define FORMAT 1

/* What pada 0.1 wrote: one object, whose `backend` is the description of a device. NULL: no memory. */
static json_t *wrap_old(json_t *object)
{
    json_t *device = json_object_get(object, "backend"), *starts;

    if (device && json_object_set(object, "device", device) != 0) return NULL;
    json_object_del(object, "backend");
    starts = json_array();
    if (json_array_append(starts, object) == 0) return starts;
    json_decref(starts);
    return NULL;
}

/* The starts of a whole file, a new reference. */
static pada_status take_starts(json_t **out, json_t *file, const char *path)
{
    const json_t *format = json_object_get(file, "format");
    json_t *starts = json_object_get(file, "starts");

    if (json_is_integer(format) && json_integer_value(format) > FORMAT)
        return PADA_FAIL(
            PADA_EDATA, "%s: format %" JSON_INTEGER_FORMAT " is of a newer pada; this one knows %d",
            path, json_integer_value(format), FORMAT);
    if (json_is_object(file) && !format && !starts) {
        *out = wrap_old(file);
        return *out ? PADA_OK : pada_json_out_of_memory();
    }
    if (!json_is_integer(format) || json_integer_value(format) < 1 || !json_is_array(starts))
        return PADA_FAIL(PADA_EDATA, "%s: not the starts of a run", path);
    *out = json_incref(starts);
    return PADA_OK;
}

pada_status pada_run_starts_open(json_t **starts, const char *path)
{
    json_t *whole;

    *starts = NULL;
    PADA_TRY(pada_json_open(&whole, path));
    const pada_status st = take_starts(starts, whole, path);
    json_decref(whole);
    return st;
}

/* Those of a run; *starts is NULL and the status PADA_OK if it has none. */
static pada_status read_starts(json_t **starts, const char *run)
{
    pada_text path = {0};
    pada_status st;

    *starts = NULL;
    pada_text_add(&path, "%s/" PADA_RUN_STARTS_FILE, run);
    st = path.status;
    if (st == PADA_OK && pada_path_exists(path.data)) st = pada_run_starts_open(starts, path.data);
    pada_text_deinit(&path);
    return st;
}

static const char *backend_of(const json_t *start)
{
    return json_string_value(json_object_get(start, "backend"));
}

static bool is_cpu(const char *backend)
{
    return strcmp(backend, "cpu") == 0 || strncmp(backend, "cpu-", 4) == 0;
}

static pada_status check_backends(const char *run, const json_t *starts, const char *now,
                                  bool *known)
{
    for (size_t i = 0; i < json_array_size(starts); i++) {
        const char *then = backend_of(json_array_get(starts, i));
        if (!then) continue;
        *known = true;
        if (now && strcmp(then, now) != 0 && !(is_cpu(then) && is_cpu(now)))
            return PADA_FAIL(
                PADA_EINVAL,
                "%s: this run was computed by the backend %s and cannot resume with %s, "
                "whose bits differ; give --backend %s",
                run, then, now, then);
    }
    return PADA_OK;
}

pada_status pada_run_starts_check(const char *run, const char *start, bool *known)
{
    json_t *now = NULL, *starts;

    *known = false;
    PADA_TRY(read_starts(&starts, run));
    pada_status st = pada_json_parse(&now, start, strlen(start), "this start");
    if (st == PADA_OK) st = check_backends(run, starts, backend_of(now), known);
    json_decref(now);
    json_decref(starts);
    return st;
}

/* Writes RUN/env.json with these starts. */
static pada_status write_file(const char *run, json_t *starts)
{
    pada_text text = {0}, path = {0};
    json_t *whole = json_pack("{s:i, s:O}", "format", FORMAT, "starts", starts);
    pada_status st =
        whole ? pada_json_print(whole, JSON_INDENT(1), &text) : pada_json_out_of_memory();

    json_decref(whole);
    pada_text_add(&text, "\n");
    pada_text_add(&path, "%s/" PADA_RUN_STARTS_FILE, run);
    if (st == PADA_OK) st = text.status != PADA_OK ? text.status : path.status;
    if (st == PADA_OK) st = pada_file_replace(path.data, text.data, text.length);
    pada_text_deinit(&text);
    pada_text_deinit(&path);
    return st;
}

pada_status pada_run_starts_add(const char *run, const char *start)
{
    json_t *now = NULL, *starts;
    pada_status st;

    PADA_TRY(read_starts(&starts, run));
    if (!starts) starts = json_array();
    st = pada_json_parse(&now, start, strlen(start), "this start");
    if (st == PADA_OK && json_array_append_new(starts, now) != 0) st = pada_json_out_of_memory();
    if (st == PADA_OK) st = write_file(run, starts);
    json_decref(starts);
    return st;
}
