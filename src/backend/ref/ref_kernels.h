/* ref_kernels.h - every operator as plain loops in double precision: the oracle.
 *
 * Tensors of one image are [c, h, w] without gaps. Nothing here knows programs, threads or places.
 */
#ifndef PADA_BACKEND_REF_REF_KERNELS_H
#define PADA_BACKEND_REF_REF_KERNELS_H

#include <stdint.h>

#include "op/op.h"

double pada_ref_act(pada_act act, double x);
double pada_ref_act_slope(pada_act act, double x); /* 0 where the derivative jumps */

/* z = conv(a) + bias; `a` has been through the activation. bias may be NULL. */
void pada_ref_conv(const pada_conv *conv, pada_shape in, pada_shape out, const double *a,
                   const double *weight, const double *bias, double *z);
/* da = transposed conv of dz. */
void pada_ref_conv_grad_in(const pada_conv *conv, pada_shape in, pada_shape out, const double *dz,
                           const double *weight, double *da);
/* grad_weight += correlation of a and dz; grad_bias (may be NULL) += sums of dz. */
void pada_ref_conv_grad_weight(const pada_conv *conv, pada_shape in, pada_shape out,
                               const double *a, const double *dz, double *grad_weight,
                               double *grad_bias);

/* y += pool(x), and dx += its transpose applied to dy. */
void pada_ref_avgpool_add(const pada_pool *pool, pada_shape in, pada_shape out, const double *x,
                          double *y);
void pada_ref_avgpool_grad_add(const pada_pool *pool, pada_shape in, pada_shape out,
                               const double *dy, double *dx);

/* y = pool(act(x)), and dx += the gradient of it. */
void pada_ref_pool(const pada_node *node, pada_shape in, const double *x, double *y);
void pada_ref_pool_grad_add(const pada_node *node, pada_shape in, const double *x, const double *dy,
                            double *dx);

/* mean and biased variance of channel c over n images, `stride` elements apart. */
void pada_ref_moments(const double *x, int64_t n, int64_t stride, pada_shape shape, int c,
                      double *mean, double *variance);

/* Softmax cross entropy of one image; grad (may be NULL) = scale * (p - target). */
void pada_ref_loss(const pada_loss *what, const double *logits, int classes, int label,
                   double scale, double *loss, double *norm, int32_t *rank, double *grad);

#endif
