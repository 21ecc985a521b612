/* rng.h - counter-based random numbers: Philox 4x32-10 (Random123) streams by name.
 *
 * A stream is named by (seed, name, index): "path", "init", "augment" of image 17 in epoch 3, and
 * so on. Streams do not influence each other, and what a stream has drawn is known from its position.
 *
 *   key     = 64-bit hash of the name, seeded with the seed
 *   counter = [ block number, 64 bits | index, 64 bits ]          one block gives four 32-bit numbers
 */
#ifndef PADA_BASE_RNG_H
#define PADA_BASE_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_rng {
    uint64_t key, index;
    uint64_t position; /* 32-bit numbers drawn so far */
    uint32_t block[4]; /* the block that `position` is in, valid when position % 4 != 0 */
} pada_rng;

void pada_rng_init(pada_rng *rng, uint64_t seed, const char *name, uint64_t index);

uint32_t pada_rng_u32(pada_rng *rng);
uint32_t pada_rng_below(pada_rng *rng, uint32_t bound); /* 0 .. bound-1, unbiased; bound > 0 */
double pada_rng_uniform(pada_rng *rng);                 /* [0, 1), 53 bits: two draws */
double pada_rng_normal(pada_rng *rng);                  /* mean 0, deviation 1: four draws */

#ifdef __cplusplus
}
#endif
#endif
