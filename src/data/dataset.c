/* dataset.c - the registry of data sets, and what is the same for all of them. */
#include "data/dataset.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#define PADA_DATASET(file) extern const pada_dataset_ops pada_dataset_##file;
#include "data/datasets.def"
#undef PADA_DATASET

static const pada_dataset_ops *const registry[] = {
#define PADA_DATASET(file) &pada_dataset_##file,
#include "data/datasets.def"
#undef PADA_DATASET
};

enum { N_DATASETS = sizeof registry / sizeof registry[0] };

int pada_dataset_count(void)
{
    return N_DATASETS;
}

const pada_dataset_ops *pada_dataset_get(int i)
{
    PADA_ASSERT(i >= 0 && i < N_DATASETS);
    return registry[i];
}

/* Nobody knows `where`: says what would have been right. */
static pada_status fail_unknown(const char *where)
{
    const char *names[N_DATASETS];
    pada_text wanted = {0};
    pada_status st;

    for (int i = 0; i < N_DATASETS; i++) {
        names[i] = registry[i]->name;
        pada_text_add(&wanted, "%s%s", i > 0 ? "; " : "", registry[i]->wanted);
    }
    const char *near = pada_nearest(where, names, N_DATASETS);
    if (wanted.status != PADA_OK)
        st = wanted.status;
    else if (pada_path_is_dir(where))
        st = PADA_FAIL(PADA_EDATA, "%s: no data set in this folder; looked for: %s", where,
                       pada_text_str(&wanted));
    else if (pada_path_exists(where))
        st = PADA_FAIL(PADA_EDATA, "%s: a file, not a data set; wanted: %s", where,
                       pada_text_str(&wanted));
    else if (near)
        st = PADA_FAIL(PADA_ENOENT, "%s: no such folder; did you mean '%s'?", where, near);
    else
        st = PADA_FAIL(PADA_ENOENT, "%s: no such folder", where);
    pada_text_deinit(&wanted);
    return st;
}

static void fill_levels(pada_dataset *ds)
{
    /* In float and in this order, as torchvision's ToTensor and Normalize do it. */
    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++)
        for (int byte = 0; byte < 256; byte++)
            ds->levels[c][byte] =
                ((float)byte / 255.0f - (float)ds->mean[c]) / (float)ds->deviation[c];
}

void pada_dataset_normalise(pada_dataset *ds, const double *mean, const double *deviation)
{
    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++) {
        PADA_ASSERT(deviation[c] > 0);
        ds->mean[c] = mean[c];
        ds->deviation[c] = deviation[c];
    }
    fill_levels(ds);
}

/* Remembers the place, so that it is found from every folder. */
static pada_status keep_where(pada_dataset *ds, const char *where)
{
    char path[PATH_MAX];

    return pada_strdup(&ds->where, realpath(where, path) ? path : where);
}

static pada_status open_with(pada_dataset **out, const pada_dataset_ops *ops,
                             const pada_dataset_desc *desc)
{
    PADA_TRY(ops->open(out, desc));
    pada_dataset *ds = *out;
    PADA_ASSERT(ds->shape.h == ds->shape.w);
    ds->ops = ops;
    ds->pad = ds->shape.h / 8;
    fill_levels(ds);
    pada_status st = keep_where(ds, desc->where);
    if (st == PADA_OK && desc->image_size != 0 && desc->image_size != ds->shape.h)
        st = PADA_FAIL(PADA_EINVAL, "image size %d does not fit the data set %s, which has %d",
                       desc->image_size, desc->where, ds->shape.h);
    if (st == PADA_OK) return PADA_OK;
    pada_dataset_close(ds);
    *out = NULL;
    return st;
}

static pada_status find(const pada_dataset_ops **out, const char *where)
{
    for (int i = 0; i < N_DATASETS; i++)
        if (registry[i]->recognises(where)) {
            *out = registry[i];
            return PADA_OK;
        }
    return fail_unknown(where);
}

static unsigned splits_of(const pada_dataset_ops *ops, const char *where)
{
    return ops->splits ? ops->splits(where)
                       : PADA_SPLIT_BIT(PADA_SPLIT_TRAIN) | PADA_SPLIT_BIT(PADA_SPLIT_TEST);
}

pada_status pada_dataset_splits(const char *where, unsigned *splits)
{
    const pada_dataset_ops *ops;

    PADA_TRY(find(&ops, where));
    *splits = splits_of(ops, where);
    return PADA_OK;
}

pada_split pada_split_to_choose(unsigned splits)
{
    return splits & PADA_SPLIT_BIT(PADA_SPLIT_VAL) ? PADA_SPLIT_VAL : PADA_SPLIT_TEST;
}

pada_split pada_split_to_report(unsigned splits)
{
    return splits & PADA_SPLIT_BIT(PADA_SPLIT_TEST) ? PADA_SPLIT_TEST : PADA_SPLIT_VAL;
}

pada_status pada_dataset_open(pada_dataset **out, const pada_dataset_desc *desc)
{
    pada_dataset_desc resolved = *desc;
    const pada_dataset_ops *ops;

    PADA_ASSERT(desc->where && desc->splits < PADA_SPLIT_BIT(PADA_N_SPLITS));
    *out = NULL;
    if (desc->image_size < 0)
        return PADA_FAIL(PADA_EINVAL, "image size %d is not positive", desc->image_size);
    PADA_TRY(find(&ops, desc->where));
    if (desc->crops == PADA_CROPS_RESIZED && !ops->cut)
        return PADA_FAIL(PADA_EINVAL, "%s: resized crops need photographs, a folder of image files",
                         desc->where);
    const unsigned there = splits_of(ops, desc->where);
    if (resolved.splits == 0) resolved.splits = there;
    for (int split = 0; split < PADA_N_SPLITS; split++)
        if (resolved.splits & ~there & PADA_SPLIT_BIT(split))
            return PADA_FAIL(PADA_EINVAL, "%s: the data set has no %s images", desc->where,
                             pada_split_name((pada_split)split));
    return open_with(out, ops, &resolved);
}

void pada_dataset_close(pada_dataset *ds)
{
    if (!ds) return;
    pada_free(ds->where);
    ds->where = NULL;
    ds->ops->close(ds);
}

void pada_dataset_level(const pada_dataset *ds, const uint8_t *bytes, float *out)
{
    const int plane = ds->shape.h * ds->shape.w;

    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++)
        for (int k = 0; k < plane; k++)
            *out++ = ds->levels[c][*bytes++];
}

uint8_t *pada_dataset_room(const pada_dataset *ds, float *out)
{
    return (uint8_t *)out + 3 * pada_shape_count(ds->shape);
}

pada_status pada_dataset_fill(const pada_dataset *ds, pada_split split, int first, int n,
                              float *images, int32_t *labels)
{
    const int64_t count = pada_shape_count(ds->shape);
    const int n_kept = ds->n_images[split] - ds->n_on_demand[split];

    PADA_ASSERT(first >= 0 && n >= 0 && n <= ds->n_images[split] - first);
    for (int i = first; i < first + n; i++, images += count) {
        uint8_t *room = pada_dataset_room(ds, images);
        if (i >= n_kept) PADA_TRY(ds->ops->cut(ds, split, i, NULL, NULL, room));
        pada_dataset_level(ds, i < n_kept ? ds->ops->image(ds, split, i) : room, images);
        *labels++ = ds->ops->label(ds, split, i);
    }
    return PADA_OK;
}

void pada_dataset_measure(const pada_dataset *ds, pada_split split, double *mean, double *deviation)
{
    const int plane = ds->shape.h * ds->shape.w;
    const double n = (double)ds->n_images[split] * plane;

    PADA_ASSERT(ds->n_images[split] > 0 && ds->n_on_demand[split] == 0);
    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++) {
        uint64_t sum = 0, squares = 0;
        for (int i = 0; i < ds->n_images[split]; i++) {
            const uint8_t *from = ds->ops->image(ds, split, i) + c * plane;
            for (int k = 0; k < plane; k++) {
                sum += from[k];
                squares += (uint64_t)from[k] * from[k];
            }
        }
        const double level = (double)sum / n, variance = (double)squares / n - level * level;
        mean[c] = level / 255;
        deviation[c] = variance > 1e-6 ? sqrt(variance) / 255 : 0; /* less is rounding */
    }
}

uint64_t pada_dataset_hash(const pada_dataset *ds, pada_split split)
{
    const size_t bytes = (size_t)pada_shape_count(ds->shape);
    uint64_t hash = (uint64_t)ds->shape.h; /* images are squares of three channels */

    if (ds->files_hash[split] != 0) return ds->files_hash[split];
    /* Labels go in as numbers, so that the order of bytes does not matter. */
    for (int i = 0; i < ds->n_images[split]; i++)
        hash = pada_hash(ds->ops->image(ds, split, i), bytes,
                         hash + (uint64_t)ds->ops->label(ds, split, i));
    return hash;
}

const char *pada_split_name(pada_split split)
{
    static const char *const names[PADA_N_SPLITS] = {"train", "test", "val"};

    return names[split];
}
