/* data_card.c - what a run remembers of its images. */
#include "data/data_card.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "tensor/safetensors.h"

#define FORMAT      1
#define MAX_CLASSES 1000000

/* ---- writing ---- */

/* A text that need not be UTF-8, as names of folders: bytes of another one are taken as Latin-1. */
static json_t *json_name(const char *name)
{
    pada_text utf8 = {0};
    json_t *string = json_string(name);

    if (string) return string;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        const unsigned char pair[] = {(unsigned char)(0xc0 | *p >> 6),
                                      (unsigned char)(0x80 | (*p & 0x3f))};
        pada_text_add_bytes(&utf8, *p < 0x80 ? p : pair, *p < 0x80 ? 1 : 2);
    }
    if (utf8.status == PADA_OK) string = json_string(pada_text_str(&utf8));
    pada_text_deinit(&utf8);
    return string;
}

/* Takes the value over; NULL, jansson's way to say out of memory, sticks in `ok`. */
static void set(json_t *object, const char *key, json_t *value, bool *ok)
{
    if (json_object_set_new(object, key, value) != 0) *ok = false;
}

static void append(json_t *array, json_t *value, bool *ok)
{
    if (json_array_append_new(array, value) != 0) *ok = false;
}

static json_t *json_classes(const pada_dataset *ds, bool *ok)
{
    if (!ds->ops->class_name || !ds->ops->class_name(ds, 0)) return json_null();
    json_t *array = json_array();
    for (int i = 0; i < ds->n_classes; i++)
        append(array, json_name(ds->ops->class_name(ds, i)), ok);
    return array;
}

static json_t *json_channels(const double *values, bool *ok)
{
    json_t *array = json_array();

    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++)
        append(array, json_real(values[c]), ok);
    return array;
}

static json_t *json_splits(const pada_dataset *ds, bool *ok)
{
    json_t *splits = json_object();

    for (int split = 0; split < PADA_N_SPLITS; split++) {
        char hash[17];
        if (ds->n_images[split] == 0) continue;
        json_t *one = json_object();
        snprintf(hash, sizeof hash, "%016" PRIx64, pada_dataset_hash(ds, (pada_split)split));
        set(one, "images", json_integer(ds->n_images[split]), ok);
        set(one, "hash", json_string(hash), ok);
        set(splits, pada_split_name((pada_split)split), one, ok);
    }
    return splits;
}

pada_status pada_data_card_print(const pada_data_card *card, bool with_where, pada_text *out)
{
    json_t *copy = json_copy(card->json);

    if (!copy) return pada_json_out_of_memory();
    if (!with_where) json_object_del(copy, "where");
    const pada_status st = pada_json_print_line(copy, out);
    json_decref(copy);
    return st;
}

/* ---- reading ---- */

static pada_status fail_key(const char *origin, const char *key)
{
    return PADA_FAIL(PADA_EDATA, "%s: no data card: '%s' is missing or wrong", origin, key);
}

/* An integer between the bounds; false: none. */
static bool read_int(const json_t *object, const char *key, int min, int max, int *to)
{
    const json_t *value = json_object_get(object, key);
    const json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < min || number > max) return false;
    *to = (int)number;
    return true;
}

static bool read_channels(const json_t *object, const char *key, double least, double *to)
{
    const json_t *array = json_object_get(object, key);

    if (json_array_size(array) != PADA_IMAGE_CHANNELS) return false;
    for (size_t c = 0; c < PADA_IMAGE_CHANNELS; c++) {
        const json_t *value = json_array_get(array, c);
        to[c] = json_number_value(value);
        if (!json_is_number(value) || !isfinite(to[c]) || to[c] < least) return false;
    }
    return true;
}

static bool read_classes(const json_t *object, int n_classes)
{
    const json_t *classes = json_object_get(object, "classes");

    if (json_is_null(classes)) return true;
    if (!json_is_array(classes) || json_array_size(classes) != (size_t)n_classes) return false;
    for (size_t i = 0; i < (size_t)n_classes; i++)
        if (!json_is_string(json_array_get(classes, i))) return false;
    return true;
}

static bool read_split(const json_t *splits, int split, pada_data_card *card)
{
    const json_t *one = json_object_get(splits, pada_split_name((pada_split)split));
    const char *hash = json_string_value(json_object_get(one, "hash"));

    if (!one) return true;
    if (!read_int(one, "images", 1, INT32_MAX, &card->n_images[split])) return false;
    if (!hash || strlen(hash) != 16 || strspn(hash, "0123456789abcdef") != 16) return false;
    card->hash[split] = strtoull(hash, NULL, 16);
    return true;
}

/* Fills the fields from card->json. */
static pada_status read_fields(pada_data_card *card, const char *origin)
{
    const double smallest = 1e-9; /* a deviation is divided by */
    const json_t *json = card->json, *splits = json_object_get(json, "splits");
    int format;

    if (!read_int(json, "format", 1, INT32_MAX, &format)) return fail_key(origin, "format");
    if (format > FORMAT)
        return PADA_FAIL(PADA_EDATA, "%s: format %d is of a newer pada; this one knows %d", origin,
                         format, FORMAT);
    card->name = json_string_value(json_object_get(json, "name"));
    card->where = json_string_value(json_object_get(json, "where"));
    if (!card->name) return fail_key(origin, "name");
    if (!read_int(json, "n_classes", 1, MAX_CLASSES, &card->n_classes))
        return fail_key(origin, "n_classes");
    if (!read_classes(json, card->n_classes)) return fail_key(origin, "classes");
    if (!read_int(json, "image_size", 1, INT32_MAX, &card->image_size))
        return fail_key(origin, "image_size");
    if (!read_channels(json, "mean", -HUGE_VAL, card->mean)) return fail_key(origin, "mean");
    if (!read_channels(json, "deviation", smallest, card->deviation))
        return fail_key(origin, "deviation");
    if (!json_is_object(splits)) return fail_key(origin, "splits");
    for (int split = 0; split < PADA_N_SPLITS; split++)
        if (!read_split(splits, split, card)) return fail_key(origin, "splits");
    return PADA_OK;
}

/* Takes the JSON over and reads it. */
static pada_status adopt(pada_data_card *card, json_t *json, const char *origin)
{
    *card = (pada_data_card){.json = json};
    const pada_status st = read_fields(card, origin);
    if (st != PADA_OK) pada_data_card_deinit(card);
    return st;
}

pada_status pada_data_card_init(pada_data_card *card, const pada_dataset *ds)
{
    *card = (pada_data_card){0};
    pada_json_begin();
    json_t *json = json_object();
    bool ok = json != NULL;
    set(json, "format", json_integer(FORMAT), &ok);
    set(json, "name", json_string(ds->name), &ok);
    if (ds->where) set(json, "where", json_name(ds->where), &ok);
    set(json, "n_classes", json_integer(ds->n_classes), &ok);
    set(json, "classes", json_classes(ds, &ok), &ok);
    set(json, "image_size", json_integer(ds->shape.h), &ok);
    set(json, "mean", json_channels(ds->mean, &ok), &ok);
    set(json, "deviation", json_channels(ds->deviation, &ok), &ok);
    set(json, "splits", json_splits(ds, &ok), &ok);
    if (ok) return adopt(card, json, ds->name);
    json_decref(json);
    return pada_json_out_of_memory();
}

pada_status pada_data_card_parse(pada_data_card *card, const char *text, size_t bytes,
                                 const char *origin)
{
    json_t *json;

    *card = (pada_data_card){0};
    PADA_TRY(pada_json_parse(&json, text, bytes, origin));
    return adopt(card, json, origin);
}

pada_status pada_data_card_read(pada_data_card *card, const char *run)
{
    pada_text path = {0};
    json_t *json;
    pada_status st;

    *card = (pada_data_card){0};
    pada_text_add(&path, "%s/" PADA_DATA_CARD_FILE, run);
    if ((st = path.status) == PADA_OK && pada_path_exists(path.data)) {
        st = pada_json_open(&json, path.data);
        if (st == PADA_OK) st = adopt(card, json, path.data);
    }
    pada_text_deinit(&path);
    return st;
}

pada_status pada_data_card_of_weights(pada_data_card *card, const char *path)
{
    pada_safetensors *file;
    pada_status st = PADA_OK;

    *card = (pada_data_card){0};
    if (!pada_path_exists(path)) return PADA_OK; /* said by whoever loads it */
    PADA_TRY(pada_safetensors_open(&file, path));
    const char *text = pada_safetensors_metadata(file, PADA_DATA_CARD_KEY);
    if (text) st = pada_data_card_parse(card, text, strlen(text), path);
    pada_safetensors_close(file);
    return st;
}

void pada_data_card_deinit(pada_data_card *card)
{
    json_decref(card->json);
    *card = (pada_data_card){0};
}

/* ---- comparing ---- */

const char *pada_data_card_class(const pada_data_card *card, int i)
{
    PADA_ASSERT(i >= 0 && i < card->n_classes);
    return json_string_value(json_array_get(json_object_get(card->json, "classes"), (size_t)i));
}

static bool has_names(const pada_data_card *card)
{
    return pada_data_card_class(card, 0) != NULL;
}

/* The first class of `a` that is not the class of that number in `b`; -1: all are. */
static int first_stranger(const pada_data_card *a, const pada_data_card *b)
{
    for (int i = 0; i < a->n_classes; i++)
        if (i >= b->n_classes ||
            strcmp(pada_data_card_class(a, i), pada_data_card_class(b, i)) != 0)
            return i;
    return -1;
}

/* "cat, dog, horse": not more of them than fit a line. */
static void add_classes(pada_text *out, const pada_data_card *card)
{
    enum { SHOWN = 8 };

    if (!has_names(card)) {
        pada_text_add(out, "the %d of %s", card->n_classes, card->name);
        return;
    }
    for (int i = 0; i < card->n_classes && i < SHOWN; i++)
        pada_text_add(out, "%s%s", i > 0 ? ", " : "", pada_data_card_class(card, i));
    if (card->n_classes > SHOWN) pada_text_add(out, " and %d more", card->n_classes - SHOWN);
}

pada_status pada_data_card_check_classes(const pada_data_card *run, const pada_data_card *images,
                                         const char *run_name, const char *images_name)
{
    const bool named = has_names(run) && has_names(images);
    const int stranger = named ? first_stranger(images, run) : -1;
    pada_text text = {0};
    pada_status st;

    if (named && stranger < 0 && images->n_classes == run->n_classes) return PADA_OK;
    if (!has_names(run) && !has_names(images) && run->n_classes == images->n_classes &&
        strcmp(run->name, images->name) == 0)
        return PADA_OK;
    pada_text_add(&text, "%s: ", images_name);
    if (stranger >= 0)
        pada_text_add(&text, "class %d is '%s'", stranger, pada_data_card_class(images, stranger));
    else {
        pada_text_add(&text, "the classes are ");
        add_classes(&text, images);
    }
    pada_text_add(&text, ", but %s was trained on ", run_name);
    add_classes(&text, run);
    st = text.status == PADA_OK ? PADA_FAIL(PADA_EDATA, "%s", text.data) : text.status;
    pada_text_deinit(&text);
    return st;
}

pada_status pada_data_card_check_same(const pada_data_card *run, const pada_data_card *images,
                                      const char *run_name, const char *images_name)
{
    PADA_TRY(pada_data_card_check_classes(run, images, run_name, images_name));
    if (run->image_size != images->image_size)
        return PADA_FAIL(PADA_EDATA, "%s: images of %d pixels a side, but %s was trained on %d",
                         images_name, images->image_size, run_name, run->image_size);
    for (int split = 0; split < PADA_N_SPLITS; split++) {
        const int n = images->n_images[split], n_run = run->n_images[split];
        const char *name = pada_split_name((pada_split)split);
        if (n == 0 || n_run == 0) continue;
        if (n != n_run)
            return PADA_FAIL(PADA_EDATA, "%s: not the images of %s: %d of them in %s, %d there",
                             images_name, run_name, n, name, n_run);
        if (run->hash[split] != images->hash[split])
            return PADA_FAIL(PADA_EDATA,
                             "%s: not the images of %s: those of %s have the hash %016" PRIx64
                             ", not %016" PRIx64,
                             images_name, run_name, name, images->hash[split], run->hash[split]);
    }
    return PADA_OK;
}
