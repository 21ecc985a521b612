/* batch.h - what data sets hand to the engine. */
#ifndef PADA_DATA_BATCH_H
#define PADA_DATA_BATCH_H

#include <stdint.h>

#include "tensor/pick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A batch of images, normalised and augmented. Pointers are borrowed. The images come as numbers, or
 * as picks from a split of the data set that the engine holds (pada_engine_hold). */
typedef struct pada_batch {
    int n;
    const float *images;    /* [n, 3, h, w]; NULL: see picks */
    const pada_pick *picks; /* [n] */
    int split;              /* that the picks are from */
    const int32_t *labels;  /* [n] */
    const float *weights;   /* [n] factors of the losses in the gradient, or NULL */
    double grad_scale;      /* further factor of the whole gradient; 0 means 1 */
} pada_batch;

#ifdef __cplusplus
}
#endif
#endif
