/* cuda_kernels.h - what the kernel files offer to cuda_run.c: one launcher per kernel.
 *
 * Tensors are float32 [n, h, w, c]: channels lie side by side, so that neighbouring threads read
 * neighbouring addresses whatever the shape; images are `stride` elements apart. Channel vectors
 * are float32 without gaps. Weights keep PyTorch's order [out, in, kh, kw].
 *
 * A launcher queues its kernel on the stream and returns what the launch said. Every element has
 * one writer, and sums over many elements are taken in an order that depends on sizes alone: two
 * runs give the same bits. */
#ifndef PADA_BACKEND_CUDA_CUDA_KERNELS_H
#define PADA_BACKEND_CUDA_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_tensor {
    float *data;
    int64_t stride; /* elements from one image to the next */
} cuda_tensor;

/* ---- cuda_layout.cu ---- */

/* [n, c, h, w] without gaps to a tensor. */
cudaError_t pada_cuda_import(cudaStream_t stream, const float *planar, pada_shape shape,
                             int n_images, cuda_tensor to);

/* Images of a held set, cut and normalised, to a tensor; levels [c, 256], images [n][c, h, w]. */
cudaError_t pada_cuda_gather(cudaStream_t stream, const float *levels, const uint8_t *images,
                             const pada_pick *picks, pada_shape shape, int n_images,
                             cuda_tensor to);

/* ---- cuda_conv.cu ---- */

/* One convolution over the batch. x is read through the activation; bias may be NULL. */
typedef struct cuda_conv_job {
    pada_conv conv;
    pada_shape in, out;
    int n_images;
    cuda_tensor x;
    const float *weight, *bias;
    /* backward */
    cuda_tensor dz, dx;
    bool accumulate; /* add to dx instead of storing */
    float *grad_weight;
    float *partial; /* [chunk][weights] */
} cuda_conv_job;

cudaError_t pada_cuda_conv_forward(cudaStream_t stream, const cuda_conv_job *job, cuda_tensor z);
/* dx (+)= slope of the activation * transposed convolution of dz. */
cudaError_t pada_cuda_conv_grad_in(cudaStream_t stream, const cuda_conv_job *job);
/* grad_weight += correlation of act(x) and dz. */
cudaError_t pada_cuda_conv_grad_weight(cudaStream_t stream, const cuda_conv_job *job);
/* Floats of job.partial. */
int64_t pada_cuda_conv_partial(const pada_conv *conv, int n_images);
/* dz = a dy + b z + c; the three vectors are `vector` floats apart. */
cudaError_t pada_cuda_norm_grad(cudaStream_t stream, pada_shape shape, int n_images, cuda_tensor dy,
                                cuda_tensor z, const float *coef, int64_t vector, cuda_tensor dz);

/* ---- cuda_combine.cu ---- */

typedef struct cuda_term {
    pada_term_kind kind;
    pada_pool pool;
    pada_shape in; /* of x */
    cuda_tensor x;
    const float *mean, *rstd; /* BATCHNORM */
    /* backward; also for batch norm: dx (+)= a dy + b x + c */
    cuda_tensor dx;
    const float *coef;
    int64_t vector; /* floats from a to b to c */
    bool accumulate;
} cuda_term;

#define CUDA_MAX_TERMS 16 /* of one launch */

/* y (+)= sum of at most CUDA_MAX_TERMS terms. */
cudaError_t pada_cuda_combine(cudaStream_t stream, const cuda_term *terms, int n_terms,
                              pada_shape shape, int n_images, bool accumulate, cuda_tensor y);
/* The gradient of one term. */
cudaError_t pada_cuda_combine_grad(cudaStream_t stream, const cuda_term *term, pada_shape shape,
                                   int n_images, cuda_tensor dy);

/* ---- cuda_sums.cu ---- */

/* Doubles that the functions below want as `partial`. */
int64_t pada_cuda_sums_partial(int channels, int n_images);
/* mean and 1/deviation of every channel. */
cudaError_t pada_cuda_moments(cudaStream_t stream, cuda_tensor x, pada_shape shape, int n_images,
                              double *partial, float *mean, float *rstd);
/* The coefficients of dx = a dy + b x + c of a batch norm. */
cudaError_t pada_cuda_norm_coef(cudaStream_t stream, cuda_tensor dy, cuda_tensor x,
                                pada_shape shape, int n_images, const float *mean,
                                const float *rstd, double *partial, float *coef, int64_t vector);
/* grad[c] += sum of dz over images and pixels. */
cudaError_t pada_cuda_bias_grad(cudaStream_t stream, cuda_tensor dz, pada_shape shape, int n_images,
                                double *partial, float *grad);

/* ---- cuda_head.cu ---- */

cudaError_t pada_cuda_gap(cudaStream_t stream, cuda_tensor x, pada_shape in, pada_act act,
                          int n_images, cuda_tensor f);
cudaError_t pada_cuda_gap_grad(cudaStream_t stream, cuda_tensor x, pada_shape in, pada_act act,
                               int n_images, cuda_tensor df, bool accumulate, cuda_tensor dx);

/* n_in = 0: x is zero, and so are its gradient and that of the weight. bias, grad_bias: or NULL. */
typedef struct cuda_linear_job {
    int n_in, n_out, n_images;
    cuda_tensor x, y; /* backward: y holds dy */
    const float *weight, *bias;
    cuda_tensor dx;
    bool accumulate;
    float *grad_weight, *grad_bias;
} cuda_linear_job;

cudaError_t pada_cuda_linear(cudaStream_t stream, const cuda_linear_job *job);
cudaError_t pada_cuda_linear_grad(cudaStream_t stream, const cuda_linear_job *job);

/* Softmax cross entropy; grad.data NULL: no gradient. weights: or NULL. */
typedef struct cuda_loss_job {
    int classes, n_images;
    cuda_tensor logits, grad;
    const int32_t *labels;
    const float *weights;
    double grad_scale;
    float *loss, *norm;
    int32_t *rank;
} cuda_loss_job;

cudaError_t pada_cuda_loss(cudaStream_t stream, const cuda_loss_job *job);

/* ---- cuda_vector.cu ---- */

/* Ranges travel as an argument of the kernel, which may have 4 KB: nothing has to be uploaded. */
#define CUDA_MAX_RANGES 240
typedef struct cuda_ranges {
    pada_range at[CUDA_MAX_RANGES];
    int n;
} cuda_ranges;

cudaError_t pada_cuda_fill_zero(cudaStream_t stream, float *x, const cuda_ranges *ranges);
cudaError_t pada_cuda_sum_squares(cudaStream_t stream, const float *x, const cuda_ranges *ranges,
                                  double *sums);
cudaError_t pada_cuda_sgd(cudaStream_t stream, float *w, const float *g, float *v,
                          const cuda_ranges *ranges, const pada_sgd_step *step);
cudaError_t pada_cuda_copy(cudaStream_t stream, float *to, const float *from,
                           const cuda_ranges *ranges);
cudaError_t pada_cuda_axpy(cudaStream_t stream, float *y, float a, const float *x,
                           const cuda_ranges *ranges);
/* One number per range: 1 / how many samples there are. */
typedef struct cuda_shares {
    float at[CUDA_MAX_RANGES];
} cuda_shares;
cudaError_t pada_cuda_welford(cudaStream_t stream, float *mean, float *spread, const float *x,
                              const cuda_ranges *ranges, const cuda_shares *shares);
/* Whether this build has code for the current device. */
cudaError_t pada_cuda_fits(void);

#ifdef __cplusplus
}
#endif
#endif
