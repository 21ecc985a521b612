/* ds_folder.c - any folder of class folders with PNG, JPEG or WebP images.
 *
 * Classes are in the order of their names, byte by byte. Images are in one fixed order in which
 * classes take turns (picture_list.h). Splits that have no folder (folder_splits.h) are a fifth of
 * each class of the train images, which are then not trained on: first test, then val of what is
 * left. Class folders are read on all levels (folder_files.h).
 *
 * Small images are all decoded at the open, scaled (image_scale.h) and kept as bytes, or in a cache. Mean
 * and deviation are those of the train images, which are therefore read even if only other images were
 * asked for. With resized crops (design note 0024) only val and test are kept, as evaluation sees them,
 * and train images are decoded whenever a batch needs one; mean and deviation are those of ImageNet. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/ds_path.h"
#include "data/folder_files.h"
#include "data/folder_splits.h"
#include "data/image_pack.h"
#include "data/picture_form.h"
#include "data/picture_list.h"

#define DEFAULT_SIZE 32
#define MAX_SIZE     1024
#define SHARE        0.2 /* of each class, for a split that has no folder */

typedef struct folder {
    pada_dataset base;
    pada_names classes;
    pada_picture_form form;
    pada_pack packs[PADA_N_SPLITS];        /* [n kept, 3, size, size]; empty: not opened */
    pada_pictures pictures[PADA_N_SPLITS]; /* [n_images]; their labels and files */
} folder;

/* What is only needed during the open. */
typedef struct scan {
    pada_folder_splits in;
    pada_names unread;       /* pictures in formats that are not read */
    pada_findings *findings; /* of the description; NULL: fail instead */
} scan;

/* ---- which files there are ---- */

/* Fails, or notes why a class is left out. */
static pada_status refuse_class(scan *s, const char *path, const char *reason)
{
    if (!s->findings) return PADA_FAIL(PADA_EDATA, "%s: %s", path, reason);
    return pada_findings_add(s->findings, PADA_PROBLEM, "class", path, "%s", reason);
}

/* The pictures of one class. */
static pada_status scan_class(folder *f, scan *s, pada_split split, int label)
{
    char path[PADA__PATH_BYTES];
    pada_names files = {0};

    if (!pada__path_join(path, s->in.roots[split], f->classes.items[label]))
        return PADA_FAIL(PADA_ENOENT, "%s/%s: name too long", s->in.roots[split],
                         f->classes.items[label]);
    pada_status st = pada_list_pictures(&files, path, &s->unread, s->findings);
    if (st == PADA_OK && files.n == 0) st = refuse_class(s, path, "no " PADA_IMAGE_READ " images");
    for (int i = 0; i < files.n && st == PADA_OK; i++)
        st = pada_pictures_add(&f->pictures[split], files.items[i], label);
    pada_names_deinit(&files);
    return st;
}

/* Both lists are sorted: goes through the classes that one of them lacks. */
static pada_status compare_classes(scan *s, pada_split split, const pada_names *train,
                                   const pada_names *others)
{
    char reason[2 * PADA__PATH_BYTES];

    for (int i = 0, k = 0; i < train->n || k < others->n;) {
        const char *a = i < train->n ? train->items[i] : NULL;
        const char *b = k < others->n ? others->items[k] : NULL;
        const int order = !a ? 1 : !b ? -1 : strcmp(a, b);
        i += order <= 0;
        k += order >= 0;
        if (order == 0) continue;
        snprintf(reason, sizeof reason, "no class '%s', which is in %s", order < 0 ? a : b,
                 s->in.roots[order < 0 ? PADA_SPLIT_TRAIN : split]);
        PADA_TRY(refuse_class(s, s->in.roots[order < 0 ? split : PADA_SPLIT_TRAIN], reason));
    }
    return PADA_OK;
}

static pada_status check_classes(const folder *f, scan *s, pada_split split)
{
    pada_names others = {0};
    pada_status st = pada_list_classes(&others, s->in.roots[split]);

    if (st == PADA_OK) st = compare_classes(s, split, &f->classes, &others);
    pada_names_deinit(&others);
    return st;
}

static bool has_class(const scan *s, pada_split split, const char *name)
{
    char path[PADA__PATH_BYTES];

    return pada__path_join(path, s->in.roots[split], name) && pada_path_is_dir(path);
}

static pada_status scan_split(folder *f, scan *s, pada_split split)
{
    for (int label = 0; label < f->classes.n; label++)
        if (has_class(s, split, f->classes.items[label])) /* else it was said above */
            PADA_TRY(scan_class(f, s, split, label));
    if (s->findings) PADA_TRY(pada_pictures_check(&f->pictures[split], &f->form.fit, s->findings));
    return PADA_OK;
}

/* A training goes on without such pictures, but not without a word. Findings name all of them. */
static void tell_unread(const scan *s, const pada_dataset_desc *desc)
{
    char text[PADA_MESSAGE_BYTES];

    if (s->unread.n == 0 || s->findings || !desc->listener.remark) return;
    const int n_more = s->unread.n - 1;
    int used = snprintf(text, sizeof text, "left out, only " PADA_IMAGE_READ " images are read: %s",
                        s->unread.items[0]);
    if (n_more > 0 && used < (int)sizeof text)
        snprintf(text + used, sizeof text - (size_t)used, " and %d more", n_more);
    desc->listener.remark(desc->listener.context, text);
}

/* Whether the files of train images are read: for themselves, their mean, or to set some aside. */
static bool needs_train(const folder *f, const scan *s, const pada_dataset_desc *desc)
{
    return f->form.scaled == 0 || s->in.flat || !s->in.roots[PADA_SPLIT_VAL][0] ||
           desc->splits & PADA_SPLIT_BIT(PADA_SPLIT_TRAIN);
}

static pada_status scan_all(folder *f, scan *s, const pada_dataset_desc *desc)
{
    PADA_TRY(pada_folder_find_splits(&s->in, desc->where));
    PADA_TRY(pada_list_classes(&f->classes, s->in.roots[PADA_SPLIT_TRAIN]));
    if (f->classes.n < 2)
        return PADA_FAIL(PADA_EDATA, "%s: %d class folders; at least 2 are needed", desc->where,
                         f->classes.n);
    f->base.n_classes = f->classes.n;
    if (needs_train(f, s, desc)) PADA_TRY(scan_split(f, s, PADA_SPLIT_TRAIN));
    for (int split = PADA_SPLIT_TRAIN + 1; split < PADA_N_SPLITS; split++) {
        if (!(desc->splits & PADA_SPLIT_BIT(split)) || !s->in.roots[split][0]) continue;
        PADA_TRY(check_classes(f, s, (pada_split)split));
        PADA_TRY(scan_split(f, s, (pada_split)split));
    }
    tell_unread(s, desc);
    return PADA_OK;
}

/* ---- order and splits ---- */

/* Says what a user did not divide. */
static void say_set_aside(folder *f, const scan *s)
{
    const int n_test = f->pictures[PADA_SPLIT_TEST].n, n_val = f->pictures[PADA_SPLIT_VAL].n;
    char *said = f->base.set_aside;
    const size_t bytes = sizeof f->base.set_aside;

    if (s->in.flat)
        snprintf(said, bytes,
                 "no folders train, val and test: %d images, a fifth of each class, are for "
                 "tests, and %d, a fifth of the rest, to choose networks on",
                 n_test, n_val);
    else if (!s->in.roots[PADA_SPLIT_VAL][0])
        snprintf(said, bytes,
                 "no folder val: %d train images, a fifth of each class, are set aside to choose "
                 "networks on%s",
                 n_val, s->in.roots[PADA_SPLIT_TEST][0] ? "" : "; no folder test either");
}

/* Which image is where in which split. */
static pada_status arrange_all(folder *f, const scan *s, const pada_dataset_desc *desc)
{
    pada_pictures *train = &f->pictures[PADA_SPLIT_TRAIN];

    for (int split = 0; split < PADA_N_SPLITS; split++)
        PADA_TRY(pada_pictures_arrange(&f->pictures[split], f->classes.n));
    if (s->in.flat)
        PADA_TRY(pada_pictures_hold_out(train, &f->pictures[PADA_SPLIT_TEST], f->classes.n, SHARE));
    if (!s->in.roots[PADA_SPLIT_VAL][0])
        PADA_TRY(pada_pictures_hold_out(train, &f->pictures[PADA_SPLIT_VAL], f->classes.n, SHARE));
    say_set_aside(f, s);
    for (int split = PADA_SPLIT_TRAIN + 1; split < PADA_N_SPLITS; split++)
        if (desc->splits & PADA_SPLIT_BIT(split) && f->pictures[split].n == 0)
            return PADA_FAIL(PADA_EDATA, "%s: no %s images: no class has %d images", desc->where,
                             pada_split_name((pada_split)split),
                             s->in.flat && split == PADA_SPLIT_VAL ? 3 : 2);
    return PADA_OK;
}

/* ---- decoding ---- */

typedef struct decoded {
    const folder *of;
    uint8_t *to; /* [n, 3, size, size] */
    const pada_open_listener *listener;
    int n_done, n_total;
} decoded;

static void tell_progress(decoded *d)
{
    if (!d->listener->progress) return;
#pragma omp critical(pada_decode_progress)
    d->listener->progress(d->listener->context, ++d->n_done, d->n_total);
}

static pada_status decode(void *context, pada_picture *picture, int place)
{
    decoded *d = context;
    const size_t image_bytes = (size_t)pada_shape_count(d->of->base.shape);
    pada_file file;

    PADA_TRY(pada_file_open(&file, picture->path));
    const pada_status st = pada_picture_form_read(
        &d->of->form,
        &(pada_image_source){.path = picture->path, .data = file.data, .bytes = file.bytes},
        d->to + (size_t)place * image_bytes);
    pada_file_close(&file);
    tell_progress(d);
    return st;
}

static pada_status fill_pack(folder *f, pada_split split, const pada_pictures *kept,
                             const pada_dataset_desc *desc)
{
    pada_pack *pack = &f->packs[split];

    PADA_TRY(pada_pictures_each(
        kept, decode,
        &(decoded){.of = f, .to = pack->pixels, .listener = &desc->listener, .n_total = kept->n}));
    pada_pack_commit(pack);
    return PADA_OK;
}

static void tell_remark(const pada_pack *pack, const pada_dataset_desc *desc)
{
    char text[PADA_MESSAGE_BYTES];

    if (!pack->remark[0] || !desc->listener.remark) return;
    snprintf(text, sizeof text, "decoded images are not kept in %s: %s", desc->cache, pack->remark);
    desc->listener.remark(desc->listener.context, text);
}

/* How many images of a split, the first ones, are kept. */
static int count_kept(const folder *f, pada_split split, const pada_dataset_desc *desc)
{
    const int n = f->pictures[split].n;

    if (f->form.scaled == 0 || split != PADA_SPLIT_TRAIN) return n;
    return desc->n_train_kept < n ? desc->n_train_kept : n;
}

static pada_status read_split(folder *f, pada_split split, const pada_dataset_desc *desc)
{
    const pada_pictures *list = &f->pictures[split];
    const pada_pictures kept = {.items = list->items, .n = count_kept(f, split, desc)};
    const pada_pack_desc pack = {.folder = desc->cache,
                                 .max_bytes = desc->cache_bytes,
                                 .key = pada_picture_form_key(&f->form, &kept),
                                 .n = (size_t)kept.n,
                                 .image_bytes = (size_t)pada_shape_count(f->base.shape)};

    f->base.n_images[split] = list->n;
    f->base.n_on_demand[split] = list->n - kept.n;
    if (f->form.scaled > 0) f->base.files_hash[split] = pada_picture_form_hash(&f->form, list);
    if (kept.n == 0) return PADA_OK;
    PADA_TRY(pada_pack_open(&f->packs[split], &pack));
    if (!f->packs[split].is_filled) PADA_TRY(fill_pack(f, split, &kept, desc));
    /* Once is enough, but photographs of train have no pack. */
    if (split == PADA_SPLIT_TRAIN || f->form.scaled > 0) tell_remark(&f->packs[split], desc);
    return PADA_OK;
}

static void drop_split(folder *f, pada_split split)
{
    pada_pack_close(&f->packs[split]);
    pada_pictures_deinit(&f->pictures[split]);
    f->base.n_images[split] = f->base.n_on_demand[split] = 0;
    f->base.files_hash[split] = 0;
}

/* Of the train images. A channel that is the same everywhere is not scaled. Photographs would all have
 * to be decoded for it; networks for them are trained with the numbers of ImageNet, whatever they show. */
static void measure(pada_dataset *ds)
{
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};

    if (ds->is_cut) {
        pada_dataset_normalise(ds, mean, deviation);
        return;
    }
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
    pada_names_deinit(&f->classes);
    pada_free(f);
}

static pada_status read_all(folder *f, scan *s, const pada_dataset_desc *desc)
{
    PADA_TRY(scan_all(f, s, desc));
    PADA_TRY(arrange_all(f, s, desc));
    const bool has_train = needs_train(f, s, desc);
    if (has_train && f->pictures[PADA_SPLIT_TRAIN].n == 0) /* all were left out */
        return PADA_FAIL(PADA_EDATA, "%s: no train images that can be read", desc->where);
    if (has_train) PADA_TRY(read_split(f, PADA_SPLIT_TRAIN, desc));
    measure(&f->base);
    if (!(desc->splits & PADA_SPLIT_BIT(PADA_SPLIT_TRAIN))) drop_split(f, PADA_SPLIT_TRAIN);
    for (int split = PADA_SPLIT_TRAIN + 1; split < PADA_N_SPLITS; split++)
        if (desc->splits & PADA_SPLIT_BIT(split)) PADA_TRY(read_split(f, (pada_split)split, desc));
    return PADA_OK;
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
    pada_status st = pada_picture_form_init(&f->form, desc, size);
    f->base.is_cut = f->form.scaled > 0;
    if (st == PADA_OK) st = pada_calloc(&memory, 1, sizeof(scan));
    if (st == PADA_OK) {
        scan *s = memory;
        s->findings = desc->findings;
        st = read_all(f, s, desc);
        pada_names_deinit(&s->unread);
        pada_free(s);
    }
    if (st != PADA_OK) {
        close_folder(&f->base);
        return st;
    }
    *out = &f->base;
    return PADA_OK;
}

static const uint8_t *image(const pada_dataset *ds, pada_split split, int i)
{
    PADA_ASSERT(i >= 0 && i < ds->n_images[split] - ds->n_on_demand[split]);
    return ((const folder *)ds)->packs[split].pixels +
           (size_t)i * (size_t)pada_shape_count(ds->shape);
}

static pada_status cut(const pada_dataset *ds, pada_split split, int i, pada_cut_choice *choose,
                       void *context, uint8_t *out)
{
    const folder *f = (const folder *)ds;
    const pada_cutter cutter = {.choose = choose, .context = context, .size = f->form.fit.size};
    pada_file file;

    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    const pada_picture *picture = &f->pictures[split].items[i];
    PADA_TRY(pada_picture_load(&file, picture));
    const pada_image_source source = {
        .path = picture->path, .data = file.data, .bytes = file.bytes};
    const pada_status st = choose ? pada_image_cut(&source, &cutter, out)
                                  : pada_picture_form_read(&f->form, &source, out);
    pada_file_close(&file);
    return st;
}

static int label(const pada_dataset *ds, pada_split split, int i)
{
    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    return ((const folder *)ds)->pictures[split].items[i].label;
}

static const char *class_name(const pada_dataset *ds, int class_number)
{
    PADA_ASSERT(class_number >= 0 && class_number < ds->n_classes);
    return ((const folder *)ds)->classes.items[class_number];
}

static const char *file(const pada_dataset *ds, pada_split split, int i)
{
    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    return ((const folder *)ds)->pictures[split].items[i].path;
}

const pada_dataset_ops pada_dataset_folder = {
    .name = "folder",
    .names = (const char *const[]){"image folder", NULL},
    .summary = "PNG, JPEG and WebP images in class folders, scaled to one size",
    .wanted = "a folder with " PADA_IMAGE_READ
              " images in class folders, or in class folders of train, val and test",
    .recognises = pada_folder_is_data,
    .splits = pada_folder_has_splits,
    .open = open_folder,
    .close = close_folder,
    .image = image,
    .cut = cut,
    .label = label,
    .class_name = class_name,
    .file = file,
};
