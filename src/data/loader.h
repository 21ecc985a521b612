/* loader.h - the batches of an epoch, made ahead of time by threads.
 *
 * Who trains decides the order of the images (sampler); the loader turns it into batches of
 * normalised, augmented images and keeps a few of them ready. What a batch holds depends on the
 * description, the epoch, the order and the position only, never on timing or the number of threads. */
#ifndef PADA_DATA_LOADER_H
#define PADA_DATA_LOADER_H

#include "data/batch.h"
#include "data/changes.h"
#include "data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_loader pada_loader;

typedef struct pada_loader_desc {
    const pada_dataset *data; /* borrowed; outlives the loader */
    pada_split split;
    const int32_t *images; /* [n] the image that a number means; borrowed. NULL: each its own */
    int batch_size;
    uint64_t seed;        /* of the augmentation */
    bool augment;         /* as augment.h; else the images are normalised only */
    pada_changes changes; /* of augmented images; what pada_changes_check refuses is PADA_EINVAL */
    bool held; /* the engine has the images: batches have picks instead, which changes must fit */
    /* The images [*first, *end) of a batch of n that somebody reads: the others are not made, their labels are. NULL: all. */
    void (*share)(const void *reader, int n, int *first, int *end);
    const void *reader; /* borrowed */
    int n_threads;      /* where images are much work; 0: OpenMP's default. Else one is enough */
} pada_loader_desc;

/* Consecutive draws of an epoch. Pointers are borrowed until the next call for the loader. */
typedef struct pada_draws {
    pada_batch batch;
    const int32_t *indices; /* [n] numbers of the images, as in the order of the epoch */
    int first;              /* position of the first one in the epoch */
    /* Of a step of several batches, which who trains says; the loader leaves both false. */
    bool joins; /* the step began with a batch before this one */
    bool more;  /* it goes on with the next one */
} pada_draws;

/* Allocates all buffers and starts the threads. A batch size that is not positive or larger than the
 * split, and a split without images, are PADA_EINVAL. */
pada_status pada_loader_create(pada_loader **out, const pada_loader_desc *desc);
void pada_loader_destroy(pada_loader *loader); /* at any time; NULL is fine */
int pada_loader_n_threads(const pada_loader *loader);

/* Starts an epoch: images order[first..n-1] in batches, of which the last may be smaller. What is
 * left of an epoch before it is dropped. `first` is a multiple of the batch size (an epoch that
 * goes on after an interruption) and at most n rounded up to one; else PADA_EINVAL, as is n < 1.
 * `order` is borrowed until the epoch has been read to its end, the next begin or destroy; its
 * values are numbers of images (asserted). */
pada_status pada_loader_begin(pada_loader *loader, int epoch, const int32_t *order, int n,
                              int first);

/* The next batch of the epoch; batch.n == 0 after the last one, and before the first begin. Fails only
 * where images are decoded on demand, with the first image of the epoch that could not be made and not
 * before its batch is due, and from then on until the next begin. */
pada_status pada_loader_next(pada_loader *loader, pada_draws *draws);

#ifdef __cplusplus
}
#endif
#endif
