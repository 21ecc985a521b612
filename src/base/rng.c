/* rng.c - Philox 4x32-10 streams; rng.h draws the key and the counter. */
#include "base/rng.h"

#include <Random123/philox.h>
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/hash.h"
#include "base/status.h"

static void make_block(pada_rng *rng)
{
    const uint64_t number = rng->position / 4;
    const philox4x32_ctr_t counter = {{(uint32_t)number, (uint32_t)(number >> 32),
                                       (uint32_t)rng->index, (uint32_t)(rng->index >> 32)}};
    const philox4x32_key_t key = {{(uint32_t)rng->key, (uint32_t)(rng->key >> 32)}};
    const philox4x32_ctr_t block = philox4x32(counter, key);

    for (int i = 0; i < 4; i++)
        rng->block[i] = block.v[i];
}

void pada_rng_init(pada_rng *rng, uint64_t seed, const char *name, uint64_t index)
{
    *rng = (pada_rng){.key = pada_hash(name, strlen(name), seed), .index = index};
}

uint32_t pada_rng_u32(pada_rng *rng)
{
    const int i = (int)(rng->position % 4);

    if (i == 0) make_block(rng);
    rng->position++;
    return rng->block[i];
}

uint32_t pada_rng_below(pada_rng *rng, uint32_t bound)
{
    PADA_ASSERT(bound > 0);
    /* Lemire, "Fast random integer generation in an interval": the high word of draw * bound. Some
     * high words have one draw more than others; rejecting low words under 2^32 mod bound takes
     * those away. */
    uint64_t product = (uint64_t)pada_rng_u32(rng) * bound;
    if ((uint32_t)product < bound) {
        const uint32_t limit = (uint32_t)(-bound) % bound; /* 2^32 mod bound */
        while ((uint32_t)product < limit)
            product = (uint64_t)pada_rng_u32(rng) * bound;
    }
    return (uint32_t)(product >> 32);
}

double pada_rng_uniform(pada_rng *rng)
{
    const uint32_t high = pada_rng_u32(rng) >> 5; /* 27 bits */
    const uint32_t low = pada_rng_u32(rng) >> 6;  /* 26 bits */

    return (high * 67108864.0 + low) / 9007199254740992.0;
}

double pada_rng_normal(pada_rng *rng)
{
    /* Box-Muller without keeping the second number, so that the state stays a position and the
     * number of draws does not depend on the values. 1 - u is in (0, 1], where the logarithm is
     * finite. */
    const double u = pada_rng_uniform(rng);
    const double v = pada_rng_uniform(rng);

    return sqrt(-2.0 * pada_ln(1.0 - u)) * pada_cos_turns(v);
}
