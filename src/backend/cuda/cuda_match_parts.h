/* cuda_match_parts.h - what cuda_match.c and cuda_level_match.c share. */
#ifndef PADA_BACKEND_CUDA_CUDA_MATCH_PARTS_H
#define PADA_BACKEND_CUDA_CUDA_MATCH_PARTS_H

#include "backend/cuda/cuda_match.h"

typedef struct cuda_matcher {
    cuda_match *m;
    const pada_program *q;
    bool tiles;
    int stage;
} cuda_matcher;

/* ---- cuda_match.c ---- */

cuda_step *pada_cuda_begin_step(const cuda_matcher *k, cuda_step_kind kind, pada_value v);
void pada_cuda_add_member(const cuda_matcher *k, cuda_step *step, int i);
/* The first of new sums of so many channels. */
int64_t pada_cuda_take_sums(const cuda_matcher *k, int channels);
/* Room for the partial sums of a weight gradient, and (end) whether those so far are enough to add them up. */
void pada_cuda_want_partial(const cuda_matcher *k, pada_value v, int blocks);
void pada_cuda_end_batch(const cuda_matcher *k);
/* The value whose gradient an instruction contributes to or, NORM_SUMS, waits for; -1: none. */
pada_value pada_cuda_receiver(const pada_program *q, const pada_instr *instr);

/* ---- cuda_level_views.c ---- */

/* Decides which values are not stored, or stored with others, and counts who reads them; before the stages. */
void pada_cuda_choose_views(const cuda_matcher *k);

/* ---- cuda_level_match.c ---- */

/* The steps of a stage. */
void pada_cuda_match_level_stage(const cuda_matcher *k);

#endif
