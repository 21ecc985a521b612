/* cpu_table.c - the kernels of one instruction set in one table. */
#include "backend/cpu/cpu_isa.h"

/* Best first. */
static const cpu_conv_kernel *const convs[] = {
    &PADA_ISA(pada_cpu_conv_wino),   &PADA_ISA(pada_cpu_conv_point),
#if VW > 4
    &PADA_ISA(pada_cpu_conv_depth),
#endif
    &PADA_ISA(pada_cpu_conv_direct), &PADA_ISA(pada_cpu_conv_general), NULL};

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

const cpu_kernels PADA_ISA(pada_cpu_kernels) = {
    .name = STRING(PADA_CPU_ISA),
    .width = VW,
    .convs = convs,
    .combine = PADA_ISA(pada_cpu_combine),
    .combine_grad = PADA_ISA(pada_cpu_combine_grad),
    .pool = PADA_ISA(pada_cpu_pool),
    .pool_grad = PADA_ISA(pada_cpu_pool_grad),
    .gate = PADA_ISA(pada_cpu_gate),
    .gate_grad = PADA_ISA(pada_cpu_gate_grad),
    .join = PADA_ISA(pada_cpu_join),
    .part = PADA_ISA(pada_cpu_part),
    .spread = PADA_ISA(pada_cpu_spread),
    .add_pixels = PADA_ISA(pada_cpu_add_pixels),
    .moments = PADA_ISA(pada_cpu_moments),
    .norm_sums = PADA_ISA(pada_cpu_norm_sums),
    .gap = PADA_ISA(pada_cpu_gap),
    .gap_grad = PADA_ISA(pada_cpu_gap_grad),
    .pack = PADA_ISA(pada_cpu_pack),
    .unpack = PADA_ISA(pada_cpu_unpack),
    .dot = PADA_ISA(pada_cpu_dot),
    .distance = PADA_ISA(pada_cpu_distance),
    .scaled_difference = PADA_ISA(pada_cpu_scaled_difference),
    .update = PADA_ISA(pada_cpu_update),
    .spin = PADA_ISA(pada_cpu_spin),
};
