/* engine_inspect.h - numbers inside an engine that nothing but tests looks at. */
#ifndef PADA_ENGINE_ENGINE_INSPECT_H
#define PADA_ENGINE_ENGINE_INSPECT_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Per image of the last forward pass: [n]. */
void pada_engine_losses(const pada_engine *e, double *losses);
void pada_engine_norms(const pada_engine *e, double *norms); /* ||p - target|| */
/* The distance, without the factor, of each image of the last pass, which was aligned: [n]. */
void pada_engine_distances(const pada_engine *e, double *distances);
/* The gradient of one parameter: `count` doubles. */
void pada_engine_read_grad(const pada_engine *e, int param, double *to);
/* L2 norms of the gradients of (site, choice), 0 where the last paths did not use it. */
double pada_engine_grad_norm(pada_engine *e, int site, int choice);

#ifdef __cplusplus
}
#endif
#endif
