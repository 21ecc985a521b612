/* drop.c - the key and the rates of a step. */
#include "backend/drop.h"

#include "base/rng.h"
#include "base/status.h"

void pada_drops_make(pada_drops *out, uint64_t seed, int64_t step, const double rates[PADA_N_DROPS])
{
    pada_rng rng;

    out->batch = 0;
    pada_rng_init(&rng, seed, "drop", (uint64_t)step);
    for (int i = 0; i < 2; i++)
        out->key[i] = pada_rng_u32(&rng);
    for (int i = 0; i < PADA_N_DROPS; i++) {
        PADA_ASSERT(rates[i] >= 0 && rates[i] < 1);
        out->rates[i] = rates[i];
    }
}
