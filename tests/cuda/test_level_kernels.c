/* test_level_kernels.c - kernels of levels, launched alone on random tensors, against plain loops in double over
 * the same bfloat16 numbers. On a device or emulated. */
#include "cuda/level_fixture.h"

/* ---- depthwise convolutions ---- */

typedef struct depth_case {
    int c, kernel, stride, dilation, pad, h, w, n, flags;
    pada_act act;
} depth_case;

/* Launches of jobs of different sizes, up to eight at a time. Every kernel, stride and dilation; paddings that are
 * those of the same size, none, fewer and more; gradients with stride 2 begin at either parity. */
static const depth_case depth_cases[] = {
    {16, 3, 1, 1, 1, 7, 7, 3, NORM | FINISH, PADA_ACT_RELU},
    {96, 5, 1, 1, 2, 5, 9, 3, NORM | AFFINE | GRADIENT | SLOPE | FINISH | ACCUMULATE,
     PADA_ACT_RELU6},
    {2, 7, 1, 1, 3, 9, 10, 1, GRADIENT | SLICED, PADA_ACT_NONE},
    {6, 3, 2, 1, 1, 7, 7, 3, NORM | AFFINE | SLICED | GRADIENT | SLOPE | FINISHES, PADA_ACT_RELU},
    {18, 5, 2, 1, 2, 9, 7, 1, SLOPE | FINISHES | ACCUMULATE, PADA_ACT_RELU},
    {36, 7, 2, 1, 3, 12, 9, 1, NORM | GRADIENT | SLICED | ALIGNED, PADA_ACT_RELU6},
    {48, 3, 1, 2, 2, 8, 8, 1, GRADIENT | FINISH, PADA_ACT_RELU},
    {16, 5, 1, 2, 4, 11, 7, 1, NORM | AFFINE | FINISH, PADA_ACT_NONE},

    {18, 7, 1, 2, 6, 9, 13, 1, SLOPE | NORM | SLICED, PADA_ACT_RELU},
    {36, 3, 2, 2, 2, 9, 8, 3, NORM | AFFINE | GRADIENT | ACCUMULATE | FINISHES, PADA_ACT_RELU},
    {6, 5, 2, 2, 4, 13, 9, 1, GRADIENT, PADA_ACT_RELU6},
    {48, 7, 2, 2, 6, 14, 13, 1, FINISH, PADA_ACT_RELU},
    {96, 3, 2, 1, 0, 8, 7, 1, SLOPE | NORM | AFFINE | FINISHES, PADA_ACT_NONE},
    {2, 5, 2, 1, 1, 10, 9, 3, GRADIENT | SLOPE | FINISH, PADA_ACT_RELU},
    {16, 3, 1, 1, 2, 5, 4, 1, GRADIENT | ACCUMULATE, PADA_ACT_NONE},
    {6, 7, 2, 2, 5, 9, 11, 3, NORM | FINISH, PADA_ACT_RELU},

    {130, 5, 2, 2, 3, 9, 5, 1, NORM | AFFINE | GRADIENT | FINISH, PADA_ACT_RELU},
    {20, 3, 1, 1, 1, 19, 21, 2, NORM | AFFINE | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU6},
    {36, 3, 1, 1, 1, 16, 32, 2, SLOPE | FINISH | ACCUMULATE, PADA_ACT_RELU},
    {72, 3, 2, 1, 1, 17, 18, 1, NORM | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU6},
    {40, 5, 1, 1, 2, 10, 17, 2, GRADIENT | SLICED | ALIGNED | SLOPE | FINISHES, PADA_ACT_RELU},
};

enum { DEPTH_CASES = sizeof depth_cases / sizeof *depth_cases };

/* A job and what it reads. */
typedef struct depth_job {
    pada_conv conv;
    pada_shape in, out;
    int n;
    view x;
    gradient dz;
    vector weight;
    result to;
    float *partial;
    int splits;
} depth_job;

static depth_job make_depth(const depth_case *k, uint64_t seed)
{
    depth_job j = {.conv = pada_conv_make(k->c, k->c, k->kernel, k->stride, k->pad, k->act),
                   .in = {k->c, k->h, k->w},
                   .n = k->n};

    j.conv.groups = k->c;
    j.conv.dilation = k->dilation;
    assert_true(pada_cuda_level_depth_fits(&j.conv));
    assert_int_equal(pada_conv_shape(&j.conv, j.in, &j.out), PADA_OK);
    j.x = make_view(j.in, k->n, k->flags, k->act, seed);
    j.dz = make_gradient(j.out, k->n, k->flags, seed + 100);
    j.weight = make_vector(k->c * k->kernel * k->kernel, 2, -1, seed + 200);
    return j;
}

static void free_depth(depth_job *j)
{
    free_view(&j->x);
    free_gradient(&j->dz);
    free_vector(&j->weight);
}

static cuda_level_conv device_depth(const depth_job *j)
{
    return (cuda_level_conv){.conv = j->conv,
                             .in = j->in,
                             .out = j->out,
                             .n_images = j->n,
                             .x = device_view(&j->x),
                             .dz = device_gradient(&j->dz),
                             .weight = j->weight.at,
                             .partial = j->partial,
                             .splits = j->splits};
}

/* Every product of a tap: y += w x, x += w dz, or w += x dz. */
typedef enum product { OUTPUT, INPUT, WEIGHT } product;

static double *depth_products(const depth_job *j, product which)
{
    const net in = {j->in, j->n, 0, 0}, out = {j->out, j->n, 0, 0};
    const int taps = j->conv.kernel * j->conv.kernel;
    double *sums = zeros(
        which == WEIGHT ? j->weight.n : j->n * pada_shape_count(which == OUTPUT ? j->out : j->in));

    FOR_EACH(&out, n, h, w, c)
    for (int t = 0; t < taps; t++) {
        const int y = h * j->conv.stride + t / j->conv.kernel * j->conv.dilation - j->conv.pad;
        const int x = w * j->conv.stride + t % j->conv.kernel * j->conv.dilation - j->conv.pad;
        if (!inside(&in, y, x)) continue;
        const double weight = j->weight.is[c * taps + t];
        const double value = view_get(&j->x, n, y, x, c);
        const double dz = gradient_get(&j->dz, n, h, w, c);
        if (which == OUTPUT)
            sums[at(&out, n, h, w, c)] += weight * value;
        else if (which == INPUT)
            sums[at(&in, n, y, x, c)] += weight * dz;
        else
            sums[c * taps + t] += value * dz;
    }
    return sums;
}

static void check_depth_forward(const depth_case *cases, int n)
{
    depth_job jobs[CUDA_LEVEL_CONVS];
    cuda_level_convs launch = {.n = n};

    for (int k = 0; k < n; k++) {
        jobs[k] = make_depth(&cases[k], 1000 * (uint64_t)(k + 1));
        /* outputs have moments once, and no earlier contributions */
        jobs[k].to = make_result(jobs[k].out, jobs[k].n, cases[k].flags & ~(ACCUMULATE | FINISHES),
                                 false, 300 + (uint64_t)k);
        launch.at[k] = device_depth(&jobs[k]);
        launch.at[k].to = device_result(&jobs[k].to);
    }
    check_cuda(pada_cuda_level_depth_forward(NULL, &launch));
    for (int k = 0; k < n; k++) {
        char what[40];
        snprintf(what, sizeof what, "output of job %d", k);
        check_result(what, &jobs[k].to, depth_products(&jobs[k], OUTPUT), 1e-6);
        free_depth(&jobs[k]);
    }
}

static void check_depth_weights(const depth_job *j, int k)
{
    double *want = depth_products(j, WEIGHT);
    double *sums = add_partials(j->partial, j->splits, j->weight.n);
    char what[40];

    snprintf(what, sizeof what, "weights of job %d", k);
    check_numbers(what, sums, want, j->weight.n, 1e-5, 1e-5);
    free(want);
    free(sums);
}

/* x is behind the norm that the gradient goes to: its operand is x, which is read once. */
static void share_x(depth_job *j, cuda_level_conv *at)
{
    tensor *z = &j->to.finishes[0].z.all;

    assert_int_equal(z->n, j->x.x.all.n);
    memcpy(z->is, j->x.x.all.is, (size_t)z->n * sizeof *z->is);
    at->to.finishes[0].z = at->x.data;
    at->to.finishes[0].z_image = at->x.image;
}

/* As many partial sums as the kernel wants, or (splits) another number of them; both gradients, or that of the weights
 * alone. The slope is that of x, which a job that has one reads it by. */
static void check_depth_back(const depth_case *cases, int n, int splits, bool weights_alone)
{
    depth_job jobs[CUDA_LEVEL_CONVS];
    cuda_level_convs launch = {.n = n};

    for (int k = 0; k < n; k++) {
        depth_job *j = &jobs[k];
        *j = make_depth(&cases[k], 1000 * (uint64_t)(k + 1));
        j->splits = splits ? splits : pada_cuda_level_depth_splits(&j->conv, j->in, j->n, 1);
        assert_in_range(j->splits, 1, 528);
        j->partial = device_memory((size_t)(j->splits * j->weight.n) * sizeof(float), 0xff);
        launch.at[k] = device_depth(j);
        if (weights_alone) continue;
        j->to = make_result(j->in, j->n, cases[k].flags & ~SLOPE, true, 300 + (uint64_t)k);
        launch.at[k].to = device_result(&j->to);
        if (cases[k].flags & NORM && j->to.n_finishes > 0) share_x(j, &launch.at[k]);
        j->to.has_slope = cases[k].act != PADA_ACT_NONE;
        j->to.at = j->x;
        if (j->to.has_slope) launch.at[k].to.at = launch.at[k].x;
    }
    check_cuda(pada_cuda_level_depth_back(NULL, &launch));
    for (int k = 0; k < n; k++) {
        depth_job *j = &jobs[k];
        char what[40];
        check_depth_weights(j, k);
        snprintf(what, sizeof what, "gradient of job %d", k);
        if (!weights_alone) {
            const bool shared = j->to.has_slope; /* x is freed with the result then */
            check_result(what, &j->to, depth_products(j, INPUT), 1e-6);
            if (shared) j->x = (view){0};
        }
        check_cuda(cudaFree(j->partial));
        free_depth(j);
    }
}

/* All cases, as many in a launch as it takes. */
static void test_depth_forward(void **state)
{
    (void)state;
    for (int k = 0; k < DEPTH_CASES; k += CUDA_LEVEL_CONVS) {
        const int left = DEPTH_CASES - k;
        check_depth_forward(depth_cases + k, left < CUDA_LEVEL_CONVS ? left : CUDA_LEVEL_CONVS);
    }
}

static void test_depth_back(void **state)
{
    (void)state;
    for (int k = 0; k < DEPTH_CASES; k += CUDA_LEVEL_CONVS) {
        const int left = DEPTH_CASES - k;
        check_depth_back(depth_cases + k, left < CUDA_LEVEL_CONVS ? left : CUDA_LEVEL_CONVS, 0,
                         false);
    }
    check_depth_back(depth_cases, 4, 1, false); /* several tiles for a block */
    check_depth_back(depth_cases, 4, 5, true);  /* tiles that do not divide evenly */
    for (int k = 0; k < DEPTH_CASES; k++)       /* alone: the kernel of its size */
        check_depth_back(depth_cases + k, 1, 0, false);
}

/* So many channels that there is one block for each 32 of them: it has several tiles. */
static void test_depth_rounds(void **state)
{
    const depth_case large = {25600, 3, 1, 1, 1, 5, 5, 3, 0, PADA_ACT_RELU};

    /* and tiles of gradients are tall */
    const depth_case tall = {25600, 3, 1, 1, 1, 13, 5, 3, NORM | GRADIENT, PADA_ACT_RELU6};

    (void)state;
    check_depth_forward(&large, 1);
    check_depth_back(&tall, 1, 0, false);
}

/* ---- dense convolutions ---- */

/* The widest of the spaces: bottlenecks of Macro, features in front of a head. */
static void test_dense_fits(void **state)
{
    static const int channels[][2] = {{256, 1536}, {1536, 256}, {256, 1280}, {3, 32}};

    (void)state;
    for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
        const pada_conv conv =
            pada_conv_make(channels[k][0], channels[k][1], 1, 1, 0, PADA_ACT_NONE);
        assert_true(pada_cuda_level_dense_fits(&conv));
    }
}

/* ---- sums ---- */

/* One letter for each term: an identity, a batch norm, a mean over windows; backward gradients of them. */
typedef struct sum_case {
    pada_shape shape;
    int n, flags;
    const char *terms;
    pada_pool pool;
} sum_case;

static const sum_case sum_cases[] = {
    {{16, 7, 7}, 3, FINISH, "ib", {3, 1, 1}},
    {{96, 5, 9}, 1, SLICED | ALIGNED | AFFINE | FINISHES | SLOPE | ACCUMULATE, "bbip", {3, 1, 1}},
    {{6, 5, 9}, 3, SLICED | FINISHES | SLOPE, "pb", {3, 2, 1}},
    {{18, 7, 7}, 1, AFFINE | ACCUMULATE, "b", {3, 1, 1}},

    {{48, 7, 5}, 3, SLICED | FINISH | SLOPE, "bpi", {5, 2, 2}},
    {{36, 5, 5}, 1, AFFINE | SLOPE | FINISH, "ip", {2, 2, 0}},
    {{2, 7, 7}, 1, SLICED, "iiii", {3, 1, 1}},
    {{520, 3, 4}, 3, AFFINE, "bp", {3, 1, 1}}, /* several chunks of channels */

    {{36, 9, 9}, 3, AFFINE | FINISH | SLOPE, "bb", {3, 1, 1}},
    {{72, 5, 7}, 3, SLICED | ALIGNED | FINISHES | ACCUMULATE, "ibp", {3, 2, 1}},
    {{12, 6, 6}, 2, SLICED | ALIGNED | AFFINE | FINISH, "bpb", {3, 1, 1}},
    {{40, 3, 3}, 2, FINISH, "bbb", {3, 1, 1}},

    {{16, 32, 32},
     48,
     AFFINE | FINISHES | SLOPE,
     "bi",
     {3, 1, 1}}, /* several pixels for a thread */
    {{64, 8, 8}, 3, AFFINE | SLICED | ALIGNED, "ib", {3, 1, 1}},
    {{36, 16, 16}, 48, FINISH | ACCUMULATE, "pb", {3, 1, 1}},
    {{8, 3, 3}, 1, 0, "i", {3, 1, 1}},
};

enum { SUM_CASES = sizeof sum_cases / sizeof *sum_cases };

typedef struct sum_job {
    int n_terms;
    bool pooled[CUDA_LEVEL_TERMS];
    view x[CUDA_LEVEL_TERMS];
    gradient dz[CUDA_LEVEL_TERMS];
    pada_shape from[CUDA_LEVEL_TERMS];
    result to;
} sum_job;

/* A shape of which windows make `of`, or that they make of it. */
static pada_shape pooled_shape(pada_pool pool, pada_shape of, bool backward)
{
    pada_shape from = {of.c, (of.h - 1) * pool.stride + pool.kernel - 2 * pool.pad,
                       (of.w - 1) * pool.stride + pool.kernel - 2 * pool.pad};

    if (backward) assert_int_equal(pada_pool_shape(&pool, of, &from), PADA_OK);
    return from;
}

static cuda_level_sum make_sum(sum_job *j, const sum_case *k, bool backward, uint64_t seed)
{
    cuda_level_sum job = {.shape = k->shape, .n_images = k->n, .n_terms = (int)strlen(k->terms)};

    *j = (sum_job){.n_terms = job.n_terms};
    for (int e = 0; e < j->n_terms; e++, seed += 50) {
        const bool norm = k->terms[e] == 'b' || (k->terms[e] == 'p' && k->flags & AFFINE);
        cuda_level_term *term = &job.terms[e];
        j->pooled[e] = term->pooled = k->terms[e] == 'p';
        j->from[e] = j->pooled[e] ? pooled_shape(k->pool, k->shape, backward) : k->shape;
        term->pool = k->pool;
        term->from = j->from[e];
        if (backward) {
            j->dz[e] = make_gradient(j->from[e], k->n, k->flags | (norm ? GRADIENT : 0), seed);
            term->dz = device_gradient(&j->dz[e]);
        } else {
            j->x[e] = make_view(j->from[e], k->n, k->flags | (norm ? NORM : 0),
                                e == 1 ? PADA_ACT_RELU : PADA_ACT_NONE, seed);
            term->x = device_view(&j->x[e]);
        }
    }
    j->to = make_result(k->shape, k->n, k->flags, backward, seed);
    job.to = device_result(&j->to);
    return job;
}

/* Pixels first to end - 1 of n under window o. */
static int window_of(const pada_pool *pool, int o, int n, int *first)
{
    const int begin = o * pool->stride - pool->pad, end = begin + pool->kernel;

    *first = begin < 0 ? 0 : begin;
    return end > n ? n : end;
}

static void add_means(const sum_job *j, int e, const sum_case *k, bool backward, double *sums)
{
    const pada_shape means = backward ? j->from[e] : k->shape;
    const pada_shape values = backward ? k->shape : j->from[e];
    const net of_means = {means, k->n, 0, 0}, of_values = {values, k->n, 0, 0};

    FOR_EACH(&of_means, n, h, w, c)
    {
        int h0, w0;
        const int h1 = window_of(&k->pool, h, values.h, &h0);
        const int w1 = window_of(&k->pool, w, values.w, &w0);
        for (int y = h0; y < h1; y++)
            for (int x = w0; x < w1; x++) {
                const double share = 1.0 / ((h1 - h0) * (w1 - w0));
                if (backward)
                    sums[at(&of_values, n, y, x, c)] += share * gradient_get(&j->dz[e], n, h, w, c);
                else
                    sums[at(&of_means, n, h, w, c)] += share * view_get(&j->x[e], n, y, x, c);
            }
    }
}

static double *add_terms(const sum_job *j, const sum_case *k, bool backward)
{
    const net all = {k->shape, k->n, 0, 0};
    double *sums = zeros(k->n * pada_shape_count(k->shape));

    for (int e = 0; e < j->n_terms; e++) {
        if (j->pooled[e]) {
            add_means(j, e, k, backward, sums);
            continue;
        }
        FOR_EACH(&all, n, h, w, c)
        sums[at(&all, n, h, w, c)] +=
            backward ? gradient_get(&j->dz[e], n, h, w, c) : view_get(&j->x[e], n, h, w, c);
    }
    return sums;
}

static void check_sum(const sum_case *cases, int n, bool backward)
{
    sum_job jobs[CUDA_LEVEL_SUMS];
    cuda_level_sums launch = {.n = n};

    for (int k = 0; k < n; k++)
        launch.at[k] = make_sum(&jobs[k], &cases[k], backward, 1000 * (uint64_t)(k + 1));
    check_cuda(pada_cuda_level_sum(NULL, &launch));
    for (int k = 0; k < n; k++) {
        char what[40];
        snprintf(what, sizeof what, "%s sum %s", backward ? "backward" : "forward", cases[k].terms);
        check_result(what, &jobs[k].to, add_terms(&jobs[k], &cases[k], backward), 1e-6);
        for (int e = 0; e < jobs[k].n_terms; e++)
            if (backward)
                free_gradient(&jobs[k].dz[e]);
            else
                free_view(&jobs[k].x[e]);
    }
}

static void test_sums(void **state)
{
    (void)state;
    for (int backward = 0; backward < 2; backward++)
        for (int k = 0; k < SUM_CASES; k += CUDA_LEVEL_SUMS)
            check_sum(sum_cases + k, CUDA_LEVEL_SUMS, backward);
}

/* ---- pools ---- */

typedef struct pool_case {
    pada_shape in;
    int n, flags;
    pada_pool_kind kind;
    pada_pool pool;
    pada_act act;
} pool_case;

/* Values behind an activation are often equal: the gradient goes to the first of them. */
static const pool_case pool_cases[] = {
    {{16, 7, 7}, 3, NORM | FINISH, PADA_POOL_MAX, {3, 1, 1}, PADA_ACT_RELU},
    {{6, 5, 9}, 3, NORM | AFFINE | SLOPE | FINISHES, PADA_POOL_MAX, {3, 2, 1}, PADA_ACT_RELU6},
    {{96, 5, 9},
     1,
     SLICED | ALIGNED | SLOPE | ACCUMULATE | FINISH,
     PADA_POOL_AVG,
     {3, 1, 1},
     PADA_ACT_RELU},
    {{18, 7, 7}, 1, NORM | AFFINE | SLICED | FINISH, PADA_POOL_AVG, {3, 2, 1}, PADA_ACT_NONE},
    {{48, 6, 7}, 1, SLICED | ACCUMULATE | SLOPE, PADA_POOL_MAX, {5, 2, 2}, PADA_ACT_RELU},
    {{2, 8, 8}, 3, 0, PADA_POOL_MAX, {2, 2, 0}, PADA_ACT_NONE},
    {{520, 5, 5}, 3, NORM, PADA_POOL_MAX, {3, 1, 0}, PADA_ACT_RELU},

    {{16, 9, 9}, 3, TIES | NANS, PADA_POOL_MAX, {3, 1, 1}, PADA_ACT_NONE},
    {{16, 20, 33},
     2,
     TIES | NORM | AFFINE | SLOPE | FINISHES | ACCUMULATE,
     PADA_POOL_MAX,
     {3, 1, 1},
     PADA_ACT_NONE},
    {{36, 9, 8}, 3, TIES | NORM | FINISH, PADA_POOL_MAX, {3, 2, 1}, PADA_ACT_NONE},
    {{72, 8, 8}, 3, SLICED | ALIGNED | NORM | AFFINE, PADA_POOL_MAX, {3, 1, 1}, PADA_ACT_NONE},
    {{18, 7, 8}, 2, TIES | NANS | SLICED, PADA_POOL_MAX, {3, 2, 0}, PADA_ACT_NONE},
    {{520, 5, 5}, 3, NORM | TIES, PADA_POOL_MAX, {3, 1, 2}, PADA_ACT_NONE},
    {{36, 9, 9}, 3, NORM | AFFINE | FINISH, PADA_POOL_AVG, {3, 1, 1}, PADA_ACT_NONE},

    {{16, 32, 32}, 48, TIES | FINISH, PADA_POOL_MAX, {3, 1, 1}, PADA_ACT_NONE},
    {{64, 9, 8}, 3, NORM | FINISH | SLOPE, PADA_POOL_AVG, {3, 2, 1}, PADA_ACT_NONE},
    {{64, 3, 4}, 2, TIES | NORM | NANS, PADA_POOL_MAX, {3, 3, 1}, PADA_ACT_NONE},
    {{16, 7, 7}, 3, TIES | NANS | NORM | FINISH, PADA_POOL_MAX, {3, 1, 1}, PADA_ACT_NONE},
    {{48, 8, 8}, 2, NORM, PADA_POOL_AVG, {4, 2, 1}, PADA_ACT_RELU},
    {{16, 8, 8}, 2, TIES | NORM | AFFINE, PADA_POOL_MAX, {2, 2, 0}, PADA_ACT_NONE},
    {{24, 2, 3}, 3, TIES, PADA_POOL_MAX, {3, 2, 1}, PADA_ACT_NONE},
};

enum { POOL_CASES = sizeof pool_cases / sizeof *pool_cases };

typedef struct pool_job {
    pada_shape out;
    view x;
    gradient dy;
    result to;
} pool_job;

static cuda_level_pool make_pool(pool_job *j, const pool_case *k, bool backward, uint64_t seed)
{
    *j = (pool_job){.x = make_view(k->in, k->n, k->flags, k->act, seed)};
    if (k->flags & TIES) tie_view(&j->x, k->flags);
    assert_int_equal(pada_pool_shape(&k->pool, k->in, &j->out), PADA_OK);
    j->dy = make_gradient(j->out, k->n, k->flags & ~GRADIENT, seed + 100);
    j->to = make_result(backward ? k->in : j->out, k->n, k->flags, backward, seed + 200);
    return (cuda_level_pool){.pool = k->pool,
                             .kind = k->kind,
                             .in = k->in,
                             .out = j->out,
                             .n_images = k->n,
                             .x = device_view(&j->x),
                             .dz = device_gradient(&j->dy),
                             .to = device_result(&j->to)};
}

static double *pool_products(const pool_job *j, const pool_case *k, bool backward)
{
    const net in = {k->in, k->n, 0, 0}, out = {j->out, k->n, 0, 0};
    double *sums = zeros(k->n * pada_shape_count(backward ? k->in : j->out));

    FOR_EACH(&out, n, h, w, c)
    {
        int h0, w0, best = -1;
        const int h1 = window_of(&k->pool, h, k->in.h, &h0);
        const int w1 = window_of(&k->pool, w, k->in.w, &w0), wide = w1 - w0;
        const int pixels = (h1 - h0) * wide;
        double *y = &sums[backward ? 0 : at(&out, n, h, w, c)], largest = 0;
        for (int i = 0; i < pixels; i++) {
            const double x = view_get(&j->x, n, h0 + i / wide, w0 + i % wide, c);
            if (best < 0 || x > largest || x != x) best = i, largest = x;
            if (!backward && k->kind == PADA_POOL_AVG) *y += x / pixels;
        }
        if (!backward && k->kind == PADA_POOL_MAX) *y = largest;
        for (int i = 0; i < pixels && backward; i++)
            if (k->kind == PADA_POOL_AVG || i == best)
                sums[at(&in, n, h0 + i / wide, w0 + i % wide, c)] +=
                    gradient_get(&j->dy, n, h, w, c) / (k->kind == PADA_POOL_AVG ? pixels : 1);
    }
    return sums;
}

static void check_pools(const pool_case *cases, bool backward)
{
    pool_job jobs[CUDA_LEVEL_POOLS];
    cuda_level_pools launch = {.n = CUDA_LEVEL_POOLS};

    for (int k = 0; k < launch.n; k++)
        launch.at[k] = make_pool(&jobs[k], &cases[k], backward, 1000 * (uint64_t)(k + 1));
    check_cuda(backward ? pada_cuda_level_pool_grad(NULL, &launch)
                        : pada_cuda_level_pool_forward(NULL, &launch));
    for (int k = 0; k < launch.n; k++) {
        char what[60];
        snprintf(what, sizeof what, "%s of a pool of %d channels, %dx%d",
                 backward ? "gradient" : "output", cases[k].in.c, cases[k].in.h, cases[k].in.w);
        check_result(what, &jobs[k].to, pool_products(&jobs[k], &cases[k], backward), 1e-6);
        free_view(&jobs[k].x);
        free_gradient(&jobs[k].dy);
    }
}

static void test_pools(void **state)
{
    (void)state;
    assert_int_equal(POOL_CASES % CUDA_LEVEL_POOLS, 0);
    for (int k = 0; k < POOL_CASES; k += CUDA_LEVEL_POOLS) {
        check_pools(pool_cases + k, false);
        check_pools(pool_cases + k, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth_forward), cmocka_unit_test(test_depth_back),
        cmocka_unit_test(test_depth_rounds),  cmocka_unit_test(test_dense_fits),
        cmocka_unit_test(test_sums),          cmocka_unit_test(test_pools),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}
