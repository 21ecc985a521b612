/* cuda_level.h - kernels that run a level: all operators of one kind whose operands are ready, in one launch.
 *
 * Chains and cells of depthwise and pointwise convolutions have many small operators between two batch norms. A launch
 * takes a table of jobs, one for each operator, and its blocks are divided among them. Tensors are bfloat16, [n, h, w, c],
 * with an even number of channels. What stands between two operators is done where values are read and written:
 *
 *   - a batch norm and an activation are applied to what is read (cuda_view), so that a sum of one batch norm is
 *     never stored;
 *   - the gradient behind a batch norm is formed where it is read (cuda_gradient);
 *   - the slope of an activation, earlier contributions to a gradient, and the sums over the batch that a batch norm needs
 *     of a result belong to the kernel that makes it (cuda_result). The last block of a job turns the sums into what
 *     general kernels read: mean and 1/deviation, or the coefficients of a gradient.
 *
 * Sums over the batch are in fixed point (cuda_mma.cuh); they are zero before. How many blocks a job has depends on
 * sizes alone, its own and those of the level. Design note 0025. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_H
#define PADA_BACKEND_CUDA_CUDA_LEVEL_H

#include "backend/cuda/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* act(norm(x)): what an operator reads. */
typedef struct cuda_view {
    const void *data; /* NULL: there is none */
    int64_t image;    /* elements from one image to the next */
    int pitch;        /* and from one pixel to the next */
    pada_act act;
    /* (x - mean) rstd scale + shift; mean NULL: x as it is; scale, shift NULL: 1, 0 */
    const float *mean, *rstd, *scale, *shift;
} cuda_view;

/* dz = a dy + b z + c; or (z NULL) dy. */
typedef struct cuda_gradient {
    const void *dy, *z;
    int64_t dy_image, z_image;
    int dy_pitch, z_pitch;
    const float *coef;
    int64_t vector; /* floats from a to b to c */
} cuda_gradient;

/* Two sums of every channel of a result u, and what becomes of them. */
typedef struct cuda_finish {
    int64_t *sums; /* cuda_sums_count */
    double count;  /* elements of a channel */
    double epsilon;
    float *mean, *rstd;
    /* z NULL: moments, of u and u^2: mean and rstd are written. Else u is the gradient of a batch norm of z, the sums are
     * of u and u z: mean and rstd are read, the coefficients written, gradients of scale and shift added to */
    const void *z;
    int64_t z_image;
    const float *scale;             /* NULL: 1 */
    float *grad_scale, *grad_shift; /* NULL: not wanted */
    float *coef;
    int64_t vector;
} cuda_finish;

enum { CUDA_FINISHES = 2 };

/* Where results go. */
typedef struct cuda_result {
    void *data;
    int64_t image;
    int pitch;
    bool accumulate; /* add to what is there */
    int n_finishes;
    cuda_view at; /* with data: times the slope of its activation there, before adding */
    cuda_finish finishes[CUDA_FINISHES];
} cuda_result;

/* What the launch of a dense convolution works out once for all blocks. */
typedef struct cuda_dense_hints {
    unsigned plane, width; /* factors for divisions by pixels of an image and of a row */
    bool joined_in : 1, joined_out : 1; /* all pixels that are read, or written, lie in one piece */
    bool wide_in : 1, wide_x : 1, wide_to : 1; /* a lane's channels can be moved at once */
    unsigned char rows;                        /* of a tile (cuda_level_dense_joined.cu), .. */
    short columns;                             /* .. and its channels */
} cuda_dense_hints;

/* A convolution. Forward, `to` is its output; backward, `to` is the gradient of x, and `partial` gets that of the weights. */
typedef struct cuda_level_conv {
    pada_conv conv;
    pada_shape in, out;
    int n_images;
    cuda_view x;          /* forward; gradients of weights */
    cuda_gradient dz;     /* backward */
    const float *weight;  /* depthwise: [c, k, k] */
    const void *fragment; /* dense: bfloat16, see pada_cuda_dense_pack */
    float *partial;       /* [split][weights] */
    int splits;
    cuda_dense_hints hints; /* dense: set by the launch */
    cuda_result to;
} cuda_level_conv;

enum { CUDA_LEVEL_CONVS = 7 /* of one launch, whose arguments may have 4 KB */ };

typedef struct cuda_level_convs {
    int n;
    cuda_level_conv at[CUDA_LEVEL_CONVS];
    int first[CUDA_LEVEL_CONVS + 1]; /* blocks; set by the launch */
    bool beside; /* the launch in front of this one is of the same level: cuda_launch.cuh */
} cuda_level_convs;

/* ---- cuda_level_depth.cu: kernels of 3, 5, 7, stride and dilation of 1 or 2, any padding ---- */

bool pada_cuda_level_depth_fits(const pada_conv *conv);
cudaError_t pada_cuda_level_depth_forward(cudaStream_t stream, const cuda_level_convs *jobs);
/* Both gradients: of x (to.data NULL: not wanted) and, as partial sums, of the weights. */
cudaError_t pada_cuda_level_depth_back(cudaStream_t stream, const cuda_level_convs *jobs);
/* Into how many partial sums the gradient of the weights is divided, by a job that has this share, 0 to 1, of the blocks
 * of a launch. */
int pada_cuda_level_depth_splits(const pada_conv *conv, pada_shape in, int n_images, double share);

/* ---- cuda_level_dense.cu: dense ones on tensor cores, of any kernel, stride, dilation and offset ----
 *
 * Outputs have moments, or no sums; nothing is there before. Sums over gradients are those of batch norms. */

bool pada_cuda_level_dense_fits(const pada_conv *conv);
cudaError_t pada_cuda_level_dense_forward(cudaStream_t stream, const cuda_level_convs *jobs);
cudaError_t pada_cuda_level_dense_grad_in(cudaStream_t stream, const cuda_level_convs *jobs);
cudaError_t pada_cuda_level_dense_weights(cudaStream_t stream, const cuda_level_convs *jobs);
int pada_cuda_level_dense_splits(const pada_conv *conv, pada_shape out, int n_images, double share);

/* Weights as the products want them (cuda_level_dense_pack.cu). The transposed ones, for gradients, come behind. */
int64_t pada_cuda_dense_pack_bytes(const pada_conv *conv);
/* Bytes before the transposed ones. */
int64_t pada_cuda_dense_pack_half(const pada_conv *conv);

typedef struct cuda_dense_pack {
    int64_t weight, to; /* floats, bytes */
    int c_in, c_out, taps, lane_channels;
} cuda_dense_pack;

#define CUDA_MAX_PACKS 100 /* of one launch */
typedef struct cuda_dense_packs {
    int n;
    cuda_dense_pack at[CUDA_MAX_PACKS];
} cuda_dense_packs;

cuda_dense_pack pada_cuda_dense_pack_job(const pada_conv *conv, int64_t weight, int64_t to);
cudaError_t pada_cuda_dense_pack(cudaStream_t stream, const float *params,
                                 const cuda_dense_packs *jobs, void *fragments);

/* ---- cuda_level_sum.cu: sums, which are also how gradients flow through sums and concatenations ---- */

/* One summand: x by its view (IDENTITY, BATCHNORM: whether the view has a norm; AVGPOOL: the mean over a window), or a
 * gradient (x without data). A backward AVGPOOL spreads the gradient of means. */
typedef struct cuda_level_term {
    cuda_view x;
    cuda_gradient dz;
    bool pooled; /* with x: the mean over a window of it; with dz: its transpose */
    pada_pool pool;
    pada_shape from; /* pooled: of x, or of the means */
} cuda_level_term;

enum { CUDA_LEVEL_TERMS = 4, CUDA_LEVEL_SUMS = 4 };

typedef struct cuda_level_sum {
    pada_shape shape;
    int n_images, n_terms;
    cuda_level_term terms[CUDA_LEVEL_TERMS];
    cuda_result to;
} cuda_level_sum;

typedef struct cuda_level_sums {
    int n;
    cuda_level_sum at[CUDA_LEVEL_SUMS];
    int first[CUDA_LEVEL_SUMS + 1];
    bool beside;
} cuda_level_sums;

cudaError_t pada_cuda_level_sum(cudaStream_t stream, const cuda_level_sums *jobs);

/* ---- cuda_level_pool.cu: pools that are nodes ---- */

typedef struct cuda_level_pool {
    pada_pool pool;
    pada_pool_kind kind;
    pada_shape in, out;
    int n_images;
    cuda_view x;      /* forward; backward: MAX */
    cuda_gradient dz; /* backward: dy alone */
    cuda_result to;   /* forward: y; backward: the gradient of x */
} cuda_level_pool;

enum { CUDA_LEVEL_POOLS = 7 };

typedef struct cuda_level_pools {
    int n;
    cuda_level_pool at[CUDA_LEVEL_POOLS];
    int first[CUDA_LEVEL_POOLS + 1];
    bool beside;
} cuda_level_pools;

cudaError_t pada_cuda_level_pool_forward(cudaStream_t stream, const cuda_level_pools *jobs);
cudaError_t pada_cuda_level_pool_grad(cudaStream_t stream, const cuda_level_pools *jobs);

#ifdef __cplusplus
}
#endif
#endif
