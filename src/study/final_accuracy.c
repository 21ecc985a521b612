/* final_accuracy.c - what a network that was trained alone gets on the test images, and how two of them differ. */
#include "study/final_accuracy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define FILE_NAME "test.json"

static pada_status take_percent(const json_t *object, const char *key, const char *origin,
                                double *out)
{
    const json_t *value = json_object_get(object, key);

    *out = json_number_value(value);
    if (json_is_number(value) && *out >= 0 && *out <= 100) return PADA_OK;
    return PADA_FAIL(PADA_EDATA, "%s: no %s between 0 and 100", origin, key);
}

static pada_status take_images(pada_final_accuracy *out, const json_t *root, const char *origin)
{
    const json_t *images = json_object_get(root, "images");
    const char *split = json_string_value(json_object_get(root, "split"));

    if (!json_is_integer(images) || json_integer_value(images) < 1 ||
        json_integer_value(images) > INT32_MAX)
        return PADA_FAIL(PADA_EDATA, "%s: no number of images", origin);
    if (!split || strlen(split) >= sizeof out->split)
        return PADA_FAIL(PADA_EDATA, "%s: no split", origin);
    out->n_images = (int)json_integer_value(images);
    snprintf(out->split, sizeof out->split, "%s", split);
    return PADA_OK;
}

static pada_status take_result(pada_final_accuracy *out, const json_t *root, const char *origin)
{
    const json_t *result = json_object_get(root, "best");

    if (!result) result = json_object_get(root, "last");
    PADA_TRY(take_images(out, root, origin));
    PADA_TRY(take_percent(result, "top1", origin, &out->top1));
    PADA_TRY(take_percent(result, "top1_lo", origin, &out->low));
    PADA_TRY(take_percent(result, "top1_hi", origin, &out->high));
    /* equal ends may be apart by their rounding */
    if (out->low > out->top1 + 1e-9 || out->top1 > out->high + 1e-9)
        return PADA_FAIL(PADA_EDATA, "%s: top1 %g is outside of its interval", origin, out->top1);
    return PADA_OK;
}

pada_status pada_final_accuracy_parse(pada_final_accuracy *out, const char *text, size_t bytes,
                                      const char *origin)
{
    json_t *root;

    *out = (pada_final_accuracy){0};
    PADA_TRY(pada_json_parse(&root, text, bytes, origin));
    const pada_status st = take_result(out, root, origin);
    json_decref(root);
    return st;
}

pada_status pada_final_accuracy_read(pada_final_accuracy *out, const char *run)
{
    pada_text path = {0};
    json_t *root = NULL;
    pada_status st;

    *out = (pada_final_accuracy){0};
    pada_text_add(&path, "%s/" FILE_NAME, run);
    if ((st = path.status) == PADA_OK) st = pada_json_open(&root, path.data);
    if (st == PADA_OK) st = take_result(out, root, path.data);
    json_decref(root);
    pada_text_deinit(&path);
    return st;
}

void pada_accuracy_difference(const pada_final_accuracy *a, const pada_final_accuracy *b,
                              double *low, double *high)
{
    const double difference = a->top1 - b->top1;

    *low = difference - hypot(a->top1 - a->low, b->high - b->top1);
    *high = difference + hypot(a->high - a->top1, b->top1 - b->low);
}
