/* cpu_vector.c - layout conversion, and operations on vectors of any meaning. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_simd.h"

void PADA_ISA(pada_cpu_pack)(const double *from, pada_shape shape, float *to)
{
    const int64_t pixels = (int64_t)shape.h * shape.w;

    memset(to, 0, (size_t)(blocks(shape.c) * pixels * VW) * sizeof *to);
    for (int c = 0; c < shape.c; c++)
        for (int64_t i = 0; i < pixels; i++)
            to[(c / VW * pixels + i) * VW + c % VW] = (float)from[c * pixels + i];
}

void PADA_ISA(pada_cpu_unpack)(const float *from, pada_shape shape, double *to)
{
    const int64_t pixels = (int64_t)shape.h * shape.w;

    for (int c = 0; c < shape.c; c++)
        for (int64_t i = 0; i < pixels; i++)
            to[c * pixels + i] = from[(c / VW * pixels + i) * VW + c % VW];
}

/* Products are added in double, in eight sums whatever the vectors are, so that a norm over a
 * million numbers stays exact to float. */
double PADA_ISA(pada_cpu_dot)(const float *x, const float *y, int64_t n)
{
    double lanes[8] = {0}, sum = 0;
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            lanes[k] += (double)x[i + k] * y[i + k];
    for (; i < n; i++)
        sum += (double)x[i] * y[i];
    for (int k = 0; k < 8; k++)
        sum += lanes[k];
    return sum;
}

/* Every channel by itself, then the channels in their order: blocks of any width give one sum. */
double PADA_ISA(pada_cpu_distance)(const float *x, const float *y, pada_shape shape)
{
    const int64_t plane = (int64_t)shape.h * shape.w * VW;
    double sum = 0;

    for (int b = 0; b < blocks(shape.c); b++) {
        double channels[VW] = {0};
        for (int64_t i = b * plane; i < (b + 1) * plane; i += VW)
            for (int k = 0; k < VW; k++) {
                const float d = x ? x[i + k] - y[i + k] : y[i + k];
                channels[k] += (double)d * d;
            }
        for (int k = 0; k < VW && b * VW + k < shape.c; k++)
            sum += channels[k];
    }
    return sum;
}

void PADA_ISA(pada_cpu_scaled_difference)(const float *x, const float *y, int64_t n, float factor,
                                          bool accumulate, float *to)
{
    if (!accumulate)
        for (int64_t i = 0; i < n; i++)
            to[i] = factor * (x[i] - y[i]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] += factor * (x[i] - y[i]);
}

static void sgd(float *restrict w, const float *restrict g, float *restrict v, int64_t n,
                const pada_update *u)
{
    const float lr = (float)u->lr, momentum = (float)u->momentum, decay = (float)u->weight_decay;
    const float scale = (float)u->grad_scale, look_ahead = u->nesterov ? momentum : 0.0f;
    const float direct = u->nesterov ? 1.0f : 0.0f, along = u->nesterov ? look_ahead : 1.0f;

    for (int64_t i = 0; i < n; i++) {
        const float slope = scale * g[i] + decay * w[i];
        v[i] = momentum * v[i] + slope;
        w[i] -= lr * (direct * slope + along * v[i]);
    }
}

static void rmsprop(float *restrict w, const float *restrict g, float *restrict square,
                    float *restrict v, int64_t n, const pada_update *u)
{
    const float lr = (float)u->lr, momentum = (float)u->momentum, decay = (float)u->weight_decay;
    const float scale = (float)u->grad_scale, fresh = (float)(1 - u->decay);
    const float epsilon = (float)u->epsilon;

    for (int64_t i = 0; i < n; i++) {
        const float slope = scale * g[i] + decay * w[i];
        square[i] += fresh * (slope * slope - square[i]);
        v[i] = momentum * v[i] + lr * slope / sqrtf(square[i] + epsilon);
        w[i] -= v[i];
    }
}

static void adam(float *restrict w, const float *restrict g, float *restrict mean,
                 float *restrict square, int64_t n, int64_t t, const pada_update *u)
{
    const float beta1 = (float)u->momentum, beta2 = (float)u->decay, epsilon = (float)u->epsilon;
    const float fresh1 = (float)(1 - u->momentum), fresh2 = (float)(1 - u->decay);
    const float scale = (float)u->grad_scale, decay = (float)u->weight_decay;
    const float lr = (float)(u->lr / pada_bias_correction(u->momentum, t));
    const float root = (float)(1 / sqrt(pada_bias_correction(u->decay, t)));

    for (int64_t i = 0; i < n; i++) {
        const float slope = scale * g[i] + decay * w[i];
        mean[i] = beta1 * mean[i] + fresh1 * slope;
        square[i] = beta2 * square[i] + fresh2 * (slope * slope);
        w[i] -= lr * mean[i] / (root * sqrtf(square[i]) + epsilon);
    }
}

void PADA_ISA(pada_cpu_update)(float *w, const float *g, float *s0, float *s1, int64_t n, int64_t t,
                               const pada_update *update)
{
    switch (update->rule) {
    case PADA_RULE_SGD: sgd(w, g, s0, n, update); break;
    case PADA_RULE_RMSPROP: rmsprop(w, g, s0, s1, n, update); break;
    case PADA_RULE_ADAM: adam(w, g, s0, s1, n, t, update); break;
    }
}

int64_t PADA_ISA(pada_cpu_spin)(int64_t rounds)
{
    /* latency times throughput of every current core, and they fit 16 registers */
    enum { CHAINS = 12 };
    const vec a = vset(0.999f), b = vset(0.001f);
    vec x[CHAINS];

    for (int k = 0; k < CHAINS; k++)
        x[k] = vset((float)k);
    for (int64_t i = 0; i < rounds; i++)
#pragma GCC unroll 12
        for (int k = 0; k < CHAINS; k++)
            x[k] = vfma(x[k], a, b);
    /* The result has to be used, or the loop is dropped. */
    float sums[VW] __attribute__((aligned(64)));
    for (int k = 1; k < CHAINS; k++)
        x[0] = vadd(x[0], x[k]);
    vstore(sums, x[0]);
    return sums[0] > 1e30f ? 0 : rounds * CHAINS * VW;
}
