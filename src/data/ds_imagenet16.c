/* ds_imagenet16.c - ImageNet16-120: the first 120 classes of ImageNet in 16x16 pixels.
 *
 *   train_data_batch_1 .. train_data_batch_10, val_data
 *
 * are Python pickles of {'data': uint8 [n, 768], 'labels': n integers from 1 to 1000, ..}; a row is
 * 16x16 planes of red, green and blue. Images of label 1 to 120 are kept, as classes 0 to 119, and
 * read in place. Files with fewer images than the official ones are fine. */
#include "base/file.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/ds_path.h"
#include "data/pickle.h"

#define SIDE        16
#define IMAGE_BYTES (PADA_IMAGE_CHANNELS * SIDE * SIDE)
#define N_CLASSES   120
#define MAX_LABEL   1000 /* in the files */
#define MAX_FILES   10   /* of a split */

static const char *const file_names[PADA_N_SPLITS][MAX_FILES] = {
    {"train_data_batch_1", "train_data_batch_2", "train_data_batch_3", "train_data_batch_4",
     "train_data_batch_5", "train_data_batch_6", "train_data_batch_7", "train_data_batch_8",
     "train_data_batch_9", "train_data_batch_10"},
    {"val_data"},
};

/* Of the complete data set. */
static const int official_images[PADA_N_SPLITS] = {151700, 6000};

typedef struct part {
    char path[PADA__PATH_BYTES]; /* named in the messages of the pickle */
    pada_file file;
    pada_pickle *pickle;
} part;

typedef struct sample {
    const uint8_t *image; /* borrowed from a part */
    int label;
} sample;

typedef struct imagenet16 {
    pada_dataset base;
    part parts[PADA_N_SPLITS][MAX_FILES];
    sample *samples[PADA_N_SPLITS]; /* [n_images], owned */
    int cap_samples[PADA_N_SPLITS];
} imagenet16;

/* Any of the files: with one missing it is still this data set, and the open names it. */
static bool recognises(const char *where)
{
    char path[PADA__PATH_BYTES];

    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int k = 0; k < MAX_FILES && file_names[split][k]; k++)
            if (pada__path_join(path, where, file_names[split][k]) && pada_path_exists(path))
                return true;
    return false;
}

static void close_imagenet16(pada_dataset *ds)
{
    imagenet16 *m = (imagenet16 *)ds;

    for (int split = 0; split < PADA_N_SPLITS; split++) {
        for (int k = 0; k < MAX_FILES; k++) {
            pada_pickle_destroy(m->parts[split][k].pickle);
            pada_file_close(&m->parts[split][k].file);
        }
        pada_free(m->samples[split]);
    }
    pada_free(m);
}

/* Appends the images of the first 120 classes. */
static pada_status keep_samples(imagenet16 *m, pada_split split, const char *path,
                                const pada_pickle_rows *rows, const int64_t *labels)
{
    void *samples = m->samples[split];
    int *n = &m->base.n_images[split];

    if (rows->n_rows > INT32_MAX / MAX_FILES)
        return PADA_FAIL(PADA_EDATA, "%s: %d images are too many", path, rows->n_rows);
    PADA_TRY(pada_grow(&samples, &m->cap_samples[split], *n + rows->n_rows, sizeof(sample)));
    m->samples[split] = samples;
    for (int i = 0; i < rows->n_rows; i++) {
        if (labels[i] < 1 || labels[i] > MAX_LABEL)
            return PADA_FAIL(PADA_EDATA, "%s: label %lld of image %d is outside 1 to %d", path,
                             (long long)labels[i], i, MAX_LABEL);
        if (labels[i] > N_CLASSES) continue;
        m->samples[split][(*n)++] =
            (sample){rows->bytes + (size_t)i * IMAGE_BYTES, (int)labels[i] - 1};
    }
    return PADA_OK;
}

static pada_status read_part(imagenet16 *m, pada_split split, const part *p)
{
    pada_pickle_rows rows;
    int64_t *labels;
    int n_labels;
    pada_status st;

    PADA_TRY(pada_pickle_find_rows(p->pickle, "data", &rows));
    if (rows.n_columns != IMAGE_BYTES)
        return PADA_FAIL(PADA_EDATA, "%s: images of %d bytes, not %d", p->path, rows.n_columns,
                         IMAGE_BYTES);
    PADA_TRY(pada_pickle_find_ints(p->pickle, "labels", &labels, &n_labels));
    if (n_labels != rows.n_rows)
        st = PADA_FAIL(PADA_EDATA, "%s: %d labels for %d images", p->path, n_labels, rows.n_rows);
    else
        st = keep_samples(m, split, p->path, &rows, labels);
    pada_free(labels);
    return st;
}

static pada_status open_split(imagenet16 *m, pada_split split, const char *folder)
{
    for (int k = 0; k < MAX_FILES && file_names[split][k]; k++) {
        part *p = &m->parts[split][k];
        if (!pada__path_join(p->path, folder, file_names[split][k]))
            return PADA_FAIL(PADA_ENOENT, "%s/%s: name too long", folder, file_names[split][k]);
        PADA_TRY(pada_file_open(&p->file, p->path));
        PADA_TRY(pada_pickle_parse(&p->pickle, p->path, p->file.data, p->file.bytes));
        PADA_TRY(read_part(m, split, p));
    }
    if (m->base.n_images[split] == 0)
        return PADA_FAIL(PADA_EDATA, "%s: no %s images of label 1 to %d", folder,
                         pada_split_name(split), N_CLASSES);
    return PADA_OK;
}

static pada_status open_imagenet16(pada_dataset **out, const pada_dataset_desc *desc)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof(imagenet16)));
    imagenet16 *m = memory;
    m->base = (pada_dataset){.name = "ImageNet16-120",
                             .n_classes = N_CLASSES,
                             .shape = {PADA_IMAGE_CHANNELS, SIDE, SIDE},
                             .mean = {122.68 / 255, 116.66 / 255, 104.01 / 255},
                             .deviation = {63.22 / 255, 61.26 / 255, 65.09 / 255},
                             .flip_first = true}; /* as in the official code */
    for (int split = 0; split < PADA_N_SPLITS; split++) {
        if (!(desc->splits & PADA_SPLIT_BIT(split))) continue;
        const pada_status st = open_split(m, (pada_split)split, desc->where);
        if (st != PADA_OK) {
            close_imagenet16(&m->base);
            return st;
        }
    }
    *out = &m->base;
    return PADA_OK;
}

static const sample *get(const pada_dataset *ds, pada_split split, int i)
{
    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    return &((const imagenet16 *)ds)->samples[split][i];
}

static const uint8_t *image(const pada_dataset *ds, pada_split split, int i)
{
    return get(ds, split, i)->image;
}

static int label(const pada_dataset *ds, pada_split split, int i)
{
    return get(ds, split, i)->label;
}

static void remark(const pada_dataset *ds, pada_text *out)
{
    for (int split = 0; split < PADA_N_SPLITS; split++)
        if (ds->n_images[split] > 0 && ds->n_images[split] != official_images[split])
            pada_text_add(out, "%d %s images; the official data set has %d\n", ds->n_images[split],
                          pada_split_name((pada_split)split), official_images[split]);
}

const pada_dataset_ops pada_dataset_imagenet16 = {
    .name = "imagenet16",
    .names = (const char *const[]){"ImageNet16-120", NULL},
    .summary = "ImageNet16-120, a folder with the pickles of ImageNet in 16x16 pixels",
    .wanted = "a folder with train_data_batch_1 to train_data_batch_10 and val_data (ImageNet16)",
    .recognises = recognises,
    .open = open_imagenet16,
    .close = close_imagenet16,
    .image = image,
    .label = label,
    .remark = remark,
};
