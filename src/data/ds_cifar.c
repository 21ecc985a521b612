/* ds_cifar.c - CIFAR-10 and CIFAR-100 in their official binary versions.
 *
 *   CIFAR-10    data_batch_1.bin .. data_batch_5.bin, test_batch.bin    [ label | 3072 pixels ] ...
 *   CIFAR-100   train.bin, test.bin                           [ coarse label | label | 3072 pixels ] ...
 *
 * Pixels are 32x32 planes of red, green and blue. The files are mapped and read in place. Files
 * with fewer records than the official ones are fine: a part of the data is data. */

#include "base/file.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/ds_path.h"

#define SIDE        32
#define IMAGE_BYTES (PADA_IMAGE_CHANNELS * SIDE * SIDE)
#define MAX_FILES   5 /* of a split */

typedef struct version {
    const char *name;
    const char *files[PADA_N_SPLITS][MAX_FILES]; /* NULL: no more */
    int n_classes;
    const char *const *class_names; /* NULL: not in the binary version */
    int file_images[PADA_N_SPLITS]; /* of each official file */
    int label_bytes;                /* before the pixels; the last one is the label */
    double mean[PADA_IMAGE_CHANNELS], deviation[PADA_IMAGE_CHANNELS];
} version;

static const char *const cifar10_classes[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                              "dog",      "frog",       "horse", "ship", "truck"};

static const version versions[] = {
    {.name = "CIFAR-10",
     .files = {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                "data_batch_5.bin"},
               {"test_batch.bin"}},
     .n_classes = 10,
     .class_names = cifar10_classes,
     .file_images = {10000, 10000},
     .label_bytes = 1,
     .mean = {0.49139968, 0.48215827, 0.44653124},
     .deviation = {0.24703233, 0.24348505, 0.26158768}},
    /* The official NAS code normalises CIFAR-100 with (rounded) numbers of CIFAR-10, and so did the
     * published accuracies. */
    {.name = "CIFAR-100",
     .files = {{"train.bin"}, {"test.bin"}},
     .n_classes = 100,
     .file_images = {50000, 10000},
     .label_bytes = 2,
     .mean = {125.3 / 255, 123.0 / 255, 113.9 / 255},
     .deviation = {63.0 / 255, 62.1 / 255, 66.7 / 255}},
};

enum { N_VERSIONS = sizeof versions / sizeof versions[0] };

typedef struct part {
    pada_file file;
    int n_images;
} part;

typedef struct cifar {
    pada_dataset base;
    const version *version;
    part parts[PADA_N_SPLITS][MAX_FILES]; /* owned */
} cifar;

/* Whether any file of the version is there: with one missing it is still this version, and the open
 * names it. */
static bool has_files(const version *v, const char *folder)
{
    char path[PADA__PATH_BYTES];

    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int k = 0; k < MAX_FILES && v->files[split][k]; k++)
            if (pada__path_join(path, folder, v->files[split][k]) && pada_path_exists(path))
                return true;
    return false;
}

static bool recognises(const char *where)
{
    for (int i = 0; i < N_VERSIONS; i++)
        if (has_files(&versions[i], where)) return true;
    return false;
}

static size_t record_bytes(const version *v)
{
    return (size_t)v->label_bytes + IMAGE_BYTES;
}

static const uint8_t *record(const version *v, const part *p, int i)
{
    return p->file.data + (size_t)i * record_bytes(v);
}

static pada_status check_part(const version *v, part *p, const char *path)
{
    const size_t size = record_bytes(v), n = p->file.bytes / size;

    if (n == 0 || p->file.bytes % size != 0 || n > INT32_MAX / MAX_FILES)
        return PADA_FAIL(PADA_EDATA, "%s: %zu bytes are not a number of %s records of %zu bytes",
                         path, p->file.bytes, v->name, size);
    p->n_images = (int)n;
    for (int i = 0; i < p->n_images; i++) {
        const int label = record(v, p, i)[v->label_bytes - 1];
        if (label >= v->n_classes)
            return PADA_FAIL(PADA_EDATA, "%s: label %d of image %d is outside 0 to %d", path, label,
                             i, v->n_classes - 1);
    }
    return PADA_OK;
}

static pada_status open_part(const version *v, part *p, const char *folder, const char *file)
{
    char path[PADA__PATH_BYTES];

    if (!pada__path_join(path, folder, file))
        return PADA_FAIL(PADA_ENOENT, "%s/%s: name too long", folder, file);
    PADA_TRY(pada_file_open(&p->file, path));
    return check_part(v, p, path);
}

static void close_cifar(pada_dataset *ds)
{
    cifar *c = (cifar *)ds;

    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int k = 0; k < MAX_FILES; k++)
            pada_file_close(&c->parts[split][k].file);
    pada_free(c);
}

static pada_status open_split(cifar *c, pada_split split, const char *folder)
{
    for (int k = 0; k < MAX_FILES && c->version->files[split][k]; k++) {
        part *p = &c->parts[split][k];
        PADA_TRY(open_part(c->version, p, folder, c->version->files[split][k]));
        c->base.n_images[split] += p->n_images;
    }
    return PADA_OK;
}

/* The one version whose files are in the folder. */
static pada_status find_version(const version **out, const char *folder)
{
    *out = NULL;
    for (int i = 0; i < N_VERSIONS; i++) {
        if (!has_files(&versions[i], folder)) continue;
        if (*out)
            return PADA_FAIL(PADA_EDATA, "%s: holds files of both %s and %s", folder, (*out)->name,
                             versions[i].name);
        *out = &versions[i];
    }
    if (!*out) return PADA_FAIL(PADA_ENOENT, "%s: the files have gone", folder);
    return PADA_OK;
}

static pada_status open_cifar(pada_dataset **out, const pada_dataset_desc *desc)
{
    const version *v;
    void *memory;

    *out = NULL;
    PADA_TRY(find_version(&v, desc->where));
    PADA_TRY(pada_calloc(&memory, 1, sizeof(cifar)));
    cifar *c = memory;
    c->version = v;
    c->base = (pada_dataset){
        .name = v->name, .n_classes = v->n_classes, .shape = {PADA_IMAGE_CHANNELS, SIDE, SIDE}};
    for (int k = 0; k < PADA_IMAGE_CHANNELS; k++) {
        c->base.mean[k] = v->mean[k];
        c->base.deviation[k] = v->deviation[k];
    }
    for (int split = 0; split < PADA_N_SPLITS; split++) {
        if (!(desc->splits & PADA_SPLIT_BIT(split))) continue;
        const pada_status st = open_split(c, (pada_split)split, desc->where);
        if (st != PADA_OK) {
            close_cifar(&c->base);
            return st;
        }
    }
    *out = &c->base;
    return PADA_OK;
}

static const uint8_t *find_record(const pada_dataset *ds, pada_split split, int i)
{
    const cifar *c = (const cifar *)ds;
    const part *p = c->parts[split];

    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    for (; i >= p->n_images; p++)
        i -= p->n_images;
    return record(c->version, p, i);
}

static const uint8_t *image(const pada_dataset *ds, pada_split split, int i)
{
    return find_record(ds, split, i) + ((const cifar *)ds)->version->label_bytes;
}

static int label(const pada_dataset *ds, pada_split split, int i)
{
    return find_record(ds, split, i)[((const cifar *)ds)->version->label_bytes - 1];
}

static const char *class_name(const pada_dataset *ds, int class_number)
{
    const version *v = ((const cifar *)ds)->version;

    PADA_ASSERT(class_number >= 0 && class_number < v->n_classes);
    return v->class_names ? v->class_names[class_number] : NULL;
}

static void remark(const pada_dataset *ds, pada_text *out)
{
    const cifar *c = (const cifar *)ds;

    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int k = 0; k < MAX_FILES; k++) {
            const int n = c->parts[split][k].n_images, official = c->version->file_images[split];
            if (n > 0 && n != official)
                pada_text_add(out, "%s: %d images; the official file has %d\n",
                              c->version->files[split][k], n, official);
        }
}

const pada_dataset_ops pada_dataset_cifar = {
    .name = "cifar",
    .names = (const char *const[]){"CIFAR-10", "CIFAR-100", NULL},
    .summary = "CIFAR-10 or CIFAR-100, a folder with the binary version",
    .wanted = "a folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin (CIFAR-10), "
              "or with train.bin and test.bin (CIFAR-100)",
    .recognises = recognises,
    .open = open_cifar,
    .close = close_cifar,
    .image = image,
    .label = label,
    .class_name = class_name,
    .remark = remark,
};
