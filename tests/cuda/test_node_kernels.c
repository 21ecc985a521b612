/* test_node_kernels.c - node kernels and what belongs to them, launched alone on random tensors, against
 * plain loops in double over the same bfloat16 numbers.
 *
 * On a device or emulated. Inputs are the same bits for both, so that nothing but the last rounding may
 * differ: activations cannot fall on different sides. */
#include "cuda/kernel_fixture.h"

enum { CONVS = 2, TERMS = 3 };

/* ---- forward ---- */

static void check_forward(int c, int n, bool few, bool with_relu)
{
    const net k = make_net(c, n);
    tensor x[TERMS];
    weights w[CONVS] = {make_weights(c, c, 9, 1), make_weights(c, c, 1, 2)};
    double sums[128], *y = zeros(k.count);
    void *out[CONVS + 1];
    int64_t *out_sums[CONVS + 1];

    for (int e = 0; e < TERMS; e++)
        x[e] = make_tensor(k.count, 1 + e, 0.2 * e, (uint64_t)e);
    for (int e = 0; e <= CONVS; e++) {
        out[e] = device_memory((size_t)k.count * 2 + 256, 0xff);
        out_sums[e] = fixed_sums(c, NULL);
    }
    channel_sums(&k, x[1].is, x[1].is, sums);
    int64_t *norm = fixed_sums(c, sums);
    channel_vector scale = make_channel_vector(c, 1, 3), shift = make_channel_vector(c, 0, 4);
    cuda_node_forward_job job = {
        .shape = k.shape,
        .n_images = n,
        .few = few,
        .n_terms = 3,
        .n_convs = 2,
        .relu = with_relu,
        .terms = {{.kind = PADA_TERM_IDENTITY, .x = x[0].at},
                  {.kind = PADA_TERM_BATCHNORM,
                   .x = x[1].at,
                   .moments = {.sums = norm, .epsilon = NORM_EPSILON},
                   .scale = scale.at,
                   .shift = shift.at},
                  {.kind = PADA_TERM_AVGPOOL, .x = x[2].at}},
        .y = out[0],
        .sums = out_sums[0],
        .convs = {{9, w[0].fragments, out[1], out_sums[1]},
                  {1, w[1].fragments, out[2], out_sums[2]}},
    };
    check_cuda(pada_cuda_node_forward(NULL, &job));

    for (int64_t i = 0; i < k.count; i++) {
        double mean, rstd;
        moments_of(&k, sums, (int)(i % c), &mean, &rstd);
        y[i] = x[0].is[i] + (x[1].is[i] - mean) * rstd * scale.is[i % c] + shift.is[i % c];
    }
    add_pool(&k, x[2].is, y, false);
    double *have = read_tensor(out[0], k.count);
    check_numbers("y", have, y, k.count, 0x1p-8, 1e-5);
    channel_sums(&k, have, have, sums);
    check_sums("y", out_sums[0], c, sums, 1e-6);
    if (with_relu) relu(have, k.count);
    for (int e = 0; e < CONVS; e++) {
        double *want = zeros(k.count);
        add_conv(&k, have, w[e].is, w[e].taps, false, want);
        double *z = read_tensor(out[e + 1], k.count);
        check_numbers(e ? "conv1x1" : "conv3x3", z, want, k.count, 0x1p-8, 1e-5);
        channel_sums(&k, z, z, sums);
        check_sums(e ? "conv1x1" : "conv3x3", out_sums[e + 1], c, sums, 1e-6);
        free(want);
        free(z);
        uint16_t behind[128]; /* images that do not exist are not written */
        from_device(behind, (char *)out[e + 1] + k.count * 2, sizeof behind);
        for (int i = 0; i < 128; i++)
            assert_int_equal(behind[i], 0xffff);
    }
    free(have);
    free(y);
    for (int e = 0; e < TERMS; e++)
        free_tensor(&x[e]);
    for (int e = 0; e <= CONVS; e++) {
        check_cuda(cudaFree(out[e]));
        check_cuda(cudaFree(out_sums[e]));
    }
    check_cuda(cudaFree(norm));
    check_cuda(cudaFree(scale.at));
    check_cuda(cudaFree(shift.at));
    for (int e = 0; e < CONVS; e++)
        free_weights(&w[e]);
}

static void test_forward(void **state)
{
    (void)state;
    check_cuda(pada_cuda_node_forward_init());
    check_forward(16, 2, true, true);
    for (int few = 0; few < 2; few++) {
        check_forward(32, 2, few, true);
        check_forward(64, 4, few, true);
        check_forward(64, 3, few, true); /* half a block */
        check_forward(32, 1, few, false);
    }
}

/* ---- backward ---- */

static void check_backward(int c, int n)
{
    const net k = make_net(c, n);
    tensor y = make_tensor(k.count, 1, 0.1, 9), dy[4], z[CONVS], in[2];
    weights w[CONVS] = {make_weights(c, c, 9, 1), make_weights(c, c, 1, 2)};
    double sums[128], *want = zeros(k.count), *x = zeros(k.count);
    const int blocks = pada_cuda_node_partials(k.shape, n);
    void *out = device_memory((size_t)k.count * 2 + 256, 0xff);
    int64_t *norms[2] = {fixed_sums(c, NULL), fixed_sums(c, NULL)};
    float *partial[CONVS];
    int64_t *moments[CONVS], *slopes[CONVS];
    channel_vector scale = make_channel_vector(c, 1, 5); /* of the second convolution's norm */
    cuda_node_backward_job job = {.shape = k.shape,
                                  .n_images = n,
                                  .n_convs = 2,
                                  .n_flows = 3,
                                  .n_norms = 2,
                                  .relu = true,
                                  .y = y.at,
                                  .dy = out};

    for (int e = 0; e < 4; e++)
        dy[e] = make_tensor(k.count, 1e-2, 1e-3, 20 + (uint64_t)e);
    for (int e = 0; e < 2; e++) {
        in[e] = make_tensor(k.count, 1, 0.5, 30 + (uint64_t)e);
        z[e] = make_tensor(k.count, 1.5, -0.5, 40 + (uint64_t)e);
        job.norms[e] = (cuda_node_norm){in[e].at, norms[e]};
        job.flows[e] = (cuda_node_flow){.pool = e == 1, .dy = dy[2 + e].at};
    }
    double *through = zeros(k.count);
    int64_t *own_moments, *own_slopes;
    norm_gradient(&k, &dy[1], &y, through, &own_moments, &own_slopes);
    job.flows[2] =
        (cuda_node_flow){.dy = dy[1].at,
                         .z = y.at,
                         .slopes = {.moments = {.sums = own_moments, .epsilon = NORM_EPSILON},
                                    .sums = own_slopes,
                                    .vector = 64}};
    memcpy(x, y.is, (size_t)k.count * sizeof *x);
    relu(x, k.count);
    for (int e = 0; e < CONVS; e++) {
        double *dz = zeros(k.count), *dw = zeros(w[e].n);
        norm_gradient(&k, &dy[e], &z[e], dz, &moments[e], &slopes[e]);
        for (int64_t i = 0; i < k.count && e > 0; i++)
            dz[i] *= scale.is[i % c];
        round_all(dz, k.count);
        add_conv(&k, dz, w[e].is, w[e].taps, true, want);
        conv_weights(&k, x, dz, w[e].taps, dw);
        partial[e] = device_memory((size_t)w[e].n * (size_t)blocks * sizeof(float), 0xff);
        job.convs[e] = (cuda_node_back_conv){
            .taps = w[e].taps,
            .dy = dy[e].at,
            .z = z[e].at,
            .slopes = {.moments = {.sums = moments[e], .epsilon = NORM_EPSILON},
                       .sums = slopes[e],
                       .scale = e > 0 ? scale.at : NULL},
            .weight = w[e].fragments + (size_t)w[e].n * 2,
            .partial = partial[e]};
        if (e == 0) {
            cuda_node_backward_job alone = job;
            alone.n_convs = 1; /* and nothing else: only weights */
            alone.n_flows = alone.n_norms = 0;
            alone.dy = NULL;
            check_cuda(pada_cuda_node_backward(NULL, &alone));
        }
        if (e == CONVS - 1) check_cuda(pada_cuda_node_backward(NULL, &job));
        free(dz);
        check_weights(
            &(cuda_reduce_job){
                .partial = partial[e], .c_in = c, .c_out = c, .taps = w[e].taps, .blocks = blocks},
            dw);
        free(dw);
    }
    for (int64_t i = 0; i < k.count; i++)
        want[i] = (y.is[i] > 0 ? widen(narrow(want[i])) : 0) + dy[2].is[i] + through[i];
    add_pool(&k, dy[3].is, want, true);
    double *have = read_tensor(out, k.count);
    check_numbers("gradient", have, want, k.count, 0x1p-6, 1e-4); /* two roundings, ties of dz */
    CHECK_CLOSE(relative_error(have, want, k.count), 0, 0x1p-8);
    for (int e = 0; e < 2; e++) {
        channel_sums(&k, have, in[e].is, sums);
        check_sums("norm", norms[e], c, sums, 1e-5);
    }
    uint16_t behind[128];
    from_device(behind, (char *)out + k.count * 2, sizeof behind);
    for (int i = 0; i < 128; i++)
        assert_int_equal(behind[i], 0xffff);

    free(have);
    free(want);
    free(through);
    check_cuda(cudaFree(scale.at));
    check_cuda(cudaFree(own_moments));
    check_cuda(cudaFree(own_slopes));
    free(x);
    free_tensor(&y);
    check_cuda(cudaFree(out));
    for (int e = 0; e < 4; e++)
        free_tensor(&dy[e]);
    for (int e = 0; e < 2; e++) {
        free_tensor(&z[e]);
        free_tensor(&in[e]);
        free_weights(&w[e]);
        void *memory[] = {norms[e], partial[e], moments[e], slopes[e]};
        for (int i = 0; i < 4; i++)
            check_cuda(cudaFree(memory[i]));
    }
}

static void test_backward(void **state)
{
    (void)state;
    check_cuda(pada_cuda_node_backward_init());
    check_backward(16, 2);
    check_backward(32, 3);
    check_backward(32, 1); /* a team without an image */
    check_backward(64, 2);
    check_backward(64, 3);
}

/* What is made of the sums of a batch norm: coefficients, and the gradients of scale and shift, which are added. */
static void test_gradients_of_norms(void **state)
{
    enum { C = 32, TIMES = 2 };
    const net k = make_net(C, 3);
    tensor dy = make_tensor(k.count, 1, 0.1, 1), z = make_tensor(k.count, 1.5, -0.5, 2);
    channel_vector scale = make_channel_vector(C, 1, 3);
    double *dz = zeros(k.count), of_z[2 * C], of_dy[2 * C];
    int64_t *moments, *slopes;
    float abc[3 * C], grads[2 * C];

    (void)state;
    norm_gradient(&k, &dy, &z, dz, &moments, &slopes);
    channel_sums(&k, z.is, z.is, of_z);
    channel_sums(&k, dy.is, z.is, of_dy);
    float *coef = device_memory(sizeof abc, 0xff), *sums = device_memory(sizeof grads, 0);
    const cuda_slope_job whole = {.slopes = {.moments = {.sums = moments, .epsilon = NORM_EPSILON},
                                             .sums = slopes,
                                             .scale = scale.at,
                                             .vector = C},
                                  .channels = C,
                                  .count = k.pixels,
                                  .coef = coef,
                                  .grad_scale = sums,
                                  .grad_shift = sums + C};
    cuda_slope_job gradients = whole;
    gradients.coef = NULL;
    const cuda_slope_jobs jobs[TIMES] = {{.at = {whole}, .n = 1}, {.at = {gradients}, .n = 1}};
    for (int i = 0; i < TIMES; i++)
        check_cuda(pada_cuda_finish_slopes(NULL, &jobs[i]));
    from_device(abc, coef, sizeof abc);
    from_device(grads, sums, sizeof grads);
    for (int64_t i = 0; i < k.count; i++) {
        const int c = (int)(i % C);
        CHECK_CLOSE(abc[c] * dy.is[i] + abc[C + c] * z.is[i] + abc[2 * C + c], scale.is[c] * dz[i],
                    1e-5);
    }
    for (int c = 0; c < C; c++) {
        double mean, rstd;
        moments_of(&k, of_z, c, &mean, &rstd);
        const double product = rstd * (of_dy[2 * c + 1] - mean * of_dy[2 * c]);
        CHECK_CLOSE(grads[c], TIMES * product, 1e-5 * (1 + fabs(product)));
        CHECK_CLOSE(grads[C + c], TIMES * of_dy[2 * c], 1e-5 * (1 + fabs(of_dy[2 * c])));
    }
    free(dz);
    free_tensor(&dy);
    free_tensor(&z);
    void *memory[] = {moments, slopes, scale.at, coef, sums};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        check_cuda(cudaFree(memory[i]));
}

/* A sum that does not fit into 64 bits, or is NaN, is NaN behind the kernel, not a wrong number. */
static void test_overflowing_sums(void **state)
{
    const net k = make_net(64, 2);
    tensor x = make_tensor(k.count, 1, 0, 1);
    float *mean = device_memory(64 * sizeof *mean, 0), *rstd = device_memory(64 * sizeof *rstd, 0);
    float have[64];

    (void)state;
    check_cuda(pada_cuda_node_forward_init());
    for (int i = 0; i < 3; i++) {
        static const uint16_t extremes[] = {0x3f80, 0x7fc0, 0x7f00}; /* 1, NaN, 1.7e38 */
        int64_t *sums = fixed_sums(64, NULL);
        to_device((uint16_t *)x.at + 5, &extremes[i], 2);
        const cuda_node_forward_job job = {.shape = k.shape,
                                           .n_images = 2,
                                           .n_terms = 1,
                                           .terms = {{.kind = PADA_TERM_IDENTITY, .x = x.at}},
                                           .sums = sums};
        check_cuda(pada_cuda_node_forward(NULL, &job));
        check_cuda(pada_cuda_finish_moments(NULL, sums, NORM_EPSILON, k.shape, 2, mean, rstd));
        from_device(have, rstd, sizeof have);
        assert_int_equal(isnan(have[5]) != 0, i > 0);
        check_cuda(cudaFree(sums));
    }
    free_tensor(&x);
    check_cuda(cudaFree(mean));
    check_cuda(cudaFree(rstd));
}

/* ---- partial sums ---- */

/* As many partial sums as large batches have: several threads share them. */
static void check_partial_sums(int blocks)
{
    enum { C = 16, N = C * C };
    float *of_blocks = calloc((size_t)blocks * N, sizeof *of_blocks), have[N];
    double want[N];

    assert_non_null(of_blocks);
    for (int i = 0; i < N; i++) {
        have[i] = (float)i / N;
        want[i] = have[i];
        for (int k = 0; k < blocks; k++)
            want[i] += of_blocks[k * N + i] = (float)((i * 7 + k * 13) % 101) / 64;
    }
    float *partial = device_memory((size_t)blocks * N * sizeof(float), 0xff);
    float *grads = device_memory(sizeof have, 0xff);
    to_device(partial, of_blocks, (size_t)blocks * N * sizeof(float));
    to_device(grads, have, sizeof have);
    const cuda_reduce_jobs jobs = {.at = {{.partial = partial,
                                           .c_in = C,
                                           .c_out = C,
                                           .taps = 1,
                                           .blocks = blocks,
                                           .plain = true}},
                                   .n = 1};
    check_cuda(pada_cuda_reduce_weights(NULL, &jobs, grads));
    from_device(have, grads, sizeof have);
    for (int i = 0; i < N; i++)
        if (fabs(have[i] - want[i]) > 1e-6 * blocks)
            fail_msg("%d blocks, weight %d: %.9g, expected %.9g", blocks, i, have[i], want[i]);
    free(of_blocks);
    check_cuda(cudaFree(partial));
    check_cuda(cudaFree(grads));
}

static void test_partial_sums(void **state)
{
    static const int blocks[] = {1, 3, 31, 32, 64, 100, 256, 300};

    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        check_partial_sums(blocks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_backward),
        cmocka_unit_test(test_gradients_of_norms),
        cmocka_unit_test(test_overflowing_sums),
        cmocka_unit_test(test_partial_sums),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}
