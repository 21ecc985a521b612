/* picture_list.c - the image files of one split of an image folder, and the order they come in. */
#include "data/picture_list.h"

#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/image_order.h"

#define ORDER_SEED 0x70616461 /* of the hashes; it never changes */

void pada_pictures_deinit(pada_pictures *list)
{
    for (int i = 0; i < list->n; i++)
        pada_free(list->items[i].path);
    pada_free(list->items);
    *list = (pada_pictures){0};
}

static pada_status make_room(pada_pictures *list, int need)
{
    void *items = list->items;

    PADA_TRY(pada_grow(&items, &list->cap, need, sizeof *list->items));
    list->items = items;
    return PADA_OK;
}

pada_status pada_pictures_add(pada_pictures *list, const char *path, int label)
{
    char *copy;

    PADA_TRY(make_room(list, list->n + 1));
    PADA_TRY(pada_strdup(&copy, path));
    list->items[list->n] = (pada_picture){.path = copy, .label = label, .found = list->n};
    list->n++;
    return PADA_OK;
}

/* What has failed so far. */
typedef struct failures {
    pada_status status; /* of the first, or PADA_ENOMEM */
    int found, n;
    char message[PADA_MESSAGE_BYTES];
} failures;

static void note_failure(failures *f, pada_status status, int found)
{
    const bool has_memory = status != PADA_ENOMEM;

    f->n++;
    if (f->status == PADA_ENOMEM || (has_memory && found > f->found)) return;
    if (has_memory) f->found = found;
#pragma omp atomic write
    f->status = status;
    snprintf(f->message, sizeof f->message, "%s", pada_message());
}

pada_status pada_pictures_each(const pada_pictures *list, pada_picture_use *use, void *context)
{
    failures f = {.found = INT_MAX};

#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < list->n; i++) {
        pada_status so_far;
#pragma omp atomic read
        so_far = f.status;
        if (so_far == PADA_ENOMEM) continue;
        const pada_status st = use(context, &list->items[i], i);
        if (st == PADA_OK) continue;
#pragma omp critical(pada_picture_list)
        note_failure(&f, st, list->items[i].found);
    }
    if (f.status == PADA_OK) return PADA_OK;
    if (f.n == 1 || f.status == PADA_ENOMEM) return PADA_FAIL(f.status, "%s", f.message);
    return PADA_FAIL(f.status, "%s, and %d more file%s: `pada data verify` lists them", f.message,
                     f.n - 1, f.n == 2 ? "" : "s");
}

/* ---- check ---- */

#define MAX_ASPECT 4 /* longer side to shorter: a remark from here on */

/* What a picture is like. */
typedef struct checked {
    const char *kind; /* of the finding, if it failed */
    char *message;    /* owned; NULL: it did not */
    const char *name; /* of its format, if that is not the one of its name */
    int width, height;
} checked;

typedef struct check {
    const pada_image_fit *fit;
    checked *pictures; /* [n], owned */
} check;

static const char *failure_kind(pada_status st, const pada_image_source *source)
{
    const pada_image_format *format = pada_image_format_of(source->data, source->bytes);

    if (st != PADA_EDATA) return "unreadable";
    if (source->bytes == 0) return "empty";
    return format && !format->decode ? "unsupported" : "broken";
}

static pada_status try_source(const check *c, checked *result, const pada_image_source *source)
{
    const pada_image_format *held = pada_image_format_of(source->data, source->bytes);
    pada_image_head head = {0};
    void *pixels;

    PADA_TRY(pada_calloc(&pixels, (size_t)c->fit->size * (size_t)c->fit->size, 3));
    const pada_status st = pada_image_read(source, c->fit, pixels, &head);
    pada_free(pixels);
    result->width = head.file_width;
    result->height = head.file_height;
    if (st == PADA_OK && held != pada_image_format_named(source->path)) result->name = held->name;
    return st;
}

/* Whatever is wrong with the file is a result. */
static pada_status try_picture(void *context, pada_picture *picture, int place)
{
    check *c = context;
    checked *result = &c->pictures[place];
    pada_image_source source = {.path = picture->path};
    pada_file file;

    pada_status st = pada_file_open(&file, picture->path);
    source.data = file.data;
    source.bytes = file.bytes;
    if (st == PADA_OK) st = try_source(c, result, &source);
    if (st != PADA_OK && st != PADA_ENOMEM) {
        result->kind = failure_kind(st, &source);
        st = pada_strdup(&result->message, pada_message());
    }
    pada_file_close(&file);
    return st;
}

static pada_status add_findings(pada_findings *to, const checked *result, const char *path)
{
    const int longer = result->width > result->height ? result->width : result->height;
    const int shorter = result->width + result->height - longer;

    if (result->message) {
        (void)PADA_FAIL(PADA_EDATA, "%s", result->message);
        return pada_findings_add_failure(to, result->kind, path);
    }
    if (result->name)
        PADA_TRY(pada_findings_add(to, PADA_REMARK, "ending", path,
                                   "a %s image by its contents, another one by its name",
                                   result->name));
    if (longer >= MAX_ASPECT * shorter)
        PADA_TRY(pada_findings_add(to, PADA_REMARK, "aspect", path,
                                   "%d x %d pixels: one side is %.1f times as long as the other",
                                   result->width, result->height, (double)longer / shorter));
    return PADA_OK;
}

/* The findings, and a list without the pictures that failed. */
static pada_status settle(pada_pictures *list, const checked *results, pada_findings *to)
{
    int n_kept = 0;

    for (int i = 0; i < list->n; i++)
        PADA_TRY(add_findings(to, &results[i], list->items[i].path));
    for (int i = 0; i < list->n; i++) {
        if (results[i].message)
            pada_free(list->items[i].path);
        else
            list->items[n_kept++] = list->items[i];
    }
    list->n = n_kept;
    return PADA_OK;
}

pada_status pada_pictures_check(pada_pictures *list, const pada_image_fit *fit,
                                pada_findings *findings)
{
    check c = {.fit = fit};
    const int n = list->n;
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof *c.pictures));
    c.pictures = memory;
    pada_status st = pada_pictures_each(list, try_picture, &c);
    if (st == PADA_OK) st = settle(list, c.pictures, findings);
    for (int i = 0; i < n; i++)
        pada_free(c.pictures[i].message);
    pada_free(c.pictures);
    return st;
}

/* ---- order ---- */

static pada_status hash_file(void *context, pada_picture *picture, int place)
{
    pada_file file;

    (void)context;
    (void)place;
    PADA_TRY(pada_file_open(&file, picture->path));
    picture->hash = pada_hash(file.data, file.bytes, ORDER_SEED);
    pada_file_close(&file);
    return PADA_OK;
}

pada_status pada_picture_load(pada_file *file, const pada_picture *picture)
{
    PADA_TRY(pada_file_load(file, picture->path));
    if (pada_hash(file->data, file->bytes, ORDER_SEED) == picture->hash) return PADA_OK;
    pada_file_close(file);
    return PADA_FAIL(PADA_EDATA, "%s: the file has changed since the data set was opened",
                     picture->path);
}

/* A list as image_order.h wants to know it, and room for the answer. */
typedef struct listing {
    int32_t *labels, *order; /* [n], owned */
    uint64_t *keys;          /* [n], owned */
    pada_picture *items;     /* [n] a copy of the list's, owned */
} listing;

static void free_listing(listing *l)
{
    pada_free(l->labels);
    pada_free(l->order);
    pada_free(l->keys);
    pada_free(l->items);
}

static pada_status make_listing(listing *l, const pada_pictures *list)
{
    const size_t n = (size_t)list->n;
    void *memory;

    *l = (listing){0};
    PADA_TRY(pada_calloc(&memory, n, sizeof *l->labels));
    l->labels = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *l->order));
    l->order = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *l->keys));
    l->keys = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *l->items));
    l->items = memory;
    for (int i = 0; i < list->n; i++) {
        l->items[i] = list->items[i];
        l->labels[i] = list->items[i].label;
        l->keys[i] = list->items[i].hash;
    }
    return PADA_OK;
}

/* Classes in turn, by the hashes that the pictures have. */
static pada_status sort(pada_pictures *list, int n_classes)
{
    listing l;
    pada_status st = make_listing(&l, list);

    if (st == PADA_OK) st = pada_image_order(l.order, l.labels, l.keys, list->n, n_classes);
    for (int i = 0; i < list->n && st == PADA_OK; i++)
        list->items[i] = l.items[l.order[i]];
    free_listing(&l);
    return st;
}

pada_status pada_pictures_arrange(pada_pictures *list, int n_classes)
{
    PADA_TRY(pada_pictures_each(list, hash_file, NULL));
    return sort(list, n_classes);
}

/* Moves the pictures; the order of both lists is what the whole one left. */
static pada_status divide(pada_pictures *list, pada_pictures *to, int n_classes, double share)
{
    listing l;
    int n_kept = list->n;
    pada_status st = make_listing(&l, list);

    if (st == PADA_OK) st = pada_hold_out(l.order, &n_kept, l.labels, list->n, n_classes, share);
    if (st == PADA_OK) st = make_room(to, list->n - n_kept);
    if (st == PADA_OK) {
        for (int i = 0; i < list->n; i++)
            *(i < n_kept ? &list->items[i] : &to->items[to->n++]) = l.items[l.order[i]];
        list->n = n_kept;
    }
    free_listing(&l);
    return st;
}

pada_status pada_pictures_hold_out(pada_pictures *list, pada_pictures *to, int n_classes,
                                   double share)
{
    PADA_TRY(divide(list, to, n_classes, share));
    PADA_TRY(sort(list, n_classes));
    return sort(to, n_classes);
}
