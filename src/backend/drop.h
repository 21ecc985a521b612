/* drop.h - what a training step drops: rates, and the key of its masks. drop_mask.h has the masks. */
#ifndef PADA_BACKEND_DROP_H
#define PADA_BACKEND_DROP_H

#include <stdint.h>

#include "op/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_drops {
    uint32_t key[2];
    uint32_t batch;             /* of the step, which may have several */
    double rates[PADA_N_DROPS]; /* in [0, 1), by kind */
} pada_drops;

/* The batch is the first one, number 0. */
void pada_drops_make(pada_drops *out, uint64_t seed, int64_t step,
                     const double rates[PADA_N_DROPS]);

#ifdef __cplusplus
}
#endif
#endif
