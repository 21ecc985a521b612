/* ds_folder.c - any folder of class folders with PNG, JPEG or WebP images.
 *
 *   DIR/train/CLASS/IMAGE  and  DIR/test/CLASS/IMAGE (or val, or valid, if there is no test)
 *   DIR/CLASS/IMAGE            of each class, a fifth of the images is for the test
 *
 * Classes are in the order of their names, byte by byte. Images are in one fixed order in which
 * classes take turns (picture_list.h). Hidden files, files with other endings and folders in class
 * folders are passed over. All images are decoded at the open, scaled (image_scale.h) and kept as
 * bytes. Mean and deviation are those of the train images, which are therefore read even if only the
 * test images were asked for. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/ds_path.h"
#include "data/image_file.h"
#include "data/image_scale.h"
#include "data/picture_list.h"

#define DEFAULT_SIZE 32
#define MAX_SIZE     1024
#define TEST_SHARE   0.2 /* of each class, without a test folder */

typedef struct names {
    char **items; /* [n], and each of them, owned */
    int n, cap;
} names;

typedef struct folder {
    pada_dataset base;
    names classes;
    uint8_t *pixels[PADA_N_SPLITS]; /* [n_images, 3, size, size], owned; NULL: not opened */
    int32_t *labels[PADA_N_SPLITS]; /* [n_images], owned */
} folder;

/* What is only needed during the open. */
typedef struct scan {
    char roots[PADA_N_SPLITS][PADA__PATH_BYTES]; /* the folders with the class folders */
    bool flat;                                   /* both are the same */
    pada_pictures found[PADA_N_SPLITS];
} scan;

/* ---- entries of folders ---- */

/* Whether an entry is wanted, by its path and its name. */
typedef bool entry_test(const char *path, const char *name);

static bool is_class(const char *path, const char *name)
{
    return name[0] != '.' && pada_path_is_dir(path);
}

static bool is_picture(const char *path, const char *name)
{
    const pada_image_format *format = pada_image_format_named(name);

    return name[0] != '.' && format && format->decode && !pada_path_is_dir(path);
}

/* Whether any entry is wanted; no for a folder that cannot be read. */
static bool has_entry(const char *where, entry_test *wanted)
{
    char path[PADA__PATH_BYTES];
    bool found = false;
    DIR *dir = opendir(where);

    if (!dir) return false;
    for (const struct dirent *e; !found && (e = readdir(dir)) != NULL;)
        found = pada__path_join(path, where, e->d_name) && wanted(path, e->d_name);
    closedir(dir);
    return found;
}

static bool is_class_with_pictures(const char *path, const char *name)
{
    return is_class(path, name) && has_entry(path, is_picture);
}

static void free_names(names *list)
{
    for (int i = 0; i < list->n; i++)
        pada_free(list->items[i]);
    pada_free(list->items);
    *list = (names){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static pada_status add_name(names *list, const char *name)
{
    void *items = list->items;

    PADA_TRY(pada_grow(&items, &list->cap, list->n + 1, sizeof *list->items));
    list->items = items;
    PADA_TRY(pada_strdup(&list->items[list->n], name));
    list->n++;
    return PADA_OK;
}

/* The names of the entries that are wanted, sorted. The list is the caller's also after a failure. */
static pada_status list_names(names *list, const char *where, entry_test *wanted)
{
    char path[PADA__PATH_BYTES];
    pada_status st = PADA_OK;
    DIR *dir = opendir(where);

    if (!dir)
        return PADA_FAIL(errno == ENOENT ? PADA_ENOENT : PADA_EIO, "%s: %s", where,
                         strerror(errno));
    for (const struct dirent *e; st == PADA_OK && (e = readdir(dir)) != NULL;) {
        if (!pada__path_join(path, where, e->d_name))
            st = PADA_FAIL(PADA_ENOENT, "%s/%s: name too long", where, e->d_name);
        else if (wanted(path, e->d_name))
            st = add_name(list, e->d_name);
    }
    closedir(dir);
    if (list->n > 0) qsort(list->items, (size_t)list->n, sizeof *list->items, by_name);
    return st;
}

/* ---- which files there are ---- */

/* Whether the folder has train/CLASS/IMAGE. */
static bool has_train_folder(const char *where)
{
    char path[PADA__PATH_BYTES];

    return pada__path_join(path, where, "train") && has_entry(path, is_class_with_pictures);
}

static bool recognises(const char *where)
{
    return has_train_folder(where) || has_entry(where, is_class_with_pictures);
}

static pada_status find_roots(scan *s, const pada_dataset_desc *desc)
{
    static const char *const tests[] = {"test", "val", "valid"};

    s->flat = !has_train_folder(desc->where);
    if (s->flat) {
        for (int split = 0; split < PADA_N_SPLITS; split++)
            if (snprintf(s->roots[split], PADA__PATH_BYTES, "%s", desc->where) >= PADA__PATH_BYTES)
                return PADA_FAIL(PADA_ENOENT, "%s: name too long", desc->where);
        return PADA_OK;
    }
    (void)pada__path_join(s->roots[PADA_SPLIT_TRAIN], desc->where, "train"); /* it is there */
    if (!(desc->splits & PADA_SPLIT_BIT(PADA_SPLIT_TEST))) return PADA_OK;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (pada__path_join(s->roots[PADA_SPLIT_TEST], desc->where, tests[i]) &&
            pada_path_is_dir(s->roots[PADA_SPLIT_TEST]))
            return PADA_OK;
    return PADA_FAIL(PADA_ENOENT, "%s: a folder train, but neither test, val nor valid",
                     desc->where);
}

/* The pictures of one class. */
static pada_status scan_class(scan *s, pada_split split, const char *name, int label)
{
    char path[PADA__PATH_BYTES], file[PADA__PATH_BYTES];
    names files = {0};

    if (!pada__path_join(path, s->roots[split], name))
        return PADA_FAIL(PADA_ENOENT, "%s/%s: name too long", s->roots[split], name);
    pada_status st = list_names(&files, path, is_picture);
    if (st == PADA_OK && files.n == 0)
        st = PADA_FAIL(PADA_EDATA, "%s: no " PADA_IMAGE_READ " images", path);
    for (int i = 0; i < files.n && st == PADA_OK; i++)
        st = pada__path_join(file, path, files.items[i])
                 ? pada_pictures_add(&s->found[split], file, label)
                 : PADA_FAIL(PADA_ENOENT, "%s/%s: name too long", path, files.items[i]);
    free_names(&files);
    return st;
}

/* Both lists are sorted: the first difference is a class that one of them lacks. */
static pada_status compare_classes(const scan *s, const names *train, const names *test)
{
    for (int i = 0; i < train->n || i < test->n; i++) {
        const char *a = i < train->n ? train->items[i] : NULL;
        const char *b = i < test->n ? test->items[i] : NULL;
        const int order = !a ? 1 : !b ? -1 : strcmp(a, b);
        if (order != 0)
            return PADA_FAIL(PADA_EDATA, "%s: no class '%s', which is in %s",
                             s->roots[order < 0 ? PADA_SPLIT_TEST : PADA_SPLIT_TRAIN],
                             order < 0 ? a : b,
                             s->roots[order < 0 ? PADA_SPLIT_TRAIN : PADA_SPLIT_TEST]);
    }
    return PADA_OK;
}

static pada_status check_test_classes(const folder *f, const scan *s)
{
    names test = {0};
    pada_status st = list_names(&test, s->roots[PADA_SPLIT_TEST], is_class);

    if (st == PADA_OK) st = compare_classes(s, &f->classes, &test);
    free_names(&test);
    return st;
}

static pada_status scan_split(const folder *f, scan *s, pada_split split)
{
    for (int label = 0; label < f->classes.n; label++)
        PADA_TRY(scan_class(s, split, f->classes.items[label], label));
    return PADA_OK;
}

static pada_status scan_all(folder *f, scan *s, const pada_dataset_desc *desc)
{
    const bool test = desc->splits & PADA_SPLIT_BIT(PADA_SPLIT_TEST);

    PADA_TRY(find_roots(s, desc));
    PADA_TRY(list_names(&f->classes, s->roots[PADA_SPLIT_TRAIN], is_class));
    if (f->classes.n < 2)
        return PADA_FAIL(PADA_EDATA, "%s: %d class folders; at least 2 are needed", desc->where,
                         f->classes.n);
    f->base.n_classes = f->classes.n;
    PADA_TRY(scan_split(f, s, PADA_SPLIT_TRAIN));
    if (test && !s->flat) {
        PADA_TRY(check_test_classes(f, s));
        PADA_TRY(scan_split(f, s, PADA_SPLIT_TEST));
    }
    return PADA_OK;
}

/* Which image is where in which split. */
static pada_status arrange_all(const folder *f, scan *s, const pada_dataset_desc *desc)
{
    pada_pictures *train = &s->found[PADA_SPLIT_TRAIN], *test = &s->found[PADA_SPLIT_TEST];

    PADA_TRY(pada_pictures_arrange(train, f->classes.n));
    if (!s->flat) return pada_pictures_arrange(test, f->classes.n);
    PADA_TRY(pada_pictures_hold_out(train, test, f->classes.n, TEST_SHARE));
    if (desc->splits & PADA_SPLIT_BIT(PADA_SPLIT_TEST) && test->n == 0)
        return PADA_FAIL(PADA_EDATA, "%s: no test images: no class has 2 images", desc->where);
    return PADA_OK;
}

static void free_scan(scan *s)
{
    for (int split = 0; split < PADA_N_SPLITS; split++)
        pada_pictures_deinit(&s->found[split]);
    pada_free(s);
}

/* ---- decoding ---- */

typedef struct decoded {
    uint8_t *to; /* [n, 3, size, size] */
    int size;
} decoded;

static pada_status decode(void *context, pada_picture *picture, int place)
{
    const decoded *d = context;
    const size_t image_bytes = (size_t)d->size * (size_t)d->size * PADA_IMAGE_CHANNELS;
    pada_file file;

    PADA_TRY(pada_file_open(&file, picture->path));
    const pada_status st = pada_image_read(
        &(pada_image_source){.path = picture->path, .data = file.data, .bytes = file.bytes},
        &(pada_image_fit){.size = d->size}, d->to + (size_t)place * image_bytes, NULL);
    pada_file_close(&file);
    return st;
}

static pada_status read_split(folder *f, const pada_pictures *list, pada_split split)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)list->n, sizeof *f->labels[split]));
    f->labels[split] = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)list->n, (size_t)pada_shape_count(f->base.shape)));
    f->pixels[split] = memory;
    f->base.n_images[split] = list->n;
    for (int i = 0; i < list->n; i++)
        f->labels[split][i] = list->items[i].label;
    return pada_pictures_each(list, decode,
                              &(decoded){.to = f->pixels[split], .size = f->base.shape.h});
}

static void drop_split(folder *f, pada_split split)
{
    pada_free(f->pixels[split]);
    pada_free(f->labels[split]);
    f->pixels[split] = NULL;
    f->labels[split] = NULL;
    f->base.n_images[split] = 0;
}

/* Of the train images. A channel that is the same everywhere is not scaled. */
static void measure(pada_dataset *ds)
{
    pada_dataset_measure(ds, PADA_SPLIT_TRAIN, ds->mean, ds->deviation);
    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++)
        if (ds->deviation[c] == 0) ds->deviation[c] = 1;
}

/* ---- the data set ---- */

static void close_folder(pada_dataset *ds)
{
    folder *f = (folder *)ds;

    for (int split = 0; split < PADA_N_SPLITS; split++)
        drop_split(f, (pada_split)split);
    free_names(&f->classes);
    pada_free(f);
}

static pada_status read_all(folder *f, const pada_dataset_desc *desc)
{
    scan *s;
    void *memory;
    pada_status st;

    PADA_TRY(pada_calloc(&memory, 1, sizeof *s));
    s = memory;
    st = scan_all(f, s, desc);
    if (st == PADA_OK) st = arrange_all(f, s, desc);
    if (st == PADA_OK) st = read_split(f, &s->found[PADA_SPLIT_TRAIN], PADA_SPLIT_TRAIN);
    if (st == PADA_OK) measure(&f->base);
    if (!(desc->splits & PADA_SPLIT_BIT(PADA_SPLIT_TRAIN))) drop_split(f, PADA_SPLIT_TRAIN);
    if (st == PADA_OK && desc->splits & PADA_SPLIT_BIT(PADA_SPLIT_TEST))
        st = read_split(f, &s->found[PADA_SPLIT_TEST], PADA_SPLIT_TEST);
    free_scan(s);
    return st;
}

extern const pada_dataset_ops pada_dataset_folder; /* the measurement reads images through it */

static pada_status open_folder(pada_dataset **out, const pada_dataset_desc *desc)
{
    const int size = desc->image_size > 0 ? desc->image_size : DEFAULT_SIZE;
    void *memory;

    *out = NULL;
    if (size > MAX_SIZE)
        return PADA_FAIL(PADA_EINVAL, "image size %d is not in 1 to %d", size, MAX_SIZE);
    PADA_TRY(pada_calloc(&memory, 1, sizeof(folder)));
    folder *f = memory;
    f->base = (pada_dataset){.ops = &pada_dataset_folder,
                             .name = "image folder",
                             .shape = {PADA_IMAGE_CHANNELS, size, size}};
    const pada_status st = read_all(f, desc);
    if (st != PADA_OK) {
        close_folder(&f->base);
        return st;
    }
    *out = &f->base;
    return PADA_OK;
}

static const uint8_t *image(const pada_dataset *ds, pada_split split, int i)
{
    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    return ((const folder *)ds)->pixels[split] + (size_t)i * (size_t)pada_shape_count(ds->shape);
}

static int label(const pada_dataset *ds, pada_split split, int i)
{
    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    return ((const folder *)ds)->labels[split][i];
}

static const char *class_name(const pada_dataset *ds, int class_number)
{
    PADA_ASSERT(class_number >= 0 && class_number < ds->n_classes);
    return ((const folder *)ds)->classes.items[class_number];
}

const pada_dataset_ops pada_dataset_folder = {
    .name = "folder",
    .summary = "PNG, JPEG and WebP images in class folders, scaled to one size",
    .wanted = "a folder with " PADA_IMAGE_READ
              " images in class folders, or in class folders of train and test",
    .recognises = recognises,
    .open = open_folder,
    .close = close_folder,
    .image = image,
    .label = label,
    .class_name = class_name,
};
