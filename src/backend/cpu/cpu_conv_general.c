/* cpu_conv_general.c - convolutions of any groups and dilation: right for everything, vectors for depthwise ones.
 *
 * Output channel o reads the `fan` input channels of its group. For one block of output channels and one j < fan,
 * the j-th inputs are brought together so that a lane of x meets the lane of z that reads it: a grouped convolution
 * is a sum of `fan` depthwise ones. Where it is depthwise itself, lanes meet already.
 * Packed weights, both ways, and accumulators: [out block][j][tap][VW out channels]. */
#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_prepare.h"

enum { TILE = VW == 16 ? 8 : 4 /* pixels of a row in registers */, MOST_TAPS = 7 /* of a row */ };

typedef struct geometry {
    const pada_conv *conv;
    int fan, share; /* input and output channels of a group */
    int padded_w;
    int64_t in_plane, out_plane, padded_plane; /* floats of one block of channels */
    int64_t first;                             /* and before the first window */
} geometry;

static geometry make_geometry(const pada_conv *conv, pada_shape in, pada_shape out)
{
    const int padded_h = in.h + 2 * conv->pad, padded_w = in.w + 2 * conv->pad;

    return (geometry){.conv = conv,
                      .fan = conv->c_in / conv->groups,
                      .share = conv->c_out / conv->groups,
                      .padded_w = padded_w,
                      .in_plane = (int64_t)in.h * in.w * VW,
                      .out_plane = (int64_t)out.h * out.w * VW,
                      .padded_plane = (int64_t)padded_h * padded_w * VW,
                      .first = (int64_t)conv->offset * (padded_w + 1) * VW};
}

static bool general_fits(const pada_conv *conv, bool planar)
{
    static const pada_conv_list list = {
        .kernels = PADA_ANY,
        .strides = PADA_ANY,
        .pads = PADA_ANY,
        .dilations = PADA_ANY,
        .groupings = PADA_ONE(PADA_DENSE) | PADA_ONE(PADA_DEPTHWISE) | PADA_ONE(PADA_GROUPED),
        .acts = CPU_ACTS,
        .offsets = PADA_ANY};

    (void)planar;
    return pada_conv_in(&list, conv);
}

static int64_t general_weight_floats(const pada_conv *conv, bool backward)
{
    (void)backward;
    return (int64_t)blocks(conv->c_out) * (conv->c_in / conv->groups) * conv->kernel *
           conv->kernel * VW;
}

static int64_t general_accumulator_floats(const pada_conv *conv)
{
    return general_weight_floats(conv, false);
}

/* Scratch of one image: [ act(x), padded | dz | gradient of act(x), padded ] of one block of output
 * channels, [ gradient of act(x) ] of all input channels. */
static int64_t general_scratch_floats(const pada_conv *conv, pada_shape in, pada_shape out,
                                      int n_images)
{
    const geometry g = make_geometry(conv, in, out);

    (void)n_images;
    return 2 * g.padded_plane + g.out_plane + blocks(in.c) * g.in_plane;
}

static void general_pack(const pada_conv *conv, const float *weight, bool backward, float *packed)
{
    const int n = conv->c_in / conv->groups * conv->kernel * conv->kernel;

    memset(packed, 0, (size_t)general_weight_floats(conv, backward) * sizeof *packed);
    for (int o = 0; o < conv->c_out; o++)
        for (int i = 0; i < n; i++)
            packed[((int64_t)(o / VW) * n + i) * VW + o % VW] = weight[(int64_t)o * n + i];
}

static void general_unpack_grad(const pada_conv *conv, const float *accumulators, float *grad)
{
    const int n = conv->c_in / conv->groups * conv->kernel * conv->kernel;

    for (int o = 0; o < conv->c_out; o++)
        for (int i = 0; i < n; i++)
            grad[(int64_t)o * n + i] = accumulators[((int64_t)(o / VW) * n + i) * VW + o % VW];
}

/* ---- lanes ---- */

/* The j-th input of every lane of a block of outputs. */
typedef struct lanes {
    bool meet;      /* lane by lane those of the same block of inputs */
    int n;          /* lanes that have an output */
    int64_t at[VW]; /* floats before pixel 0 of the input of each */
    int64_t step;   /* floats from pixel to pixel */
} lanes;

static lanes lanes_of(const geometry *g, int block, int j, bool planar)
{
    const int left = g->conv->c_out - block * VW;
    lanes l = {.meet = !planar && pada_conv_grouping(g->conv) == PADA_DEPTHWISE,
               .n = left < VW ? left : VW,
               .step = planar ? 1 : VW};

    for (int k = 0; k < l.n; k++) {
        const int c = (block * VW + k) / g->share * g->fan + j;
        l.at[k] = planar ? c * (g->in_plane / VW) : c / VW * g->in_plane + c % VW;
    }
    return l;
}

/* act(x) of one image as the lanes want it; the border and lanes without an output are zero. */
static void load_x(const geometry *g, const cpu_conv_job *job, const float *x, int block,
                   const lanes *l, float *to)
{
    const int pad = g->conv->pad;

    if (pad > 0 || l->n < VW) memset(to, 0, (size_t)g->padded_plane * sizeof *to);
    for (int h = 0; h < job->in.h; h++) {
        float *row = to + ((int64_t)(h + pad) * g->padded_w + pad) * VW;
        const int64_t first = (int64_t)h * job->in.w;
        const float *from = x + block * g->in_plane + first * VW;
        if (!l->meet)
            for (int k = 0; k < l->n; k++)
                for (int w = 0; w < job->in.w; w++)
                    row[w * VW + k] = x[l->at[k] + (first + w) * l->step];
        for (int w = 0; w < job->in.w; w++)
            vstore(row + w * VW, activate(g->conv->act, vload((l->meet ? from : row) + w * VW)));
    }
}

/* ---- forward ---- */

/* `tile` pixels of a row; acc starts as the bias, or as what is there. */
INLINE void forward_tile(const geometry *g, const float *x, const float *weight, vec bias,
                         bool first, float *z, const int tile)
{
    const int64_t step = (int64_t)g->conv->stride * VW, tap = (int64_t)g->conv->dilation * VW;
    const int k = g->conv->kernel;
    vec acc[TILE];

#pragma GCC unroll 8
    for (int p = 0; p < tile; p++)
        acc[p] = first ? bias : vload(z + p * VW);
    for (int kh = 0; kh < k; kh++)
        for (int kw = 0; kw < k; kw++, weight += VW) {
            const float *s = x + kh * tap * g->padded_w + kw * tap;
            const vec w = vload(weight);
#pragma GCC unroll 8
            for (int p = 0; p < tile; p++)
                acc[p] = vfma(w, vload(s + p * step), acc[p]);
        }
#pragma GCC unroll 8
    for (int p = 0; p < tile; p++)
        vstore(z + p * VW, acc[p]);
}

static void forward_block(const geometry *g, const cpu_conv_job *job, const float *x,
                          const float *weight, vec bias, bool first, float *z)
{
    const int64_t step = (int64_t)g->conv->stride * VW;

    for (int h = 0; h < job->out.h; h++) {
        const float *from = x + h * step * g->padded_w;
        float *to = z + (int64_t)h * job->out.w * VW;
        int w = 0;
        for (; w + TILE <= job->out.w; w += TILE)
            forward_tile(g, from + w * step, weight, bias, first, to + w * VW, TILE);
        for (; w < job->out.w; w++)
            forward_tile(g, from + w * step, weight, bias, first, to + w * VW, 1);
    }
}

static void general_forward(const cpu_conv_job *job)
{
    const geometry g = make_geometry(job->conv, job->in, job->out);
    const int64_t taps = (int64_t)g.conv->kernel * g.conv->kernel * VW;

    for (int n = 0; n < job->n_images; n++)
        for (int b = 0; b < blocks(job->out.c); b++) {
            const vec bias = load_channels(job->bias, job->out.c, b);
            for (int j = 0; j < g.fan; j++) {
                const lanes l = lanes_of(&g, b, j, job->planar);
                load_x(&g, job, job->x.data + n * job->x.stride, b, &l, job->scratch);
                forward_block(&g, job, job->scratch + g.first,
                              job->weight + ((int64_t)b * g.fan + j) * taps, bias, j == 0,
                              job->z.data + n * job->z.stride + b * g.out_plane);
            }
        }
}

/* ---- backward ---- */

/* dz of one block of one image, and its sums where there is a bias. */
static void load_dz(const geometry *g, const cpu_conv_job *job, int n, int b, float *dz)
{
    const float *dy = job->dy.data + n * job->dy.stride + b * g->out_plane;
    const float *z = job->coef ? job->z.data + n * job->z.stride + b * g->out_plane : NULL;
    const norm_coef k =
        z ? load_coef(job->coef, job->out.c, b) : (norm_coef){vzero(), vzero(), vzero()};
    vec sum = vzero();

    for (int64_t i = 0; i < g->out_plane; i += VW) {
        const vec d = z ? norm_grad(k, vload(dy + i), vload(z + i)) : vload(dy + i);
        vstore(dz + i, d);
        sum = vadd(sum, d);
    }
    if (job->grad_bias) vstore(job->grad_bias + b * VW, vadd(vload(job->grad_bias + b * VW), sum));
}

/* Adds to the accumulators of n neighbouring taps of a row; x is where the first one reads. */
INLINE void weight_taps(const geometry *g, const cpu_conv_job *job, const float *x, const float *dz,
                        float *acc, const int n)
{
    const int64_t step = (int64_t)g->conv->stride * VW, tap = (int64_t)g->conv->dilation * VW;
    vec sum[MOST_TAPS];

    for (int i = 0; i < n; i++)
        sum[i] = vload(acc + i * VW);
    for (int h = 0; h < job->out.h; h++)
        for (int w = 0; w < job->out.w; w++) {
            const vec d = vload(dz + ((int64_t)h * job->out.w + w) * VW);
            const float *s = x + (int64_t)h * step * g->padded_w + w * step;
            for (int i = 0; i < n; i++)
                sum[i] = vfma(d, vload(s + i * tap), sum[i]);
        }
    for (int i = 0; i < n; i++)
        vstore(acc + i * VW, sum[i]);
}

static void grad_weight(const geometry *g, const cpu_conv_job *job, const float *x, const float *dz,
                        float *acc)
{
    const int k = g->conv->kernel;
    const int64_t tap = (int64_t)g->conv->dilation * VW;

    for (int kh = 0; kh < k; kh++, x += tap * g->padded_w, acc += k * VW) {
        if (k == 3)
            weight_taps(g, job, x, dz, acc, 3);
        else if (k == 5)
            weight_taps(g, job, x, dz, acc, 5);
        else if (k == 7)
            weight_taps(g, job, x, dz, acc, 7);
        else
            for (int kw = 0; kw < k; kw++)
                weight_taps(g, job, x + kw * tap, dz, acc + kw * VW, 1);
    }
}

/* The gradient of the block's act(x), padded. */
static void grad_in(const geometry *g, const cpu_conv_job *job, const float *dz,
                    const float *weight, float *da)
{
    const int64_t step = (int64_t)g->conv->stride * VW, tap = (int64_t)g->conv->dilation * VW;
    const int k = g->conv->kernel;

    memset(da, 0, (size_t)g->padded_plane * sizeof *da);
    for (int h = 0; h < job->out.h; h++)
        for (int t = 0; t < k * k; t++) {
            const vec w = vload(weight + t * VW);
            const float *from = dz + (int64_t)h * job->out.w * VW;
            float *to = da + g->first + (h * step + t / k * tap) * g->padded_w + t % k * tap;
            for (int i = 0; i < job->out.w; i++)
                vstore(to + i * step, vfma(w, vload(from + i * VW), vload(to + i * step)));
        }
}

/* Adds it to the gradients of the inputs that the lanes came from. */
static void add_lanes(const geometry *g, const cpu_conv_job *job, int block, const lanes *l,
                      const float *da, float *to)
{
    const int pad = g->conv->pad;

    for (int h = 0; h < job->in.h; h++) {
        const float *row = da + ((int64_t)(h + pad) * g->padded_w + pad) * VW;
        const int64_t first = (int64_t)h * job->in.w;
        float *same = to + block * g->in_plane + first * VW;
        for (int w = 0; w < job->in.w && l->meet; w++)
            vstore(same + w * VW, vadd(vload(same + w * VW), vload(row + w * VW)));
        for (int k = 0; k < l->n && !l->meet; k++)
            for (int w = 0; w < job->in.w; w++)
                to[l->at[k] + (first + w) * VW] += row[w * VW + k];
    }
}

/* dx (+)= da through the activation. */
static void store_dx(const geometry *g, const cpu_conv_job *job, int n, const float *da)
{
    const float *x = job->x.data + n * job->x.stride;
    float *dx = job->dx.data + n * job->dx.stride;

    for (int64_t i = 0; i < blocks(job->in.c) * g->in_plane; i += VW) {
        const vec d = activate_grad(g->conv->act, vload(x + i), vload(da + i));
        vstore(dx + i, job->accumulate ? vadd(vload(dx + i), d) : d);
    }
}

static void general_backward(const cpu_conv_job *job)
{
    const geometry g = make_geometry(job->conv, job->in, job->out);
    const int64_t taps = (int64_t)g.conv->kernel * g.conv->kernel * VW,
                  all = blocks(job->in.c) * g.in_plane;
    float *x = job->scratch, *dz = x + g.padded_plane, *da = dz + g.out_plane,
          *sum = da + g.padded_plane;

    for (int n = 0; n < job->n_images; n++) {
        if (job->dx.data) memset(sum, 0, (size_t)all * sizeof *sum);
        for (int b = 0; b < blocks(job->out.c); b++) {
            load_dz(&g, job, n, b, dz);
            for (int j = 0; j < g.fan; j++) {
                const int64_t at = ((int64_t)b * g.fan + j) * taps;
                const lanes l = lanes_of(&g, b, j, job->planar);
                load_x(&g, job, job->x.data + n * job->x.stride, b, &l, x);
                grad_weight(&g, job, x + g.first, dz, job->grad_weight + at);
                if (!job->dx.data) continue;
                grad_in(&g, job, dz, job->weight + at, da);
                add_lanes(&g, job, b, &l, da, sum);
            }
        }
        if (job->dx.data) store_dx(&g, job, n, sum);
    }
}

const cpu_conv_kernel PADA_ISA(pada_cpu_conv_general) = {
    .name = "general",
    .fits = general_fits,
    .weight_floats = general_weight_floats,
    .accumulator_floats = general_accumulator_floats,
    .scratch_floats = general_scratch_floats,
    .pack = general_pack,
    .forward = general_forward,
    .backward = general_backward,
    .unpack_grad = general_unpack_grad,
};
