/* cuda_run.h - one run of a program: what cuda_run.c and cuda_run_node.c share. */
#ifndef PADA_BACKEND_CUDA_CUDA_RUN_H
#define PADA_BACKEND_CUDA_CUDA_RUN_H

#include "backend/cuda/cuda_device.h"

typedef struct cuda_run {
    pada_device *d;
    const pada_program *q;
    const pada_bindings *b;
} cuda_run;

static inline void cuda_run_note(const cuda_run *r, cudaError_t error, const char *what)
{
    cuda_note(&r->d->failure, error, what);
}

static inline float *work_at(const cuda_run *r, int64_t offset)
{
    return (float *)((char *)r->b->work + offset);
}

/* A tensor of the parameters; NULL: there is none. */
static inline const float *params_at(const cuda_run *r, int64_t offset)
{
    return offset >= 0 ? (const float *)r->b->params + offset : NULL;
}

/* Floats from one channel vector to the next. */
static inline int64_t vector_of(const pada_node *node)
{
    return cuda_channel_bytes(node->shape.c) / (int64_t)sizeof(float);
}

cuda_tensor pada_cuda_value(const cuda_run *r, pada_value v);
cuda_tensor pada_cuda_grad(const cuda_run *r, pada_value v);

/* ---- cuda_run_statistics.c ---- */

/* Before the first stage, and behind the last one of the forward part. */
void pada_cuda_begin_statistics(const cuda_run *r);
void pada_cuda_end_statistics(const cuda_run *r);

/* ---- cuda_run_node.c ---- */

/* What batch norm t is normalised by: sums where a node kernel makes them, else mean and 1/deviation, which are of the
 * batch or fixed. */
cuda_moments pada_cuda_moments_of(const cuda_run *r, int t);

/* Before the stages [first, first + count): zeroes sums, brings weights into the order of fragments. */
void pada_cuda_begin_nodes(const cuda_run *r, int first, int count);
void pada_cuda_run_node_forward(const cuda_run *r, const cuda_step *step);
/* The moments of a value that a general kernel has made. */
void pada_cuda_run_sums(const cuda_run *r, pada_value v);
void pada_cuda_run_node_backward(const cuda_run *r, const cuda_step *step);
void pada_cuda_run_reduction_forward(const cuda_run *r, const cuda_step *step);
void pada_cuda_run_reduction_backward(const cuda_run *r, const cuda_step *step);
void pada_cuda_run_stem(const cuda_run *r, const cuda_step *step); /* either direction */
/* Behind the last stage: what the host reads of probes, and the gradients of scales and shifts. */
void pada_cuda_finish_norms(const cuda_run *r);
/* Adds up the weight gradients of one batch of partial sums. */
void pada_cuda_add_up(const cuda_run *r, int batch);

/* ---- cuda_run_level.c ---- */

void pada_cuda_run_level(const cuda_run *r, const cuda_step *step);
/* Weights as the products of levels want them. */
void pada_cuda_pack_level_weights(const cuda_run *r);

#endif
