/* cpu_isa.h - what the kernel files of one instruction set give to its table (cpu_table.c). */
#ifndef PADA_BACKEND_CPU_CPU_ISA_H
#define PADA_BACKEND_CPU_CPU_ISA_H

#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/cpu_simd.h"

extern const cpu_conv_kernel PADA_ISA(pada_cpu_conv_wino), PADA_ISA(pada_cpu_conv_point),
    PADA_ISA(pada_cpu_conv_depth), PADA_ISA(pada_cpu_conv_direct), PADA_ISA(pada_cpu_conv_general);

/* Contracts: cpu_kernels.h. */
void PADA_ISA(pada_cpu_combine)(const cpu_term *terms, int n_terms, pada_shape shape, int n_images,
                                cpu_tensor y, float *scratch);
void PADA_ISA(pada_cpu_combine_grad)(const cpu_term *terms, int n_terms, pada_shape shape,
                                     int n_images, cpu_tensor dy, float *scratch);
void PADA_ISA(pada_cpu_pool)(const cpu_pool_job *job);
void PADA_ISA(pada_cpu_pool_grad)(const cpu_pool_job *job);
void PADA_ISA(pada_cpu_gate)(const cpu_gate_job *job);
void PADA_ISA(pada_cpu_gate_grad)(const cpu_gate_job *job);
void PADA_ISA(pada_cpu_join)(const float *x, int n, pada_shape shape, int first, float *y);
void PADA_ISA(pada_cpu_part)(const float *dy, pada_shape shape, int first, int n, bool accumulate,
                             float *dx);
void PADA_ISA(pada_cpu_spread)(const float *values, pada_shape shape, float *y);
void PADA_ISA(pada_cpu_add_pixels)(const float *x, pada_shape shape, float *sums);
void PADA_ISA(pada_cpu_moments)(const float *x, pada_shape shape, float *partial);
void PADA_ISA(pada_cpu_norm_sums)(const float *dy, const float *const *x, const float *const *mean,
                                  int n, pada_shape shape, float *partial);
void PADA_ISA(pada_cpu_gap)(const float *x, pada_shape shape, pada_act act, float *features);
void PADA_ISA(pada_cpu_gap_grad)(const float *x, pada_shape shape, pada_act act,
                                 const float *grad_features, bool accumulate, float *dx);
void PADA_ISA(pada_cpu_pack)(const double *from, pada_shape shape, float *to);
void PADA_ISA(pada_cpu_unpack)(const float *from, pada_shape shape, double *to);
double PADA_ISA(pada_cpu_dot)(const float *x, const float *y, int64_t n);
double PADA_ISA(pada_cpu_distance)(const float *x, const float *y, pada_shape shape);
void PADA_ISA(pada_cpu_scaled_difference)(const float *x, const float *y, int64_t n, float factor,
                                          bool accumulate, float *to);
void PADA_ISA(pada_cpu_update)(float *w, const float *g, float *s0, float *s1, int64_t n, int64_t t,
                               const pada_update *update);
int64_t PADA_ISA(pada_cpu_spin)(int64_t rounds);

#endif
