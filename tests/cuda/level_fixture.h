/* level_fixture.h - for tests of the kernels of levels: what jobs read and write, on the device and as numbers in
 * double, with the same contract as cuda_level.h. */
#ifndef PADA_TESTS_CUDA_LEVEL_FIXTURE_H
#define PADA_TESTS_CUDA_LEVEL_FIXTURE_H

#include "backend/cuda/cuda_level.h"
#include "cuda/kernel_fixture.h"

/* What a job has besides its operator. */
enum {
    NORM = 1,        /* x is behind a batch norm, .. */
    AFFINE = 2,      /* .. which has scale and shift */
    SLICED = 4,      /* tensors are slices of wider ones, .. */
    ALIGNED = 8,     /* .. that begin at a multiple of 8 channels */
    GRADIENT = 16,   /* dz = a dy + b z + c, not dy */
    SLOPE = 32,      /* gradients are multiplied by the slope of an activation */
    ACCUMULATE = 64, /* they are added to what is there */
    FINISH = 128,    /* moments of outputs, coefficients of gradients, .. */
    FINISHES = 256,  /* .. two of them */
    TIES = 512,      /* whole numbers, so that many are equal, zeros of both signs, a factor of 0 */
    NANS = 1024,     /* some, of both signs */
    JOINED = 2048    /* slices have nothing between images */
};

/* ---- tensors that may be slices ---- */

typedef struct slice {
    tensor all;
    pada_shape shape;
    int n, pitch, first; /* channels of a pixel, and those in front of the slice */
    int64_t image;
} slice;

static inline slice make_slice(pada_shape shape, int n, int flags, double scale, double offset,
                               uint64_t seed)
{
    slice s = {.shape = shape, .n = n};

    s.first = !(flags & SLICED) ? 0 : flags & ALIGNED ? 8 : 6;
    s.pitch = shape.c + s.first;
    s.image = (int64_t)shape.h * shape.w * s.pitch;
    if (flags & SLICED && !(flags & JOINED)) s.image += 8;
    s.all = make_tensor(n * s.image, scale, offset, seed);
    return s;
}

static inline void *slice_data(const slice *s)
{
    return (uint16_t *)s->all.at + s->first;
}

static inline int64_t slice_index(const slice *s, int n, int h, int w, int c)
{
    return n * s->image + ((int64_t)h * s->shape.w + w) * s->pitch + s->first + c;
}

static inline double slice_get(const slice *s, int n, int h, int w, int c)
{
    return s->all.is[slice_index(s, n, h, w, c)];
}

/* ---- vectors of float ---- */

typedef struct vector {
    float *at, *is;
    int n;
} vector;

static inline vector make_vector(int n, double scale, double offset, uint64_t seed)
{
    vector v = {device_memory((size_t)n * sizeof(float), 0), calloc((size_t)n, sizeof(float)), n};
    pada_rng rng;

    assert_non_null(v.is);
    pada_rng_init(&rng, seed, "vector", 0);
    for (int i = 0; i < n; i++)
        v.is[i] = (float)(offset + scale * pada_rng_uniform(&rng));
    to_device(v.at, v.is, (size_t)n * sizeof(float));
    return v;
}

static inline void free_vector(vector *v)
{
    if (!v->at) return;
    check_cuda(cudaFree(v->at));
    free(v->is);
}

static inline void check_vector(const char *what, const vector *v, const double *want,
                                double tolerance)
{
    float *have = calloc((size_t)v->n, sizeof *have);

    from_device(have, v->at, (size_t)v->n * sizeof *have);
    for (int i = 0; i < v->n; i++)
        if (!(fabs(have[i] - want[i]) <= tolerance * (fabs(want[i]) + 1)) &&
            !(isnan(have[i]) && isnan(want[i])))
            fail_msg("%s: %.9g of channel %d, not %.9g", what, have[i], i, want[i]);
    free(have);
}

/* ---- weights of dense convolutions ---- */

/* As the tensor cores read it. */
static inline double rounded(double x)
{
    return widen(narrow(x));
}

/* Random ones, which bfloat16 holds; packed 16 bytes behind `fragment`. */
static inline vector make_packed(const pada_conv *conv, void **fragment, uint64_t seed)
{
    const int64_t bytes = pada_cuda_dense_pack_bytes(conv);
    cuda_dense_packs packs = {.n = 1};
    vector v = make_vector((int)pada_conv_weights(conv), 2, -1, seed);

    for (int i = 0; i < v.n; i++)
        v.is[i] = (float)rounded(v.is[i]);
    to_device(v.at, v.is, (size_t)v.n * sizeof(float));
    assert_true(bytes % 16 == 0 && pada_cuda_dense_pack_half(conv) % 16 == 0);
    packs.at[0] = pada_cuda_dense_pack_job(conv, 0, 16);
    *fragment = device_memory((size_t)bytes + 16, 0xff);
    check_cuda(pada_cuda_dense_pack(NULL, v.at, &packs, *fragment));
    return v;
}

static inline const void *find_fragment(const pada_conv *conv, const void *fragment,
                                        bool transposed)
{
    return (const char *)fragment + 16 + (transposed ? pada_cuda_dense_pack_half(conv) : 0);
}

/* Adds up the partial sums of n weights. */
static inline double *add_partials(const float *partial, int splits, int n)
{
    double *sums = calloc((size_t)n, sizeof *sums);
    float *have = calloc((size_t)(splits * n), sizeof *have);

    assert_true(sums && have);
    from_device(have, partial, (size_t)(splits * n) * sizeof *have);
    for (int i = 0; i < splits * n; i++)
        sums[i % n] += have[i];
    free(have);
    return sums;
}

/* ---- views ---- */

typedef struct view {
    slice x;
    vector mean, rstd, scale, shift;
    pada_act act;
} view;

static inline view make_view(pada_shape shape, int n, int flags, pada_act act, uint64_t seed)
{
    view v = {.x = make_slice(shape, n, flags, 2, 0.25, seed), .act = act};

    if (!(flags & NORM)) return v;
    v.mean = make_vector(shape.c, 1, -0.5, seed + 1);
    v.rstd = make_vector(shape.c, 1, 0.5, seed + 2);
    if (!(flags & AFFINE)) return v;
    v.scale = make_vector(shape.c, 3, -1, seed + 3);
    v.shift = make_vector(shape.c, 2, -1, seed + 4);
    return v;
}

/* Makes numbers of a view equal, and some NaN. */
static inline void tie_view(view *v, int flags)
{
    const int64_t n = v->x.all.n;
    uint16_t *halves = calloc((size_t)n, sizeof *halves);

    assert_non_null(halves);
    for (int64_t i = 0; i < n; i++) {
        const bool is_nan = flags & NANS && i % 13 < 2;
        halves[i] = is_nan ? (i % 2 ? 0x7fc0 : 0xffc1) : narrow(rint(v->x.all.is[i]));
        v->x.all.is[i] = is_nan ? (double)NAN : widen(halves[i]);
    }
    to_device(v->x.all.at, halves, (size_t)n * 2);
    free(halves);
    if (!v->scale.is) return;
    v->scale.is[1] = 0;
    to_device(v->scale.at, v->scale.is, (size_t)v->scale.n * sizeof(float));
}

static inline void free_view(view *v)
{
    free_tensor(&v->x.all);
    free_vector(&v->mean);
    free_vector(&v->rstd);
    free_vector(&v->scale);
    free_vector(&v->shift);
}

static inline cuda_view device_view(const view *v)
{
    return (cuda_view){.data = slice_data(&v->x),
                       .image = v->x.image,
                       .pitch = v->x.pitch,
                       .act = v->act,
                       .mean = v->mean.at,
                       .rstd = v->rstd.at,
                       .scale = v->scale.at,
                       .shift = v->shift.at};
}

/* In front of the activation. */
static inline double normed(const view *v, int n, int h, int w, int c)
{
    const double x = slice_get(&v->x, n, h, w, c);

    if (!v->mean.is) return x;
    return (x - v->mean.is[c]) * v->rstd.is[c] * (v->scale.is ? v->scale.is[c] : 1) +
           (v->shift.is ? v->shift.is[c] : 0);
}

static inline double view_get(const view *v, int n, int h, int w, int c)
{
    const double x = normed(v, n, h, w, c);

    if (v->act == PADA_ACT_NONE) return x;
    return x < 0 ? 0 : v->act == PADA_ACT_RELU6 && x > 6 ? 6 : x;
}

static inline double view_slope(const view *v, int n, int h, int w, int c)
{
    const double x = normed(v, n, h, w, c);

    if (v->act == PADA_ACT_NONE) return 1;
    return x > 0 && (v->act != PADA_ACT_RELU6 || x < 6);
}

/* ---- gradients ---- */

typedef struct gradient {
    slice dy, z;
    vector coef;
} gradient;

/* Floats of a vector of coefficients: a few that nobody asked for between them. */
static inline int coef_vector(int channels)
{
    return channels + 3;
}

static inline gradient make_gradient(pada_shape shape, int n, int flags, uint64_t seed)
{
    gradient g = {.dy = make_slice(shape, n, flags, 1, 0.1, seed)};

    if (!(flags & GRADIENT)) return g;
    g.z = make_slice(shape, n, flags ^ SLICED, 1, -0.5, seed + 1);
    g.coef = make_vector(3 * coef_vector(shape.c), 2, -0.5, seed + 2);
    return g;
}

static inline void free_gradient(gradient *g)
{
    free_tensor(&g->dy.all);
    if (g->z.all.at) free_tensor(&g->z.all);
    free_vector(&g->coef);
}

static inline cuda_gradient device_gradient(const gradient *g)
{
    return (cuda_gradient){.dy = slice_data(&g->dy),
                           .z = g->z.all.at ? slice_data(&g->z) : NULL,
                           .dy_image = g->dy.image,
                           .z_image = g->z.image,
                           .dy_pitch = g->dy.pitch,
                           .z_pitch = g->z.pitch,
                           .coef = g->coef.at,
                           .vector = coef_vector(g->dy.shape.c)};
}

static inline double gradient_get(const gradient *g, int n, int h, int w, int c)
{
    const double dy = slice_get(&g->dy, n, h, w, c);

    if (!g->z.all.at) return dy;
    const int step = coef_vector(g->dy.shape.c);
    return g->coef.is[c] * dy + g->coef.is[step + c] * slice_get(&g->z, n, h, w, c) +
           g->coef.is[2 * step + c];
}

/* ---- results ---- */

typedef struct finish {
    int64_t *sums;
    slice z; /* of gradients */
    vector mean, rstd, scale, grad_scale, grad_shift, coef;
} finish;

typedef struct result {
    slice to; /* as it was */
    int flags, n_finishes;
    bool has_slope;
    view at;
    finish finishes[CUDA_FINISHES];
} result;

static inline finish make_finish(const result *r, bool backward, bool affine, uint64_t seed)
{
    const int c = r->to.shape.c;
    finish f = {.sums = fixed_sums(c, NULL),
                .mean = make_vector(c, 1, -0.5, seed),
                .rstd = make_vector(c, 1, 0.5, seed + 1)};

    if (!backward) return f;
    f.z =
        make_slice(r->to.shape, r->to.n, r->flags, 1, 0.5, seed + 2); /* the pitch of the result */
    f.coef = make_vector(3 * coef_vector(c), 1, 7, seed + 3);
    if (!affine) return f;
    f.scale = make_vector(c, 2, 0.5, seed + 4);
    f.grad_scale = make_vector(c, 1, 0, seed + 5);
    f.grad_shift = make_vector(c, 1, 0, seed + 6);
    return f;
}

static inline result make_result(pada_shape shape, int n, int flags, bool backward, uint64_t seed)
{
    result r = {.to = make_slice(shape, n, flags, 1, 0, seed), .flags = flags};

    r.has_slope = backward && flags & SLOPE;
    if (r.has_slope)
        r.at = make_view(shape, n, flags ^ SLICED, flags & AFFINE ? PADA_ACT_RELU6 : PADA_ACT_RELU,
                         seed + 10);
    r.n_finishes = flags & FINISHES ? 2 : flags & FINISH ? 1 : 0;
    for (int f = 0; f < r.n_finishes; f++)
        r.finishes[f] = make_finish(&r, backward, f == 0, seed + 20 + 10 * (uint64_t)f);
    return r;
}

static inline cuda_result device_result(const result *r)
{
    const pada_shape s = r->to.shape;
    cuda_result to = {.data = slice_data(&r->to),
                      .image = r->to.image,
                      .pitch = r->to.pitch,
                      .accumulate = r->flags & ACCUMULATE,
                      .n_finishes = r->n_finishes};

    if (r->has_slope) to.at = device_view(&r->at);
    for (int f = 0; f < r->n_finishes; f++) {
        const finish *from = &r->finishes[f];
        to.finishes[f] = (cuda_finish){.sums = from->sums,
                                       .count = (double)r->to.n * s.h * s.w,
                                       .epsilon = 1e-3,
                                       .mean = from->mean.at,
                                       .rstd = from->rstd.at,
                                       .z = from->z.all.at ? slice_data(&from->z) : NULL,
                                       .z_image = from->z.image,
                                       .scale = from->scale.at,
                                       .grad_scale = from->grad_scale.at,
                                       .grad_shift = from->grad_shift.at,
                                       .coef = from->coef.at,
                                       .vector = coef_vector(s.c)};
    }
    return to;
}

/* What becomes of the sums of u and of u z, or u u, per channel. */
static inline void check_finish(const char *what, const finish *f, int channels, double count,
                                const double *sums, double tolerance)
{
    double want[7][512];
    const int step = coef_vector(channels);

    assert_true(3 * step <= 512);
    for (int i = 0; i < f->coef.n; i++)
        want[4][i] = f->coef.is[i];
    for (int c = 0; c < channels; c++) {
        const double sum = sums[2 * c], product = sums[2 * c + 1], mean = f->mean.is[c];
        want[0][c] = sum / count;
        want[1][c] = 1 / sqrt(product / count - want[0][c] * want[0][c] + 1e-3);
        if (!f->coef.is) continue;
        const double rstd = f->rstd.is[c], scale = f->scale.is ? f->scale.is[c] : 1;
        const double slope = (product - mean * sum) * rstd; /* of the scale */
        want[0][c] = mean, want[1][c] = rstd;               /* as they were */
        want[4][c] = scale * rstd;
        want[4][step + c] = -scale * rstd * rstd * slope / count;
        want[4][2 * step + c] = -scale * rstd * (sum - mean * rstd * slope) / count;
        want[2][c] = (f->grad_scale.is ? f->grad_scale.is[c] : 0) + slope;
        want[3][c] = (f->grad_shift.is ? f->grad_shift.is[c] : 0) + sum;
    }
    check_vector(what, &f->mean, want[0], tolerance);
    check_vector(what, &f->rstd, want[1], tolerance);
    if (!f->coef.is) return;
    check_vector(what, &f->coef, want[4], tolerance);
    if (!f->grad_scale.is) return;
    check_vector(what, &f->grad_scale, want[2], tolerance);
    check_vector(what, &f->grad_shift, want[3], tolerance);
}

/* Of the largest number: an operand of a product that a device, which adds a product without rounding it, rounds to bfloat16
 * the other way. */
#define ROUNDED_OTHERWISE 4e-4

/* `raw`, [n, h, w, c], is what the operator says, before slope and addition; `slack` is of the largest number, and
 * of the sums. Frees all. */
static inline void check_result(const char *what, result *r, double *raw, double slack)
{
    const slice *to = &r->to;
    const net k = {to->shape, to->n, (int64_t)to->n * pada_shape_count(to->shape), 0};
    double *want = calloc((size_t)to->all.n, sizeof *want), *z = zeros(k.count);
    double *sums = zeros(2 * to->shape.c), *have = read_tensor(to->all.at, to->all.n);

    memcpy(want, to->all.is, (size_t)to->all.n * sizeof *want);
    FOR_EACH(&k, n, h, w, c)
    {
        double *u = &raw[at(&k, n, h, w, c)];
        if (r->has_slope) *u *= view_slope(&r->at, n, h, w, c);
        if (r->flags & ACCUMULATE) *u += slice_get(to, n, h, w, c);
        want[slice_index(to, n, h, w, c)] = *u;
    }
    check_numbers(what, have, want, to->all.n, 0x1p-8, slack);
    for (int f = 0; f < r->n_finishes; f++) {
        finish *of = &r->finishes[f];
        FOR_EACH(&k, n, h, w, c)
        z[at(&k, n, h, w, c)] =
            of->z.all.at ? slice_get(&of->z, n, h, w, c) : raw[at(&k, n, h, w, c)];
        channel_sums(&k, raw, z, sums);
        check_finish(what, of, to->shape.c, (double)to->n * to->shape.h * to->shape.w, sums,
                     1e-4 + slack);
        if (of->z.all.at) free_tensor(&of->z.all);
        check_cuda(cudaFree(of->sums));
        vector *vectors[] = {&of->mean,       &of->rstd,       &of->scale,
                             &of->grad_scale, &of->grad_shift, &of->coef};
        for (int i = 0; i < 6; i++)
            free_vector(vectors[i]);
    }
    if (r->has_slope) free_view(&r->at);
    free_tensor(&r->to.all);
    free(have);
    free(want);
    free(z);
    free(sums);
    free(raw);
}

#endif
