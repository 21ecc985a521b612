/* cpu_pool.c - pools with any window, of the pixels inside the image: means and largest values.
 *
 * Windows of 3x3 with a border of one pixel, those of the search spaces, have a loop of their own: what a column of
 * three pixels amounts to is found once for all windows that it is in. A sum has the columns as its terms then.
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

static int64_t pixel_at(const cpu_pool_job *job, int row, int column)
{
    return ((int64_t)row * job->in.w + column) * VW;
}

static vec scale_of(int n_pixels)
{
    return vset(1.0f / (float)n_pixels);
}

INLINE vec merge(vec a, vec b, const bool largest)
{
    return largest ? vmax_nan(a, b) : vadd(a, b);
}

/* ---- forward; x is one block of channels ---- */

/* The sum or the largest value of a part of a window. */
INLINE vec merge_pixels(const cpu_pool_job *job, const float *x, int row, int column,
                        const int n_rows, const int n_columns, const bool largest)
{
    const float *first = x + pixel_at(job, row, column);
    vec all = vzero();

    for (int i = 0; i < n_rows; i++)
        for (int k = 0; k < n_columns; k++) {
            const vec a = activate(job->act, vload(first + pixel_at(job, i, k)));
            all = i + k == 0 ? a : merge(all, a, largest);
        }
    return all;
}

INLINE void any_row(const cpu_pool_job *job, const float *x, int h, float *y, const bool largest)
{
    for (int w = 0; w < job->out.w; w++) {
        const window f = window_of(job, h, w);
        const int n_rows = f.h1 - f.h0, n_columns = f.w1 - f.w0;
        const vec all = merge_pixels(job, x, f.h0, f.w0, n_rows, n_columns, largest);
        vstore(y + w * VW, largest ? all : vmul(scale_of(n_rows * n_columns), all));
    }
}

/* Windows of three columns, the middle ones of which are 0, stride, 2 stride, .. */
INLINE void row_of_three(const cpu_pool_job *job, const float *x, int row, const int n_rows,
                         float *y, const int stride, const bool largest)
{
    const vec edge = scale_of(2 * n_rows), inner = scale_of(3 * n_rows);
    vec left = vzero(), right = merge_pixels(job, x, row, 0, n_rows, 1, largest);

    for (int w = 0; w < job->out.w; w++) {
        const int column = w * stride;
        const bool is_first = w == 0, is_last = column + 1 == job->in.w;
        const vec here =
            stride == 1 || is_first ? right : merge_pixels(job, x, row, column, n_rows, 1, largest);
        vec all = is_first ? here : merge(left, here, largest);
        if (!is_last) {
            right = merge_pixels(job, x, row, column + 1, n_rows, 1, largest);
            all = merge(all, right, largest);
        }
        left = stride == 1 ? here : right;
        if (!largest) all = vmul(is_first || is_last ? edge : inner, all);
        vstore(y + w * VW, all);
    }
}

static bool is_of_three(const pada_pool *pool, pada_shape in)
{
    return pool->kernel == 3 && pool->pad == 1 && pool->stride <= 2 && in.w > 1;
}

INLINE void pool_row(const cpu_pool_job *job, const float *x, int h, float *y, const bool largest)
{
    const window f = window_of(job, h, 0);

    if (!is_of_three(&job->pool, job->in))
        any_row(job, x, h, y, largest);
    else if (job->pool.stride == 2)
        row_of_three(job, x, f.h0, f.h1 - f.h0, y, 2, largest);
    else if (f.h1 - f.h0 == 3)
        row_of_three(job, x, f.h0, 3, y, 1, largest);
    else
        row_of_three(job, x, f.h0, f.h1 - f.h0, y, 1, largest);
}

void PADA_ISA(pada_cpu_pool)(const cpu_pool_job *job)
{
    const float *x = job->x;
    float *y = job->y;

    for (int b = 0; b < blocks(job->in.c); b++, x += pixel_at(job, job->in.h, 0))
        for (int h = 0; h < job->out.h; h++, y += job->out.w * VW)
            if (job->kind == PADA_POOL_MAX)
                pool_row(job, x, h, y, true);
            else
                pool_row(job, x, h, y, false);
}

/* ---- backward; x and dx are one block of channels ---- */

INLINE void mean_grad(const cpu_pool_job *job, window f, const float *x, vec dy, float *dx,
                      const int n_rows, const int n_columns)
{
    const vec share = vmul(scale_of(n_rows * n_columns), dy);

    for (int i = 0; i < n_rows; i++)
        for (int k = 0; k < n_columns; k++) {
            const int64_t at = pixel_at(job, f.h0 + i, f.w0 + k);
            vstore(dx + at, vadd(vload(dx + at), activate_grad(job->act, vload(x + at), share)));
        }
}

/* To the first of equal ones. Behind NaN there is no gradient to speak of. */
INLINE void largest_grad(const cpu_pool_job *job, window f, const float *x, vec dy, float *dx,
                         const int n_rows, const int n_columns)
{
    const vec top = merge_pixels(job, x, f.h0, f.w0, n_rows, n_columns, true);
    vmask left = vmask_all();

    for (int i = 0; i < n_rows; i++)
        for (int k = 0; k < n_columns; k++) {
            const int64_t at = pixel_at(job, f.h0 + i, f.w0 + k);
            const vec v = vload(x + at);
            const vmask here = vboth(left, vequal(activate(job->act, v), top));
            left = vbut_not(left, here);
            vstore(dx + at, vadd(vload(dx + at), vkeep(here, activate_grad(job->act, v, dy))));
        }
}

INLINE void window_grad(const cpu_pool_job *job, window f, const float *x, vec dy, float *dx,
                        const int n_rows, const int n_columns)
{
    if (job->kind == PADA_POOL_MAX)
        largest_grad(job, f, x, dy, dx, n_rows, n_columns);
    else
        mean_grad(job, f, x, dy, dx, n_rows, n_columns);
}

void PADA_ISA(pada_cpu_pool_grad)(const cpu_pool_job *job)
{
    const int64_t plane = pixel_at(job, job->in.h, 0);
    const float *dy = job->dy;

    if (!job->accumulate) memset(job->dx, 0, (size_t)(blocks(job->in.c) * plane) * sizeof *job->dx);
    for (int b = 0; b < blocks(job->in.c); b++)
        for (int h = 0; h < job->out.h; h++)
            for (int w = 0; w < job->out.w; w++, dy += VW) {
                const window f = window_of(job, h, w);
                const float *x = job->x + b * plane;
                float *dx = job->dx + b * plane;
                if (f.h1 - f.h0 == 3 && f.w1 - f.w0 == 3)
                    window_grad(job, f, x, vload(dy), dx, 3, 3);
                else
                    window_grad(job, f, x, vload(dy), dx, f.h1 - f.h0, f.w1 - f.w0);
            }
}
