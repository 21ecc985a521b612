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

pada_status pada_pictures_each(const pada_pictures *list, pada_picture_use *use, void *context)
{
    pada_status st = PADA_OK;
    char message[1024]; /* as long as one of pada_message */
    int failed = INT_MAX;

#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < list->n; i++) {
        pada_picture *picture = &list->items[i];
        int before;
#pragma omp atomic read
        before = failed;
        if (picture->found > before) continue;
        const pada_status one = use(context, picture, i);
        if (one == PADA_OK) continue;
#pragma omp critical(pada_picture_list)
        if (picture->found < failed) {
#pragma omp atomic write
            failed = picture->found;
            st = one;
            snprintf(message, sizeof message, "%s", pada_message());
        }
    }
    return st == PADA_OK ? PADA_OK : PADA_FAIL(st, "%s", message);
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
