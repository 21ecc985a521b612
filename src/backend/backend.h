/* backend.h - what a backend is given to run, and what it must be able to do.
 *
 * A program is the plan of one path for one batch size: instructions grouped into stages. Inside a
 * stage every instruction works on one image at a time and needs nothing from other images, so a
 * backend may run the whole stage image by image (the CPU, whose caches then hold the image) or
 * instruction by instruction over the batch. Between stages stand the reductions over the batch:
 * batch-norm statistics, their gradients and weight gradients. A backend finishes them at the end
 * of the stage that collects them, in an order that does not depend on threads.
 *
 *   work buffer   [ tensors of the batch, reusing places | channel statistics | partial sums ]
 *   scratch       tensors that live inside one stage, one image per thread; owned by the backend
 *   taps          what the taps of one program keep for another one of as many images
 */
#ifndef PADA_BACKEND_BACKEND_H
#define PADA_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "op/op.h"
#include "tensor/params.h"
#include "tensor/pick.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_code {
    PADA_CODE_CONV_FWD,    /* z = conv(act(x)) + bias */
    PADA_CODE_COMBINE_FWD, /* y = sum of terms */
    PADA_CODE_GAP_FWD,
    PADA_CODE_LINEAR_FWD,
    PADA_CODE_LOSS_FWD, /* per-image results and, in training, the gradient of the logits */
    /* of a tap: x goes into the taps buffer; or its mean squared distance from what is there, over
     * the number of taps, into the results */
    PADA_CODE_TAP_KEEP,
    PADA_CODE_ALIGN_FWD,
    PADA_CODE_LINEAR_BWD,
    PADA_CODE_GAP_BWD,
    /* of a combine whose gradient is complete, or of a probe of it: sum(dy), and sum(dy * (x - mean))
     * per term */
    PADA_CODE_NORM_SUMS,
    PADA_CODE_COMBINE_BWD, /* gradients of the terms that are not left to CONV_BWD */
    PADA_CODE_CONV_BWD,    /* weight gradient, and the gradient of x through the activation */
    PADA_CODE_ALIGN_BWD,   /* of a tap: bindings.align times the gradient of the distance */
} pada_code;

/* Where a tensor lives. */
typedef struct pada_place {
    enum { PADA_NOWHERE, PADA_WORK, PADA_LOCAL, PADA_TAPS } in;
    /* bytes, from the start of the work buffer, of a thread's scratch or of the taps buffer */
    int64_t offset;
    int64_t image_bytes; /* WORK, TAPS: image n starts at offset + n * image_bytes */
} pada_place;

/* What a program adds to a term of a combine. */
typedef struct pada_term_plan {
    /* BATCHNORM: dx = a dy + b x + c; offset of a, b, c, one channel vector each */
    int64_t coef;
    bool lazy;       /* the gradient is formed by the CONV_BWD that made x, not by COMBINE_BWD */
    bool accumulate; /* COMBINE_BWD adds to the gradient of x instead of storing it */
} pada_term_plan;

/* What a program adds to a node. */
typedef struct pada_node_plan {
    pada_place value, grad; /* of a tap, value is what was kept */
    int64_t stats; /* offset of mean and 1/deviation, one channel vector each; -1: not needed */
} pada_node_plan;

typedef struct pada_instr {
    pada_code code;
    pada_value v; /* the node it belongs to */
    bool stats;   /* FWD: also collect the moments of v */
    /* COMBINE_BWD: the pass over the BATCHNORM terms (one stage later than the others) */
    bool norms;
    /* CONV_BWD, GAP_BWD, LINEAR_BWD, ALIGN_BWD: add to the gradient of x. ALIGN_FWD: to the result */
    bool accumulate;
    bool no_grad_in; /* CONV_BWD: x needs no gradient */
    /* CONV_BWD: the node whose gradient is read; v itself, or the combine that v feeds. NORM_SUMS: v,
     * or the combine that v probes */
    pada_value dy;
    /* CONV_BWD: the term of dy through which v feeds it, with coef; -1: the gradient as it is.
     * COMBINE_BWD: the one term it is for; -1: all */
    int term;
    /* offset of per-image sums, in a part of the work buffer that every stage reuses */
    int64_t partial;
} pada_instr;

typedef struct pada_stage {
    int first, count; /* instructions */
} pada_stage;

typedef struct pada_program {
    const pada_node *nodes; /* the graph */
    const pada_term *terms;
    pada_node_plan *node_plans; /* one per node */
    pada_term_plan *term_plans; /* one per term */
    pada_instr *instrs;
    pada_stage *stages;
    int n_nodes, n_terms, n_instrs;
    int n_forward, n_stages; /* stages: the first n_forward run forward, the others backward */
    int n_images, n_taps;
    int64_t work_bytes, local_bytes, taps_bytes;
    /* where the coefficients of the terms of probes lie side by side: offset in the work buffer, and bytes */
    int64_t probes, probes_bytes;
} pada_program;

/* Per-image results of the loss, `n_images` each, in the backend's element type. */
typedef struct pada_results {
    void *loss; /* -log p(label) */
    void *norm; /* ||p - onehot||_2 */
    /* how many classes score higher than the label; ties count for lower class numbers */
    int32_t *rank;
    void *align; /* mean squared distance from what was kept, over taps and elements; written only
                  * where a program compares */
} pada_results;

/* Images that a backend is to hold, as bytes. Borrowed during the call. */
typedef struct pada_image_set {
    int n;
    pada_shape shape;
    const float *levels; /* [c, 256] the number that each byte stands for */
    const uint8_t *(*image)(const void *owner, int i); /* [c, h, w] */
    const void *owner;
} pada_image_set;

/* The buffers of one run, in memory of the backend; the batch is in memory of the host. It stays
 * as it is until the last stage has run: a backend reads it in place, or copies it when stage 0
 * runs. */
typedef struct pada_bindings {
    const void *params;
    void *grads; /* weight gradients are added to it */
    void *work;
    const float *images;    /* [n, c, h, w]; NULL: picks from `held` */
    const void *held;       /* of `hold` */
    const pada_pick *picks; /* [n] */
    const int32_t *labels;  /* [n]; checked by the caller */
    const float *weights;   /* [n] factors of the per-image losses in the gradient, or NULL */
    /* further factor of the gradient; the mean over the batch is always taken */
    double grad_scale;
    void *taps;   /* taps_bytes: what taps keep, or are compared with */
    double align; /* factor of results.align in the loss of an image, before the two above */
    pada_results results;
} pada_bindings;

typedef struct pada_sgd_step {
    double lr, momentum, weight_decay;
    bool nesterov;
    double grad_scale; /* from clipping; 1 when not clipped */
} pada_sgd_step;

/* For clip_sgd: `step.grad_scale` is not used, `clip` is the largest norm or 0. */
typedef struct pada_clip_step {
    pada_sgd_step step;
    double clip;
    const pada_range *active, *moved;
    int n_active, n_moved;
} pada_clip_step;

/* a backend that was opened; each backend defines its own */
typedef struct pada_device pada_device;

typedef struct pada_backend {
    const char *name;
    const char *summary;
    pada_dtype dtype; /* of parameters, their gradients, results; and of activations */
    bool half;        /* activations and their gradients are bfloat16, but for single pixels */
    /* Contributions to a gradient are to stand together in the stage where it is complete, one
     * COMBINE_BWD per term: plan.c. */
    bool gather;
    bool plans_only; /* computes nothing: results mean nothing */
    /* Networks evaluated side by side, each with a device of its own, that fill it; 0: one does. */
    int in_flight;

    /* Whether this machine has what the backend runs on, at little cost; NULL: it always has. */
    bool (*present)(void);
    /* Opens the backend with this many threads (0: the machine's default). What it needs and does
     * not find is PADA_EDEVICE. */
    pada_status (*open)(pada_device **out, int n_threads);
    void (*close)(pada_device *device);
    const char *(*describe)(const pada_device *device); /* e.g. "avx512, 2 threads"; borrowed */
    /* Waits for all that was asked for. A backend may work behind the caller's back; a failure there
     * stays with the device and is returned here and by alloc and prepare. NULL: every call is over
     * when it returns. */
    pada_status (*finish)(pada_device *device);

    /* Zeroed memory of the backend, and copies. Counts are elements of dtype, converted from and to
     * double. */
    pada_status (*alloc)(pada_device *device, void **out, int64_t bytes);
    void (*release)(pada_device *device, void *memory);
    void (*write)(pada_device *device, void *buffer, pada_range range, const double *from);
    void (*read)(pada_device *device, const void *buffer, pada_range range, double *to);
    void (*read_i32)(pada_device *device, const int32_t *buffer, pada_range range, int32_t *to);

    /* Layout: bytes of one image of a tensor, and of one value per channel. Multiples of
     * PADA_ALIGN. */
    int64_t (*image_bytes)(const pada_device *device, pada_shape shape);
    int64_t (*channel_bytes)(const pada_device *device, int channels);
    /* Copies one tensor of n images between the layout and plain [n, c, h, w] doubles. */
    void (*unpack)(pada_device *device, const void *tensor, int64_t n, pada_shape shape,
                   double *to);
    void (*pack)(pada_device *device, void *tensor, int64_t n, pada_shape shape,
                 const double *from);

    /* Takes images into the memory of the backend, so that a batch need not bring its own; given back
     * by `release`. NULL: every batch brings its images. */
    pada_status (*hold)(pada_device *device, void **out, const pada_image_set *set);

    /* Chooses kernels and makes room; allocates only when a program is larger than all before it.
     */
    pada_status (*prepare)(pada_device *device, const pada_program *program);
    /* Runs the stages [first, first + count) of the program prepared last. */
    void (*run)(pada_device *device, const pada_program *program, const pada_bindings *bindings,
                int first, int count);

    /* Multiply-adds a second that the device reaches in registers alone, measured now; NULL: not
     * known. */
    double (*peak_macs)(pada_device *device);

    /* Vector operations on ranges of parameter-shaped buffers. Sums are taken in a fixed order. */
    void (*fill_zero)(pada_device *device, void *x, const pada_range *ranges, int n);
    void (*sum_squares)(pada_device *device, const void *x, const pada_range *ranges, int n,
                        double *sums);
    /* The inner product of x and y, range by range. */
    void (*dot)(pada_device *device, const void *x, const void *y, const pada_range *ranges, int n,
                double *sums);
    void (*sgd)(pada_device *device, void *w, const void *g, void *v, const pada_range *ranges,
                int n, const pada_sgd_step *step);
    /* A whole step without the host. record[0] becomes the norm of the active ranges of g, record[1] the
     * clip factor, record[2 + k] the norm of active range k; the ranges `moved` get the step with that
     * factor for grad_scale, unless the norm is not finite. NULL: the backend has none. */
    void (*clip_sgd)(pada_device *device, void *w, const void *g, void *v,
                     const pada_clip_step *step, void *record);
    void (*copy)(pada_device *device, void *to, const void *from, const pada_range *ranges, int n);
    void (*axpy)(pada_device *device, void *y, double a, const void *x, const pada_range *ranges,
                 int n);
    /* Running mean and sum of squared deviations (Welford): x is the counts[k]-th sample of range
     * k; mean and spread start as zeros. */
    void (*welford)(pada_device *device, void *mean, void *spread, const void *x,
                    const pada_range *ranges, const int64_t *counts, int n);
} pada_backend;

/* Finds a backend by name ("auto": the fastest one here); an unknown one offers the nearest name.
 */
pada_status pada_backend_find(const pada_backend **out, const char *name);
/* backend->finish, where there is one. */
pada_status pada_backend_finish(const pada_backend *backend, pada_device *device);
/* backend->in_flight, at least 1. */
int pada_backend_in_flight(const pada_backend *backend);
/* What it computes with: "float32", "float64", "bfloat16". */
const char *pada_backend_precision(const pada_backend *backend);
int pada_backend_count(void);
const pada_backend *pada_backend_get(int i);

#ifdef __cplusplus
}
#endif
#endif
