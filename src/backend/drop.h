/* drop.h - what a training step drops: rates, and the key of its masks. drop_mask.h has the masks. */
#ifndef PADA_BACKEND_DROP_H
#define PADA_BACKEND_DROP_H

#include <stdint.h>

#include "op/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_drop_rate {
    uint32_t below; /* random numbers below it drop */
    double scale;   /* of what is kept: 1 / (1 - rate) */
} pada_drop_rate;

typedef struct pada_drops {
    uint32_t key[2];
    pada_drop_rate rates[PADA_N_DROPS];
} pada_drops;

/* Rates are in [0, 1), by kind. */
void pada_drops_make(pada_drops *out, uint64_t seed, int64_t step,
                     const double rates[PADA_N_DROPS]);

#ifdef __cplusplus
}
#endif
#endif
