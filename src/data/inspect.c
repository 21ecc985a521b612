/* inspect.c - what the images of a data set look like as a whole: counts, duplicates, numbers. */
#include "data/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* One image; equal images have equal hashes. */
typedef struct print {
    uint64_t hash;
    pada_split split;
    int image;
} print;

static size_t image_bytes(const pada_dataset *ds)
{
    return (size_t)pada_shape_count(ds->shape);
}

/* ---- one image at a time ---- */

bool pada_image_is_constant(const pada_dataset *ds, pada_split split, int i)
{
    const uint8_t *image = ds->ops->image(ds, split, i);
    const int plane = ds->shape.h * ds->shape.w;

    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++, image += plane)
        for (int k = 1; k < plane; k++)
            if (image[k] != image[0]) return false;
    return true;
}

static pada_status look_at_split(pada_split_facts *facts, const pada_dataset *ds, pada_split split)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)ds->n_classes, sizeof *facts->class_counts));
    facts->class_counts = memory;
    for (int i = 0; i < ds->n_images[split]; i++) {
        facts->class_counts[ds->ops->label(ds, split, i)]++;
        facts->n_constant += pada_image_is_constant(ds, split, i);
    }
    facts->smallest = facts->largest = facts->class_counts[0];
    for (int c = 1; c < ds->n_classes; c++) {
        const int n = facts->class_counts[c];
        if (n < facts->smallest) facts->smallest = n;
        if (n > facts->largest) facts->largest = n;
    }
    pada_dataset_measure(ds, split, facts->mean, facts->deviation);
    return PADA_OK;
}

/* ---- duplicates ---- */

static int by_hash(const void *a, const void *b)
{
    const print *x = a, *y = b;

    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    if (x->split != y->split) return x->split < y->split ? -1 : 1;
    return (x->image > y->image) - (x->image < y->image);
}

static bool is_same(const pada_dataset *ds, const print *a, const print *b)
{
    return a->hash == b->hash &&
           memcmp(ds->ops->image(ds, a->split, a->image), ds->ops->image(ds, b->split, b->image),
                  image_bytes(ds)) == 0;
}

static int label_of(const pada_dataset *ds, const print *p)
{
    return ds->ops->label(ds, p->split, p->image);
}

static pada_status add_twins(pada_facts *facts, const print *image, const print *other)
{
    void *items = facts->twins;

    PADA_TRY(pada_grow(&items, &facts->cap_twins, facts->n_twins + 1, sizeof *facts->twins));
    facts->twins = items;
    facts->twins[facts->n_twins++] = (pada_twins){.split = image->split,
                                                  .other_split = other->split,
                                                  .image = image->image,
                                                  .other = other->image};
    return PADA_OK;
}

/* Counts what a run of equal images means; train images come first in it. */
static pada_status count_run(pada_facts *facts, const pada_dataset *ds, const print *run, int n)
{
    const print *first = run; /* of the split */

    for (int i = 1; i < n; i++) {
        if (run[i].split != first->split) {
            first = &run[i];
        } else {
            facts->splits[first->split].n_duplicates++;
            facts->splits[first->split].n_conflicts += label_of(ds, &run[i]) != label_of(ds, first);
        }
    }
    for (int i = 0; i < n; i++)
        facts->n_shared += run[i].split != PADA_SPLIT_TRAIN && run[0].split == PADA_SPLIT_TRAIN;
    for (int i = 1; i < n; i++)
        PADA_TRY(add_twins(facts, &run[i], &run[0]));
    return PADA_OK;
}

static pada_status count_duplicates(pada_facts *facts, const pada_dataset *ds, print *prints, int n)
{
    qsort(prints, (size_t)n, sizeof *prints, by_hash);
    for (int begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && is_same(ds, &prints[begin], &prints[end]);)
            end++;
        PADA_TRY(count_run(facts, ds, prints + begin, end - begin));
    }
    return PADA_OK;
}

static pada_status find_duplicates(pada_facts *facts, const pada_dataset *ds)
{
    size_t n_all = 0;
    void *memory;
    int n = 0;

    for (int split = 0; split < PADA_N_SPLITS; split++)
        n_all += (size_t)ds->n_images[split];
    PADA_TRY(pada_calloc(&memory, n_all, sizeof(print)));
    print *prints = memory;
    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int i = 0; i < ds->n_images[split]; i++) {
            const uint8_t *image = ds->ops->image(ds, (pada_split)split, i);
            prints[n++] = (print){pada_hash(image, image_bytes(ds), 0), (pada_split)split, i};
        }
    const pada_status st = count_duplicates(facts, ds, prints, n);
    pada_free(prints);
    return st;
}

pada_status pada_facts_init(pada_facts *facts, const pada_dataset *ds)
{
    *facts = (pada_facts){0};
    for (int split = 0; split < PADA_N_SPLITS; split++)
        if (ds->n_images[split] > 0)
            PADA_TRY(look_at_split(&facts->splits[split], ds, (pada_split)split));
    return find_duplicates(facts, ds);
}

void pada_facts_deinit(pada_facts *facts)
{
    for (int split = 0; split < PADA_N_SPLITS; split++)
        pada_free(facts->splits[split].class_counts);
    pada_free(facts->twins);
    *facts = (pada_facts){0};
}
