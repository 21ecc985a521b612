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

pada_status pada_json_open(json_t **out, const char *path)
{
    pada_file file = {0};
    json_error_t error;

    *out = NULL;
    PADA_TRY(pada_file_open(&file, path));
    pada_json_begin();
    json_t *value = json_loadb(file.data ? (const char *)file.data : "", file.bytes,
                               JSON_REJECT_DUPLICATES, &error);
    pada_file_close(&file);
    if (pada_json_ran_out()) {
        json_decref(value);
        return PADA_FAIL(PADA_ENOMEM, "%s: out of memory", path);
    }
    if (!value) return PADA_FAIL(PADA_EDATA, "%s:%d: %s", path, error.line, error.text);
    *out = value;
    return PADA_OK;
}
