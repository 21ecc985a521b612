/* cpu_conv_wino.c - the Winograd kernel for 3x3 convolutions: where it fits, its sizes, its
 * weights. */
#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_wino.h"

/* G: three taps to six points. */
static const float filter_points[POINTS][3] = {
    {256.0f / 225, 0, 0},
    {1 / (2 * PA2 * (PA2 - PB2)), PA / (2 * PA2 * (PA2 - PB2)), 1 / (2 * (PA2 - PB2))},
    {1 / (2 * PA2 * (PA2 - PB2)), -PA / (2 * PA2 * (PA2 - PB2)), 1 / (2 * (PA2 - PB2))},
    {1 / (2 * PB2 * (PB2 - PA2)), PB / (2 * PB2 * (PB2 - PA2)), 1 / (2 * (PB2 - PA2))},
    {1 / (2 * PB2 * (PB2 - PA2)), -PB / (2 * PB2 * (PB2 - PA2)), 1 / (2 * (PB2 - PA2))},
    {0, 0, 1},
};

/* G of F(2,3). */
static const float filter_levels[LEVELS][3] = {
    {1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};

static bool wino_fits(const pada_conv *conv, bool planar)
{
    static const pada_conv_list list = {.kernels = PADA_ONE(3),
                                        .strides = PADA_ONE(1),
                                        .pads = PADA_ONE(1),
                                        .dilations = PADA_ONE(1),
                                        .groupings = PADA_ONE(PADA_DENSE),
                                        .acts = CPU_ACTS,
                                        .offsets = PADA_ONE(0)};

    /* With few input channels the transforms cost more than they save. */
    return !planar && conv->c_in >= 4 && pada_conv_in(&list, conv);
}

static int64_t wino_weight_floats(const pada_conv *conv, bool backward)
{
    return (backward ? POINTS2 : LEVELS * POINTS) * point_floats(conv);
}

static int64_t wino_accumulator_floats(const pada_conv *conv)
{
    return POINTS2 * point_floats(conv);
}

static int64_t wino_scratch_floats(const pada_conv *conv, pada_shape in, pada_shape out,
                                   int n_images)
{
    const geometry g = make_geometry(conv, in, n_images);
    const int points = forward_points(conv);
    const int64_t forward =
        n_images * strips_floats(conv, in, points) + LEVELS * forward_row_floats(in.w, points);
    const int64_t backward = POINTS2 * (2 * g.in_point + g.out_point) + RING * row_floats(&g);

    (void)out;
    return forward > backward ? forward : backward;
}

/* ---- weights ---- */

/* The points p of three taps t, which are vectors `stride` apart. */
INLINE void filter_vector(const float matrix[][3], const int n_points, const vec *t,
                          const int stride, vec *p)
{
    for (int k = 0; k < n_points; k++) {
        const float *f = matrix[k];
        p[k] = vfma(vset(f[0]), t[0], vfma(vset(f[1]), t[stride], vmul(vset(f[2]), t[2 * stride])));
    }
}

/* The transpose: three taps from six points. */
INLINE void filter_vector_adjoint(const vec *p, const int p_stride, vec *t, const int t_stride)
{
    for (int r = 0; r < 3; r++) {
        vec sum = vzero();
        for (int k = 0; k < POINTS; k++)
            sum = vfma(vset(filter_points[k][r]), p[k * p_stride], sum);
        t[r * t_stride] = sum;
    }
}

/* The nine taps of VW filters, `stride` floats apart, as vectors; filters past `count` are zero. */
INLINE void load_taps(const float *weight, int64_t stride, int count, vec *taps)
{
    float lanes[9][VW] __attribute__((aligned(64)));

    if (count < VW) memset(lanes, 0, sizeof lanes);
    for (int k = 0; k < VW && k < count; k++)
        for (int t = 0; t < 9; t++)
            lanes[t][k] = weight[k * stride + t];
    for (int t = 0; t < 9; t++)
        taps[t] = vload(lanes[t]);
}

/* Forward: [out block][level][in channel, padded][point][VW out channels]. */
static void pack_forward(const pada_conv *conv, const float *weight, float *packed)
{
    const int rows = blocks(conv->c_in) * VW, n_points = forward_points(conv);

    memset(packed, 0, (size_t)wino_weight_floats(conv, false) * sizeof *packed);
    for (int ob = 0; ob < blocks(conv->c_out); ob++)
        for (int i = 0; i < conv->c_in; i++) {
            float *to = packed + ((int64_t)ob * LEVELS * rows + i) * n_points * VW;
            vec taps[9], points[3 * POINTS], levels[LEVELS];
            load_taps(weight + ((int64_t)ob * VW * conv->c_in + i) * 9, (int64_t)conv->c_in * 9,
                      conv->c_out - ob * VW, taps);
            for (int r = 0; r < 3; r++) {
                if (n_points == POINTS)
                    filter_vector(filter_points, POINTS, taps + 3 * r, 1, points + r * POINTS);
                else
                    filter_vector(filter_levels, LEVELS, taps + 3 * r, 1, points + r * POINTS);
            }
            for (int p = 0; p < n_points; p++) {
                filter_vector(filter_levels, LEVELS, points + p, POINTS, levels);
                for (int q = 0; q < LEVELS; q++)
                    vstore(to + ((int64_t)q * rows * n_points + p) * VW, levels[q]);
            }
        }
}

/* Backward: [point][in block][out channel, padded][VW in channels]. */
static void pack_backward(const pada_conv *conv, const float *weight, float *packed)
{
    const int64_t point = point_floats(conv);
    const int rows = blocks(conv->c_out) * VW;

    memset(packed, 0, (size_t)wino_weight_floats(conv, true) * sizeof *packed);
    for (int ib = 0; ib < blocks(conv->c_in); ib++)
        for (int o = 0; o < conv->c_out; o++) {
            float *to = packed + ((int64_t)ib * rows + o) * VW;
            vec taps[9], half[3 * POINTS], points[POINTS];
            load_taps(weight + ((int64_t)o * conv->c_in + ib * VW) * 9, 9, conv->c_in - ib * VW,
                      taps);
            for (int r = 0; r < 3; r++)
                filter_vector(filter_points, POINTS, taps + 3 * r, 1, half + r * POINTS);
            for (int p = 0; p < POINTS; p++) {
                filter_vector(filter_points, POINTS, half + p, POINTS, points);
                for (int q = 0; q < POINTS; q++)
                    vstore(to + (q * POINTS + p) * point, points[q]);
            }
        }
}

static void wino_pack(const pada_conv *conv, const float *weight, bool backward, float *packed)
{
    if (backward)
        pack_backward(conv, weight, packed);
    else
        pack_forward(conv, weight, packed);
}

/* Accumulators: [point][out block][in block][in channel][VW out channels]. */
static void wino_unpack_grad(const pada_conv *conv, const float *accumulators, float *grad)
{
    const int in_rows = blocks(conv->c_in) * VW;
    const int64_t point = point_floats(conv);

    for (int ob = 0; ob < blocks(conv->c_out); ob++)
        for (int i = 0; i < conv->c_in; i++) {
            const float *from = accumulators + ((int64_t)ob * in_rows + i) * VW;
            float lanes[9][VW] __attribute__((aligned(64)));
            vec half[3 * POINTS], taps[3];
            for (int p = 0; p < POINTS; p++) {
                vec column[POINTS];
                for (int q = 0; q < POINTS; q++)
                    column[q] = vload(from + (q * POINTS + p) * point);
                filter_vector_adjoint(column, 1, half + p, POINTS);
            }
            for (int r = 0; r < 3; r++) {
                filter_vector_adjoint(half + r * POINTS, 1, taps, 1);
                for (int c = 0; c < 3; c++)
                    vstore(lanes[3 * r + c], taps[c]);
            }
            for (int k = 0; k < VW && ob * VW + k < conv->c_out; k++) {
                float *to = grad + ((int64_t)(ob * VW + k) * conv->c_in + i) * 9;
                for (int t = 0; t < 9; t++)
                    to[t] = lanes[t][k];
            }
        }
}

const cpu_conv_kernel PADA_ISA(pada_cpu_conv_wino) = {
    .name = "winograd",
    .fits = wino_fits,
    .weight_floats = wino_weight_floats,
    .accumulator_floats = wino_accumulator_floats,
    .scratch_floats = wino_scratch_floats,
    .pack = wino_pack,
    .forward = PADA_ISA(pada_cpu_wino_forward),
    .backward = PADA_ISA(pada_cpu_wino_backward),
    .unpack_grad = wino_unpack_grad,
};
