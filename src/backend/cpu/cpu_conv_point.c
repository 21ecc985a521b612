/* cpu_conv_point.c - 1x1 convolutions: a product of pixels and weights, strip by strip.
 *
 * A strip is so short that its activated input and its dz stay in L1 while all products read them.
 * Packed weights: [out block][in channel][VW out channels], for the backward direction with in and
 * out exchanged. Accumulators of the weight gradient: [out block][in channel][VW out channels]. */
#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_prepare.h"
#include "backend/cpu/cpu_tile.h"

enum { STRIP = 64 }; /* pixels */

static bool point_fits(const pada_conv *conv, bool planar)
{
    static const pada_conv_list list = {.kernels = PADA_ONE(1),
                                        .strides = PADA_ONE(1),
                                        .pads = PADA_ONE(0),
                                        .dilations = PADA_ANY, /* of a single tap */
                                        .groupings = PADA_ONE(PADA_DENSE),
                                        .acts = CPU_ACTS,
                                        .offsets = PADA_ONE(0)};

    return !planar && pada_conv_in(&list, conv);
}

static int64_t point_weight_floats(const pada_conv *conv, bool backward)
{
    (void)backward;
    return (int64_t)blocks(conv->c_out) * blocks(conv->c_in) * VW * VW;
}

static int64_t point_accumulator_floats(const pada_conv *conv)
{
    return point_weight_floats(conv, false);
}

/* Scratch: [ act(x) of a strip | dz of a strip ], each [block][pixel][VW]. */
static int64_t point_scratch_floats(const pada_conv *conv, pada_shape in, pada_shape out,
                                    int n_images)
{
    (void)in, (void)out, (void)n_images;
    return (int64_t)(blocks(conv->c_in) + blocks(conv->c_out)) * STRIP * VW;
}

static void point_pack(const pada_conv *conv, const float *weight, bool backward, float *packed)
{
    const int in_rows = blocks(conv->c_in) * VW, out_rows = blocks(conv->c_out) * VW;

    memset(packed, 0, (size_t)point_weight_floats(conv, backward) * sizeof *packed);
    for (int o = 0; o < conv->c_out; o++)
        for (int i = 0; i < conv->c_in; i++) {
            const int64_t at = backward ? ((int64_t)(i / VW) * out_rows + o) * VW + i % VW
                                        : ((int64_t)(o / VW) * in_rows + i) * VW + o % VW;
            packed[at] = weight[(int64_t)o * conv->c_in + i];
        }
}

/* In squares, so that what is read across is read while it is in L1. */
static void point_unpack_grad(const pada_conv *conv, const float *accumulators, float *grad)
{
    const int in_rows = blocks(conv->c_in) * VW;

    for (int o = 0; o < conv->c_out; o += VW)
        for (int i = 0; i < conv->c_in; i += VW) {
            const float *from = accumulators + ((int64_t)(o / VW) * in_rows + i) * VW;
            const int rows = conv->c_out - o < VW ? conv->c_out - o : VW;
            const int columns = conv->c_in - i < VW ? conv->c_in - i : VW;
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < columns; c++)
                    grad[(int64_t)(o + r) * conv->c_in + i + c] = from[c * VW + r];
        }
}

/* The input of a strip, and the floats between its blocks of channels. */
typedef struct strip_x {
    const float *at;
    int64_t block;
} strip_x;

/* act(x) of pixels [first, first + n) of one image; x itself, where nothing has to be done to it. */
static strip_x load_x(const cpu_conv_job *job, const float *x, int64_t plane, int first, int n,
                      float *to)
{
    if (job->conv->act == PADA_ACT_NONE) return (strip_x){x + (int64_t)first * VW, plane};
    for (int b = 0; b < blocks(job->in.c); b++)
        for (int i = 0; i < n; i++)
            vstore(to + ((int64_t)b * STRIP + i) * VW,
                   activate(job->conv->act, vload(x + b * plane + (int64_t)(first + i) * VW)));
    return (strip_x){to, STRIP * VW};
}

/* dz of a strip, and its sums where there is a bias. */
static void load_dz(const cpu_conv_job *job, const float *dy, const float *z, int64_t plane,
                    int first, int n, float *to)
{
    for (int b = 0; b < blocks(job->out.c); b++) {
        const norm_coef k =
            z ? load_coef(job->coef, job->out.c, b) : (norm_coef){vzero(), vzero(), vzero()};
        const int64_t at = b * plane + (int64_t)first * VW;
        vec sum = vzero();
        for (int i = 0; i < n; i++) {
            const vec d = vload(dy + at + i * VW),
                      r = z ? norm_grad(k, d, vload(z + at + i * VW)) : d;
            vstore(to + ((int64_t)b * STRIP + i) * VW, r);
            sum = vadd(sum, r);
        }
        if (job->grad_bias)
            vstore(job->grad_bias + b * VW, vadd(vload(job->grad_bias + b * VW), sum));
    }
}

/* ---- forward ---- */

/* `rows` pixels from pixel i on, and `columns` output blocks from block o on. */
INLINE void forward_tile(const cpu_conv_job *job, strip_x x, int i, int o, vec *bias, float *z,
                         int64_t plane, const int rows, const int columns)
{
    const int in_blocks = blocks(job->in.c);
    const int64_t weights = (int64_t)in_blocks * VW * VW;
    const tile_operands p = {.a = x.at + i * VW,
                             .a_row = VW,
                             .a_step = 1,
                             .a_block = x.block,
                             .b = job->weight + o * weights,
                             .b_column = weights,
                             .b_step = VW,
                             .b_block = VW * VW,
                             .n_steps = VW,
                             .n_last = last_lanes(job->in.c),
                             .n_blocks = in_blocks};
    tile acc;

#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int k = 0; k < columns; k++)
            acc[r][k] = bias[k];
    tile_product(acc, &p, rows, columns);
    tile_store(acc, z + o * plane + i * VW, VW, plane, rows, columns);
}

static void forward_strip(const cpu_conv_job *job, strip_x x, int n, float *z, int64_t plane)
{
    const int out_blocks = blocks(job->out.c);

    for (int o = 0; o < out_blocks; o += 2) {
        vec bias[2] = {load_channels(job->bias, job->out.c, o),
                       load_channels(job->bias, job->out.c, o + 1)};
        int i = 0;
        if (o + 1 < out_blocks) {
            for (; i + TILE_PAIR <= n; i += TILE_PAIR)
                forward_tile(job, x, i, o, bias, z, plane, TILE_PAIR, 2);
            for (; i < n; i++)
                forward_tile(job, x, i, o, bias, z, plane, 1, 2);
        } else {
            for (; i + TILE_TALL <= n; i += TILE_TALL)
                forward_tile(job, x, i, o, bias, z, plane, TILE_TALL, 1);
            for (; i < n; i++)
                forward_tile(job, x, i, o, bias, z, plane, 1, 1);
        }
    }
}

static void point_forward(const cpu_conv_job *job)
{
    const int pixels = job->in.h * job->in.w;
    const int64_t plane = (int64_t)pixels * VW;

    for (int n = 0; n < job->n_images; n++)
        for (int first = 0; first < pixels; first += STRIP) {
            const int count = pixels - first < STRIP ? pixels - first : STRIP;
            const strip_x x =
                load_x(job, job->x.data + n * job->x.stride, plane, first, count, job->scratch);
            forward_strip(job, x, count, job->z.data + n * job->z.stride + (int64_t)first * VW,
                          plane);
        }
}

/* ---- backward ---- */

/* Weight gradient of a strip: [in channel] x [out channel], summed over the pixels. */
INLINE void weights_tile(const cpu_conv_job *job, strip_x x, const float *dz, int n, int b, int i,
                         int o, const int rows, const int columns)
{
    const int64_t out = (int64_t)blocks(job->in.c) * VW * VW;
    float *c = job->grad_weight + o * out + ((int64_t)b * VW + i) * VW;
    const tile_operands p = {.a = x.at + b * x.block + i,
                             .a_row = 1,
                             .a_step = VW,
                             .b = dz + (int64_t)o * STRIP * VW,
                             .b_column = STRIP * VW,
                             .b_step = VW,
                             .n_last = n,
                             .n_blocks = 1};
    tile acc;

    tile_load(acc, c, VW, out, rows, columns);
    tile_product(acc, &p, rows, columns);
    tile_store(acc, c, VW, out, rows, columns);
}

static void weights_strip(const cpu_conv_job *job, strip_x x, const float *dz, int n)
{
    enum { ROWS1 = VW < TILE_TALL ? VW : TILE_TALL, ROWS2 = VW < TILE_PAIR ? VW : TILE_PAIR };
    const int out_blocks = blocks(job->out.c);

    for (int b = 0; b < blocks(job->in.c); b++)
        for (int o = 0; o < out_blocks; o += 2) {
            if (o + 1 < out_blocks)
                for (int i = 0; i < VW; i += ROWS2)
                    weights_tile(job, x, dz, n, b, i, o, ROWS2, 2);
            else
                for (int i = 0; i < VW; i += ROWS1)
                    weights_tile(job, x, dz, n, b, i, o, ROWS1, 1);
        }
}

/* dx of `rows` pixels and `columns` input blocks from block b on, through the activation. */
INLINE void inputs_tile(const cpu_conv_job *job, const float *dz, int b, const float *x, float *dx,
                        int64_t plane, const int rows, const int columns)
{
    const int out_blocks = blocks(job->out.c);
    const int64_t weights = (int64_t)out_blocks * VW * VW;
    const tile_operands p = {.a = dz,
                             .a_row = VW,
                             .a_step = 1,
                             .a_block = STRIP * VW,
                             .b = job->weight + b * weights,
                             .b_column = weights,
                             .b_step = VW,
                             .b_block = VW * VW,
                             .n_steps = VW,
                             .n_last = last_lanes(job->out.c),
                             .n_blocks = out_blocks};
    tile acc;

    tile_fill(acc, vzero(), rows, columns);
    tile_product(acc, &p, rows, columns);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int k = 0; k < columns; k++) {
            const int64_t at = (b + k) * plane + i * VW;
            const vec d = activate_grad(job->conv->act, vload(x + at), acc[i][k]);
            vstore(dx + at, job->accumulate ? vadd(vload(dx + at), d) : d);
        }
}

static void inputs_strip(const cpu_conv_job *job, const float *dz, int n, const float *x, float *dx,
                         int64_t plane)
{
    const int in_blocks = blocks(job->in.c);

    for (int b = 0; b < in_blocks; b += 2) {
        int i = 0;
        if (b + 1 < in_blocks) {
            for (; i + TILE_PAIR <= n; i += TILE_PAIR)
                inputs_tile(job, dz + i * VW, b, x + i * VW, dx + i * VW, plane, TILE_PAIR, 2);
            for (; i < n; i++)
                inputs_tile(job, dz + i * VW, b, x + i * VW, dx + i * VW, plane, 1, 2);
        } else {
            for (; i + TILE_TALL <= n; i += TILE_TALL)
                inputs_tile(job, dz + i * VW, b, x + i * VW, dx + i * VW, plane, TILE_TALL, 1);
            for (; i < n; i++)
                inputs_tile(job, dz + i * VW, b, x + i * VW, dx + i * VW, plane, 1, 1);
        }
    }
}

static void point_backward(const cpu_conv_job *job)
{
    const int pixels = job->in.h * job->in.w;
    const int64_t plane = (int64_t)pixels * VW;
    float *x_strip = job->scratch, *dz_strip = x_strip + (int64_t)blocks(job->in.c) * STRIP * VW;

    for (int n = 0; n < job->n_images; n++) {
        const float *x = job->x.data + n * job->x.stride, *dy = job->dy.data + n * job->dy.stride;
        const float *z = job->coef ? job->z.data + n * job->z.stride : NULL;
        float *dx = job->dx.data ? job->dx.data + n * job->dx.stride : NULL;
        for (int first = 0; first < pixels; first += STRIP) {
            const int count = pixels - first < STRIP ? pixels - first : STRIP;
            const int64_t at = (int64_t)first * VW;
            load_dz(job, dy, z, plane, first, count, dz_strip);
            weights_strip(job, load_x(job, x, plane, first, count, x_strip), dz_strip, count);
            if (dx) inputs_strip(job, dz_strip, count, x + at, dx + at, plane);
        }
    }
}

const cpu_conv_kernel PADA_ISA(pada_cpu_conv_point) = {
    .name = "pointwise",
    .fits = point_fits,
    .weight_floats = point_weight_floats,
    .accumulator_floats = point_accumulator_floats,
    .scratch_floats = point_scratch_floats,
    .pack = point_pack,
    .forward = point_forward,
    .backward = point_backward,
    .unpack_grad = point_unpack_grad,
};
