/* drop_mask.h - the masks of drops: one function that ref, cpu and device code share.
 *
 * A mask is a function of the step's key, the batch of the step, the number of the drop in the network, the image of the
 * batch and the element.
 * Nothing is stored: backward asks again, a run that resumes gets the same masks, and so does whoever computes a part of
 * the batch only.
 *
 *   key       two numbers of the stream (seed, "drop", step): rng.h
 *   counter   [ element / 4 | image | mask | batch ]   one block of Philox 4x32-10 is for four elements
 *
 * Elements are counted as in [c, h, w], whatever the layout. */
#ifndef PADA_BACKEND_DROP_MASK_H
#define PADA_BACKEND_DROP_MASK_H

#include <Random123/philox.h>

#include "backend/drop.h"

#ifdef __CUDACC__
#define PADA_DEVICE __device__
#else
#define PADA_DEVICE
#endif

/* What an element is multiplied by: 0 or the scale. Drops of images ask for element 0. */
static inline PADA_DEVICE double pada_drop_factor(const pada_drops *drops, const pada_drop *drop,
                                                  int image, int64_t element)
{
    const philox4x32_ctr_t counter = {
        {(uint32_t)(element / 4), (uint32_t)image, (uint32_t)drop->mask, drops->batch}};
    const philox4x32_key_t key = {{drops->key[0], drops->key[1]}};
    const philox4x32_ctr_t block = philox4x32(counter, key);
    const double rate = drops->rates[drop->kind] * drop->share;

    return block.v[element % 4] < (uint32_t)(rate * 4294967296.0) ? 0 : 1 / (1 - rate);
}

#endif
