/* cpu_conv_depth.c - depthwise convolutions: every channel by itself, so that a vector of x meets a vector of weights.
 *
 * A block of channels of one image at a time: act(x) with its border, and dz with one, fit L2, and the taps of a pixel
 * are additions to one register. Gradients of inputs are gathered, not spread, so that each is written once.
 * Packed weights, both ways, and accumulators: [block][tap][VW channels].
 * All sums have the order of cpu_conv_general.c, and its bits: sets of instructions without wide vectors have that one
 * alone, since the forms below are a lot of code. */
#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_prepare.h"

enum {
    TILE = 8,                  /* pixels of a row in registers: outputs, inputs */
    PIXELS = 4,                /* of dz, for gradients of weights */
    SUMS = VW == 16 ? 25 : 10, /* taps in registers beside them */
    MOST = 7,                  /* rows of a kernel */
};

/* What the compiler is to know about a convolution. */
typedef struct form {
    int kernel, stride, dilation;
} form;

/* Calls an inlined function with one of the forms that depth_fits lets through. */
#define FOR_STRIDES(conv, k, call, ...)                             \
    ((conv)->stride == 1 ? call(__VA_ARGS__, (const form){k, 1, 1}) \
                         : call(__VA_ARGS__, (const form){k, 2, 1}))
#define FOR_FORM(conv, call, ...)                                                             \
    ((conv)->dilation == 2 ? ((conv)->kernel == 3 ? call(__VA_ARGS__, (const form){3, 1, 2})  \
                                                  : call(__VA_ARGS__, (const form){5, 1, 2})) \
                           : ((conv)->kernel == 3   ? FOR_STRIDES(conv, 3, call, __VA_ARGS__) \
                              : (conv)->kernel == 5 ? FOR_STRIDES(conv, 5, call, __VA_ARGS__) \
                                                    : FOR_STRIDES(conv, 7, call, __VA_ARGS__)))

typedef struct geometry {
    int pad, stride, dilation;
    pada_shape in, out;
    int x_width, dz_width, dz_first; /* of the padded planes; zeros in front of a row of dz */
    int64_t in_plane, out_plane, x_plane, dz_plane; /* floats of one block of channels */
} geometry;

/* The columns of dz that a column c of x gets something from are (c + pad - tap) / stride, where they exist. */
static geometry make_geometry(const pada_conv *conv, pada_shape in, pada_shape out)
{
    const int reach = (conv->kernel - 1) * conv->dilation - conv->pad;
    const int first = reach > 0 ? (reach + conv->stride - 1) / conv->stride : 0;
    const int last = (in.w - 1 + conv->pad) / conv->stride + 1;
    geometry g = {.stride = conv->stride,
                  .dilation = conv->dilation,
                  .pad = conv->pad,
                  .in = in,
                  .out = out,
                  .x_width = in.w + 2 * conv->pad,
                  .dz_width = first + (last > out.w ? last : out.w),
                  .dz_first = first,
                  .in_plane = (int64_t)in.h * in.w * VW,
                  .out_plane = (int64_t)out.h * out.w * VW};

    g.x_plane = (int64_t)(in.h + 2 * conv->pad) * g.x_width * VW;
    g.dz_plane = (int64_t)out.h * g.dz_width * VW;
    return g;
}

static bool depth_fits(const pada_conv *conv, bool planar)
{
    static const pada_conv_list list = {.kernels = PADA_ONE(3) | PADA_ONE(5) | PADA_ONE(7),
                                        .strides = PADA_ONE(1) | PADA_ONE(2),
                                        .pads = PADA_ANY,
                                        .dilations = PADA_ONE(1) | PADA_ONE(2),
                                        .groupings = PADA_ONE(PADA_DEPTHWISE),
                                        .acts = CPU_ACTS,
                                        .offsets = PADA_ONE(0)};

    /* what is rare is not worth the code: cpu_conv_general.c has it */
    const bool rare = conv->dilation == 2 && (conv->kernel == 7 || conv->stride == 2);

    return !planar && !rare && pada_conv_in(&list, conv);
}

static int64_t depth_weight_floats(const pada_conv *conv, bool backward)
{
    (void)backward;
    return (int64_t)blocks(conv->c_out) * conv->kernel * conv->kernel * VW;
}

static int64_t depth_accumulator_floats(const pada_conv *conv)
{
    return depth_weight_floats(conv, false);
}

/* Scratch: [ act(x), padded | dz, padded ] of one block of one image. */
static int64_t depth_scratch_floats(const pada_conv *conv, pada_shape in, pada_shape out,
                                    int n_images)
{
    const geometry g = make_geometry(conv, in, out);

    (void)n_images;
    return g.x_plane + g.dz_plane;
}

static void depth_pack(const pada_conv *conv, const float *weight, bool backward, float *packed)
{
    const int taps = conv->kernel * conv->kernel;

    memset(packed, 0, (size_t)depth_weight_floats(conv, backward) * sizeof *packed);
    for (int c = 0; c < conv->c_out; c++)
        for (int t = 0; t < taps; t++)
            packed[((int64_t)(c / VW) * taps + t) * VW + c % VW] = weight[(int64_t)c * taps + t];
}

static void depth_unpack_grad(const pada_conv *conv, const float *accumulators, float *grad)
{
    const int taps = conv->kernel * conv->kernel;

    for (int c = 0; c < conv->c_out; c++)
        for (int t = 0; t < taps; t++)
            grad[(int64_t)c * taps + t] =
                accumulators[((int64_t)(c / VW) * taps + t) * VW + c % VW];
}

/* Zeros around the columns [first, first + w) of the rows [top, top + h) of a plane. */
static void clear_around(float *plane, int rows, int width, int top, int h, int first, int w)
{
    const size_t pixel = VW * sizeof *plane;

    for (int i = 0; i < rows; i++, plane += (int64_t)width * VW) {
        const bool inside = i >= top && i < top + h;
        memset(plane, 0, (size_t)(inside ? first : width) * pixel);
        if (inside) memset(plane + (first + w) * VW, 0, (size_t)(width - first - w) * pixel);
    }
}

static void clear_border_x(const geometry *g, float *x)
{
    clear_around(x, g->in.h + 2 * g->pad, g->x_width, g->pad, g->in.h, g->pad, g->in.w);
}

static void clear_border_dz(const geometry *g, float *dz)
{
    clear_around(dz, g->out.h, g->dz_width, 0, g->out.h, g->dz_first, g->out.w);
}

/* act(x) of rows [first, end) of one block; the border is there already. */
static void load_x(const geometry *g, pada_act act, const float *x, int first, int end, float *to)
{
    for (int h = first; h < end; h++) {
        float *row = to + ((int64_t)(h + g->pad) * g->x_width + g->pad) * VW;
        const float *from = x + (int64_t)h * g->in.w * VW;
        for (int w = 0; w < g->in.w; w++)
            vstore(row + w * VW, activate(act, vload(from + w * VW)));
    }
}

/* ---- forward ---- */

/* Of every row of taps, a vector of x is loaded once for all taps that read it; those of one output come in ascending
 * order, because columns do. */
INLINE void forward_tile(const geometry *g, const float *x, const float *weight, vec bias, float *z,
                         const form f, const int tile)
{
    const int64_t row = (int64_t)f.dilation * g->x_width * VW;
    const int columns = (tile - 1) * f.stride + (f.kernel - 1) * f.dilation + 1;
    vec acc[TILE];

#pragma GCC unroll 8
    for (int p = 0; p < tile; p++)
        acc[p] = bias;
    for (int kh = 0; kh < f.kernel; kh++, x += row, weight += f.kernel * VW) {
#pragma GCC unroll 32
        for (int c = 0; c < columns; c++) {
            const vec v = vload(x + c * VW);
#pragma GCC unroll 8
            for (int kw = 0; kw < f.kernel; kw++) {
                const int p = (c - kw * f.dilation) / f.stride;
                if (c < kw * f.dilation || p >= tile || p * f.stride + kw * f.dilation != c)
                    continue;
                acc[p] = vfma(vload(weight + kw * VW), v, acc[p]);
            }
        }
    }
#pragma GCC unroll 8
    for (int p = 0; p < tile; p++)
        vstore(z + p * VW, acc[p]);
}

/* Rows of act(x) are made when they are needed, and are in L1 then. */
INLINE void forward_block(const geometry *g, const cpu_conv_job *job, const float *x,
                          const float *weight, vec bias, float *z, const form f)
{
    int loaded = 0;

    for (int h = 0; h < g->out.h; h++) {
        const int last = h * f.stride + (f.kernel - 1) * f.dilation - g->pad;
        const int end = last < g->in.h ? last + 1 : g->in.h;
        const float *from = job->scratch + (int64_t)h * f.stride * g->x_width * VW;
        float *to = z + (int64_t)h * g->out.w * VW;
        int w = 0;
        load_x(g, job->conv->act, x, loaded, end, job->scratch);
        if (end > loaded) loaded = end;
        for (; w + TILE <= g->out.w; w += TILE)
            forward_tile(g, from + w * f.stride * VW, weight, bias, to + w * VW, f, TILE);
        for (; w + TILE / 2 <= g->out.w; w += TILE / 2)
            forward_tile(g, from + w * f.stride * VW, weight, bias, to + w * VW, f, TILE / 2);
        for (; w < g->out.w; w++)
            forward_tile(g, from + w * f.stride * VW, weight, bias, to + w * VW, f, 1);
    }
}

INLINE void forward_image(const geometry *g, const cpu_conv_job *job, int n, const form f)
{
    for (int b = 0; b < blocks(job->out.c); b++) {
        forward_block(g, job, job->x.data + n * job->x.stride + b * g->in_plane,
                      job->weight + (int64_t)b * f.kernel * f.kernel * VW,
                      load_channels(job->bias, job->out.c, b),
                      job->z.data + n * job->z.stride + b * g->out_plane, f);
    }
}

static void depth_forward(const cpu_conv_job *job)
{
    const geometry g = make_geometry(job->conv, job->in, job->out);

    clear_border_x(&g, job->scratch);
    for (int n = 0; n < job->n_images; n++)
        FOR_FORM(job->conv, forward_image, &g, job, n);
}

/* ---- gradients of weights ---- */

/* `tile` pixels of a row of dz, for the accumulators of `rows` rows of taps. */
INLINE void weight_tile(const geometry *g, const float *x, const float *dz, vec *sum, const form f,
                        const int rows, const int tile)
{
    const int64_t row = (int64_t)f.dilation * g->x_width * VW;
    const int columns = (tile - 1) * f.stride + (f.kernel - 1) * f.dilation + 1;
    vec d[PIXELS];

#pragma GCC unroll 4
    for (int p = 0; p < tile; p++)
        d[p] = vload(dz + p * VW);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 32
        for (int c = 0; c < columns; c++) {
            const vec v = vload(x + i * row + c * VW);
#pragma GCC unroll 8
            for (int kw = 0; kw < f.kernel; kw++) {
                const int p = (c - kw * f.dilation) / f.stride;
                if (c < kw * f.dilation || p >= tile || p * f.stride + kw * f.dilation != c)
                    continue;
                sum[i * f.kernel + kw] = vfma(d[p], v, sum[i * f.kernel + kw]);
            }
        }
}

/* Adds to the accumulators of `rows` rows of taps; x is where the first one reads. */
INLINE void weight_rows(const geometry *g, const float *x, const float *dz, float *acc,
                        const form f, const int rows)
{
    vec sum[SUMS];

#pragma GCC unroll 28
    for (int i = 0; i < rows * f.kernel; i++)
        sum[i] = vload(acc + i * VW);
    for (int h = 0; h < g->out.h; h++) {
        const float *d = dz + (int64_t)h * g->dz_width * VW,
                    *s = x + (int64_t)h * f.stride * g->x_width * VW;
        int w = 0;
        for (; w + PIXELS <= g->out.w; w += PIXELS)
            weight_tile(g, s + w * f.stride * VW, d + w * VW, sum, f, rows, PIXELS);
        for (; w < g->out.w; w++)
            weight_tile(g, s + w * f.stride * VW, d + w * VW, sum, f, rows, 1);
    }
#pragma GCC unroll 28
    for (int i = 0; i < rows * f.kernel; i++)
        vstore(acc + i * VW, sum[i]);
}

INLINE void weight_block(const geometry *g, const float *x, const float *dz, float *acc,
                         const form f)
{
    const int k = f.kernel, most = SUMS / k < k ? SUMS / k : k, rest = k % most;
    const int64_t row = (int64_t)f.dilation * g->x_width * VW;
    int kh = 0;

    for (; kh + most <= k; kh += most)
        weight_rows(g, x + kh * row, dz, acc + kh * k * VW, f, most);
    if (rest > 0) weight_rows(g, x + kh * row, dz, acc + kh * k * VW, f, rest);
}

/* ---- gradients of inputs ---- */

/* A row of x: the rows of dz that it gets something from, and those of the weights between them. */
typedef struct sources {
    const float *dz[MOST], *weight[MOST];
    int n;
} sources;

static sources find_sources(const geometry *g, const float *dz, const float *weight, int k, int h)
{
    sources s = {.n = 0};

    for (int kh = k - 1; kh >= 0; kh--) {
        const int row = h + g->pad - kh * g->dilation; /* of dz, times the stride */
        if (row < 0 || row % g->stride != 0 || row / g->stride >= g->out.h) continue;
        s.dz[s.n] = dz + ((int64_t)(row / g->stride) * g->dz_width + g->dz_first) * VW;
        s.weight[s.n++] = weight + (int64_t)kh * k * VW;
    }
    return s;
}

/* Where the gradients of a row go, through the activation at x. */
typedef struct target {
    const float *x;
    float *dx;
    pada_act act;
    bool accumulate;
} target;

INLINE void store_inputs(const target *to, const vec *acc, int first, const int stride,
                         const int tile)
{
#pragma GCC unroll 8
    for (int p = 0; p < tile; p++) {
        const int64_t at = (int64_t)(first + p * stride) * VW;
        /* 0 + -0 is 0: what there is nothing for has no sign */
        const vec d = activate_grad(to->act, vload(to->x + at), vadd(vzero(), acc[p]));
        vstore(to->dx + at, to->accumulate ? vadd(vload(to->dx + at), d) : d);
    }
}

/* Columns from `first` on, stride 1. As forward, with columns of dz that descend. */
INLINE void input_tile(const geometry *g, const sources *s, const target *to, int first,
                       const form f, const int tile)
{
    const int reach = (f.kernel - 1) * f.dilation;
    vec acc[TILE];

#pragma GCC unroll 8
    for (int p = 0; p < tile; p++)
        acc[p] = vzero();
    for (int i = 0; i < s->n; i++) {
        const float *weight = s->weight[i], *d = s->dz[i] + (first + g->pad - reach) * VW;
#pragma GCC unroll 32
        for (int c = tile - 1 + reach; c >= 0; c--) {
            const vec v = vload(d + c * VW);
#pragma GCC unroll 8
            for (int kw = 0; kw < f.kernel; kw++) {
                const int p = c - reach + kw * f.dilation;
                if (p >= 0 && p < tile) acc[p] = vfma(vload(weight + kw * VW), v, acc[p]);
            }
        }
    }
    store_inputs(to, acc, first, 1, tile);
}

/* Columns first, first + 2, .., stride 2: every second tap. */
INLINE void input_tile_strided(const geometry *g, const sources *s, const target *to, int first,
                               const form f, const int tile)
{
    vec acc[TILE];

#pragma GCC unroll 8
    for (int p = 0; p < tile; p++)
        acc[p] = vzero();
    for (int i = 0; i < s->n; i++)
#pragma GCC unroll 8
        for (int kw = 0; kw < f.kernel; kw++) {
            const int column = first + g->pad - kw * f.dilation;
            if (column % 2 != 0) continue;
            const vec w = vload(s->weight[i] + kw * VW);
            const float *d = s->dz[i] + column / 2 * VW;
#pragma GCC unroll 8
            for (int p = 0; p < tile; p++)
                acc[p] = vfma(w, vload(d + p * VW), acc[p]);
        }
    store_inputs(to, acc, first, 2, tile);
}

INLINE void input_columns(const geometry *g, const sources *s, const target *to, int first,
                          const form f, const int tile)
{
    if (f.stride == 1)
        input_tile(g, s, to, first, f, tile);
    else
        input_tile_strided(g, s, to, first, f, tile);
}

INLINE void input_row(const geometry *g, const sources *s, const target *to, const form f)
{
    for (int parity = 0; parity < f.stride; parity++) {
        int w = parity;
        for (; w + (TILE - 1) * f.stride < g->in.w; w += TILE * f.stride)
            input_columns(g, s, to, w, f, TILE);
        for (; w + (TILE / 2 - 1) * f.stride < g->in.w; w += TILE / 2 * f.stride)
            input_columns(g, s, to, w, f, TILE / 2);
        for (; w < g->in.w; w += f.stride)
            input_columns(g, s, to, w, f, 1);
    }
}

INLINE void input_block(const geometry *g, const float *dz, const float *weight,
                        const target *block, const form f)
{
    for (int h = 0; h < g->in.h; h++) {
        const sources s = find_sources(g, dz, weight, f.kernel, h);
        const int64_t at = (int64_t)h * g->in.w * VW;
        const target to = {block->x + at, block->dx + at, block->act, block->accumulate};
        input_row(g, &s, &to, f);
    }
}

/* ---- backward ---- */

/* dz of one block, between zeros that are there already; and its sums where there is a bias. */
static void load_dz(const geometry *g, const cpu_conv_job *job, int n, int b, float *to)
{
    const float *dy = job->dy.data + n * job->dy.stride + b * g->out_plane;
    const float *z = job->coef ? job->z.data + n * job->z.stride + b * g->out_plane : NULL;
    const norm_coef k =
        z ? load_coef(job->coef, job->out.c, b) : (norm_coef){vzero(), vzero(), vzero()};
    vec sum = vzero();

    for (int h = 0; h < g->out.h; h++) {
        float *row = to + ((int64_t)h * g->dz_width + g->dz_first) * VW;
        const int64_t at = (int64_t)h * g->out.w * VW;
        for (int64_t i = 0; i < g->out.w * VW; i += VW) {
            const vec d =
                z ? norm_grad(k, vload(dy + at + i), vload(z + at + i)) : vload(dy + at + i);
            vstore(row + i, d);
            sum = vadd(sum, d);
        }
    }
    if (job->grad_bias) vstore(job->grad_bias + b * VW, vadd(vload(job->grad_bias + b * VW), sum));
}

INLINE void backward_image(const geometry *g, const cpu_conv_job *job, int n, const form f)
{
    float *x = job->scratch, *dz = x + g->x_plane;

    for (int b = 0; b < blocks(job->out.c); b++) {
        const int64_t at = (int64_t)b * f.kernel * f.kernel * VW, image = b * g->in_plane;
        load_x(g, job->conv->act, job->x.data + n * job->x.stride + image, 0, g->in.h, x);
        load_dz(g, job, n, b, dz);
        weight_block(g, x, dz + g->dz_first * VW, job->grad_weight + at, f);
        if (!job->dx.data) continue;
        const target to = {job->x.data + n * job->x.stride + image,
                           job->dx.data + n * job->dx.stride + image, job->conv->act,
                           job->accumulate};
        input_block(g, dz, job->weight + at, &to, f);
    }
}

static void depth_backward(const cpu_conv_job *job)
{
    const geometry g = make_geometry(job->conv, job->in, job->out);

    clear_border_x(&g, job->scratch);
    clear_border_dz(&g, job->scratch + g.x_plane);
    for (int n = 0; n < job->n_images; n++)
        FOR_FORM(job->conv, backward_image, &g, job, n);
}

const cpu_conv_kernel PADA_ISA(pada_cpu_conv_depth) = {
    .name = "depthwise",
    .fits = depth_fits,
    .weight_floats = depth_weight_floats,
    .accumulator_floats = depth_accumulator_floats,
    .scratch_floats = depth_scratch_floats,
    .pack = depth_pack,
    .forward = depth_forward,
    .backward = depth_backward,
    .unpack_grad = depth_unpack_grad,
};
