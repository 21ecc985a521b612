/* print.c - output that several commands share. */
#include "cli/print.h"

#include <stdbool.h>

static void out_of_memory(pada_text *out)
{
    if (out->status == PADA_OK) out->status = PADA_FAIL(PADA_ENOMEM, "out of memory (JSON)");
}

void pada_json_set(pada_text *out, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) out_of_memory(out);
}

void pada_json_append(pada_text *out, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) out_of_memory(out);
}

static int append(const char *bytes, size_t n, void *out)
{
    pada_text *text = out;

    pada_text_add_bytes(text, bytes, n);
    return text->status == PADA_OK ? 0 : -1;
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

void pada_json_line(pada_text *out, json_t *object)
{
    add_value(out, object);
    json_decref(object);
    pada_text_add(out, "\n");
}
