/* test_stage_kernels.c - the kernels of the stem and of the blocks between stages, launched alone on random tensors,
 * against plain loops in double over the same bfloat16 numbers (kernel_fixture.h). */
#include "cuda/kernel_fixture.h"

/* A convolution from tensors of `in` to tensors of `out`; any kernel and stride. */
typedef struct conv_case {
    net in, out;
    int kernel, stride, pad;
    const weights *w;
} conv_case;

/* Calls of a loop over all products: result (n, h, w, o), operand pixel (i, j), channel c, weight. */
#define FOR_PRODUCTS(k, n_, h_, w_, o_, i_, j_, c_, weight_)                               \
    FOR_EACH(&(k)->out, n_, h_, w_, o_)                                                    \
    for (int t_ = 0; t_ < (k)->kernel * (k)->kernel; t_++)                                 \
        for (int i_ = h_ * (k)->stride + t_ / (k)->kernel - (k)->pad,                      \
                 j_ = w_ * (k)->stride + t_ % (k)->kernel - (k)->pad, c_ = 0, weight_ = 0; \
             weight_ = (o_ * (k)->in.shape.c + c_) * (k)->kernel * (k)->kernel + t_,       \
                 c_ < (k)->in.shape.c && inside(&(k)->in, i_, j_);                         \
             c_++)

static void conv_forward(const conv_case *k, const double *x, double *z)
{
    FOR_PRODUCTS(k, n, h, w, o, i, j, c, weight)
    z[at(&k->out, n, h, w, o)] += k->w->is[weight] * x[at(&k->in, n, i, j, c)];
}

static void conv_backward(const conv_case *k, const double *x, const double *dz, double *dx,
                          double *dw)
{
    FOR_PRODUCTS(k, n, h, w, o, i, j, c, weight)
    {
        dx[at(&k->in, n, i, j, c)] += k->w->is[weight] * dz[at(&k->out, n, h, w, o)];
        dw[weight] += x[at(&k->in, n, i, j, c)] * dz[at(&k->out, n, h, w, o)];
    }
}

static net make_any(int c, int size, int n)
{
    return (net){{c, size, size}, n, (int64_t)n * c * size * size, (double)n * size * size};
}

static void *poisoned(const net *k)
{
    return device_memory((size_t)k->count * 2 + 256, 0xff);
}

static void check_behind(const void *memory, const net *k)
{
    uint16_t behind[128];

    from_device(behind, (const char *)memory + k->count * 2, sizeof behind);
    for (int i = 0; i < 128; i++)
        assert_int_equal(behind[i], 0xffff);
}

/* z and its moments. */
static void check_conv(const char *what, const conv_case *k, const double *x, const void *z,
                       const int64_t *sums)
{
    double *want = zeros(k->out.count), *have = read_tensor(z, k->out.count), moments[128];

    conv_forward(k, x, want);
    check_numbers(what, have, want, k->out.count, 0x1p-8, 1e-5);
    channel_sums(&k->out, have, have, moments);
    check_sums(what, sums, k->out.shape.c, moments, 1e-6);
    check_behind(z, &k->out);
    free(want);
    free(have);
}

/* ---- between stages ---- */

/* Means of 2x2 pixels, rounded; backward: a quarter of the mean's gradient to each pixel. */
static void halve(const net *in, const net *out, const double *x, double *y)
{
    FOR_EACH(out, n, h, w, c)
    {
        double sum = 0;
        for (int t = 0; t < 4; t++)
            sum += x[at(in, n, 2 * h + t / 2, 2 * w + t % 2, c)];
        y[at(out, n, h, w, c)] = widen(narrow(sum / 4));
    }
}

static void check_reduction_forward(int c, int n)
{
    const net in = make_net(c, n), half = make_any(c, in.shape.h / 2, n);
    const net out = make_any(2 * c, in.shape.h / 2, n);
    weights w9 = make_weights(c, 2 * c, 9, 1), w1 = make_weights(c, 2 * c, 1, 2);
    tensor y = make_tensor(in.count, 1, 0.2, 3);
    int64_t *sums[2] = {fixed_sums(2 * c, NULL), fixed_sums(2 * c, NULL)};
    void *z[2] = {poisoned(&out), poisoned(&out)}, *pooled = poisoned(&half);
    const cuda_reduction_forward_job job = {.shape = in.shape,
                                            .n_images = n,
                                            .y = y.at,
                                            .strided = {9, w9.fragments, z[0], sums[0]},
                                            .pooled = pooled,
                                            .point = {1, w1.fragments, z[1], sums[1]}};

    check_cuda(pada_cuda_reduction_forward(NULL, &job));
    double *means = zeros(half.count), *have = read_tensor(pooled, half.count);
    halve(&in, &half, y.is, means);
    check_numbers("means", have, means, half.count, 0, 0);
    check_behind(pooled, &half);
    check_conv("point", &(conv_case){half, out, 1, 1, 0, &w1}, means, z[1], sums[1]);
    relu(y.is, in.count);
    check_conv("strided", &(conv_case){in, out, 3, 2, 1, &w9}, y.is, z[0], sums[0]);
    free(means);
    free(have);
    free_tensor(&y);
    free_weights(&w9);
    free_weights(&w1);
    void *memory[] = {sums[0], sums[1], z[0], z[1], pooled};
    for (int i = 0; i < 5; i++)
        check_cuda(cudaFree(memory[i]));
}

/* The convolution with stride 2 (through a batch norm) or that of the means (as it is). */
static void check_reduction_backward(int c, int n, bool strided)
{
    const net whole = make_net(c, n), half = make_any(c, whole.shape.h / 2, n);
    const net in = strided ? whole : half, out = make_any(2 * c, whole.shape.h / 2, n);
    const int taps = strided ? 9 : 1;
    weights w = make_weights(c, 2 * c, taps, 1);
    tensor x = make_tensor(in.count, 1, 0.1, 2), dy = make_tensor(out.count, 1e-2, 1e-3, 3);
    tensor z = make_tensor(out.count, 1.5, -0.5, 4), means = make_tensor(half.count, 1e-2, 0, 5);
    double *dz = zeros(out.count), *dx = zeros(in.count), *dw = zeros(w.n);
    double *input = zeros(in.count);
    const size_t partial_bytes = (size_t)w.n * (size_t)n * sizeof(float);
    float *partial = device_memory(partial_bytes, 0xff);
    void *got = poisoned(&in);
    int64_t *moments, *slopes;

    norm_gradient(&out, &dy, &z, dz, &moments, &slopes);
    round_all(dz, out.count);
    cuda_reduction_backward_job job = {.shape = whole.shape,
                                       .n_images = n,
                                       .conv = {.taps = taps,
                                                .dy = dy.at,
                                                .weight = w.fragments + (size_t)w.n * 2,
                                                .partial = partial},
                                       .x = x.at,
                                       .dx = got};
    memcpy(input, x.is, (size_t)in.count * sizeof *input);
    if (strided) {
        job.conv.z = z.at;
        job.conv.slopes = (cuda_slopes){
            .moments = {.sums = moments, .epsilon = NORM_EPSILON}, .sums = slopes, .vector = 64};
        job.pooled = means.at;
        relu(input, in.count);
    } else {
        memcpy(dz, dy.is, (size_t)out.count * sizeof *dz);
    }
    check_cuda(pada_cuda_reduction_backward(NULL, &job));
    conv_backward(&(conv_case){in, out, strided ? 3 : 1, strided ? 2 : 1, strided, &w}, input, dz,
                  dx, dw);
    if (strided) FOR_EACH(&in, i, h, col, ch)
        {
            double *to = &dx[at(&in, i, h, col, ch)];
            if (x.is[at(&in, i, h, col, ch)] <= 0) *to = 0;
            *to += means.is[at(&half, i, h / 2, col / 2, ch)] / 4;
        }
    double *have = read_tensor(got, in.count);
    check_numbers("dx", have, dx, in.count, 0x1p-7, 1e-3); /* ties of dz */
    CHECK_CLOSE(relative_error(have, dx, in.count), 0, 0x1p-8);
    check_behind(got, &in);
    check_weights(
        &(cuda_reduce_job){
            .partial = partial, .c_in = c, .c_out = 2 * c, .taps = taps, .blocks = n},
        dw);
    double *lists[] = {dz, dx, dw, input, have};
    for (int i = 0; i < 5; i++)
        free(lists[i]);
    tensor *tensors[] = {&x, &dy, &z, &means};
    for (int i = 0; i < 4; i++)
        free_tensor(tensors[i]);
    free_weights(&w);
    void *memory[] = {partial, got, moments, slopes};
    for (int i = 0; i < 4; i++)
        check_cuda(cudaFree(memory[i]));
}

static void test_reduction(void **state)
{
    (void)state;
    check_cuda(pada_cuda_reduction_forward_init());
    check_cuda(pada_cuda_reduction_backward_init());
    check_reduction_forward(16, 2);
    check_reduction_forward(32, 3);
    for (int strided = 0; strided < 2; strided++) {
        check_reduction_backward(16, 2, strided);
        check_reduction_backward(32, 3, strided);
    }
}

/* ---- the stem ---- */

static void test_stem(void **state)
{
    const int n = 2;
    const net in = make_any(3, 32, n), out = make_any(16, 32, n);
    weights w = {.c_in = 3, .c_out = 16, .taps = 9, .n = 432};
    float values[432];
    tensor x = make_tensor(in.count, 1, 0.1, 1), dy = make_tensor(out.count, 1e-2, 1e-3, 2);
    int64_t *sums = fixed_sums(16, NULL), *moments, *slopes;
    void *z = poisoned(&out);
    double *dz = zeros(out.count), *dx = zeros(in.count), *dw = zeros(w.n);
    pada_rng rng;

    (void)state;
    check_cuda(pada_cuda_stem_init());
    pada_rng_init(&rng, 1, "weights", 0);
    for (int i = 0; i < w.n; i++)
        values[i] = (float)widen(narrow(pada_rng_normal(&rng) / 5));
    w.is = values;
    w.at = device_memory(sizeof values, 0);
    to_device(w.at, values, sizeof values);
    const conv_case k = {in, out, 3, 1, 1, &w};
    cuda_stem_job job = {.n_images = n, .x = x.at, .weight = w.at, .z = z, .sums = sums};
    check_cuda(pada_cuda_stem_forward(NULL, &job));
    check_conv("stem", &k, x.is, z, sums);

    tensor behind = make_tensor(out.count, 1.5, -0.5, 4);
    norm_gradient(&out, &dy, &behind, dz, &moments, &slopes);
    round_all(dz, out.count);
    job.z = behind.at;
    job.dy = dy.at;
    job.partial = device_memory((size_t)w.n * n * sizeof(float), 0xff);
    job.slopes = (cuda_slopes){
        .moments = {.sums = moments, .epsilon = NORM_EPSILON}, .sums = slopes, .vector = 64};
    for (int normed = 1; normed >= 0; normed--) {
        if (!normed) {
            job.slopes = (cuda_slopes){.vector = 0};
            memcpy(dz, dy.is, (size_t)out.count * sizeof *dz);
        }
        memset(dw, 0, (size_t)w.n * sizeof *dw);
        check_cuda(pada_cuda_stem_backward(NULL, &job));
        conv_backward(&k, x.is, dz, dx, dw);
        check_weights(&(cuda_reduce_job){.partial = job.partial,
                                         .c_in = 3,
                                         .c_out = 16,
                                         .taps = 9,
                                         .blocks = n,
                                         .plain = true},
                      dw);
    }
    free(dz);
    free(dx);
    free(dw);
    free_tensor(&x);
    free_tensor(&dy);
    free_tensor(&behind);
    void *memory[] = {sums, moments, slopes, z, job.partial, w.at};
    for (int i = 0; i < 6; i++)
        check_cuda(cudaFree(memory[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduction),
        cmocka_unit_test(test_stem),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}
