/* json.c - JSON with jansson on pada's memory. */
#include "base/json.h"

#include <pthread.h>

#include "base/file.h"
#include "base/mem.h"

static _Thread_local bool ran_out;

static void *allocate(size_t bytes)
{
    void *memory;

    if (pada_calloc(&memory, bytes, 1) != PADA_OK) ran_out = true;
    return memory;
}

static void set_memory(void)
{
    json_set_alloc_funcs(allocate, pada_free);
}

void pada_json_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, set_memory);
    ran_out = false;
}

bool pada_json_ran_out(void)
{
    return ran_out;
}

pada_status pada_json_out_of_memory(void)
{
    return PADA_FAIL(PADA_ENOMEM, "out of memory (JSON)");
}

pada_status pada_json_parse(json_t **out, const char *text, size_t bytes, const char *origin)
{
    json_error_t error;

    *out = NULL;
    pada_json_begin();
    json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (pada_json_ran_out()) {
        json_decref(value);
        return PADA_FAIL(PADA_ENOMEM, "%s: out of memory", origin);
    }
    if (!value) return PADA_FAIL(PADA_EDATA, "%s:%d: %s", origin, error.line, error.text);
    *out = value;
    return PADA_OK;
}

pada_status pada_json_open(json_t **out, const char *path)
{
    pada_file file = {0};

    *out = NULL;
    PADA_TRY(pada_file_open(&file, path));
    const pada_status st =
        pada_json_parse(out, file.data ? (const char *)file.data : "", file.bytes, path);
    pada_file_close(&file);
    return st;
}

static int append(const char *bytes, size_t n, void *out)
{
    pada_text *text = out;

    pada_text_add_bytes(text, bytes, n);
    return text->status == PADA_OK ? 0 : -1;
}

pada_status pada_json_print(const json_t *value, size_t flags, pada_text *out)
{
    const int failed = json_dump_callback(value, append, out, flags);

    PADA_TRY(out->status);
    return failed ? pada_json_out_of_memory() : PADA_OK;
}

static void out_of_memory(pada_text *out)
{
    if (out->status == PADA_OK) out->status = pada_json_out_of_memory();
}

/* A value of one piece. */
static void add_leaf(pada_text *out, const json_t *value)
{
    size_t flags = JSON_ENCODE_ANY;

    if (json_is_real(value))
        flags |= JSON_REAL_PRECISION(pada_shortest_digits(json_real_value(value)));
    if (json_dump_callback(value, append, out, flags) != 0) out_of_memory(out);
}

static void add_key(pada_text *out, const char *key)
{
    json_t *text = json_string(key);

    add_leaf(out, text);
    json_decref(text);
    pada_text_add(out, ": ");
}

/* jansson prints all numbers of a text with one precision, so the tree is walked here. */
static void add_value(pada_text *out, json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    bool is_first = true;

    if (json_is_object(value)) {
        pada_text_add(out, "{");
        json_object_foreach(value, key, item)
        {
            if (!is_first) pada_text_add(out, ", ");
            is_first = false;
            add_key(out, key);
            add_value(out, item);
        }
        pada_text_add(out, "}");
    } else if (json_is_array(value)) {
        pada_text_add(out, "[");
        json_array_foreach(value, i, item)
        {
            if (i > 0) pada_text_add(out, ", ");
            add_value(out, item);
        }
        pada_text_add(out, "]");
    } else {
        add_leaf(out, value);
    }
}

pada_status pada_json_print_line(json_t *value, pada_text *out)
{
    add_value(out, value);
    return out->status;
}

void pada_json_set(pada_text *out, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) out_of_memory(out);
}

void pada_json_append(pada_text *out, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) out_of_memory(out);
}

json_t *pada_json_count(uint64_t n)
{
    return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

void pada_json_line(pada_text *out, json_t *object)
{
    (void)pada_json_print_line(object, out); /* its status is that of the text */
    json_decref(object);
    pada_text_add(out, "\n");
}
