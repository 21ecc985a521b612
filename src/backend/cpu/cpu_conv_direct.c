/* cpu_conv_direct.c - dense convolutions of any kernel, stride and padding, computed as they are defined.
 *
 * One broadcast input value meets a vector of output channels. Packed weights: [out block][tap][in
 * channel, padded][VW out channels], for the backward direction with in and out exchanged: taps
 * come before channels, so that the order of additions does not depend on the width of a block.
 * Accumulators of the weight gradient have the forward form. */
#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_prepare.h"

typedef struct geometry {
    int in_blocks, out_blocks, in_last, out_last; /* blocks, channels in the last one */
    int kernel, stride, pad;
    int in_h, in_w, out_h, out_w; /* without padding */
    int padded_h, padded_w;
    int64_t first; /* floats before the first window */
} geometry;

static geometry make_geometry(const pada_conv *conv, pada_shape in, pada_shape out)
{
    geometry g = {blocks(conv->c_in),
                  blocks(conv->c_out),
                  last_lanes(conv->c_in),
                  last_lanes(conv->c_out),
                  conv->kernel,
                  conv->stride,
                  conv->pad,
                  in.h,
                  in.w,
                  out.h,
                  out.w,
                  0,
                  0,
                  0};
    g.padded_h = g.in_h + 2 * conv->pad;
    g.padded_w = g.in_w + 2 * conv->pad;
    g.first = (int64_t)conv->offset * (g.padded_w + 1) * VW;
    return g;
}

static bool direct_fits(const pada_conv *conv, bool planar)
{
    static const pada_conv_list list = {.kernels = PADA_ANY,
                                        .strides = PADA_ANY,
                                        .pads = PADA_ANY,
                                        .dilations = PADA_ONE(1),
                                        .groupings = PADA_ONE(PADA_DENSE),
                                        .acts = CPU_ACTS,
                                        .offsets = PADA_ANY};

    (void)planar;
    return pada_conv_in(&list, conv);
}

static int64_t direct_weight_floats(const pada_conv *conv, bool backward)
{
    (void)backward;
    return (int64_t)blocks(conv->c_out) * blocks(conv->c_in) * conv->kernel * conv->kernel * VW *
           VW;
}

static int64_t direct_accumulator_floats(const pada_conv *conv)
{
    return direct_weight_floats(conv, false);
}

/* Scratch: [ activated, padded x of one image | dz of one image | da, padded, of one image ]. */
static int64_t x_floats(const geometry *g)
{
    return (int64_t)g->in_blocks * g->padded_h * g->padded_w * VW;
}

static int64_t direct_scratch_floats(const pada_conv *conv, pada_shape in, pada_shape out,
                                     int n_images)
{
    const geometry g = make_geometry(conv, in, out);

    (void)n_images;
    return 2 * x_floats(&g) + (int64_t)g.out_blocks * g.out_h * g.out_w * VW;
}

static void direct_pack(const pada_conv *conv, const float *weight, bool backward, float *packed)
{
    const int taps = conv->kernel * conv->kernel;
    const int rows = blocks(backward ? conv->c_out : conv->c_in) * VW;

    memset(packed, 0, (size_t)direct_weight_floats(conv, backward) * sizeof *packed);
    for (int o = 0; o < conv->c_out; o++)
        for (int i = 0; i < conv->c_in; i++) {
            const int r = backward ? o : i, c = backward ? i : o;
            float *to = packed + ((int64_t)(c / VW) * taps * rows + r) * VW + c % VW;
            const float *from = weight + ((int64_t)o * conv->c_in + i) * taps;
            for (int t = 0; t < taps; t++)
                to[(int64_t)t * rows * VW] = from[t];
        }
}

static void direct_unpack_grad(const pada_conv *conv, const float *accumulators, float *grad)
{
    const int taps = conv->kernel * conv->kernel, rows = blocks(conv->c_in) * VW;

    for (int o = 0; o < conv->c_out; o++)
        for (int i = 0; i < conv->c_in; i++) {
            const float *from = accumulators + ((int64_t)(o / VW) * taps * rows + i) * VW + o % VW;
            float *to = grad + ((int64_t)o * conv->c_in + i) * taps;
            for (int t = 0; t < taps; t++)
                to[t] = from[(int64_t)t * rows * VW];
        }
}

/* Writes act(x) of one image into the padded buffer; the border is zero. */
static void load_x(const geometry *g, const pada_conv *conv, const float *x, bool planar, float *to)
{
    const int64_t plane = (int64_t)g->in_h * g->in_w;

    if (g->pad > 0 || planar) memset(to, 0, (size_t)x_floats(g) * sizeof *to);
    for (int b = 0; b < g->in_blocks; b++)
        for (int h = 0; h < g->in_h; h++) {
            float *row = to + (((int64_t)b * g->padded_h + h + g->pad) * g->padded_w + g->pad) * VW;
            if (planar) {
                for (int c = b * VW; c < conv->c_in && c < (b + 1) * VW; c++)
                    for (int w = 0; w < g->in_w; w++)
                        row[w * VW + c - b * VW] = x[c * plane + h * g->in_w + w];
                for (int w = 0; w < g->in_w; w++)
                    vstore(row + w * VW, activate(conv->act, vload(row + w * VW)));
                continue;
            }
            const float *from = x + (b * plane + (int64_t)h * g->in_w) * VW;
            for (int w = 0; w < g->in_w; w++)
                vstore(row + w * VW, activate(conv->act, vload(from + w * VW)));
        }
}

/* ---- forward ---- */

/* TILE pixels of one row, `nb` (1 or 2) blocks of output channels. w1 and z1 belong to the second
 * block. */
INLINE void forward_tile(const geometry *g, const float *x, const float *w0, const float *w1,
                         vec bias0, vec bias1, float *z0, float *z1, const int tile, const int nb)
{
    vec acc0[16], acc1[16];

#pragma GCC unroll 16
    for (int p = 0; p < tile; p++) {
        acc0[p] = bias0;
        acc1[p] = bias1;
    }
    for (int kh = 0; kh < g->kernel; kh++)
        for (int kw = 0; kw < g->kernel; kw++)
            for (int b = 0; b < g->in_blocks; b++) {
                const float *s = x + (((int64_t)b * g->padded_h + kh) * g->padded_w + kw) * VW;
                const int64_t step = (int64_t)g->stride * VW;
                const int lanes = b + 1 < g->in_blocks ? VW : g->in_last;
                for (int i = 0; i < lanes; i++) {
                    const vec a = vload(w0 + i * VW), c = nb == 2 ? vload(w1 + i * VW) : vzero();
#pragma GCC unroll 16
                    for (int p = 0; p < tile; p++) {
                        const vec v = vset(s[p * step + i]);
                        acc0[p] = vfma(a, v, acc0[p]);
                        if (nb == 2) acc1[p] = vfma(c, v, acc1[p]);
                    }
                }
                w0 += VW * VW;
                if (nb == 2) w1 += VW * VW;
            }
#pragma GCC unroll 16
    for (int p = 0; p < tile; p++) {
        vstore(z0 + p * VW, acc0[p]);
        if (nb == 2) vstore(z1 + p * VW, acc1[p]);
    }
}

/* Registers: 32 with AVX-512, 16 otherwise. */
enum { WIDE = VW == 16 ? 16 : 8, PAIR = VW == 16 ? 8 : 4 };

INLINE void forward_row(const geometry *g, const float *x, const float *w0, const float *w1, vec b0,
                        vec b1, float *z0, float *z1, const int nb)
{
    const int tile = nb == 2 ? PAIR : WIDE;
    const int64_t step = (int64_t)g->stride * VW;
    int w = 0;

    for (; w + tile <= g->out_w; w += tile)
        forward_tile(g, x + w * step, w0, w1, b0, b1, z0 + w * VW, z1 + w * VW, tile, nb);
    for (; w < g->out_w; w++)
        forward_tile(g, x + w * step, w0, w1, b0, b1, z0 + w * VW, z1 + w * VW, 1, nb);
}

static void direct_forward(const cpu_conv_job *job)
{
    const geometry g = make_geometry(job->conv, job->in, job->out);
    const int64_t block = (int64_t)g.in_blocks * g.kernel * g.kernel * VW * VW,
                  plane = (int64_t)g.out_h * g.out_w * VW;
    float *x = job->scratch;

    for (int n = 0; n < job->n_images; n++) {
        float *z = job->z.data + n * job->z.stride;
        load_x(&g, job->conv, job->x.data + n * job->x.stride, job->planar, x);
        int o = 0;
        for (; o + 2 <= g.out_blocks; o += 2) {
            const vec b0 = load_channels(job->bias, job->out.c, o),
                      b1 = load_channels(job->bias, job->out.c, o + 1);
            const float *w = job->weight + o * block;
            for (int h = 0; h < g.out_h; h++) {
                float *row = z + o * plane + (int64_t)h * g.out_w * VW;
                forward_row(&g, x + g.first + (int64_t)h * g.stride * g.padded_w * VW, w, w + block,
                            b0, b1, row, row + plane, 2);
            }
        }
        for (; o < g.out_blocks; o++) {
            const vec b0 = load_channels(job->bias, job->out.c, o);
            for (int h = 0; h < g.out_h; h++) {
                float *row = z + o * plane + (int64_t)h * g.out_w * VW;
                forward_row(&g, x + g.first + (int64_t)h * g.stride * g.padded_w * VW,
                            job->weight + o * block, NULL, b0, b0, row, row, 1);
            }
        }
    }
}

/* ---- backward ---- */

/* dz of one image, and its sums where there is a bias. */
static void load_dz(const geometry *g, const cpu_conv_job *job, int n, float *dz)
{
    const int64_t plane = (int64_t)g->out_h * g->out_w;
    const float *dy = job->dy.data + n * job->dy.stride;
    const float *z = job->coef ? job->z.data + n * job->z.stride : NULL;

    for (int b = 0; b < g->out_blocks; b++) {
        vec sum = vzero();
        const norm_coef k = job->coef ? load_coef(job->coef, job->out.c, b)
                                      : (norm_coef){vzero(), vzero(), vzero()};
        for (int64_t i = b * plane * VW; i < (b + 1) * plane * VW; i += VW) {
            const vec d = job->coef ? norm_grad(k, vload(dy + i), vload(z + i)) : vload(dy + i);
            vstore(dz + i, d);
            sum = vadd(sum, d);
        }
        if (job->grad_bias)
            vstore(job->grad_bias + b * VW, vadd(vload(job->grad_bias + b * VW), sum));
    }
}

/* Accumulators of one (out block, in block, tap): `lanes` input channels by VW output channels. */
INLINE void grad_weight_tap(const geometry *g, const float *x, const float *dz, float *acc,
                            const int lanes)
{
    vec sum[VW];

#pragma GCC unroll 16
    for (int i = 0; i < lanes; i++)
        sum[i] = vload(acc + i * VW);
    for (int h = 0; h < g->out_h; h++) {
        const float *s = x + (int64_t)h * g->stride * g->padded_w * VW,
                    *d = dz + (int64_t)h * g->out_w * VW;
        for (int w = 0; w < g->out_w; w++) {
            const vec v = vload(d + w * VW);
#pragma GCC unroll 16
            for (int i = 0; i < lanes; i++)
                sum[i] = vfma(v, vset(s[(int64_t)w * g->stride * VW + i]), sum[i]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; i++)
        vstore(acc + i * VW, sum[i]);
}

static void grad_weight(const geometry *g, const float *x, const float *dz, float *acc)
{
    for (int o = 0; o < g->out_blocks; o++)
        for (int kh = 0; kh < g->kernel; kh++)
            for (int kw = 0; kw < g->kernel; kw++)
                for (int b = 0; b < g->in_blocks; b++, acc += VW * VW) {
                    const float *s = x + (((int64_t)b * g->padded_h + kh) * g->padded_w + kw) * VW;
                    const float *d = dz + (int64_t)o * g->out_h * g->out_w * VW;
                    const int lanes = b + 1 < g->in_blocks ? VW : g->in_last;
                    if (lanes == VW)
                        grad_weight_tap(g, s, d, acc, VW);
                    else if (lanes == 3) /* images */
                        grad_weight_tap(g, s, d, acc, 3);
                    else
                        for (int i = 0; i < lanes; i++)
                            grad_weight_tap(g, s + i, d, acc + i * VW, 1);
                }
}

/* da of TILE pixels under one tap: read, added to, written. */
INLINE void grad_in_tile(const geometry *g, const float *dz, const float *w, float *da,
                         int64_t step, const int tile)
{
    const int64_t dz_block = (int64_t)g->out_h * g->out_w * VW;
    vec acc[16];

#pragma GCC unroll 16
    for (int p = 0; p < tile; p++)
        acc[p] = vload(da + p * step);
    for (int o = 0; o < g->out_blocks; o++, dz += dz_block, w += VW * VW) {
        const int lanes = o + 1 < g->out_blocks ? VW : g->out_last;
        for (int i = 0; i < lanes; i++) {
            const vec a = vload(w + i * VW);
#pragma GCC unroll 16
            for (int p = 0; p < tile; p++)
                acc[p] = vfma(a, vset(dz[p * VW + i]), acc[p]);
        }
    }
#pragma GCC unroll 16
    for (int p = 0; p < tile; p++)
        vstore(da + p * step, acc[p]);
}

static void grad_in(const geometry *g, const float *dz, const float *weight, float *da)
{
    const int64_t step = (int64_t)g->stride * VW, tap = (int64_t)g->out_blocks * VW * VW;

    memset(da, 0, (size_t)x_floats(g) * sizeof *da);
    for (int b = 0; b < g->in_blocks; b++)
        for (int h = 0; h < g->out_h; h++)
            for (int kh = 0; kh < g->kernel; kh++)
                for (int kw = 0; kw < g->kernel; kw++) {
                    const float *w = weight + ((b * g->kernel + kh) * g->kernel + kw) * tap;
                    const float *d = dz + (int64_t)h * g->out_w * VW;
                    float *to =
                        da + g->first +
                        (((int64_t)b * g->padded_h + h * g->stride + kh) * g->padded_w + kw) * VW;
                    int p = 0;
                    for (; p + WIDE <= g->out_w; p += WIDE)
                        grad_in_tile(g, d + p * VW, w, to + p * step, step, WIDE);
                    for (; p < g->out_w; p++)
                        grad_in_tile(g, d + p * VW, w, to + p * step, step, 1);
                }
}

/* dx (+)= da through the activation. */
static void store_dx(const geometry *g, const cpu_conv_job *job, const float *da, int n)
{
    const float *x = job->x.data + n * job->x.stride;
    float *dx = job->dx.data + n * job->dx.stride;

    for (int b = 0; b < g->in_blocks; b++)
        for (int h = 0; h < g->in_h; h++) {
            const float *row =
                da + (((int64_t)b * g->padded_h + h + g->pad) * g->padded_w + g->pad) * VW;
            const int64_t at = ((int64_t)b * g->in_h + h) * g->in_w * VW;
            for (int w = 0; w < g->in_w; w++) {
                const int64_t i = at + w * VW;
                const vec d = activate_grad(job->conv->act, vload(x + i), vload(row + w * VW));
                vstore(dx + i, job->accumulate ? vadd(vload(dx + i), d) : d);
            }
        }
}

static void direct_backward(const cpu_conv_job *job)
{
    const geometry g = make_geometry(job->conv, job->in, job->out);
    float *x = job->scratch, *da = x + x_floats(&g), *dz = da + x_floats(&g);

    for (int n = 0; n < job->n_images; n++) {
        load_x(&g, job->conv, job->x.data + n * job->x.stride, job->planar, x);
        load_dz(&g, job, n, dz);
        grad_weight(&g, x + g.first, dz, job->grad_weight);
        if (!job->dx.data) continue;
        grad_in(&g, dz, job->weight, da);
        store_dx(&g, job, da, n);
    }
}

const cpu_conv_kernel PADA_ISA(pada_cpu_conv_direct) = {
    .name = "direct",
    .fits = direct_fits,
    .weight_floats = direct_weight_floats,
    .accumulator_floats = direct_accumulator_floats,
    .scratch_floats = direct_scratch_floats,
    .pack = direct_pack,
    .forward = direct_forward,
    .backward = direct_backward,
    .unpack_grad = direct_unpack_grad,
};
