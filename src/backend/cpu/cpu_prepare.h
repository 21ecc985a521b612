/* cpu_prepare.h - what convolution kernels do to their operands on the way in: activation, padding,
 * batch-norm gradient. Included by the kernels of each instruction set. */
#ifndef PADA_BACKEND_CPU_CPU_PREPARE_H
#define PADA_BACKEND_CPU_CPU_PREPARE_H

#include <string.h>

#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/cpu_simd.h"

INLINE vec activate(pada_act act, vec x)
{
    if (act == PADA_ACT_NONE) return x;
    /* In this order, max and min pass NaN on. */
    x = vmax(vzero(), x);
    return act == PADA_ACT_RELU6 ? vmin(vset(6.0f), x) : x;
}

/* The gradient through the activation whose input was x. */
INLINE vec activate_grad(pada_act act, vec x, vec grad)
{
    if (act == PADA_ACT_NONE) return grad;
    return act == PADA_ACT_RELU6 ? vgate_below(x, vset(6.0f), grad) : vgate(x, grad);
}

/* One block of a plain vector of per-channel numbers; zeros past its end, or where there is none.
 */
INLINE vec load_channels(const float *values, int channels, int block)
{
    float padded[VW] __attribute__((aligned(64))) = {0};

    for (int c = 0; values && c < VW && block * VW + c < channels; c++)
        padded[c] = values[block * VW + c];
    return vload(padded);
}

/* The coefficients of dz = a dy + b z + c for one channel block. */
typedef struct norm_coef {
    vec a, b, c;
} norm_coef;

INLINE norm_coef load_coef(const float *coef, int channels, int block)
{
    const int64_t stride = channel_floats(channels);
    const float *p = coef + (int64_t)block * VW;
    return (norm_coef){vload(p), vload(p + stride), vload(p + 2 * stride)};
}

INLINE vec norm_grad(norm_coef k, vec dy, vec z)
{
    return vfma(k.b, z, vfma(k.a, dy, k.c));
}

#endif
