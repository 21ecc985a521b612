/* ntk.h - the neural tangent kernel of a path on a batch, in training mode.
 *
 * J[i] is the gradient of the sum of the logits of image i with respect to all weights (tensors named "weight", no biases),
 * the statistics of batch norms being those of the batch; K = J J^T. Private to this folder and its tests. */
#ifndef PADA_PROBE_NTK_H
#define PADA_PROBE_NTK_H

#include "train/moment.h"

/* Zero-initialise; deinit accepts that and half-made ones. Memory for J is as large as n gradients of the largest path. */
typedef struct pada__ntk {
    const pada_moment *moment;
    int n;                     /* images */
    int head, bias;            /* parameters of the classifier; bias -1: none */
    int n_classes, n_features; /* its dims */
    double *gradient;          /* [elements] */
    double *kept;    /* [n_classes * n_features + n_classes] the classifier of the checkpoint */
    double *losses;  /* [n] */
    int32_t *labels; /* [n] zeros */
    float *weights;  /* [n] of images */
    double *rows;    /* [n, columns] J of the last path */
    int64_t cap_rows;
} pada__ntk;

pada_status pada__ntk_init(pada__ntk *k, const pada_moment *moment, int n_images);
void pada__ntk_deinit(pada__ntk *k);

/* K of a path: kernel[n, n]. The weights of the engine are afterwards what they were, also after a failure. */
pada_status pada__ntk_compute(pada__ntk *k, const pada_path *path, const pada_batch *batch,
                              double *kernel);
/* log10 of the largest over the smallest eigenvalue, which is held above the rounding of the largest; 5 of zeros. Overwrites the
 * kernel; `values` [n] gets all eigenvalues. A kernel that is not finite is PADA_ENUMERIC. */
pada_status pada__ntk_condition(double *kernel, int n, double *values, double *out);

#endif
