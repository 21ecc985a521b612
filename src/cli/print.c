/* print.c - output that several commands share. */
#include "cli/print.h"

static void out_of_memory(pada_text *out)
{
    if (out->status == PADA_OK) out->status = PADA_FAIL(PADA_ENOMEM, "out of memory (JSON)");
}

void pada_json_set(pada_text *out, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) out_of_memory(out);
}

static int append(const char *bytes, size_t n, void *out)
{
    pada_text *text = out;

    pada_text_add_bytes(text, bytes, n);
    return text->status == PADA_OK ? 0 : -1;
}

void pada_json_line(pada_text *out, json_t *object)
{
    if (json_dump_callback(object, append, out, 0) != 0) out_of_memory(out);
    json_decref(object);
    pada_text_add(out, "\n");
}
