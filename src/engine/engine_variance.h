/* engine_variance.h - how much the gradients vary over the steps that use them.
 *
 * Of every scalar parameter over the steps in which its choice was sampled (Welford, before
 * clipping), averaged over the parameters that were sampled at all. */
#ifndef PADA_ENGINE_ENGINE_VARIANCE_H
#define PADA_ENGINE_ENGINE_VARIANCE_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_variance {
    double candidates; /* parameters that belong to choices; NaN: none was sampled */
    double all;
} pada_variance;

/* Starts anew; from here on every step is recorded. Costs two more parameter buffers. */
pada_status pada_engine_variance_begin(pada_engine *e);
void pada_engine_variance_read(const pada_engine *e, pada_variance *variance);

#ifdef __cplusplus
}
#endif
#endif
