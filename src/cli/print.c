/* print.c - output that several commands share. */
#include "cli/print.h"

#include "base/json.h"

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

void pada_add_count(pada_text *out, int64_t count, int width)
{
    static const char units[] = " kMGT";
    double x = (double)count;
    int unit = 0;

    for (; x >= 999.5 && unit < 4; unit++)
        x /= 1000;
    if (unit == 0)
        pada_text_add(out, "%*.0f", width, x);
    else
        pada_text_add(out, "%*.*f%c", width - 1, x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, units[unit]);
}
