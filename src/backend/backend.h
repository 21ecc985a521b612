/* backend.h - what a backend must be able to do: memory, layout, running programs (program.h), and
 * vector operations on parameter-shaped buffers. */
#ifndef PADA_BACKEND_BACKEND_H
#define PADA_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/drop.h"
#include "backend/program.h"
#include "backend/update.h"
#include "base/status.h"
#include "dist/team.h"
#include "tensor/params.h"
#include "tensor/pick.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Per-image results of the loss, `n_images` each, in the backend's element type. */
typedef struct pada_results {
    void *loss; /* -sum of target(c) log p(c) */
    void *norm; /* ||p - target||_2 */
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
    /* Running mean and variance of batch norms (pada_norm). A program without fixed_norms moves them by the share
     * `momentum` towards mean and unbiased variance of the batch; NULL: there are none. */
    void *statistics;
    double momentum;
    void *work;
    const float *images;    /* [n, c, h, w]; NULL: picks from `held` */
    const void *held;       /* of `hold` */
    const pada_pick *picks; /* [n] */
    const int32_t *labels;  /* [n]; checked by the caller */
    const float *weights;   /* [n] factors of the per-image losses in the gradient, or NULL */
    /* further factor of the gradient; the mean over the batch is always taken */
    double grad_scale;
    pada_drops drops; /* of a program with drops */
    void *taps;       /* taps_bytes: what taps keep, or are compared with */
    double align;     /* factor of results.align in the loss of an image, before the two above */
    pada_results results;
} pada_bindings;

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
    /* For a thread that did not open the device and is to use it. NULL: there is nothing to do. */
    pada_status (*adopt)(pada_device *device);
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
    void (*write_i32)(pada_device *device, int32_t *buffer, pada_range range, const int32_t *from);
    /* Copies ranges, one behind the other, as elements of dtype. */
    void (*read_raw)(pada_device *device, const void *buffer, const pada_range *ranges, int n,
                     void *to);
    void (*write_raw)(pada_device *device, void *buffer, const pada_range *ranges, int n,
                      const void *from);

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

    /* From now on the images of every batch are divided among the processes of a team, which run the same programs on
     * the same batches, in the same order: each on its share of the images, of which sums are exchanged. What a
     * program leaves (results, gradients, statistics) is the same everywhere, and the same bits as without a team;
     * tensors are there for the own share only. A failure of the team stays with the device (`finish`). `team` NULL
     * ends it. A size that images cannot be divided by is PADA_EUNSUPPORTED. NULL: the backend cannot. */
    pada_status (*divide)(pada_device *device, pada_team *team);
    /* The images [*first, *end) of a batch of n that this process works on; it reads no others. */
    void (*share)(const pada_device *device, int n_images, int *first, int *end);

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
    /* Moves weights by a rule of update.h. */
    void (*update)(pada_device *device, const pada_update_buffers *buffers,
                   const pada_update_ranges *ranges, const pada_update *update);
    /* A whole step without the host. record[0] becomes the norm of the active ranges of the gradients,
     * record[1] the clip factor, record[2 + k] the norm of active range k; the ranges `moved` get the
     * update with that factor for grad_scale, unless the norm is not finite. NULL: the backend has
     * none. */
    void (*clip_update)(pada_device *device, const pada_update_buffers *buffers,
                        const pada_clip_step *step, void *record);
    void (*copy)(pada_device *device, void *to, const void *from, const pada_range *ranges, int n);
    void (*axpy)(pada_device *device, void *y, double a, const void *x, const pada_range *ranges,
                 int n);
    /* y = a y + (1 - a) x */
    void (*blend)(pada_device *device, void *y, double a, const void *x, const pada_range *ranges,
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
