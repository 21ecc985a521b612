/* cpu_device.h - the opened cpu backend: what preparing (cpu_backend.c) leaves for running
 * (cpu_run.c, cpu_norm.c).
 *
 * The images of a batch are cut into 1, 2, 4, 8 or 16 chunks, by a rule that knows only the batch
 * size. A thread takes a chunk and runs all instructions of the stage on it, a group of images at a
 * time, so that what one instruction writes is still in L2 when the next one reads it. What has to
 * be added up over the batch is collected per image (batch-norm sums) or per chunk (weight
 * gradients), and the sums of the chunks are added as a binary tree: results depend neither on the
 * number of threads nor on the instruction set (docs/design/0012-same-bits.md).
 *
 * Memory besides the work buffer:
 *
 *   packed     weights of the path, in the form its kernels want
 *   sums       sums over the batch that a stage makes, in double; spreads: those around the means
 *   kept       of a team: weight gradients of the pass, summed over the own chunks
 *   partials   [chunk][weight gradients of one stage, plain layout]
 *   threads    [ tensors inside a stage | kernel scratch | accumulators of one stage ] each
 */
#ifndef PADA_BACKEND_CPU_CPU_DEVICE_H
#define PADA_BACKEND_CPU_CPU_DEVICE_H

#include "backend/cpu/cpu_kernels.h"
#include "base/mem.h"
#include "base/pool.h"

/* What prepare decides about an instruction that has weights. */
typedef struct cpu_layer {
    const cpu_conv_kernel *kernel; /* NULL: linear */
    int64_t packed;                /* floats: offset in `packed` */
    int64_t weights;               /* elements of the weight tensor */
    int64_t accumulator;           /* floats: offset in a thread's accumulators (backward) */
    /* floats: offset in a chunk's partials (backward): weights, then bias */
    int64_t partial;
    int64_t kept; /* floats: offset in `kept`, likewise */
    int64_t sums; /* doubles: offset in `sums`, and of a value in `spreads` */
    bool same_x;
} cpu_layer;

/* A buffer that only grows. */
typedef struct cpu_buffer {
    float *data;
    int64_t cap; /* floats */
} cpu_buffer;

struct pada_device {
    const cpu_kernels *k;
    int n_threads;
    pada_pool *pool;
    char description[64];
    cpu_layer *layers; /* one per instruction */
    int cap_layers;
    cpu_buffer packed, partials, threads, sums, spreads;
    pada_team *team;                    /* NULL: this process has all images */
    cpu_buffer kept, incoming, outcome; /* of a team; what others send; results of images */
    int64_t kept_floats;
    int64_t thread_floats, local_floats, scratch_floats; /* of one thread's part of `threads` */
    int64_t chunk_floats;                                /* of one chunk's partials */
};

/* Floats in a cache line: parts of the buffers above start at multiples of it. */
enum { CPU_UNIT = PADA_ALIGN / (int)sizeof(float) };

static inline int64_t cpu_round_up(int64_t x, int64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

/* Floats of one number per channel; channel_floats of cpu_simd.h. */
static inline int64_t cpu_vector_floats(int channels)
{
    return cpu_round_up(channels, CPU_UNIT);
}

enum { CPU_MIN_CHUNK = 8 /* images */, CPU_MAX_CHUNKS = 16 };

/* Chunks of a batch: a power of two, as many as leave CPU_MIN_CHUNK images to each. */
static inline int cpu_chunk_count(int n_images)
{
    int n = CPU_MAX_CHUNKS;

    while (n > 1 && n_images / n < CPU_MIN_CHUNK)
        n /= 2;
    return n;
}

/* The first image of chunk k of n; of chunk n: the end. */
static inline int cpu_chunk_first(int n_images, int n, int k)
{
    return (int)((int64_t)n_images * k / n);
}

/* The part of a batch that this process works on: some chunks whose sums are one node of the tree, and their images. */
typedef struct cpu_share {
    int n_chunks, first_chunk, end_chunk;
    int n_images, first, end;
} cpu_share;

cpu_share pada_cpu_share(const pada_device *d, int n_images);
/* The first image of chunk k of the batch. */
static inline int cpu_share_chunk(const cpu_share *share, int k)
{
    return cpu_chunk_first(share->n_images, share->n_chunks, k);
}

int64_t pada_cpu_image_bytes(const pada_device *d, pada_shape shape);

/* Images in a group of a stage. */
int pada_cpu_group_size(const pada_program *q, const pada_stage *stage);

/* y (+)= mask * x of one image. */
typedef struct cpu_drop_job {
    const pada_drops *drops;
    pada_drop drop;
    int image, width; /* channels in a block of the layout */
    pada_shape shape;
    const float *x;
    float *y;
    bool accumulate;
} cpu_drop_job;

void pada_cpu_drop(const cpu_drop_job *job); /* cpu_drop.c */

/* Runs stages of a prepared program; backend.h. */
void pada_cpu_run(pada_device *d, const pada_program *q, const pada_bindings *b, int first,
                  int count);

/* cpu_norm.c: before the first stage, what forward reads of batch norms that have fixed statistics. */
void pada_cpu_set_fixed_norms(const pada_program *q, const pada_bindings *b);
/* At the end of a stage. Of a value, from the moments of the images of a share: sums, and spreads around the means
 * that the sums of the whole batch say; from both of the whole batch the statistics of its batch norms. A number per
 * channel. */
void pada_cpu_add_moments(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                          const cpu_share *share, double *sums);
void pada_cpu_add_spreads(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                          const cpu_share *share, const double *sums, double *spreads);
void pada_cpu_finish_moments(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                             int n_images, const double *sums, const double *spreads);
/* Of a sum, from those of NORM_SUMS: sums, of dy and for each of its batch norms of dy (x - mean); from those of the
 * whole batch the coefficients dx = a dy + b x + c of its batch norms, and the gradients of their scales and shifts. */
void pada_cpu_add_norm_sums(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                            const cpu_share *share, double *sums);
void pada_cpu_finish_norm_sums(const pada_program *q, const pada_bindings *b,
                               const pada_instr *instr, int n_images, const double *sums);

/* cpu_sums.c: doubles that an instruction has in `sums`; whether it collects a gradient of weights; what is added up at
 * the end of a stage, and at the end of a pass of a team. */
int64_t pada_cpu_count_sums(const pada_program *q, const pada_instr *instr);
bool pada_cpu_is_layer_grad(const pada_instr *instr);
void pada_cpu_finish_stage(pada_device *d, const pada_program *q, const pada_bindings *b,
                           const pada_stage *stage, const cpu_share *share);
void pada_cpu_finish_backward(pada_device *d, const pada_program *q, const pada_bindings *b,
                              const cpu_share *share);

/* cpu_team.c: backend.h. */
pada_status pada_cpu_divide(pada_device *d, pada_team *team);
void pada_cpu_share_of(const pada_device *d, int n_images, int *first, int *end);
pada_status pada_cpu_finish(pada_device *d);
/* Finish the tree above the own share: of n numbers, everybody has the sums of the whole batch. */
void pada_cpu_join_doubles(pada_device *d, const cpu_share *share, double *sums, int64_t n);
void pada_cpu_join_floats(pada_device *d, const cpu_share *share, float *sums, int64_t n);
/* Everybody gets what the images of everybody have given. */
void pada_cpu_join_results(pada_device *d, const pada_program *q, const pada_bindings *b);

/* Vector operations on ranges of parameter-shaped buffers; backend.h. */
void pada_cpu_fill_zero(pada_device *d, void *x, const pada_range *ranges, int n);
void pada_cpu_sum_squares(pada_device *d, const void *x, const pada_range *ranges, int n,
                          double *sums);
void pada_cpu_dot(pada_device *d, const void *x, const void *y, const pada_range *ranges, int n,
                  double *sums);
void pada_cpu_update(pada_device *d, const pada_update_buffers *buffers,
                     const pada_update_ranges *ranges, const pada_update *update);
void pada_cpu_copy(pada_device *d, void *to, const void *from, const pada_range *ranges, int n);
void pada_cpu_axpy(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                   int n);
void pada_cpu_blend(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                    int n);
void pada_cpu_welford(pada_device *d, void *mean, void *spread, const void *x,
                      const pada_range *ranges, const int64_t *counts, int n);

#endif
