/* cuda_kernels.h - what the kernel files offer to cuda_run.c: one launcher per kernel.
 *
 * Tensors are [n, h, w, c]: channels lie side by side, so that neighbouring threads read
 * neighbouring addresses whatever the shape; images are `stride` elements apart. Elements are
 * float32, or bfloat16 in the backend of that name (images of one pixel, hence pooled features and
 * logits, are float32 there, too). Channel vectors are float32 without gaps. Weights and their
 * gradients are float32 in PyTorch's order [out, in, kh, kw].
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
    void *data;
    int64_t stride; /* elements from one image to the next */
    bool half;      /* bfloat16, not float32 */
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

/* ---- cuda_conv_mma.cu ----
 *
 * The same of bfloat16 tensors on tensor cores; the functions above call them where they fit. */

bool pada_cuda_conv_mma_fits(const cuda_conv_job *job);
cudaError_t pada_cuda_conv_mma_forward(cudaStream_t stream, const cuda_conv_job *job,
                                       cuda_tensor z);
cudaError_t pada_cuda_conv_mma_grad_in(cudaStream_t stream, const cuda_conv_job *job);
/* partial [chunk][weights], for chunks of `chunk` images. */
cudaError_t pada_cuda_conv_mma_weights(cudaStream_t stream, const cuda_conv_job *job, int chunk,
                                       int chunks);

/* ---- cuda_depth.cu ----
 *
 * The same of depthwise convolutions; the functions above call them where they fit, the gradient of the input where
 * the stride is 1. */

bool pada_cuda_depth_fits(const pada_conv *conv);
cudaError_t pada_cuda_depth_forward(cudaStream_t stream, const cuda_conv_job *job, cuda_tensor z);
cudaError_t pada_cuda_depth_grad_in(cudaStream_t stream, const cuda_conv_job *job);
/* partial [chunk][weights], for chunks of `chunk` images. */
cudaError_t pada_cuda_depth_weights(cudaStream_t stream, const cuda_conv_job *job, int chunk,
                                    int chunks);

/* ---- cuda_combine.cu ---- */

typedef struct cuda_term {
    pada_term_kind kind;
    pada_pool pool;
    pada_shape in; /* of x */
    cuda_tensor x;
    const float *mean, *rstd;   /* BATCHNORM */
    const float *scale, *shift; /* likewise; NULL: 1, 0. Of other terms: NULL */
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

/* y = one value per channel, everywhere. */
cudaError_t pada_cuda_constant(cudaStream_t stream, const float *values, pada_shape shape,
                               int n_images, cuda_tensor y);

/* ---- cuda_pool.cu ---- */

/* A pool over the batch. The gradient of a largest value goes to the first of equal ones. */
typedef struct cuda_pool_job {
    pada_pool pool;
    pada_pool_kind kind;
    pada_act act;
    pada_shape in, out;
    int n_images;
    cuda_tensor x, y; /* backward: y holds its gradient */
    cuda_tensor dx;
    bool accumulate;
} cuda_pool_job;

cudaError_t pada_cuda_pool(cudaStream_t stream, const cuda_pool_job *job);
cudaError_t pada_cuda_pool_grad(cudaStream_t stream, const cuda_pool_job *job);

/* Channels [first, first + channels) of a concatenation are those of x; backward, x is their gradient. */
typedef struct cuda_part {
    cuda_tensor x;
    int first, channels;
} cuda_part;

#define CUDA_MAX_PARTS 16
typedef struct cuda_concat_job {
    cuda_part parts[CUDA_MAX_PARTS];
    int n_parts;
} cuda_concat_job;

/* y, whose channels without a part are zero. */
cudaError_t pada_cuda_concat(cudaStream_t stream, const cuda_concat_job *job, pada_shape shape,
                             int n_images, cuda_tensor y);
/* The gradient of one part. */
cudaError_t pada_cuda_concat_grad(cudaStream_t stream, const cuda_part *part, pada_shape shape,
                                  int n_images, cuda_tensor dy, bool accumulate);

/* ---- cuda_gate.cu ---- */

/* y = act(x) * sigmoid(s), where s has one pixel. */
typedef struct cuda_gate_job {
    pada_act act;
    pada_shape shape;
    int n_images;
    cuda_tensor x, s, y; /* backward: y holds its gradient */
    cuda_tensor to;      /* backward: the gradient of x, or of s */
    bool accumulate;
} cuda_gate_job;

cudaError_t pada_cuda_gate(cudaStream_t stream, const cuda_gate_job *job);
cudaError_t pada_cuda_gate_grad(cudaStream_t stream, const cuda_gate_job *job);        /* of x */
cudaError_t pada_cuda_gate_factor_grad(cudaStream_t stream, const cuda_gate_job *job); /* of s */

/* ---- cuda_sums.cu ---- */

/* Doubles that the functions below want as `partial`. */
int64_t pada_cuda_sums_partial(int channels, int n_images);
/* mean and 1/deviation of every channel. */
cudaError_t pada_cuda_moments(cudaStream_t stream, cuda_tensor x, pada_shape shape, int n_images,
                              double epsilon, double *partial, float *mean, float *rstd);
/* What the gradients of a batch norm are made with, and where they go. */
typedef struct cuda_norm_job {
    const float *mean, *rstd;
    const float *scale;             /* NULL: 1 */
    float *grad_scale, *grad_shift; /* added to; NULL: not wanted */
    float *coef;                    /* dx = a dy + b x + c */
    int64_t vector;                 /* floats from a to b to c */
} cuda_norm_job;

/* The coefficients and the gradients of scale and shift. */
cudaError_t pada_cuda_norm_coef(cudaStream_t stream, cuda_tensor dy, cuda_tensor x,
                                pada_shape shape, int n_images, double *partial,
                                const cuda_norm_job *job);
/* grad[c] += sum of dz over images and pixels. */
cudaError_t pada_cuda_bias_grad(cudaStream_t stream, cuda_tensor dz, pada_shape shape, int n_images,
                                double *partial, float *grad);

/* ---- nodes: cuda_node_forward.cu, cuda_node_backward.cu ----
 *
 * One launch per node of a cell, on tensor cores: 16 channels of 32x32, 32 of 16x16 or 64 of 8x8 pixels,
 * bfloat16 without gaps between images. Sums over the batch are integers (cuda_mma.cuh) that the kernels
 * add to; they are zero before. */

enum { CUDA_NODE_TERMS = 6, CUDA_NODE_CONVS = 6 };

enum { CUDA_UNITS = 4 /* of a sum in fixed point; cuda_mma.cuh */ };

/* Integers of the two sums of every channel. One counts overflow and NaN, one
 * the blocks that are done (cuda_level.h). */
static inline int64_t cuda_sums_count(int channels)
{
    return CUDA_UNITS * 2 * channels + 2;
}

/* Moments of a tensor: as sums, or (sums NULL) mean and 1/deviation. */
typedef struct cuda_moments {
    const int64_t *sums;
    const float *mean, *rstd;
    double epsilon; /* of the network's batch norms */
} cuda_moments;

/* Coefficients of dz = a dy + b z + c: as moments of z and sums of dy, dy z; or (sums NULL) three
 * vectors. */
typedef struct cuda_slopes {
    cuda_moments moments;
    const int64_t *sums;
    const float *scale; /* with sums; NULL: 1 */
    const float *coef;
    int64_t vector; /* floats from a to b to c */
} cuda_slopes;

/* Whether there is a node kernel for a shape; pools are 3x3 with stride 1, convolutions 3x3 or 1x1 with
 * stride 1 and as many channels out as in. */
bool pada_cuda_node_fits(pada_shape shape);
/* Makes the kernels usable; once per device. */
cudaError_t pada_cuda_node_forward_init(void);
cudaError_t pada_cuda_node_backward_init(void);

typedef struct cuda_node_term {
    pada_term_kind kind;
    const void *x;
    cuda_moments moments;       /* BATCHNORM */
    const float *scale, *shift; /* likewise; NULL: 1, 0 */
} cuda_node_term;

typedef struct cuda_node_conv {
    int taps;           /* 9 or 1 */
    const void *weight; /* fragments: cuda_weights.cu */
    void *z;
    int64_t *sums; /* of z, z^2; or NULL */
} cuda_node_conv;

/* So many images leave parts of a device without work, unless each gets many threads. (Two per multiprocessor of an
 * H200; the same on all devices, because the order of sums depends on it.) */
enum { CUDA_FEW_IMAGES = 264 };

/* y = sum of terms; z_k = conv_k(act(y)), and their moments. */
typedef struct cuda_node_forward_job {
    pada_shape shape;
    int n_images, n_terms, n_convs;
    bool few; /* images */
    bool relu;
    cuda_node_term terms[CUDA_NODE_TERMS];
    void *y;       /* or NULL: not wanted */
    int64_t *sums; /* of y, y^2; or NULL */
    cuda_node_conv convs[CUDA_NODE_CONVS];
} cuda_node_forward_job;

cudaError_t pada_cuda_node_forward(cudaStream_t stream, const cuda_node_forward_job *job);

/* A convolution that read y: its gradient is formed from dy and z. */
typedef struct cuda_node_back_conv {
    int taps;
    const void *dy, *z; /* z NULL: dz = dy */
    cuda_slopes slopes;
    const void *weight; /* fragments of the transposed convolution */
    float *partial;     /* [block][weights]: cuda_weights.cu */
} cuda_node_back_conv;

/* A sum that read y as it is, pooled, or (z is y) through a batch norm. */
typedef struct cuda_node_flow {
    bool pool;
    const void *dy, *z;
    cuda_slopes slopes; /* with z */
} cuda_node_flow;

/* A batch norm among the terms of y. */
typedef struct cuda_node_norm {
    const void *z;
    int64_t *sums; /* of dy, dy z */
} cuda_node_norm;

/* The gradient of y, and what it means for the batch norms in front of it. */
typedef struct cuda_node_backward_job {
    pada_shape shape;
    int n_images, n_convs, n_flows, n_norms;
    bool relu;
    const void *y; /* with convolutions */
    cuda_node_back_conv convs[CUDA_NODE_CONVS];
    cuda_node_flow flows[CUDA_NODE_CONVS]; /* may hold dy itself; one at most has z */
    void *dy;                              /* or NULL: not stored */
    cuda_node_norm norms[CUDA_NODE_TERMS];
} cuda_node_backward_job;

cudaError_t pada_cuda_node_backward(cudaStream_t stream, const cuda_node_backward_job *job);
/* Partial sums that a launch leaves of each weight gradient. */
int pada_cuda_node_partials(pada_shape shape, int n_images);

/* ---- between stages: cuda_reduction_forward.cu, cuda_reduction_backward.cu ----
 *
 * What reads the last sum y of a stage of C channels (16 at 32x32, 32 at 16x16 pixels): a 3x3 convolution
 * with stride 2 of relu(y), and a 1x1 convolution of the 2x2 means of y; both give 2 C channels. */

/* Whether there are such kernels for y of this shape. */
bool pada_cuda_reduction_fits(pada_shape shape);
cudaError_t pada_cuda_reduction_forward_init(void);
cudaError_t pada_cuda_reduction_backward_init(void);

typedef struct cuda_reduction_forward_job {
    pada_shape shape; /* of y */
    int n_images;
    const void *y;
    cuda_node_conv strided; /* taps 9 */
    void *pooled;
    cuda_node_conv point; /* of pooled; taps 1 */
} cuda_reduction_forward_job;

cudaError_t pada_cuda_reduction_forward(cudaStream_t stream, const cuda_reduction_forward_job *job);

/* One of the two convolutions: dx and the gradient of its weights, one partial sum per image. */
typedef struct cuda_reduction_backward_job {
    pada_shape shape; /* of y */
    int n_images;
    cuda_node_back_conv conv; /* taps 9: of relu(x), with stride 2; 1: of x, which is pooled */
    const void *x;
    const void
        *pooled; /* taps 9: the gradient of the 2x2 means, which dx gets its share of; or NULL */
    void *dx;
} cuda_reduction_backward_job;

cudaError_t pada_cuda_reduction_backward(cudaStream_t stream,
                                         const cuda_reduction_backward_job *job);

/* ---- cuda_stem.cu ---- */

/* Whether it is the convolution of the images that these kernels know; bias-free, bfloat16. */
bool pada_cuda_stem_fits(const pada_conv *conv, pada_shape in);
cudaError_t pada_cuda_stem_init(void);

typedef struct cuda_stem_job {
    int n_images;
    const void *x;
    const float *weight;
    void *z;
    int64_t *sums; /* forward: of z, z^2; or NULL */
    /* backward */
    const void *dy;
    cuda_slopes slopes; /* vector 0: dz = dy */
    float *partial;     /* [image][weights] */
} cuda_stem_job;

cudaError_t pada_cuda_stem_forward(cudaStream_t stream, const cuda_stem_job *job);
cudaError_t pada_cuda_stem_backward(cudaStream_t stream, const cuda_stem_job *job);

/* ---- cuda_weights.cu ---- */

/* Weights of one convolution of a node. */
typedef struct cuda_weight_job {
    int64_t weight; /* offset of the float32 weights, and of their gradient */
    int64_t to;     /* bytes from the start of the fragments; those of the transpose come behind */
    int c_in, c_out, taps;
} cuda_weight_job;

#define CUDA_MAX_WEIGHTS 80 /* of one launch, whose arguments may have 4 KB */
typedef struct cuda_weight_jobs {
    cuda_weight_job at[CUDA_MAX_WEIGHTS];
    int n;
} cuda_weight_jobs;

/* Fragments of the weights in bfloat16, in the order in which lanes hold them. */
cudaError_t pada_cuda_pack_weights(cudaStream_t stream, const float *params,
                                   const cuda_weight_jobs *jobs, void *fragments);

typedef struct cuda_reduce_job {
    const float *partial; /* [block][weights] in the order of accumulators, or (plain) of weights */
    int64_t weight;
    int c_in, c_out, taps, blocks;
    bool plain;
    int first_block; /* of the launch; set by it */
} cuda_reduce_job;

typedef struct cuda_reduce_jobs {
    cuda_reduce_job at[CUDA_MAX_WEIGHTS];
    int n;
} cuda_reduce_jobs;

/* grads += sums over blocks. */
cudaError_t pada_cuda_reduce_weights(cudaStream_t stream, const cuda_reduce_jobs *jobs,
                                     float *grads);

/* Sums to what the general kernels and the host read: mean and 1/deviation; a, b, c of several. */
cudaError_t pada_cuda_finish_moments(cudaStream_t stream, const int64_t *sums, double epsilon,
                                     pada_shape shape, int n_images, float *mean, float *rstd);

/* What a batch norm whose sums are complete leaves behind: each is NULL where it is not wanted. */
typedef struct cuda_slope_job {
    cuda_slopes slopes;
    int channels;
    double count; /* elements of a channel */
    float *coef;
    float *grad_scale, *grad_shift; /* added to */
} cuda_slope_job;

#define CUDA_MAX_SLOPES 36 /* of one launch */
typedef struct cuda_slope_jobs {
    cuda_slope_job at[CUDA_MAX_SLOPES];
    int n;
} cuda_slope_jobs;

cudaError_t pada_cuda_finish_slopes(cudaStream_t stream, const cuda_slope_jobs *jobs);

/* ---- cuda_statistics.cu ---- */

/* A batch norm with running statistics. */
typedef struct cuda_statistics_job {
    cuda_moments moments;
    int channels;
    double count;           /* elements of a channel */
    float *mean, *variance; /* running */
} cuda_statistics_job;

#define CUDA_MAX_STATISTICS 64 /* of one launch */
typedef struct cuda_statistics_jobs {
    cuda_statistics_job at[CUDA_MAX_STATISTICS];
    int n;
} cuda_statistics_jobs;

/* Moves the running statistics by the share `momentum` towards those of the batch, which are the moments. */
cudaError_t pada_cuda_keep_statistics(cudaStream_t stream, const cuda_statistics_jobs *jobs,
                                      double momentum);
/* The moments, which are vectors (sums NULL), become the running statistics. */
cudaError_t pada_cuda_fix_norms(cudaStream_t stream, const cuda_statistics_jobs *jobs);

/* ---- cuda_head.cu, cuda_head_fused.cu ---- */

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

/* Softmax cross entropy; grad.data NULL: no gradient. weights: or NULL. loss NULL: no results. */
typedef struct cuda_loss_job {
    int classes, n_images;
    cuda_tensor logits, grad;
    const int32_t *labels;
    const float *weights;
    double smoothing, grad_scale;
    float *loss, *norm;
    int32_t *rank;
} cuda_loss_job;

cudaError_t pada_cuda_loss(cudaStream_t stream, const cuda_loss_job *job);

/* The three above and what leads from one to the next, in one launch; only what `fits`. */
typedef struct cuda_head_job {
    pada_shape in; /* of x */
    pada_act act;
    int n_images;
    cuda_tensor x, features;
    cuda_linear_job linear; /* x: features, y: logits; backward: y their gradient */
    cuda_loss_job loss;     /* forward */
    cuda_tensor dx;         /* backward */
} cuda_head_job;

bool pada_cuda_head_fits(pada_shape in, int classes);
cudaError_t pada_cuda_head_forward(cudaStream_t stream, const cuda_head_job *job);
cudaError_t pada_cuda_head_backward(cudaStream_t stream, const cuda_head_job *job);

/* ---- cuda_drop.cu ---- */

/* y (+)= mask * x over the batch. */
typedef struct cuda_drop_job {
    pada_drops drops;
    pada_drop drop;
    pada_shape shape;
    int n_images;
    cuda_tensor x, y;
    bool accumulate;
} cuda_drop_job;

cudaError_t pada_cuda_drop(cudaStream_t stream, const cuda_drop_job *job);

/* ---- cuda_align.cu ---- */

/* A tap over the batch. */
typedef struct cuda_align_job {
    pada_shape shape;
    int n_images;
    cuda_tensor x; /* data NULL: zeros */
    cuda_tensor kept, dx;
    bool accumulate;      /* add to distance, or to dx */
    double share;         /* of a squared difference in the distance */
    float *distance;      /* [n] */
    double scale;         /* of the mean distance in the loss */
    const float *weights; /* [n] further factors, or NULL */
} cuda_align_job;

cudaError_t pada_cuda_tap_keep(cudaStream_t stream, const cuda_align_job *job);
/* distance (+)= share * sum of (x - kept)^2 */
cudaError_t pada_cuda_align(cudaStream_t stream, const cuda_align_job *job);
/* dx (+)= the gradient of scale * mean over images of weight * distance */
cudaError_t pada_cuda_align_grad(cudaStream_t stream, const cuda_align_job *job);

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
cudaError_t pada_cuda_dot(cudaStream_t stream, const float *x, const float *y,
                          const cuda_ranges *ranges, double *sums);
/* One number per range. */
typedef struct cuda_shares {
    float at[CUDA_MAX_RANGES];
} cuda_shares;
/* The factors of an update, in the type they are used in. */
typedef struct cuda_factors {
    float lr, momentum, weight_decay, grad_scale;
    float decay, fresh_mean, fresh, epsilon; /* fresh: 1 - momentum, 1 - decay */
    bool nesterov;
} cuda_factors;
typedef struct cuda_update_job {
    pada_rule rule;
    float *w;
    const float *g;
    float *s0, *s1;
    cuda_factors by;
    /* ADAM: of each range, instead of by.lr, and 1 / sqrt(1 - decay^t); else not read */
    const cuda_shares *rates, *roots;
} cuda_update_job;
cudaError_t pada_cuda_update(cudaStream_t stream, const cuda_update_job *job,
                             const cuda_ranges *ranges);
/* What decides about the gradients of a step, and where it is written; sums holds n_sums squared
 * norms. */
typedef struct cuda_clip {
    const double *sums;
    int n_sums;
    double clip;
    float *record; /* NULL: not written by this launch */
} cuda_clip;
/* The update with the factor of `clip` for grad_scale. */
cudaError_t pada_cuda_clip_update(cudaStream_t stream, const cuda_update_job *job,
                                  const cuda_clip *clip, const cuda_ranges *ranges);
cudaError_t pada_cuda_copy(cudaStream_t stream, float *to, const float *from,
                           const cuda_ranges *ranges);
cudaError_t pada_cuda_axpy(cudaStream_t stream, float *y, float a, const float *x,
                           const cuda_ranges *ranges);
cudaError_t pada_cuda_blend(cudaStream_t stream, float *y, double a, const float *x,
                            const cuda_ranges *ranges);
/* shares: 1 / how many samples there are */
cudaError_t pada_cuda_welford(cudaStream_t stream, float *mean, float *spread, const float *x,
                              const cuda_ranges *ranges, const cuda_shares *shares);
/* Whether this build has code for the current device. */
cudaError_t pada_cuda_fits(void);

#ifdef __cplusplus
}
#endif
#endif
