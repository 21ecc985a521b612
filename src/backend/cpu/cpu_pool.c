/* cpu_pool.c - pools with any window, of the pixels inside the image: means and largest values.
 *
 * The gradient of the largest value looks for it again: its place would take as much memory as the value. */
#include <string.h>

#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_prepare.h"

/* The pixels of one window. */
typedef struct window {
    int h0, h1, w0, w1;
} window;

static int clip(int i, int n)
{
    return i < 0 ? 0 : i < n ? i : n;
}

static window window_of(const cpu_pool_job *job, int h, int w)
{
    const int row = h * job->pool.stride - job->pool.pad;
    const int column = w * job->pool.stride - job->pool.pad;

    return (window){clip(row, job->in.h), clip(row + job->pool.kernel, job->in.h),
                    clip(column, job->in.w), clip(column + job->pool.kernel, job->in.w)};
}

/* clang-format off */
#define EACH_PIXEL(i)                       \
    for (int row = f.h0; row < f.h1; row++) \
        for (int64_t i = ((int64_t)row * job->in.w + f.w0) * VW, end_ = i + (int64_t)(f.w1 - f.w0) * VW; i < end_; i += VW)
/* clang-format on */

static vec scale_of(window f)
{
    return vset(1.0f / (float)((f.h1 - f.h0) * (f.w1 - f.w0)));
}

/* x is one block of channels. */
static vec mean(const cpu_pool_job *job, window f, const float *x)
{
    vec sum = vzero();

    EACH_PIXEL(i) sum = vadd(sum, activate(job->act, vload(x + i)));
    return vmul(scale_of(f), sum);
}

static void mean_grad(const cpu_pool_job *job, window f, const float *x, vec dy, float *dx)
{
    const vec share = vmul(scale_of(f), dy);

    EACH_PIXEL(i)
    vstore(dx + i, vadd(vload(dx + i), activate_grad(job->act, vload(x + i), share)));
}

/* The largest value of every lane, the first of equal ones or the last NaN, and its pixel. */
typedef struct largest {
    float value[VW] __attribute__((aligned(64)));
    int32_t at[VW];
} largest;

static largest find_largest(const cpu_pool_job *job, window f, const float *x)
{
    largest m = {{0}, {0}};
    bool first = true;

    EACH_PIXEL(i)
    {
        float a[VW] __attribute__((aligned(64)));
        vstore(a, activate(job->act, vload(x + i)));
        for (int k = 0; k < VW; k++) {
            const bool take = first || a[k] > m.value[k] || a[k] != a[k];
            m.value[k] = take ? a[k] : m.value[k];
            m.at[k] = take ? (int32_t)(i / VW) : m.at[k];
        }
        first = false;
    }
    return m;
}

static void largest_grad(const cpu_pool_job *job, window f, const float *x, const float *dy,
                         float *dx)
{
    const largest m = find_largest(job, f, x);
    float from[VW] __attribute__((aligned(64))), slope[VW] __attribute__((aligned(64)));

    for (int k = 0; k < VW; k++)
        from[k] = x[(int64_t)m.at[k] * VW + k];
    vstore(slope, activate_grad(job->act, vload(from), vload(dy)));
    for (int k = 0; k < VW; k++)
        dx[(int64_t)m.at[k] * VW + k] += slope[k];
}

void PADA_ISA(pada_cpu_pool)(const cpu_pool_job *job)
{
    const int64_t from = (int64_t)job->in.h * job->in.w * VW;
    float *y = job->y;

    for (int b = 0; b < blocks(job->in.c); b++)
        for (int h = 0; h < job->out.h; h++)
            for (int w = 0; w < job->out.w; w++, y += VW) {
                const window f = window_of(job, h, w);
                if (job->kind == PADA_POOL_MAX) {
                    const largest m = find_largest(job, f, job->x + b * from);
                    vstore(y, vload(m.value));
                } else {
                    vstore(y, mean(job, f, job->x + b * from));
                }
            }
}

void PADA_ISA(pada_cpu_pool_grad)(const cpu_pool_job *job)
{
    const int64_t from = (int64_t)job->in.h * job->in.w * VW;
    const float *dy = job->dy;

    if (!job->accumulate) memset(job->dx, 0, (size_t)(blocks(job->in.c) * from) * sizeof *job->dx);
    for (int b = 0; b < blocks(job->in.c); b++)
        for (int h = 0; h < job->out.h; h++)
            for (int w = 0; w < job->out.w; w++, dy += VW) {
                const window f = window_of(job, h, w);
                const float *x = job->x + b * from;
                if (job->kind == PADA_POOL_MAX)
                    largest_grad(job, f, x, dy, job->dx + b * from);
                else
                    mean_grad(job, f, x, vload(dy), job->dx + b * from);
            }
}
