/* test_level_separable.c - depthwise and pointwise convolutions in one launch, alone on random tensors, against plain loops
 * in double over the same bfloat16 numbers. On a device or emulated. */
#include "base/mem.h"
#include "cuda/level_fixture.h"

typedef struct separable_case {
    int c, c_out, kernel, stride, dilation, pad, h, w, n, flags;
    pada_act act;
} separable_case;

/* Of the largest number: what stands between the convolutions is rounded the other way where double says so. */
#define ROUNDED_BETWEEN 2e-3

/* Without it, nobody wants what stands between the convolutions. */
enum { BETWEEN = 1 << 16 };

/* Launches of jobs of different sizes. Channels that fill rows of a matrix and that do not, one chunk of them and several, also
 * a narrow one at the end, more and fewer behind the product; rows that are whole patches and that are not, images of one
 * tile and of several, of which the last one is short. The large ones are without norms behind, so that no gradient is rounded
 * the other way. */
static const separable_case cases[] = {
    {16, 16, 3, 1, 1, 1, 32, 32, 2, FINISH | BETWEEN, PADA_ACT_RELU},
    {32, 32, 5, 1, 1, 2, 16, 16, 3, NORM | FINISH, PADA_ACT_RELU},
    {64, 64, 3, 1, 2, 2, 8, 8, 3, NORM | AFFINE | FINISH | BETWEEN, PADA_ACT_RELU6},
    {36, 36, 5, 1, 2, 4, 9, 7, 2, NORM | FINISHES | BETWEEN | GRADIENT, PADA_ACT_RELU},
    {16, 32, 3, 2, 1, 1, 17, 19, 2, FINISH | BETWEEN | GRADIENT | ACCUMULATE, PADA_ACT_RELU},
    {72, 72, 5, 2, 2, 4, 13, 11, 1, NORM | AFFINE | FINISH | BETWEEN | GRADIENT, PADA_ACT_RELU},
    {40, 24, 7, 1, 1, 3, 6, 5, 3, NORM | FINISH | GRADIENT, PADA_ACT_NONE},
    {8, 20, 7, 2, 2, 6, 15, 14, 2, NORM | FINISH | ACCUMULATE, PADA_ACT_RELU},

    {144, 144, 3, 1, 1, 1, 7, 7, 1, NORM | FINISH | BETWEEN, PADA_ACT_RELU},
    {8, 8, 3, 1, 1, 1, 5, 3, 1, 0, PADA_ACT_NONE},
    {4, 12, 5, 1, 1, 2, 3, 4, 2, NORM | FINISH | BETWEEN | GRADIENT, PADA_ACT_RELU},
    {20, 100, 7, 2, 1, 3, 14, 9, 2, SLICED | FINISH | GRADIENT, PADA_ACT_RELU6},
    {48, 16, 3, 2, 2, 2, 11, 12, 3, SLICED | ALIGNED | NORM | AFFINE | FINISH | BETWEEN | GRADIENT,
     PADA_ACT_RELU},
    {64, 128, 5, 2, 1, 2, 8, 8, 2, NORM | FINISH | BETWEEN | GRADIENT, PADA_ACT_RELU},
    {16, 16, 5, 1, 2, 4, 30, 33, 1, NORM | FINISH | BETWEEN | GRADIENT | ACCUMULATE, PADA_ACT_RELU},

    {200, 20, 3, 1, 1, 1, 4, 3, 2, NORM | FINISH | BETWEEN | GRADIENT, PADA_ACT_RELU},
    {16, 16, 3, 1, 1, 0, 6, 6, 2, FINISHES, PADA_ACT_RELU}, /* no padding, too much of it */
    {24, 24, 5, 1, 1, 4, 5, 6, 2, NORM | AFFINE | FINISH | BETWEEN | GRADIENT, PADA_ACT_RELU},
};

enum { CASES = sizeof cases / sizeof *cases };

/* A job and what it reads. */
typedef struct separable_job {
    pada_conv depth, point;
    pada_shape in, half, out; /* half: between the two */
    int n;
    view x;
    vector weight, point_weight;
    void *fragment;
    slice between;
    gradient dz;
    result to;
    float *partial;
    int splits;
} separable_job;

static separable_job make_job(const separable_case *k, uint64_t seed)
{
    separable_job j = {.depth = pada_conv_make(k->c, k->c, k->kernel, k->stride, k->pad, k->act),
                       .point = pada_conv_make(k->c, k->c_out, 1, 1, 0, PADA_ACT_NONE),
                       .in = {k->c, k->h, k->w},
                       .n = k->n};

    j.depth.groups = k->c;
    j.depth.dilation = k->dilation;
    assert_int_equal(pada_conv_shape(&j.depth, j.in, &j.half), PADA_OK);
    j.out = (pada_shape){k->c_out, j.half.h, j.half.w};
    assert_true(pada_cuda_level_separable_fits(&j.depth, &j.point, j.out));
    j.x = make_view(j.in, k->n, k->flags, k->act, seed);
    j.weight = make_vector(k->c * k->kernel * k->kernel, 2, -1, seed + 200);
    j.point_weight = make_packed(&j.point, &j.fragment, seed + 300);
    return j;
}

static void free_job(separable_job *j)
{
    free_view(&j->x);
    free_vector(&j->weight);
    free_vector(&j->point_weight);
    check_cuda(cudaFree(j->fragment));
}

static cuda_level_conv device_job(const separable_job *j, bool transposed)
{
    return (cuda_level_conv){.conv = j->depth,
                             .in = j->in,
                             .out = j->out,
                             .n_images = j->n,
                             .x = device_view(&j->x),
                             .weight = j->weight.at,
                             .fragment = find_fragment(&j->point, j->fragment, transposed)};
}

/* ---- forward ---- */

static double *depth_outputs(const separable_job *j)
{
    const net in = {j->in, j->n, 0, 0}, half = {j->half, j->n, 0, 0};
    const int kernel = j->depth.kernel, taps = kernel * kernel;
    double *u = zeros(j->n * pada_shape_count(j->half));

    FOR_EACH(&half, n, h, w, c)
    for (int t = 0; t < taps; t++) {
        const int y = h * j->depth.stride + t / kernel * j->depth.dilation - j->depth.pad;
        const int x = w * j->depth.stride + t % kernel * j->depth.dilation - j->depth.pad;
        if (inside(&in, y, x))
            u[at(&half, n, h, w, c)] += j->weight.is[c * taps + t] * view_get(&j->x, n, y, x, c);
    }
    return u;
}

static double *point_outputs(const separable_job *j, const double *u)
{
    const net half = {j->half, j->n, 0, 0}, out = {j->out, j->n, 0, 0};
    double *z = zeros(j->n * pada_shape_count(j->out));

    FOR_EACH(&out, n, h, w, o)
    for (int c = 0; c < j->half.c; c++)
        z[at(&out, n, h, w, o)] +=
            j->point_weight.is[o * j->half.c + c] * rounded(u[at(&half, n, h, w, c)]);
    return z;
}

static slice make_between(const separable_job *j)
{
    slice s = {.shape = j->half, .n = j->n, .pitch = j->half.c};
    const int64_t align = PADA_ALIGN / 2;

    s.image = (pada_shape_count(j->half) + align - 1) / align * align;
    s.all = make_tensor(s.n * s.image, 1, 0, 500);
    return s;
}

static void check_between(separable_job *j, const double *u)
{
    const net half = {j->half, j->n, 0, 0};
    double *have = read_tensor(j->between.all.at, j->between.all.n);
    double *want = calloc((size_t)j->between.all.n, sizeof *want);

    memcpy(want, j->between.all.is, (size_t)j->between.all.n * sizeof *want);
    FOR_EACH(&half, n, h, w, c)
    want[slice_index(&j->between, n, h, w, c)] = u[at(&half, n, h, w, c)];
    check_numbers("between", have, want, j->between.all.n, 0x1p-8, 1e-6);
    free(have);
    free(want);
    free_tensor(&j->between.all);
}

static void check_forward(const separable_case *k, int n)
{
    separable_job jobs[CUDA_LEVEL_CONVS];
    cuda_level_convs launch = {.n = n};

    for (int i = 0; i < n; i++) {
        separable_job *j = &jobs[i];
        *j = make_job(&k[i], 1000 * (uint64_t)(i + 1));
        j->to = make_result(j->out, j->n, k[i].flags & FINISH, false, 400 + (uint64_t)i);
        launch.at[i] = device_job(j, false);
        launch.at[i].to = device_result(&j->to);
        if (!(k[i].flags & BETWEEN)) continue;
        j->between = make_between(j);
        launch.at[i].between = slice_data(&j->between);
    }
    check_cuda(pada_cuda_level_separable_forward(NULL, &launch));
    for (int i = 0; i < n; i++) {
        char what[60];
        double *u = depth_outputs(&jobs[i]);
        snprintf(what, sizeof what, "output of job %d, %d to %d channels", i, k[i].c, k[i].c_out);
        check_result(what, &jobs[i].to, point_outputs(&jobs[i], u), ROUNDED_BETWEEN);
        if (k[i].flags & BETWEEN) check_between(&jobs[i], u);
        free(u);
        free_job(&jobs[i]);
    }
}

static void test_forward(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k += CUDA_LEVEL_CONVS)
        check_forward(cases + k, CASES - k < CUDA_LEVEL_CONVS ? CASES - k : CUDA_LEVEL_CONVS);
}

/* Alone: some of them have narrow windows then. */
static void test_forward_alone(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++)
        check_forward(cases + k, 1);
}

/* So many images that a block has several tiles. */
static void test_forward_rounds(void **state)
{
    const separable_case many[] = {{8, 8, 3, 1, 1, 1, 4, 4, 1300, FINISH | BETWEEN, PADA_ACT_RELU},
                                   {40, 16, 3, 1, 1, 1, 5, 5, 5, FINISH, PADA_ACT_RELU}};

    (void)state;
    check_forward(many, 2);
}

/* ---- backward ---- */

/* The gradient of what stands between the convolutions. */
static double *between_gradient(const separable_job *j)
{
    const net half = {j->half, j->n, 0, 0};
    double *du = zeros(j->n * pada_shape_count(j->half));

    FOR_EACH(&half, n, h, w, c)
    for (int o = 0; o < j->out.c; o++)
        du[at(&half, n, h, w, c)] +=
            j->point_weight.is[o * j->half.c + c] * rounded(gradient_get(&j->dz, n, h, w, o));
    return du;
}

/* Those of x and of the depthwise weights. */
static void depth_gradients(const separable_job *j, const double *du, double *dx, double *dw)
{
    const net in = {j->in, j->n, 0, 0}, half = {j->half, j->n, 0, 0};
    const int kernel = j->depth.kernel, taps = kernel * kernel;

    FOR_EACH(&half, n, h, w, c)
    for (int t = 0; t < taps; t++) {
        const int y = h * j->depth.stride + t / kernel * j->depth.dilation - j->depth.pad;
        const int x = w * j->depth.stride + t % kernel * j->depth.dilation - j->depth.pad;
        const double u = du[at(&half, n, h, w, c)];
        if (!inside(&in, y, x)) continue;
        dx[at(&in, n, y, x, c)] += j->weight.is[c * taps + t] * u;
        dw[c * taps + t] += view_get(&j->x, n, y, x, c) * u;
    }
}

/* The slope is that of x. */
static cuda_level_conv make_back(separable_job *j, const separable_case *k, int splits, int i)
{
    cuda_level_conv job;

    *j = make_job(k, 1000 * (uint64_t)(i + 1));
    j->dz = make_gradient(j->out, j->n, k->flags | ALIGNED, 600);
    j->splits =
        splits ? splits : pada_cuda_level_separable_splits(&j->depth, j->point.c_out, j->in, j->n);
    assert_in_range(j->splits, 1, 528);
    j->partial = device_memory((size_t)(j->splits * j->weight.n) * sizeof(float), 0xff);
    j->to = make_result(j->in, j->n, k->flags, true, 700 + (uint64_t)i);
    job = device_job(j, true);
    job.dz = device_gradient(&j->dz);
    job.partial = j->partial;
    job.splits = j->splits;
    job.to = device_result(&j->to);
    j->to.has_slope = k->act != PADA_ACT_NONE;
    j->to.at = j->x;
    if (j->to.has_slope) job.to.at = job.x;
    return job;
}

/* As many partial sums as the kernel wants, or (splits) another number of them. */
static void check_back(const separable_case *k, int n, int splits)
{
    separable_job jobs[CUDA_LEVEL_CONVS];
    cuda_level_convs launch = {.n = n};

    for (int i = 0; i < n; i++)
        launch.at[i] = make_back(&jobs[i], &k[i], splits, i);
    check_cuda(pada_cuda_level_separable_back(NULL, &launch));
    for (int i = 0; i < n; i++) {
        separable_job *j = &jobs[i];
        char what[60];
        double *du = between_gradient(j), *dw = zeros(j->weight.n);
        double *dx = zeros(j->n * pada_shape_count(j->in));
        depth_gradients(j, du, dx, dw);
        snprintf(what, sizeof what, "weights of job %d, %d to %d channels", i, k[i].c, k[i].c_out);
        double *sums = add_partials(j->partial, j->splits, j->weight.n);
        check_numbers(what, sums, dw, j->weight.n, 2e-3, ROUNDED_OTHERWISE);
        free(sums);
        snprintf(what, sizeof what, "gradient of job %d, %d to %d channels", i, k[i].c, k[i].c_out);
        const bool shared = j->to.has_slope; /* x is freed with the result then */
        check_result(what, &j->to, dx, ROUNDED_OTHERWISE);
        if (shared) j->x = (view){0};
        check_cuda(cudaFree(j->partial));
        free_gradient(&j->dz);
        free_job(j);
        free(du);
        free(dw);
    }
}

/* Two chunks of channels are the most. */
static bool fits_back(const separable_case *k)
{
    pada_conv depth = pada_conv_make(k->c, k->c, k->kernel, k->stride, k->pad, k->act);

    depth.groups = k->c;
    depth.dilation = k->dilation;
    return pada_cuda_level_separable_back_fits(&depth, k->c_out, (pada_shape){k->c, k->h, k->w});
}

static void test_back(void **state)
{
    separable_case fit[CASES];
    int n = 0;

    (void)state;
    for (int k = 0; k < CASES; k++) {
        assert_int_equal(fits_back(&cases[k]), cases[k].c <= 64);
        if (fits_back(&cases[k])) fit[n++] = cases[k];
    }
    for (int k = 0; k < n; k += CUDA_LEVEL_CONVS)
        check_back(fit + k, n - k < CUDA_LEVEL_CONVS ? n - k : CUDA_LEVEL_CONVS, 0);
    check_back(fit, 4, 1);      /* several tiles for a block */
    check_back(fit, 4, 5);      /* tiles that do not divide evenly */
    for (int k = 0; k < n; k++) /* alone: the kernel of its size */
        check_back(fit + k, 1, 0);
}

/* Rows that are too long for a tile, channels that do not come by fours, activations in between. */
static void test_fits(void **state)
{
    const pada_shape long_rows = {16, 224, 224};
    pada_conv depth = pada_conv_make(16, 16, 3, 1, 1, PADA_ACT_RELU);
    pada_conv point = pada_conv_make(16, 16, 1, 1, 0, PADA_ACT_NONE);
    pada_shape out = {16, 32, 32};

    (void)state;
    depth.groups = 16;
    assert_true(pada_cuda_level_separable_fits(&depth, &point, out));
    assert_false(pada_cuda_level_separable_fits(&depth, &point, long_rows));
    point.act = PADA_ACT_RELU;
    assert_false(pada_cuda_level_separable_fits(&depth, &point, out));
    point.act = PADA_ACT_NONE;
    point.c_out = out.c = 18;
    assert_false(pada_cuda_level_separable_fits(&depth, &point, out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),        cmocka_unit_test(test_forward_alone),
        cmocka_unit_test(test_forward_rounds), cmocka_unit_test(test_back),
        cmocka_unit_test(test_fits),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}
