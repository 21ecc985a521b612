/* held_out.c - the training images that a run held out, as images to choose networks on. */
#include "data/held_out.h"

#include "base/hash.h"
#include "base/mem.h"
#include "data/image_order.h"

typedef struct held_out {
    pada_dataset base;
    pada_dataset *whole; /* owned */
    int32_t *images;     /* numbers in its train, owned: those of train here, then those of val */
} held_out;

static const held_out *self_of(const pada_dataset *ds)
{
    return (const held_out *)(const void *)ds;
}

/* Where an image of a split is in the whole data set. */
static int find(const held_out *h, pada_split *split, int i)
{
    if (*split == PADA_SPLIT_TEST) return i;
    const int first = *split == PADA_SPLIT_VAL ? h->base.n_images[PADA_SPLIT_TRAIN] : 0;
    *split = PADA_SPLIT_TRAIN;
    return h->images[first + i];
}

static const uint8_t *image(const pada_dataset *ds, pada_split split, int i)
{
    const held_out *h = self_of(ds);
    const int k = find(h, &split, i);

    return h->whole->ops->image(h->whole, split, k);
}

static int label(const pada_dataset *ds, pada_split split, int i)
{
    const held_out *h = self_of(ds);
    const int k = find(h, &split, i);

    return h->whole->ops->label(h->whole, split, k);
}

static const char *class_name(const pada_dataset *ds, int class_number)
{
    const pada_dataset *whole = self_of(ds)->whole;

    return whole->ops->class_name ? whole->ops->class_name(whole, class_number) : NULL;
}

static const char *file(const pada_dataset *ds, pada_split split, int i)
{
    const held_out *h = self_of(ds);
    const int k = find(h, &split, i);

    return h->whole->ops->file ? h->whole->ops->file(h->whole, split, k) : NULL;
}

static void close_held_out(pada_dataset *ds)
{
    held_out *h = (held_out *)(void *)ds;

    pada_dataset_close(h->whole);
    pada_free(h->images);
    pada_free(h);
}

static const pada_dataset_ops held_out_ops = {
    .name = "held_out",
    .close = close_held_out,
    .image = image,
    .label = label,
    .class_name = class_name,
    .file = file,
};

/* Fills in images[] and counts. */
static pada_status choose_images(held_out *h, double share)
{
    const pada_dataset *whole = h->whole;
    const int n = whole->n_images[PADA_SPLIT_TRAIN];
    void *memory;
    int n_kept;

    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof(int32_t)));
    int32_t *labels = memory;
    for (int i = 0; i < n; i++)
        labels[i] = whole->ops->label(whole, PADA_SPLIT_TRAIN, i);
    pada_status st = pada_calloc(&memory, (size_t)n, sizeof *h->images);
    if (st == PADA_OK) {
        h->images = memory;
        st = pada_hold_out(h->images, &n_kept, labels, n, whole->n_classes, share);
    }
    pada_free(labels);
    PADA_TRY(st);
    h->base.n_images[PADA_SPLIT_TRAIN] = n_kept;
    h->base.n_images[PADA_SPLIT_VAL] = n - n_kept;
    return PADA_OK;
}

/* Of photographs files are hashed, and which of them are where. */
static void set_hashes(held_out *h)
{
    const uint64_t files = h->whole->files_hash[PADA_SPLIT_TRAIN];
    const int n_kept = h->base.n_images[PADA_SPLIT_TRAIN];
    const size_t size = sizeof *h->images;

    if (files == 0) return;
    h->base.files_hash[PADA_SPLIT_TRAIN] = pada_hash(h->images, (size_t)n_kept * size, files);
    h->base.files_hash[PADA_SPLIT_VAL] =
        pada_hash(h->images + n_kept, (size_t)h->base.n_images[PADA_SPLIT_VAL] * size, files);
}

pada_status pada_dataset_hold_out(pada_dataset **ds, double share)
{
    void *memory;

    PADA_ASSERT((*ds)->n_images[PADA_SPLIT_VAL] == 0 && (*ds)->n_on_demand[PADA_SPLIT_TRAIN] == 0);
    PADA_TRY(pada_calloc(&memory, 1, sizeof(held_out)));
    held_out *h = memory;
    h->base = **ds;
    h->base.ops = &held_out_ops;
    h->base.where = NULL;
    h->whole = *ds;
    const pada_status st = choose_images(h, share);
    if (st != PADA_OK) {
        pada_free(h->images);
        pada_free(h);
        return st;
    }
    set_hashes(h);
    *ds = &h->base;
    return PADA_OK;
}
