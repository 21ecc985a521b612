/* image_order.c - fixed orders of labelled images: classes in turn, and hold-outs by class.
 *
 * Image k of the m images of a class has the place (2 k + 1) / (2 m) in the whole, which lies
 * between 0 and 1. To sort by these places is to hand out seats by Sainte-Lague's method: after any
 * number of images each class has had its share, as nearly as whole images can. */
#include "data/image_order.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

typedef struct entry {
    uint64_t key;
    int64_t rank, count; /* which image of its class, and how many there are */
    int32_t label, image;
} entry;

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->label != y->label) return compare(x->label, y->label);
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return compare(x->image, y->image);
}

static int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int order = compare((2 * x->rank + 1) * y->count, (2 * y->rank + 1) * x->count);

    return order != 0 ? order : compare(x->label, y->label);
}

/* Numbers the images of each class; the entries are sorted by class. */
static void number(entry *entries, int n)
{
    for (int begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && entries[end].label == entries[begin].label; end++)
            entries[end].rank = end - begin;
        for (int i = begin; i < end; i++)
            entries[i].count = end - begin;
    }
}

pada_status pada_image_order(int32_t *order, const int32_t *labels, const uint64_t *keys, int n,
                             int n_classes)
{
    void *memory;

    if (n == 0) return PADA_OK;
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof(entry)));
    entry *entries = memory;
    for (int i = 0; i < n; i++) {
        PADA_ASSERT(labels[i] >= 0 && labels[i] < n_classes);
        entries[i] = (entry){.key = keys[i], .label = labels[i], .image = i};
    }
    qsort(entries, (size_t)n, sizeof *entries, by_key);
    number(entries, n);
    qsort(entries, (size_t)n, sizeof *entries, by_place);
    for (int i = 0; i < n; i++)
        order[i] = entries[i].image;
    pada_free(entries);
    return PADA_OK;
}

int pada_hold_out_count(int n, double share)
{
    if (n < 2 || share <= 0) return 0;
    const int wanted = (int)lround(share * n);
    return wanted < 1 ? 1 : wanted > n - 1 ? n - 1 : wanted;
}

pada_status pada_hold_out(int32_t *images, int *n_kept, const int32_t *labels, int n, int n_classes,
                          double share)
{
    void *memory;
    int kept = 0, n_held = 0;

    PADA_TRY(pada_calloc(&memory, (size_t)n_classes, sizeof(int32_t)));
    int32_t *stay = memory; /* images of each class that are still to be kept */
    for (int i = 0; i < n; i++) {
        PADA_ASSERT(labels[i] >= 0 && labels[i] < n_classes);
        stay[labels[i]]++;
    }
    for (int c = 0; c < n_classes; c++) {
        const int held = pada_hold_out_count(stay[c], share);
        stay[c] -= held;
        n_held += held;
    }
    for (int i = 0, held = n - n_held; i < n; i++)
        images[stay[labels[i]]-- > 0 ? kept++ : held++] = i;
    *n_kept = n - n_held;
    pada_free(stay);
    return PADA_OK;
}
