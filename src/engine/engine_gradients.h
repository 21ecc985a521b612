/* engine_gradients.h - gradients put aside, and their inner products.
 *
 * Of several paths at the same weights, to be compared (gradient matching). */
#ifndef PADA_ENGINE_ENGINE_GRADIENTS_H
#define PADA_ENGINE_ENGINE_GRADIENTS_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_MAX_KEPT 16

/* Keeps a copy of the gradients as number `k`; the first call for a number makes its buffer. */
pada_status pada_engine_keep_grad(pada_engine *e, int k);
/* Inner products of the kept gradients 0 to n - 1, products[i * n + k], over the parameters of a path
 * but for those of slot `without` (-1: all of them); not where weights belong to blocks. One that is
 * not finite is PADA_ENUMERIC. */
pada_status pada_engine_grad_products(pada_engine *e, const pada_path *path, int without, int n,
                                      double *products);

#ifdef __cplusplus
}
#endif
#endif
