/* dataset.h - labelled images: opening a data set, and its images as the numbers a network reads.
 *
 * A data set is one file (ds_cifar.c, ...) and one line in datasets.def. It says which names or
 * folders are its own, checks every file and every label when it is opened, and then hands out
 * single uint8 images. Normalisation is written once for all of them. Nothing here changes after
 * the open, so threads may share a data set. */
#ifndef PADA_DATA_DATASET_H
#define PADA_DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "data/findings.h"
#include "data/image_cut.h"
#include "data/image_scale.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_IMAGE_CHANNELS 3
#define PADA_N_SPLITS       3 /* of pada_split */

typedef struct pada_dataset pada_dataset;

/* Who hears how far a long open is; every call may be missing. Calls come from any thread, one at a
 * time. */
typedef struct pada_open_listener {
    void *context;
    void (*progress)(void *context, int n_done, int n_total); /* images decoded */
    void (*remark)(void *context, const char *text);          /* one line: what was left out */
} pada_open_listener;

/* How training images are cut out. */
typedef enum pada_crops {
    PADA_CROPS_AUTO, /* resized for image folders of PADA_PHOTO_SIZE pixels and more, else border */
    PADA_CROPS_BORDER,  /* images are kept as squares and moved about in a black border */
    PADA_CROPS_RESIZED, /* of image folders: random parts of photographs, decoded for every use */
} pada_crops;
#define PADA_CROPS_NAMES "auto|border|resized" /* in that order */
#define PADA_PHOTO_SIZE  128

/* What to open. Zero means the default, but for `where`. All borrowed for the call. */
typedef struct pada_dataset_desc {
    const char *where; /* a name (`builtin`) or a folder */
    unsigned splits;   /* PADA_SPLIT_BITs; 0: all there are. Only these are opened and checked */
    int image_size;    /* rows and columns of an image; 0: the data set's own */
    /* Of image folders: */
    pada_resize resize; /* how pictures become squares */
    pada_crops crops;
    /* With resized crops: the share of the shorter side that evaluation sees; 0: 0.875. */
    double eval_crop;
    /* The same: how many of the train images, the first ones, are also kept as evaluation sees them. */
    int n_train_kept;
    /* Where given, files and classes that would make the open fail are left out and said here, and
     * so is what is odd; the open fails only if too little is left. */
    pada_findings *findings;
    /* A folder for decoded images (image_pack.h) and the bytes it may take; NULL: they are decoded at
     * every open, into memory. */
    const char *cache;
    int64_t cache_bytes;
    pada_open_listener listener;
} pada_dataset_desc;
#define PADA_SPLIT_BIT(split) (1u << (split))

typedef struct pada_dataset_ops {
    const char *name;         /* as in datasets.def */
    const char *const *names; /* what pada_dataset.name may be, for people; ends with NULL */
    const char *summary;      /* one line for `pada info` */
    const char *wanted;       /* what a user gives to get it, for messages: "a folder with ..." */
    /* Whether `where`, as the user gave it, is for this data set. */
    bool (*recognises)(const char *where);
    /* The PADA_SPLIT_BITs that it has; NULL: train and test. */
    unsigned (*splits)(const char *where);
    /* Opens what is described; `splits` are some that it has. Fills in the struct but for `ops`, `where`, `pad` and
     * `levels`. A data set with images of one size leaves image_size alone. On failure *out is
     * NULL. */
    pada_status (*open)(pada_dataset **out, const pada_dataset_desc *desc);
    void (*close)(pada_dataset *ds); /* never NULL */
    /* Image i, borrowed: [3, h, w]. 0 <= i < n_images[split] - n_on_demand[split]. */
    const uint8_t *(*image)(const pada_dataset *ds, pada_split split, int i);
    /* A part of the photograph of any image i into out [3, h, w]; choose NULL: the part that evaluation
     * sees. From any thread. A file that is gone, has changed or is broken is the failure. NULL: there
     * are no photographs, and n_on_demand is 0. */
    pada_status (*cut)(const pada_dataset *ds, pada_split split, int i, pada_cut_choice *choose,
                       void *context, uint8_t *out);
    int (*label)(const pada_dataset *ds, pada_split split, int i);
    /* Borrowed. NULL, or the result NULL: the classes have numbers only. */
    const char *(*class_name)(const pada_dataset *ds, int class_number);
    /* The file that image i is in, borrowed. NULL: images have no files of their own. */
    const char *(*file)(const pada_dataset *ds, pada_split split, int i);
    /* Appends a line for each thing about the files that is allowed but odd. NULL: never any. */
    void (*remark)(const pada_dataset *ds, pada_text *out);
} pada_dataset_ops;

/* An open data set; the first member of the struct of each ds_*.c. Read-only for everybody else. */
struct pada_dataset {
    const pada_dataset_ops *ops;
    const char *name; /* for people: "CIFAR-10" */
    char *where; /* what was opened: an absolute path, or a name; NULL: made otherwise. Owned */
    int n_classes;
    pada_shape shape;            /* of an image, a square */
    int n_images[PADA_N_SPLITS]; /* 0 for a split that was not opened */
    /* Those of them, the last ones, that are not kept but decoded when they are asked for. */
    int n_on_demand[PADA_N_SPLITS];
    /* Of the files, where images are cut out of them; 0: pada_dataset_hash takes the pixels. */
    uint64_t files_hash[PADA_N_SPLITS];
    /* What was set aside because there are no folders for it, in a line for people; or "" */
    char set_aside[200];
    /* Of the channels, after division by 255. */
    double mean[PADA_IMAGE_CHANNELS], deviation[PADA_IMAGE_CHANNELS];
    /* (byte / 255 - mean) / deviation for every byte; levels[c][0] is black. */
    float levels[PADA_IMAGE_CHANNELS][256];
    /* How training images are augmented (augment.h). */
    bool is_cut;     /* random parts of photographs (ops->cut) */
    int pad;         /* black pixels added on each side: an eighth of the image */
    bool flip_first; /* flips, then crops; else the other way round */
};

/* The splits that the data set of this name or folder has, as PADA_SPLIT_BITs. Fails as an open
 * does if nobody knows it. */
pada_status pada_dataset_splits(const char *where, unsigned *splits);

/* Of the splits of a data set: the one on which networks are compared and chosen, val if there is
 * one, else test, as the papers do it on CIFAR; and the one on which results are reported, test if
 * there is one, else val. */
pada_split pada_split_to_choose(unsigned splits);
pada_split pada_split_to_report(unsigned splits);

/* Opens a data set. A missing folder or file is PADA_ENOENT; a folder that is no known data set, a
 * file of the wrong size and a label out of range are PADA_EDATA; an image size or a split that the
 * data set does not have is PADA_EINVAL. */
pada_status pada_dataset_open(pada_dataset **out, const pada_dataset_desc *desc);
void pada_dataset_close(pada_dataset *ds); /* NULL is fine */

/* From now on images are normalised by these numbers, as those a network was trained on were:
 * mean [3], deviation [3], positive. For whoever opened it, before anybody shares it. */
void pada_dataset_normalise(pada_dataset *ds, const double *mean, const double *deviation);

/* Images first .. first + n - 1 of a split, divided by 255 and normalised, not augmented: images
 * [n, 3, h, w], labels [n]. The range must be inside the split (asserted). Fails only where images are
 * decoded on demand. */
pada_status pada_dataset_fill(const pada_dataset *ds, pada_split split, int first, int n,
                              float *images, int32_t *labels);

/* One image of bytes [3, h, w], divided by 255 and normalised: out [3, h, w]. The bytes may be where
 * pada_dataset_room says. */
void pada_dataset_level(const pada_dataset *ds, const uint8_t *bytes, float *out);
/* Room for the bytes of an image in the place of its numbers: the last quarter, which is read before it
 * is written. */
uint8_t *pada_dataset_room(const pada_dataset *ds, float *out);

/* Mean and deviation of the channels over all images of a split that has some and keeps them (asserted), divided
 * by 255: mean [3], deviation [3]. Sums are integers, so the order of the images does not matter. */
void pada_dataset_measure(const pada_dataset *ds, pada_split split, double *mean,
                          double *deviation);

/* A number for what a split holds: shape, pixels (or files) and labels of its images, in their order. The
 * same images under another path have the same one, on every machine. A split that was not opened has that
 * of no images. */
uint64_t pada_dataset_hash(const pada_dataset *ds, pada_split split);

const char *pada_split_name(pada_split split); /* "train", "test", "val" */

int pada_dataset_count(void);
const pada_dataset_ops *pada_dataset_get(int i);

#ifdef __cplusplus
}
#endif
#endif
