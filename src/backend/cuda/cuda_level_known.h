/* cuda_level_known.h - which nodes the kernels of levels (cuda_level.h) know. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_KNOWN_H
#define PADA_BACKEND_CUDA_CUDA_LEVEL_KNOWN_H

#include "backend/program.h"

/* bfloat16, in pairs of channels. */
static inline bool pada_cuda_is_paired(pada_shape shape)
{
    return shape.h * shape.w > 1 && shape.c % 2 == 0;
}

/* Convolutions. */
bool pada_cuda_is_level_depth(const pada_program *q, pada_value v);
bool pada_cuda_is_level_dense(const pada_program *q, pada_value v);

bool pada_cuda_is_level_pool(const pada_program *q, pada_value v);
bool pada_cuda_is_level_sum(const pada_program *q, pada_value v);
/* All channels have an operand, each a sum of its own. */
bool pada_cuda_is_level_concat(const pada_program *q, pada_value v);

/* Any of them: these read values by views. */
bool pada_cuda_is_level_node(const pada_program *q, pada_value v);

/* Whether a program is to run by levels: it has depthwise convolutions or affine norms, or no convolution that node
 * kernels know. */
bool pada_cuda_wants_levels(const pada_program *q);

#endif
