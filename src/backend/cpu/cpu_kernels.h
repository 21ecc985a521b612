/* cpu_kernels.h - the kernels of one instruction set, as the CPU backend sees them.
 *
 * A kernel works on a few images at a time, called a group, chosen so that a tensor of the group
 * fits L2 several times over. Tensors are in the layout of cpu_simd.h; strides count floats between
 * images. */
#ifndef PADA_BACKEND_CPU_CPU_KERNELS_H
#define PADA_BACKEND_CPU_CPU_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

/* The activations that kernels know: activate and activate_grad of cpu_prepare.h. */
#define CPU_ACTS (PADA_ONE(PADA_ACT_NONE) | PADA_ONE(PADA_ACT_RELU) | PADA_ONE(PADA_ACT_RELU6))
/* And the terms of sums: cpu_combine.c. */
#define CPU_TERMS \
    (PADA_ONE(PADA_TERM_IDENTITY) | PADA_ONE(PADA_TERM_BATCHNORM) | PADA_ONE(PADA_TERM_AVGPOOL))

#define CPU_DROPS (PADA_ONE(PADA_DROP_ELEMENTS) | PADA_ONE(PADA_DROP_IMAGES)) /* cpu_drop.c */
#define CPU_POOLS (PADA_ONE(PADA_POOL_AVG) | PADA_ONE(PADA_POOL_MAX))         /* cpu_pool.c */

/* A tensor of a group of images. */
typedef struct cpu_tensor {
    float *data;
    int64_t stride;
} cpu_tensor;

/* One convolution on a group. */
typedef struct cpu_conv_job {
    const pada_conv *conv;
    pada_shape in, out;
    int n_images;
    bool planar; /* x is [c, h, w] without blocks: images of the data set */
    /* the scratch still holds this x, prepared by the same kernel for the same activation */
    bool same_x;
    cpu_tensor x, z;     /* z: written forward; read backward where coef is set */
    const float *weight; /* packed for the direction */
    const float *bias;   /* plain, or NULL */
    /* backward */
    cpu_tensor dy;
    const float *coef;  /* dz = a dy + b z + c, one vector each per channel; NULL: dz = dy */
    cpu_tensor dx;      /* data NULL: not wanted */
    bool accumulate;    /* add to dx */
    float *grad_weight; /* the thread's accumulators, in the kernel's own form; added to */
    float *grad_bias;   /* [out.c padded], added to, or NULL */
    float *scratch;
} cpu_conv_job;

/* One way to compute a convolution. */
typedef struct cpu_conv_kernel {
    const char *name;
    bool (*fits)(const pada_conv *conv, bool planar);
    /* Floats of: packed weights, weight-gradient accumulators, scratch for a group. */
    int64_t (*weight_floats)(const pada_conv *conv, bool backward);
    int64_t (*accumulator_floats)(const pada_conv *conv);
    int64_t (*scratch_floats)(const pada_conv *conv, pada_shape in, pada_shape out, int n_images);
    void (*pack)(const pada_conv *conv, const float *weight, bool backward, float *packed);
    void (*forward)(const cpu_conv_job *job);
    void (*backward)(const cpu_conv_job *job);
    /* Turns accumulators into gradients in the layout of the parameters. */
    void (*unpack_grad)(const pada_conv *conv, const float *accumulators, float *grad);
} cpu_conv_kernel;

/* A term of a combine, on a group. */
typedef struct cpu_term {
    pada_term_kind kind;
    pada_pool pool;
    pada_shape in;
    cpu_tensor x; /* forward, and backward of batch norm */
    /* BATCHNORM: y = (x - mean) factor + shift; shift: plain, or NULL */
    const float *mean, *factor, *shift;
    cpu_tensor dx;
    const float *coef;
    bool accumulate;
} cpu_term;

/* A pool of one image. */
typedef struct cpu_pool_job {
    pada_pool pool;
    pada_pool_kind kind;
    pada_act act;
    pada_shape in, out;
    const float *x;
    float *y;
    /* backward */
    const float *dy;
    float *dx;
    bool accumulate;
} cpu_pool_job;

/* A gate of one image; s has one pixel. */
typedef struct cpu_gate_job {
    pada_act act;
    pada_shape shape;
    const float *x, *s;
    float *y;
    /* backward */
    const float *dy;
    float *dx, *ds;
    bool add_x, add_s; /* to what is there */
} cpu_gate_job;

#define CPU_MAX_TERMS 16 /* of one combine */

typedef struct cpu_kernels {
    const char *name;
    int width; /* channels in a vector */
    /* best first, NULL-terminated; what none of them fits is refused */
    const cpu_conv_kernel *const *convs;

    void (*combine)(const cpu_term *terms, int n_terms, pada_shape shape, int n_images,
                    cpu_tensor y, float *scratch);
    void (*combine_grad)(const cpu_term *terms, int n_terms, pada_shape shape, int n_images,
                         cpu_tensor dy, float *scratch);
    void (*pool)(const cpu_pool_job *job);
    void (*pool_grad)(const cpu_pool_job *job);
    void (*gate)(const cpu_gate_job *job);
    void (*gate_grad)(const cpu_gate_job *job);
    /* Of one image, channels [first, first + n) of y = those of x. What y has besides is written by
     * others, who may come before: lanes of x that are padding are left out. */
    void (*join)(const float *x, int n, pada_shape shape, int first, float *y);
    /* The other way round: dx (+)= channels [first, first + n) of dy; padding of dx becomes zero. */
    void (*part)(const float *dy, pada_shape shape, int first, int n, bool accumulate, float *dx);
    /* Of one image: every pixel gets the `values`, one per channel; sums[c] += the sum over the pixels. */
    void (*spread)(const float *values, pada_shape shape, float *y);
    void (*add_pixels)(const float *x, pada_shape shape, float *sums);
    /* Moments of one image: a shift k, sum(x - k) and sum((x - k)^2), one vector per channel block
     * each. */
    void (*moments)(const float *x, pada_shape shape, float *partial);
    /* Of one image: sum(dy), then sum(dy (x - mean)) for each of the n batch-norm terms. */
    void (*norm_sums)(const float *dy, const float *const *x, const float *const *mean, int n,
                      pada_shape shape, float *partial);
    void (*gap)(const float *x, pada_shape shape, pada_act act, float *features);
    void (*gap_grad)(const float *x, pada_shape shape, pada_act act, const float *grad_features,
                     bool accumulate, float *dx);
    /* layout: [c, h, w] doubles <-> blocks of one image */
    void (*pack)(const double *from, pada_shape shape, float *to);
    void (*unpack)(const float *from, pada_shape shape, double *to);
    /* n elements; the sum is in double */
    double (*dot)(const float *x, const float *y, int64_t n);
    /* sum of (x - y)^2 over an image, in double; x NULL: zeros */
    double (*distance)(const float *x, const float *y, pada_shape shape);
    /* to = factor (x - y), or to += that */
    void (*scaled_difference)(const float *x, const float *y, int64_t n, float factor,
                              bool accumulate, float *to);
    /* the t-th update of a range of n weights */
    void (*update)(float *w, const float *g, float *s0, float *s1, int64_t n, int64_t t,
                   const pada_update *update);
    /* Multiply-adds in registers, `rounds` times as many as keep all units busy; returns how many
     * that were. */
    int64_t (*spin)(int64_t rounds);
} cpu_kernels;

/* Those of CPU_SETS (cpu_backend.c) that the compiler can make. */
extern const cpu_kernels pada_cpu_kernels_avx512, pada_cpu_kernels_avx2, pada_cpu_kernels_fma,
    pada_cpu_kernels_plain;

#endif
