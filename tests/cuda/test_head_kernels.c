/* test_head_kernels.c - the linear layer and the loss of many classes, launched alone, against plain loops in double. On
 * a device or emulated. */
#include <math.h>

#include "cuda/level_fixture.h"

/* Not multiples of the tiles, and more than one of them on each side. */
enum { IMAGES = 70, FEATURES = 45, CLASSES = 333, STRIDE = 400 /* of a row, the same for all */ };

static cuda_tensor rows_of(const vector *v)
{
    return (cuda_tensor){.data = v->at, .stride = STRIDE};
}

static void test_linear(void **state)
{
    vector x = make_vector(IMAGES * STRIDE, 2, -1, 1), y = make_vector(IMAGES * STRIDE, 2, -1, 2);
    vector weight = make_vector(CLASSES * FEATURES, 2, -1, 3),
           bias = make_vector(CLASSES, 2, -1, 4);
    double *want = zeros(y.n);
    const cuda_linear_job job = {.n_in = FEATURES,
                                 .n_out = CLASSES,
                                 .n_images = IMAGES,
                                 .x = rows_of(&x),
                                 .y = rows_of(&y),
                                 .weight = weight.at,
                                 .bias = bias.at};

    (void)state;
    check_cuda(pada_cuda_linear(NULL, &job));
    for (int i = 0; i < y.n; i++) {
        const int n = i / STRIDE, o = i % STRIDE;
        want[i] = o < CLASSES ? bias.is[o] : y.is[i]; /* as it was */
        for (int c = 0; c < FEATURES && o < CLASSES; c++)
            want[i] += (double)weight.is[o * FEATURES + c] * x.is[n * STRIDE + c];
    }
    check_vector("output", &y, want, 1e-6);
    free(want);
    vector *all[] = {&x, &y, &weight, &bias};
    for (int i = 0; i < 4; i++)
        free_vector(all[i]);
}

/* Nothing is read: the bias alone. */
static void test_bias_grad(void **state)
{
    vector y = make_vector(3 * STRIDE, 2, -1, 2), bias = make_vector(10, 1, 0, 7);
    double want[10];
    const cuda_linear_job job = {
        .n_out = 10, .n_images = 3, .y = rows_of(&y), .grad_bias = bias.at};

    (void)state;
    check_cuda(pada_cuda_linear_grad(NULL, &job));
    for (int o = 0; o < 10; o++)
        want[o] = bias.is[o] + y.is[o] + y.is[STRIDE + o] + y.is[2 * STRIDE + o];
    check_vector("gradient of biases", &bias, want, 1e-6);
    free_vector(&y);
    free_vector(&bias);
}

/* With what was there before: gradients of weights are always added, those of the input if wanted. */
static void check_linear_grad(bool accumulate)
{
    vector x = make_vector(IMAGES * STRIDE, 2, -1, 1), y = make_vector(IMAGES * STRIDE, 2, -1, 2);
    vector weight = make_vector(CLASSES * FEATURES, 2, -1, 3), dx = make_vector(x.n, 1, 0, 5);
    vector grad = make_vector(weight.n, 1, 0, 6), bias = make_vector(CLASSES, 1, 0, 7);
    double *want[] = {zeros(dx.n), zeros(grad.n), zeros(bias.n)};
    const cuda_linear_job job = {.n_in = FEATURES,
                                 .n_out = CLASSES,
                                 .n_images = IMAGES,
                                 .x = rows_of(&x),
                                 .y = rows_of(&y),
                                 .weight = weight.at,
                                 .dx = rows_of(&dx),
                                 .accumulate = accumulate,
                                 .grad_weight = grad.at,
                                 .grad_bias = bias.at};

    check_cuda(pada_cuda_linear_grad(NULL, &job));
    for (int i = 0; i < dx.n; i++)
        want[0][i] = accumulate || i % STRIDE >= FEATURES ? dx.is[i] : 0;
    for (int i = 0; i < grad.n; i++)
        want[1][i] = grad.is[i];
    for (int o = 0; o < CLASSES; o++) {
        want[2][o] = bias.is[o];
        for (int n = 0; n < IMAGES; n++) {
            const double dy = y.is[n * STRIDE + o];
            want[2][o] += dy;
            for (int c = 0; c < FEATURES; c++) {
                want[0][n * STRIDE + c] += dy * weight.is[o * FEATURES + c];
                want[1][o * FEATURES + c] += dy * x.is[n * STRIDE + c];
            }
        }
    }
    check_vector("gradient of the input", &dx, want[0], 1e-6);
    check_vector("gradient of weights", &grad, want[1], 1e-6);
    check_vector("gradient of biases", &bias, want[2], 1e-6);
    vector *all[] = {&x, &y, &weight, &dx, &grad, &bias};
    for (int i = 0; i < 6; i++)
        free_vector(all[i]);
    for (int i = 0; i < 3; i++)
        free(want[i]);
}

static void test_linear_grad(void **state)
{
    (void)state;
    check_linear_grad(false);
    check_linear_grad(true);
}

static void check_loss(double smoothing)
{
    vector logits = make_vector(IMAGES * STRIDE, 8, -4, 1), grad = make_vector(logits.n, 1, 0, 2);
    vector shares = make_vector(IMAGES, 1, 0.5, 3), loss = make_vector(IMAGES, 1, 0, 4);
    vector norm = make_vector(IMAGES, 1, 0, 5);
    double *want = zeros(grad.n), losses[IMAGES] = {0}, norms[IMAGES] = {0};
    int32_t labels[IMAGES], ranks[IMAGES], have[IMAGES];

    for (int n = 0; n < IMAGES; n++) {
        const float *l = logits.is + n * STRIDE;
        double sum = 0;
        labels[n] = n * 97 % CLASSES;
        ranks[n] = 0;
        for (int c = 0; c < CLASSES; c++)
            sum += exp(l[c]);
        for (int c = 0; c < STRIDE; c++) {
            const double wanted = smoothing / CLASSES + (c == labels[n] ? 1 - smoothing : 0);
            const double d = exp(l[c]) / sum - wanted;
            want[n * STRIDE + c] =
                c < CLASSES ? 3 * shares.is[n] * d / IMAGES : grad.is[n * STRIDE + c];
            if (c >= CLASSES) continue;
            losses[n] += wanted * (log(sum) - l[c]);
            norms[n] += d * d;
            ranks[n] += c < labels[n] ? l[c] >= l[labels[n]] : l[c] > l[labels[n]];
        }
        norms[n] = sqrt(norms[n]);
    }
    int32_t *at[2] = {device_memory(sizeof labels, 0), device_memory(sizeof ranks, 0)};
    to_device(at[0], labels, sizeof labels);
    const cuda_loss_job job = {.classes = CLASSES,
                               .n_images = IMAGES,
                               .logits = rows_of(&logits),
                               .grad = rows_of(&grad),
                               .labels = at[0],
                               .weights = shares.at,
                               .smoothing = smoothing,
                               .grad_scale = 3,
                               .loss = loss.at,
                               .norm = norm.at,
                               .rank = at[1]};
    check_cuda(pada_cuda_loss(NULL, &job));
    check_vector("gradient of logits", &grad, want, 1e-6);
    check_vector("loss", &loss, losses, 1e-6);
    check_vector("norm", &norm, norms, 1e-6);
    from_device(have, at[1], sizeof have);
    assert_memory_equal(have, ranks, sizeof ranks);
    vector *all[] = {&logits, &grad, &shares, &loss, &norm};
    for (int i = 0; i < 5; i++)
        free_vector(all[i]);
    for (int i = 0; i < 2; i++)
        check_cuda(cudaFree(at[i]));
    free(want);
}

static void test_loss(void **state)
{
    (void)state;
    check_loss(0);
    check_loss(0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear), cmocka_unit_test(test_linear_grad),
        cmocka_unit_test(test_bias_grad), cmocka_unit_test(test_loss)};

    return cmocka_run_group_tests(tests, find_device, NULL);
}
