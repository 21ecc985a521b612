/* test_level_dense.c - dense convolutions of levels, launched alone on random tensors, against plain loops in double
 * over the same bfloat16 numbers. On a device or emulated. */
#include "cuda/level_fixture.h"

typedef struct dense_case {
    int c_in, c_out, kernel, stride, dilation, pad, offset, h, w, n, flags;
    pada_act act;
} dense_case;

/* Launches of jobs of different sizes, as many as it takes at a time. Channels that fill a group of lanes and that do not, one
 * group of columns and several, one step of channels and several; tensors that lie in one piece and slices; taps,
 * strides and offsets; images, which have three channels. */
static const dense_case dense_cases[] = {
    {16, 16, 1, 1, 1, 0, 0, 8, 9, 3, NORM | FINISH | GRADIENT, PADA_ACT_RELU},
    {32, 32, 1, 1, 1, 0, 0, 7, 5, 3, GRADIENT | SLOPE | FINISHES | ACCUMULATE, PADA_ACT_NONE},
    {64, 64, 1, 1, 1, 0, 0, 5, 9, 2, NORM | AFFINE | GRADIENT | FINISH, PADA_ACT_RELU6},
    {36, 36, 1, 1, 1, 0, 0, 6, 6, 2, GRADIENT | FINISH, PADA_ACT_RELU},
    {72, 72, 1, 1, 1, 0, 0, 7, 7, 1, NORM | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU},
    {144, 144, 1, 1, 1, 0, 0, 5, 5, 1, NORM | AFFINE | GRADIENT | SLOPE | FINISHES, PADA_ACT_RELU},
    {24, 144, 1, 1, 1, 0, 0, 6, 7, 2, FINISH | GRADIENT | ACCUMULATE, PADA_ACT_NONE},
    {144, 24, 1, 1, 1, 0, 0, 6, 7, 2, NORM | AFFINE | SLOPE | FINISH, PADA_ACT_RELU6},

    {64, 64, 1, 1, 1, 0, 0, 5, 9, 2, SLICED | ALIGNED | NORM | GRADIENT | SLOPE | FINISHES,
     PADA_ACT_RELU},
    {48, 32, 1, 1, 1, 0, 0, 5, 7, 3, SLICED | GRADIENT | ACCUMULATE, PADA_ACT_NONE},
    {16, 6, 1, 1, 1, 0, 0, 4, 5, 3, SLICED | NORM | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU},
    {64, 8, 1, 2, 1, 0, 0, 8, 6, 2, GRADIENT | SLOPE | FINISH, PADA_ACT_RELU},
    {64, 8, 1, 2, 1, 0, 1, 8, 6, 2, GRADIENT | SLOPE | ACCUMULATE, PADA_ACT_RELU},
    {18, 18, 1, 2, 1, 0, 1, 9, 8, 2, NORM | FINISH, PADA_ACT_RELU},
    {108, 36, 1, 1, 1, 0, 0, 4, 5, 2, NORM | AFFINE | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU},
    {40, 240, 1, 1, 1, 0, 0, 5, 5, 1, GRADIENT, PADA_ACT_NONE},

    {32, 32, 3, 1, 1, 1, 0, 6, 5, 2, NORM | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU},
    {16, 24, 3, 2, 1, 1, 0, 7, 8, 2, NORM | AFFINE | FINISH, PADA_ACT_RELU6},
    {72, 12, 3, 1, 2, 2, 0, 6, 6, 1, GRADIENT | ACCUMULATE, PADA_ACT_RELU},
    {10, 130, 3, 1, 1, 0, 0, 5, 6, 1, SLICED | NORM | FINISH, PADA_ACT_NONE},
    {320, 160, 1, 1, 1, 0, 0, 3, 3, 2, NORM | GRADIENT | FINISH, PADA_ACT_RELU},
    {34, 66, 1, 1, 1, 0, 0, 5, 4, 2, SLICED | NORM | GRADIENT | SLOPE | ACCUMULATE, PADA_ACT_RELU},
    {128, 64, 5, 1, 1, 2, 0, 3, 3, 1, GRADIENT, PADA_ACT_NONE},
    {1376, 10, 1, 1, 1, 0, 0, 2, 2, 2, NORM | FINISHES, PADA_ACT_RELU},

    /* pixels in one piece: halves of pieces, pixels of an odd number, slices, several blocks for the columns, deep ones */
    {36, 36, 1, 1, 1, 0, 0, 7, 11, 1, NORM | AFFINE | GRADIENT | SLOPE | FINISHES | ACCUMULATE,
     PADA_ACT_RELU},
    {20, 12, 1, 1, 1, 0, 0, 13, 5, 1, NORM | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU6},
    {12, 100, 1, 1, 1, 0, 0, 3, 3, 1, GRADIENT | FINISH | ACCUMULATE, PADA_ACT_NONE},
    {36, 72, 1, 1, 1, 0, 0, 9, 7, 3, SLICED | JOINED | ALIGNED | NORM | GRADIENT | SLOPE | FINISH,
     PADA_ACT_RELU},
    {72, 36, 1, 1, 1, 0, 0, 5, 3, 3,
     SLICED | JOINED | ALIGNED | NORM | GRADIENT | FINISHES | ACCUMULATE, PADA_ACT_RELU},
    {480, 80, 1, 1, 1, 0, 0, 3, 7, 1, NORM | AFFINE | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU6},
    {80, 396, 1, 1, 1, 0, 0, 3, 7, 3, NORM | SLOPE | FINISH, PADA_ACT_RELU},
    {208, 224, 1, 1, 1, 0, 0, 1, 1, 1, SLOPE | FINISHES, PADA_ACT_NONE},

    {640, 16, 1, 1, 1, 0, 0, 5, 5, 1, NORM | GRADIENT | SLOPE | ACCUMULATE, PADA_ACT_RELU},
    {8, 8, 1, 1, 1, 0, 0, 9, 9, 5, NORM | GRADIENT | SLOPE | FINISHES | ACCUMULATE, PADA_ACT_RELU},
    {36, 36, 1, 1, 1, 0, 0, 9, 9, 3, SLICED | JOINED | GRADIENT | FINISH, PADA_ACT_RELU},
    /* no sums: among so many products, one whose operand is rounded the other way shows in them */
    {80, 396, 1, 1, 1, 0, 0, 3, 7, 3, NORM | GRADIENT | SLOPE, PADA_ACT_RELU},

    /* more channels than a tile of pixels has room for: chunks that are not full, columns that do not divide evenly */
    {768, 136, 1, 1, 1, 0, 0, 5, 9, 3, NORM | AFFINE | GRADIENT | SLOPE | FINISH, PADA_ACT_RELU6},
    {136, 768, 1, 1, 1, 0, 0, 5, 9, 2, NORM | SLOPE | FINISHES | ACCUMULATE, PADA_ACT_RELU},
    {664, 648, 1, 1, 1, 0, 0, 3, 5, 5,
     SLICED | JOINED | ALIGNED | NORM | GRADIENT | SLOPE | ACCUMULATE, PADA_ACT_RELU},
    {136, 768, 1, 1, 1, 0, 0, 7, 5, 1, JOINED | ALIGNED | NORM | GRADIENT | SLOPE | ACCUMULATE,
     PADA_ACT_RELU},
    {1536, 8, 1, 1, 1, 0, 0, 3, 3, 2, FINISH | GRADIENT, PADA_ACT_NONE},

    /* z of the gradient in one piece, too */
    {64, 72, 1, 1, 1, 0, 0, 7, 11, 1, JOINED | ALIGNED | NORM | AFFINE | GRADIENT | SLOPE | FINISH,
     PADA_ACT_RELU},
    {36, 36, 1, 1, 1, 0, 0, 9, 11, 1, JOINED | ALIGNED | NORM | GRADIENT | FINISHES, PADA_ACT_RELU},
    {16, 24, 1, 1, 1, 0, 0, 9, 11, 1, JOINED | ALIGNED | GRADIENT | ACCUMULATE, PADA_ACT_RELU6},
};

/* What stems read. */
static const dense_case image_cases[] = {
    {3, 48, 3, 1, 1, 1, 0, 7, 6, 3, FINISH | GRADIENT, PADA_ACT_NONE},
    {3, 16, 3, 2, 1, 1, 0, 9, 8, 2, FINISH, PADA_ACT_NONE},
    {3, 108, 3, 1, 1, 1, 0, 6, 6, 1, SLICED | GRADIENT, PADA_ACT_NONE},
    {3, 64, 7, 2, 1, 3, 0, 11, 9, 1, GRADIENT | FINISH, PADA_ACT_NONE},
    {1, 20, 5, 1, 1, 2, 0, 5, 6, 2, FINISH, PADA_ACT_NONE},
    {3, 16, 1, 1, 1, 0, 0, 5, 7, 3, FINISH | GRADIENT, PADA_ACT_NONE},
};

enum {
    DENSE_CASES = sizeof dense_cases / sizeof *dense_cases,
    IMAGE_CASES = sizeof image_cases / sizeof *image_cases
};

/* A job and what it reads. */
typedef struct dense_job {
    pada_conv conv;
    pada_shape in, out;
    int n;
    view x;
    gradient dz;
    vector weight; /* as bfloat16 holds it */
    void *fragment;
    result to;
    float *partial;
    int splits;
} dense_job;

/* The numbers of case k of a list, however many cases a launch takes. A few numbers are rounded to bfloat16 the other way
 * than here, of which these few cases have none that show. */
static uint64_t seed_of(int k)
{
    return (uint64_t)(k % 8);
}

static dense_job make_dense(const dense_case *k, uint64_t seed)
{
    dense_job j = {.conv = pada_conv_make(k->c_in, k->c_out, k->kernel, k->stride, k->pad, k->act),
                   .in = {k->c_in, k->h, k->w},
                   .n = k->n};

    j.conv.dilation = k->dilation;
    j.conv.offset = k->offset;
    assert_true(pada_cuda_level_dense_fits(&j.conv));
    assert_int_equal(pada_conv_shape(&j.conv, j.in, &j.out), PADA_OK);
    j.x = make_view(j.in, k->n, k->flags, k->act, seed);
    j.dz = make_gradient(j.out, k->n, k->flags, seed + 100);
    j.weight = make_packed(&j.conv, &j.fragment, seed + 200);
    return j;
}

static void free_dense(dense_job *j)
{
    free_view(&j->x);
    free_gradient(&j->dz);
    free_vector(&j->weight);
    check_cuda(cudaFree(j->fragment));
}

static cuda_level_conv device_dense(const dense_job *j, bool transposed)
{
    return (cuda_level_conv){.conv = j->conv,
                             .in = j->in,
                             .out = j->out,
                             .n_images = j->n,
                             .x = device_view(&j->x),
                             .dz = device_gradient(&j->dz),
                             .fragment = find_fragment(&j->conv, j->fragment, transposed),
                             .partial = j->partial,
                             .splits = j->splits};
}

typedef enum product { OUTPUT, INPUT, WEIGHT } product;

/* All products of one pixel of the output and one tap. */
static void add_products(const dense_job *j, product which, int n, int h, int w, int t,
                         double *sums)
{
    const net in = {j->in, j->n, 0, 0}, out = {j->out, j->n, 0, 0};
    const int taps = j->conv.kernel * j->conv.kernel, shift = j->conv.offset - j->conv.pad;
    const int y = h * j->conv.stride + t / j->conv.kernel * j->conv.dilation + shift;
    const int x = w * j->conv.stride + t % j->conv.kernel * j->conv.dilation + shift;

    if (!inside(&in, y, x)) return;
    for (int o = 0; o < j->out.c; o++) {
        const double dz = which == OUTPUT ? 0 : rounded(gradient_get(&j->dz, n, h, w, o));
        for (int c = 0; c < j->in.c; c++) {
            const int at_weight = (o * j->in.c + c) * taps + t;
            const double weight = j->weight.is[at_weight];
            if (which == OUTPUT)
                sums[at(&out, n, h, w, o)] += weight * rounded(view_get(&j->x, n, y, x, c));
            else if (which == INPUT)
                sums[at(&in, n, y, x, c)] += weight * dz;
            else
                sums[at_weight] += rounded(view_get(&j->x, n, y, x, c)) * dz;
        }
    }
}

static double *dense_products(const dense_job *j, product which)
{
    double *sums = zeros(
        which == WEIGHT ? j->weight.n : j->n * pada_shape_count(which == OUTPUT ? j->out : j->in));

    for (int n = 0; n < j->n; n++)
        for (int h = 0; h < j->out.h; h++)
            for (int w = 0; w < j->out.w; w++)
                for (int t = 0; t < j->conv.kernel * j->conv.kernel; t++)
                    add_products(j, which, n, h, w, t, sums);
    return sums;
}

/* `first`: where they begin in their list. */
static void check_dense(const dense_case *cases, int first, int n, product which)
{
    dense_job jobs[CUDA_LEVEL_CONVS];
    cuda_level_convs launch = {.n = n};

    for (int k = 0; k < n; k++) {
        const pada_shape *shape = which == OUTPUT ? &jobs[k].out : &jobs[k].in;
        jobs[k] = make_dense(&cases[k], 1000 * (seed_of(first + k) + 1));
        /* outputs have moments once, and no earlier contributions */
        int flags = which == OUTPUT ? cases[k].flags & ~(ACCUMULATE | FINISHES) : cases[k].flags;
        if (shape->c > 167) flags &= ~(FINISH | FINISHES); /* more than the fixture checks */
        jobs[k].to =
            make_result(*shape, jobs[k].n, flags, which == INPUT, 300 + seed_of(first + k));
        launch.at[k] = device_dense(&jobs[k], which == INPUT);
        launch.at[k].to = device_result(&jobs[k].to);
    }
    check_cuda(which == OUTPUT ? pada_cuda_level_dense_forward(NULL, &launch)
                               : pada_cuda_level_dense_grad_in(NULL, &launch));
    for (int k = 0; k < n; k++) {
        char what[60];
        snprintf(what, sizeof what, "%s of %d to %d channels",
                 which == OUTPUT ? "output" : "gradient", cases[k].c_in, cases[k].c_out);
        check_result(what, &jobs[k].to, dense_products(&jobs[k], which), ROUNDED_OTHERWISE);
        free_dense(&jobs[k]);
    }
}

/* All cases, as many in a launch as it takes. */
static void check_all(const dense_case *cases, int n, product which)
{
    for (int k = 0; k < n; k += CUDA_LEVEL_CONVS)
        check_dense(cases + k, k, n - k < CUDA_LEVEL_CONVS ? n - k : CUDA_LEVEL_CONVS, which);
}

static void test_dense_forward(void **state)
{
    (void)state;
    check_all(dense_cases, DENSE_CASES, OUTPUT);
}

static void test_dense_images(void **state)
{
    (void)state;
    check_all(image_cases, IMAGE_CASES, OUTPUT);
}

static void test_dense_grad_in(void **state)
{
    (void)state;
    check_all(dense_cases, DENSE_CASES, INPUT);
}

/* So many pixels that a warp has several tiles; and beside them a job that has one tile. Without norms, so that nothing
 * is rounded before it is multiplied: among so many numbers, a few would be rounded the other way. */
static void test_dense_rounds(void **state)
{
    const dense_case cases[] = {{16, 16, 1, 1, 1, 0, 0, 120, 121, 8, SLOPE | FINISH, PADA_ACT_RELU},
                                {72, 16, 1, 1, 1, 0, 0, 3, 5, 1, GRADIENT | FINISH, PADA_ACT_NONE}};
    const dense_case joined = {36, 20, 1, 1, 1, 0, 0, 99, 97, 9, SLOPE | FINISH, PADA_ACT_RELU};

    (void)state;
    check_dense(cases, 0, 2, OUTPUT);
    check_dense(cases, 0, 2, INPUT);
    check_dense(&joined, 0, 1, OUTPUT);
    check_dense(&joined, 0, 1, INPUT);
}

/* As many partial sums as the kernel wants, or another number of them. */
static void check_dense_weights(const dense_case *cases, int first, int n, int splits)
{
    dense_job jobs[CUDA_LEVEL_CONVS];
    cuda_level_convs launch = {.n = n};

    for (int k = 0; k < n; k++) {
        dense_job *j = &jobs[k];
        *j = make_dense(&cases[k], 1000 * (seed_of(first + k) + 1));
        j->splits = splits ? splits : pada_cuda_level_dense_splits(&j->conv, j->out, j->n, 1);
        assert_in_range(j->splits, 1, 1056);
        j->partial = device_memory((size_t)(j->splits * j->weight.n) * sizeof(float), 0xff);
        launch.at[k] = device_dense(j, false);
    }
    check_cuda(pada_cuda_level_dense_weights(NULL, &launch));
    for (int k = 0; k < n; k++) {
        dense_job *j = &jobs[k];
        double *want = dense_products(j, WEIGHT);
        double *sums = add_partials(j->partial, j->splits, j->weight.n);
        char what[60];
        snprintf(what, sizeof what, "weights of %d to %d channels", cases[k].c_in, cases[k].c_out);
        check_numbers(what, sums, want, j->weight.n, 2e-3, ROUNDED_OTHERWISE);
        check_cuda(cudaFree(j->partial));
        free(want);
        free(sums);
        free_dense(j);
    }
}

static void check_all_weights(const dense_case *cases, int n, int splits)
{
    for (int k = 0; k < n; k += CUDA_LEVEL_CONVS)
        check_dense_weights(cases + k, k, n - k < CUDA_LEVEL_CONVS ? n - k : CUDA_LEVEL_CONVS,
                            splits);
}

static void test_dense_weights(void **state)
{
    const dense_case large = {16, 32, 1, 1, 1, 0, 0, 60, 61, 8, NORM | GRADIENT, PADA_ACT_RELU};
    const dense_case halves = {
        132, 132, 1, 1, 1, 0, 0, 13, 15, 1, JOINED | ALIGNED | NORM | GRADIENT, PADA_ACT_NONE};

    (void)state;
    check_all_weights(dense_cases, DENSE_CASES, 0);
    check_all_weights(image_cases, IMAGE_CASES, 0);
    check_dense_weights(dense_cases, 0, CUDA_LEVEL_CONVS, 1);
    check_dense_weights(dense_cases, 0, CUDA_LEVEL_CONVS, 5); /* pixels that do not divide evenly */
    check_dense_weights(&large, 0, 1, 0);
    check_dense_weights(&large, 0, 1, 3);  /* many chunks for each block */
    check_dense_weights(&halves, 0, 1, 1); /* chunks that are not full, tiles that are not equal */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense_forward), cmocka_unit_test(test_dense_images),
        cmocka_unit_test(test_dense_grad_in), cmocka_unit_test(test_dense_rounds),
        cmocka_unit_test(test_dense_weights),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}
