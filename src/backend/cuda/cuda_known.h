/* cuda_known.h - what the kernels accept: operators, shapes, kernels, activations. The fused ones all
 * want activations in bfloat16, but for the head. */
#ifndef PADA_BACKEND_CUDA_CUDA_KNOWN_H
#define PADA_BACKEND_CUDA_CUDA_KNOWN_H

#include "backend/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Refuses a program that needs more than the general kernels know. */
pada_status pada_cuda_check(const pada_program *q);

/* Node kernels. */
bool pada_cuda_is_node_conv(const pada_program *q, pada_value v);
bool pada_cuda_is_node_term(const pada_term *t);
bool pada_cuda_is_node_combine(const pada_program *q, pada_value v);

/* The block between two stages: the convolution with stride 2, the 2x2 means beside it (a term), and their
 * convolution; and whether the instructions from i on are these three, all of one value. */
bool pada_cuda_is_strided(const pada_program *q, pada_value v);
bool pada_cuda_is_halving(const pada_term *t);
bool pada_cuda_is_point(const pada_program *q, pada_value v);
bool pada_cuda_is_reduction(const pada_program *q, int i, int end);

/* The convolution of the images. */
bool pada_cuda_is_stem(const pada_program *q, pada_value v);

/* Whether the instructions from i on are those of the head. */
bool pada_cuda_is_head_forward(const pada_program *q, int i, int end);
bool pada_cuda_is_head_backward(const pada_program *q, int i, int end);

#ifdef __cplusplus
}
#endif
#endif
