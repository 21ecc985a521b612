/* held_batches.h - batches of images that are held out of training, as they are.
 *
 * Batch k of a run has images of the stream (seed, "held", k), drawn with replacement; batches are
 * asked for in order, the first one of an epoch by any number. */
#ifndef PADA_STRATEGY_HELD_BATCHES_H
#define PADA_STRATEGY_HELD_BATCHES_H

#include "strategy/strategy.h"

typedef struct pada_held_batches {
    const pada_strategy_env *env;
    pada_loader *loader;
    int32_t *order; /* [most batches of an epoch * size] */
    int size;       /* images in a batch */
    int cap;        /* batches */
    int epoch;      /* that the loader is in; -1: none */
} pada_held_batches;

/* Room for `most` batches per epoch of `size` images, or of as many as a batch may have and are held
 * out. `batches` is zeroed; nothing held out is PADA_EINVAL. */
pada_status pada_held_batches_init(pada_held_batches *batches, const pada_strategy_env *env,
                                   int64_t size, int most);
void pada_held_batches_deinit(pada_held_batches *batches); /* a zeroed one is fine */

/* Batch `number`; the epoch has those from `first` to `end` - 1. Borrowed until the next call. */
pada_status pada_held_batches_next(pada_held_batches *batches, const pada_epoch *epoch,
                                   int64_t first, int64_t end, int64_t number, pada_batch *out);

#endif
