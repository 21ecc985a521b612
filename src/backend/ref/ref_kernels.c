/* ref_kernels.c - the operators as plain loops. */
#include "backend/ref/ref_kernels.h"

#include <math.h>
#include <string.h>

double pada_ref_act(pada_act act, double x)
{
    switch (act) {
    case PADA_ACT_NONE: return x;
    case PADA_ACT_RELU: return x < 0 ? 0 : x;
    case PADA_ACT_RELU6: return x < 0 ? 0 : x > 6 ? 6 : x;
    }
    return NAN;
}

double pada_ref_act_slope(pada_act act, double x)
{
    switch (act) {
    case PADA_ACT_NONE: return 1;
    case PADA_ACT_RELU: return x > 0;
    case PADA_ACT_RELU6: return x > 0 && x < 6;
    }
    return NAN;
}

/* The outputs o of a tap with input o * stride + shift inside [0, n): first and one past last. */
static void valid_range(int n, int n_out, int shift, int stride, int *first, int *end)
{
    *first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    *end = shift >= n ? 0 : (n - 1 - shift) / stride + 1;
    if (*end > n_out) *end = n_out;
}

/* Calls `row(weight index, a row, z row, count)` semantics for every (output channel, input
 * channel, tap, row): the three convolution passes differ only in what they do with a pair of rows.
 */
typedef void row_fn(double *a, int stride, double *z, int count, double *weight);

static void conv_rows(const pada_conv *conv, pada_shape in, pada_shape out, double *a, double *z,
                      double *weight, row_fn *row)
{
    const int k = conv->kernel, s = conv->stride, fan = conv->c_in / conv->groups;

    for (int o = 0; o < conv->c_out; o++)
        for (int i = 0; i < fan; i++)
            for (int kh = 0; kh < k; kh++)
                for (int kw = 0; kw < k; kw++) {
                    double *w = &weight[(((int64_t)o * fan + i) * k + kh) * k + kw];
                    const int64_t c = o / (conv->c_out / conv->groups) * fan + i;
                    /* inputs of output 0 */
                    const int h_in = kh * conv->dilation - conv->pad + conv->offset;
                    const int w_in = kw * conv->dilation - conv->pad + conv->offset;
                    int h0, h1, w0, w1;
                    valid_range(in.h, out.h, h_in, s, &h0, &h1);
                    valid_range(in.w, out.w, w_in, s, &w0, &w1);
                    for (int h = h0; h < h1 && w1 > w0; h++)
                        row(&a[(c * in.h + h * s + h_in) * in.w + w0 * s + w_in], s,
                            &z[((int64_t)o * out.h + h) * out.w + w0], w1 - w0, w);
                }
}

static void row_forward(double *a, int stride, double *z, int count, double *weight)
{
    const double w = *weight;
    for (int i = 0; i < count; i++)
        z[i] += w * a[(int64_t)i * stride];
}

static void row_grad_in(double *a, int stride, double *z, int count, double *weight)
{
    const double w = *weight;
    for (int i = 0; i < count; i++)
        a[(int64_t)i * stride] += w * z[i];
}

static void row_grad_weight(double *a, int stride, double *z, int count, double *weight)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[(int64_t)i * stride] * z[i];
    *weight += sum;
}

/* The row functions take all operands writable; each writes only the one its pass is about. */
void pada_ref_conv(const pada_conv *conv, pada_shape in, pada_shape out, const double *a,
                   const double *weight, const double *bias, double *z)
{
    const int64_t plane = (int64_t)out.h * out.w;

    for (int o = 0; o < out.c; o++)
        for (int64_t i = 0; i < plane; i++)
            z[o * plane + i] = bias ? bias[o] : 0;
    conv_rows(conv, in, out, (double *)a, z, (double *)weight, row_forward);
}

void pada_ref_conv_grad_in(const pada_conv *conv, pada_shape in, pada_shape out, const double *dz,
                           const double *weight, double *da)
{
    memset(da, 0, (size_t)pada_shape_count(in) * sizeof *da);
    conv_rows(conv, in, out, da, (double *)dz, (double *)weight, row_grad_in);
}

void pada_ref_conv_grad_weight(const pada_conv *conv, pada_shape in, pada_shape out,
                               const double *a, const double *dz, double *grad_weight,
                               double *grad_bias)
{
    const int64_t plane = (int64_t)out.h * out.w;

    conv_rows(conv, in, out, (double *)a, (double *)dz, grad_weight, row_grad_weight);
    for (int o = 0; grad_bias && o < out.c; o++)
        for (int64_t i = 0; i < plane; i++)
            grad_bias[o] += dz[o * plane + i];
}

/* Input rows (or columns) [first, end) under output o. */
static void window(int o, int n, const pada_pool *pool, int *first, int *end)
{
    *first = o * pool->stride - pool->pad;
    *end = *first + pool->kernel;
    if (*first < 0) *first = 0;
    if (*end > n) *end = n;
}

static void avgpool(const pada_pool *pool, pada_shape in, pada_shape out, double *x, double *y,
                    int backward)
{
    for (int c = 0; c < in.c; c++)
        for (int h = 0; h < out.h; h++)
            for (int w = 0; w < out.w; w++) {
                int h0, h1, w0, w1;
                window(h, in.h, pool, &h0, &h1);
                window(w, in.w, pool, &w0, &w1);
                const double scale = 1.0 / ((double)(h1 - h0) * (w1 - w0));
                double *to = &y[((int64_t)c * out.h + h) * out.w + w];
                for (int ih = h0; ih < h1; ih++)
                    for (int iw = w0; iw < w1; iw++) {
                        double *from = &x[((int64_t)c * in.h + ih) * in.w + iw];
                        if (backward)
                            *from += scale * *to;
                        else
                            *to += scale * *from;
                    }
            }
}

void pada_ref_avgpool_add(const pada_pool *pool, pada_shape in, pada_shape out, const double *x,
                          double *y)
{
    avgpool(pool, in, out, (double *)x, y, 0);
}

void pada_ref_avgpool_grad_add(const pada_pool *pool, pada_shape in, pada_shape out,
                               const double *dy, double *dx)
{
    avgpool(pool, in, out, dx, (double *)dy, 1);
}

/* One window [h0, h1) x [w0, w1) of a channel: its pool and, where dx is given, the gradient. */
static double pool_window(const pada_node *node, int width, const int *rows, const int *columns,
                          const double *x, double dy, double *dx)
{
    const double count = (double)(rows[1] - rows[0]) * (columns[1] - columns[0]);
    double sum = 0, largest = 0;
    int64_t best = -1;

    for (int h = rows[0]; h < rows[1]; h++)
        for (int w = columns[0]; w < columns[1]; w++) {
            const int64_t i = (int64_t)h * width + w;
            const double a = pada_ref_act(node->act, x[i]);
            sum += a / count;
            if (node->pool_kind == PADA_POOL_AVG && dx)
                dx[i] += dy / count * pada_ref_act_slope(node->act, x[i]);
            if (best >= 0 && !(a > largest) && !isnan(a)) continue;
            best = i;
            largest = a;
        }
    if (node->pool_kind == PADA_POOL_AVG) return sum;
    if (dx) dx[best] += dy * pada_ref_act_slope(node->act, x[best]);
    return largest;
}

static void pool(const pada_node *node, pada_shape in, const double *x, double *y, const double *dy,
                 double *dx)
{
    const pada_shape out = node->shape;

    for (int c = 0; c < in.c; c++)
        for (int h = 0; h < out.h; h++)
            for (int w = 0; w < out.w; w++) {
                const int64_t from = (int64_t)c * in.h * in.w,
                              to = ((int64_t)c * out.h + h) * out.w + w;
                int rows[2], columns[2];
                window(h, in.h, &node->pool, &rows[0], &rows[1]);
                window(w, in.w, &node->pool, &columns[0], &columns[1]);
                const double value = pool_window(node, in.w, rows, columns, x + from,
                                                 dy ? dy[to] : 0, dx ? dx + from : NULL);
                if (y) y[to] = value;
            }
}

void pada_ref_pool(const pada_node *node, pada_shape in, const double *x, double *y)
{
    pool(node, in, x, y, NULL, NULL);
}

void pada_ref_pool_grad_add(const pada_node *node, pada_shape in, const double *x, const double *dy,
                            double *dx)
{
    pool(node, in, x, NULL, dy, dx);
}

void pada_ref_moments(const double *x, int64_t n, int64_t stride, pada_shape shape, int c,
                      double *mean, double *variance)
{
    const int64_t plane = (int64_t)shape.h * shape.w;
    double sum = 0, squares = 0;

    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < plane; i++)
            sum += x[k * stride + c * plane + i];
    *mean = sum / (double)(n * plane);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < plane; i++) {
            const double d = x[k * stride + c * plane + i] - *mean;
            squares += d * d;
        }
    *variance = squares / (double)(n * plane);
}

void pada_ref_loss(const pada_loss *what, const double *logits, int classes, int label,
                   double scale, double *loss, double *norm, int32_t *rank, double *grad)
{
    const double sharp = 1 - what->smoothing, even = what->smoothing / classes;
    double top = logits[0], sum = 0, rest = 0, squares = 0;

    for (int c = 1; c < classes; c++)
        if (logits[c] > top) top = logits[c];
    for (int c = 0; c < classes; c++)
        sum += exp(logits[c] - top);
    for (int c = 0; c < classes && even > 0; c++)
        rest += logits[c] - top;
    *loss = log(sum) - sharp * (logits[label] - top) - even * rest;
    *rank = 0;
    for (int c = 0; c < classes; c++) {
        const double d = exp(logits[c] - top) / sum - (even + (c == label ? sharp : 0));
        squares += d * d;
        if (grad) grad[c] = scale * d;
        *rank += c < label ? logits[c] >= logits[label] : logits[c] > logits[label];
    }
    *norm = sqrt(squares);
}
