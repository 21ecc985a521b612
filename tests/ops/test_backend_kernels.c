/* test_backend_kernels.c - every backend against the reference: the networks of op_cases and larger
 * ones, whatever the number of threads and the size of the batch; and the vector verbs against
 * plain loops. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "base/mem.h"
#include "ops/case_compare.h"
#include "ops/op_cases.h"
#include "ops/oracle.h"

/* Opens backend i of the registry; false if it is none to test, or this machine lacks the
 * instructions or the device. */
static bool open_tested(int i, int n_threads, const pada_backend **backend, pada_device **device)
{
    *backend = pada_backend_get(i);
    if (!is_tested_backend(*backend)) return false;
    return !is_absent_backend(*backend, (*backend)->open(device, n_threads));
}

/* "cpu" is one of the others, under the name of the best: the networks run on those. */
static bool is_best_of_others(const pada_backend *backend)
{
    return strcmp(backend->name, "cpu") == 0;
}

/* A case on every backend with 2 threads; returns how many are wrong. Long sums of numbers that
 * nearly cancel, as batch norm makes them, are held to twice the tolerance. */
static int run_everywhere(const graph_case *c, const char *name)
{
    const double factor = c->image.h * c->image.w > 256 ? 2 : 1;
    case_result want;
    int wrong = 0;

    case_run(c, ref, oracle, CASE_TRAIN_STAGED, &want);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend;
        pada_device *device;
        if (is_best_of_others(pada_backend_get(i)) || !open_tested(i, 2, &backend, &device))
            continue;
        const double allowed = factor * case_tolerance(backend);
        wrong += case_run_against(c, backend, device, &want, name, allowed) > allowed;
        backend->close(device);
    }
    case_result_deinit(&want);
    return wrong;
}

/* ---- networks ---- */

static int run_conv_case(const conv_case *k, uint64_t seed)
{
    graph_case c;
    char name[128];

    conv_case_name(k, name, sizeof name);
    conv_case_build(&c, k, seed);
    const int wrong = run_everywhere(&c, name);
    case_deinit(&c);
    return wrong;
}

static void test_convolution_options(void **state)
{
    int wrong = 0;

    (void)state;
    for (int i = 0; i < N_CONV_GRID; i++) {
        const conv_case k = conv_grid(i);
        wrong += run_conv_case(&k, (uint64_t)i);
    }
    assert_int_equal(wrong, 0);
}

/* Batches around the size of a chunk, images that do not fill tiles, channels that do not fill
 * vectors. */
static void test_convolution_sizes(void **state)
{
    static const conv_case cases[] = {
        /* c_in, c_out, kernel, stride, pad, act, groups, dilation, offset; bias, norm; images, rows, columns; of images */
        {{16, 16, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 9, 8, 8, false},
        {{16, 16, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 2, 32, 32, false},
        {{16, 16, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0}, false, false, 33, 5, 7, false},
        {{16, 16, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, true, false, 1, 17, 9, false},
        {{16, 16, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 7, 12, 12, false},
        {{16, 16, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, false, 8, 1, 1, false},
        {{16, 16, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 9, 2, 3, false},
        {{32, 32, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 7, 16, 16, false},
        {{32, 32, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 1, 8, 8, false},
        {{64, 64, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 9, 8, 8, false},
        {{64, 64, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0}, false, false, 2, 5, 7, false},
        {{17, 15, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 8, 16, 16, false},
        {{15, 17, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, true, false, 2, 17, 9, false},
        {{1, 32, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0}, false, true, 9, 12, 12, false},
        {{3, 16, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0}, false, true, 33, 8, 8, false},
        {{32, 1, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 2, 8, 8, false},
        {{3, 64, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, true, false, 1, 2, 3, false},
        {{64, 3, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, true, true, 7, 5, 7, false},
        {{16, 32, 3, 2, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 7, 16, 16, false},
        {{32, 64, 3, 2, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 9, 8, 8, false},
        {{16, 32, 3, 2, 1, PADA_ACT_RELU, 1, 1, 0}, false, false, 2, 17, 9, false},
        {{17, 33, 3, 2, 1, PADA_ACT_NONE, 1, 1, 0}, true, false, 8, 5, 7, false},
        {{16, 32, 3, 2, 1, PADA_ACT_RELU, 1, 1, 0}, false, false, 33, 1, 1, false},
        {{16, 16, 1, 1, 0, PADA_ACT_RELU, 1, 1, 0}, false, true, 33, 8, 8, false},
        {{16, 16, 1, 1, 0, PADA_ACT_RELU, 1, 1, 0}, false, true, 2, 32, 32, false},
        {{32, 64, 1, 1, 0, PADA_ACT_NONE, 1, 1, 0}, false, false, 8, 8, 8, false},
        {{64, 64, 1, 1, 0, PADA_ACT_RELU, 1, 1, 0}, false, true, 9, 8, 8, false},
        {{17, 15, 1, 1, 0, PADA_ACT_RELU, 1, 1, 0}, true, false, 7, 17, 9, false},
        {{1, 1, 1, 1, 0, PADA_ACT_RELU, 1, 1, 0}, false, false, 9, 1, 1, false},
        {{3, 17, 1, 1, 0, PADA_ACT_NONE, 1, 1, 0}, false, true, 1, 12, 12, false},
        {{15, 64, 1, 2, 0, PADA_ACT_RELU, 1, 1, 0}, false, true, 8, 5, 7, false},
        {{16, 16, 5, 1, 2, PADA_ACT_RELU, 1, 1, 0}, false, true, 2, 12, 12, false},
        {{3, 32, 5, 2, 2, PADA_ACT_RELU, 1, 1, 0}, true, false, 7, 17, 9, false},
        {{17, 16, 3, 1, 0, PADA_ACT_RELU, 1, 1, 0}, false, true, 8, 8, 8, false},
        {{16, 16, 3, 1, 2, PADA_ACT_RELU, 1, 1, 0}, false, true, 9, 5, 7, false},
        {{16, 17, 7, 3, 3, PADA_ACT_NONE, 1, 1, 0}, true, false, 2, 16, 16, false},
    };
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        wrong += run_conv_case(&cases[i], 1000 + i);
    assert_int_equal(wrong, 0);
}

/* Rounding may move a value across a kink of an activation, so such a case is wrong when it is for
 * three seeds. */
static int run_sum_case(const sum_case *s, pada_shape image, int n_images)
{
    const int n_seeds = s->kinks ? 3 : 1;
    int wrong = 0;

    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend;
        pada_device *device;
        double error = INFINITY;
        if (is_best_of_others(pada_backend_get(i)) || !open_tested(i, 2, &backend, &device))
            continue;
        const double tolerance = case_tolerance(backend);
        for (int seed = 0; seed < n_seeds && error > tolerance; seed++) {
            case_result want;
            graph_case c;
            case_init(&c, image, n_images, (uint64_t)seed);
            s->build(&c);
            case_run(&c, ref, oracle, CASE_TRAIN_STAGED, &want);
            error = case_run_against(&c, backend, device, &want, s->name,
                                     seed < n_seeds - 1 ? INFINITY : tolerance);
            if (s->kinks && backend->half) error = 0; /* 8 bits are often on the wrong side */
            case_result_deinit(&want);
            case_deinit(&c);
        }
        wrong += error > tolerance;
        backend->close(device);
    }
    return wrong;
}

static void test_everything_else(void **state)
{
    static const pada_shape shapes[] = {{3, 6, 5}, {3, 8, 8}, {1, 17, 9}};
    static const int sizes[] = {2, 9, 33};
    int wrong = 0;

    (void)state;
    for (int i = 0; i < n_sum_cases; i++)
        for (int k = 0; k < 3; k++)
            wrong += run_sum_case(&sum_cases[i], shapes[k], sizes[(i + k) % 3]);
    assert_int_equal(wrong, 0);
}

/* Images with fewer pixels than a pool or a kernel reaches over. */
static void tiny(graph_case *c)
{
    const pada_conv conv = pada_conv_make(0, 16, 3, 1, 1, PADA_ACT_NONE);
    const pada_value y = case_sum1(c, case_norm(case_conv(c, c->images_value, conv, false)));
    const pada_value z = case_conv(c, y, conv, false);

    case_readout(c,
                 case_sum(c, (pada_term[]){case_norm(z), case_pool(y, 3, 1, 1), case_same(y)}, 3));
}

static void test_tiny_images(void **state)
{
    static const pada_shape shapes[] = {{3, 1, 1}, {3, 2, 3}, {17, 1, 4}, {16, 3, 1}, {1, 2, 2}};
    const sum_case s = {"tiny images", tiny, false};
    int wrong = 0;

    (void)state;
    for (int i = 0; i < 5; i++)
        wrong += run_sum_case(&s, shapes[i], 9 + i);
    assert_int_equal(wrong, 0);
}

/* ---- batches and threads ---- */

/* A network of all parts: batch norms, pools, convolutions of three kinds, bias, weights of the
 * images. */
static void build_mixed(graph_case *c, int n_images)
{
    case_init(c, (pada_shape){3, 8, 8}, n_images, 11);
    case_random_weights(c);
    const pada_conv conv3 = pada_conv_make(0, 17, 3, 1, 1, PADA_ACT_RELU),
                    half = pada_conv_make(0, 20, 3, 2, 1, PADA_ACT_RELU);
    const pada_conv conv1 = pada_conv_make(0, 17, 1, 1, 0, PADA_ACT_RELU6);
    const pada_value x = case_sum1(c, case_norm(case_conv(c, c->images_value, conv3, false)));
    const pada_value a = case_sum2(c, case_norm(case_conv(c, x, conv3, false)), case_same(x));
    const pada_value b =
        case_sum2(c, case_norm(case_conv(c, a, conv1, false)), case_pool(x, 3, 1, 1));
    case_tap(c, x);
    case_tap(c, PADA_ZERO);
    case_tap(c, b);
    case_head(c, case_conv(c, b, half, true), PADA_ACT_RELU);
}

/* Any number of threads gives the same bits, and so does a device that has run a larger batch
 * before. */
static void test_threads_and_batches(void **state)
{
    static const int threads[] = {1, 2, 3, 5}, batches[] = {33, 1, 2, 7, 8, 9, 32};
    graph_case c;

    (void)state;
    build_mixed(&c, 33);
    for (int i = 0; i < pada_backend_count(); i++) {
        case_result want[7];
        for (int t = 0; t < 4; t++) {
            const pada_backend *backend;
            pada_device *device;
            if (!open_tested(i, threads[t], &backend, &device)) break;
            for (int k = 0; k < 7; k++) {
                case_result r;
                c.n_images = batches[k];
                case_run(&c, backend, device, CASE_TRAIN, &r);
                if (t == 0) {
                    pada_device *fresh;
                    CHECK_OK(backend->open(&fresh, 1));
                    case_run(&c, backend, fresh, CASE_TRAIN, &want[k]);
                    backend->close(fresh);
                }
                if (!case_same_bits(&r, &want[k]))
                    fail_msg("%s: a batch of %d differs with %d threads", backend->name, batches[k],
                             threads[t]);
                assert_true(isfinite(r.loss[0]));
                case_result_deinit(&r);
                if (t == 3) case_result_deinit(&want[k]);
            }
            backend->close(device);
        }
    }
    case_deinit(&c);
}

/* What earlier runs left in the work buffer has no influence, not even NaN: a path that diverged
 * must not spoil the next one. Channels that do not fill a vector have lanes that belong to nobody.
 * */
static void test_leftovers(void **state)
{
    graph_case c;
    int wrong = 0;

    (void)state;
    build_mixed(&c, 9);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend;
        pada_device *device;
        case_result clean, dirty;
        if (!open_tested(i, 2, &backend, &device)) continue;
        c.leftover = 0;
        case_run(&c, backend, device, CASE_TRAIN, &clean);
        c.leftover = NAN;
        case_run(&c, backend, device, CASE_TRAIN, &dirty);
        if (!case_same_bits(&clean, &dirty)) {
            print_error("%s: NaN left in the work buffer spreads; loss %g, gradient %g\n",
                        backend->name, dirty.loss[0], dirty.grads[0]);
            wrong++;
        }
        case_result_deinit(&clean);
        case_result_deinit(&dirty);
        backend->close(device);
    }
    case_deinit(&c);
    assert_int_equal(wrong, 0);
}

/* Swapping images swaps results. Batch norm sums come in another order, so the last bits may
 * differ. */
static void test_permuted_batch(void **state)
{
    enum { N = 9, PIXELS = 3 * 8 * 8 };
    float images[N * PIXELS], weights[N];
    int32_t labels[N];
    graph_case c;

    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend;
        pada_device *device;
        case_result before, after;
        if (!open_tested(i, 2, &backend, &device)) continue;
        build_mixed(&c, N);
        memcpy(images, c.images, sizeof images);
        memcpy(weights, c.weights, sizeof weights);
        memcpy(labels, c.labels, sizeof labels);
        case_run(&c, backend, device, CASE_TRAIN, &before);
        for (int n = 0; n < N; n++) { /* image n goes to place 4 n mod 9 */
            memcpy(c.images + n * 4 % N * PIXELS, images + n * PIXELS, PIXELS * sizeof(float));
            c.weights[n * 4 % N] = weights[n];
            c.labels[n * 4 % N] = labels[n];
        }
        case_run(&c, backend, device, CASE_TRAIN, &after);
        const double allowed = 2 * case_tolerance(backend);
        for (int n = 0; n < N; n++) {
            CHECK_CLOSE(after.loss[n * 4 % N], before.loss[n], allowed);
            CHECK_CLOSE(after.norm[n * 4 % N], before.norm[n], allowed);
            for (int k = 0; k < CASE_CLASSES; k++)
                CHECK_CLOSE(after.logits[n * 4 % N * CASE_CLASSES + k],
                            before.logits[n * CASE_CLASSES + k], allowed);
        }
        case_result_deinit(&before);
        case_result_deinit(&after);
        case_deinit(&c);
        backend->close(device);
    }
}

/* The gradient is added to what the buffer holds, and evaluation alone gives the same logits as
 * training. */
static void test_gradients_add_up(void **state)
{
    graph_case c;

    (void)state;
    build_mixed(&c, 9);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend;
        pada_device *device;
        case_result first, second, eval;
        if (!open_tested(i, 2, &backend, &device)) continue;
        c.grad_start = 0;
        case_run(&c, backend, device, CASE_TRAIN, &first);
        c.grad_start = 0.25;
        case_run(&c, backend, device, CASE_TRAIN, &second);
        case_run(&c, backend, device, CASE_EVAL, &eval);
        for (int t = 0; t < c.n_tensors; t++)
            for (int64_t k = 0; k < c.tensors[t].range.count; k++) {
                const int64_t at = c.tensors[t].range.first + k;
                CHECK_CLOSE(second.grads[at], 0.25 + first.grads[at], 1e-7);
            }
        CHECK_CLOSE(relative_error(eval.logits, first.logits, 9 * CASE_CLASSES), 0, 1e-6);
        assert_memory_equal(eval.rank, first.rank, 9 * sizeof(int32_t));
        case_result_deinit(&first);
        case_result_deinit(&second);
        case_result_deinit(&eval);
        backend->close(device);
    }
    case_deinit(&c);
}

/* ||p - onehot|| of ten equal logits, and ranks with ties. */
static void test_loss_of_known_logits(void **state)
{
    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend;
        pada_device *device;
        case_result r;
        graph_case c;
        if (!open_tested(i, 1, &backend, &device)) continue;
        case_init(&c, (pada_shape){1, 1, 1}, 10, 1);
        pada_graph_loss(c.graph, case_linear(&c, PADA_ZERO, true));
        pada_graph_simplify(c.graph);
        memset(&c.params[c.tensors[1].range.first], 0, CASE_CLASSES * sizeof(double));
        for (int n = 0; n < 10; n++)
            c.labels[n] = n;
        case_run(&c, backend, device, CASE_TRAIN, &r);
        for (int n = 0; n < 10; n++) {
            CHECK_CLOSE(r.norm[n], 0.948683, 5e-7);
            CHECK_CLOSE(r.loss[n], log(10), 1e-6);
            assert_int_equal(r.rank[n], n);
        }
        case_result_deinit(&r);
        c.params[c.tensors[1].range.first + 5] = 200; /* does not overflow */
        case_run(&c, backend, device, CASE_TRAIN, &r);
        CHECK_CLOSE(r.loss[0], 200, 1e-4);
        CHECK_CLOSE(r.loss[5], 0, 1e-6);
        assert_int_equal(r.rank[5], 0);
        assert_int_equal(r.rank[0], 1);
        assert_int_equal(r.rank[6], 6);
        case_result_deinit(&r);
        case_deinit(&c);
        backend->close(device);
    }
}

/* ---- vectors ---- */

enum { N_VECTOR = 5000 };
static const pada_range ranges[] = {{0, 1},   {16, 7},     {32, 16},   {64, 33},
                                    {112, 0}, {128, 3001}, {4000, 999}};
enum { N_RANGES = sizeof ranges / sizeof *ranges };

static bool in_ranges(int64_t i)
{
    for (int k = 0; k < N_RANGES; k++)
        if (i >= ranges[k].first && i < ranges[k].first + ranges[k].count) return true;
    return false;
}

/* Three vectors in the memory of a backend, and the same as doubles. */
typedef struct vectors {
    const pada_backend *backend;
    pada_device *device;
    void *at[3];
    double is[3][N_VECTOR];
} vectors;

static void make_vectors(vectors *x, const pada_backend *backend, pada_device *device)
{
    x->backend = backend;
    x->device = device;
    for (int k = 0; k < 3; k++) {
        CHECK_OK(backend->alloc(device, &x->at[k], N_VECTOR * pada_dtype_bytes(backend->dtype)));
        double first[8];
        backend->read(device, x->at[k], (pada_range){N_VECTOR - 8, 8}, first);
        for (int i = 0; i < 8; i++)
            assert_true(first[i] == 0); /* fresh memory is zero */
        random_normal(x->is[k], N_VECTOR, 50 + (uint64_t)k);
        backend->write(device, x->at[k], (pada_range){0, N_VECTOR}, x->is[k]);
    }
}

static void free_vectors(vectors *x)
{
    for (int k = 0; k < 3; k++)
        x->backend->release(x->device, x->at[k]);
}

/* Vector k is what x->is[k] says: exactly outside the ranges, up to rounding inside. */
static void check_vector(const vectors *x, int k, const char *verb)
{
    static double have[N_VECTOR];

    x->backend->read(x->device, x->at[k], (pada_range){0, N_VECTOR}, have);
    for (int64_t i = 0; i < N_VECTOR; i++)
        if (!(fabs(have[i] - x->is[k][i]) <= (in_ranges(i) ? 1e-6 * (1 + fabs(have[i])) : 0)))
            fail_msg("%s, %s: vector %d has %.9g, not %.9g at %d", x->backend->name, verb, k,
                     have[i], x->is[k][i], (int)i);
}

static void check_all(const vectors *x, const char *verb)
{
    for (int k = 0; k < 3; k++)
        check_vector(x, k, verb);
}

/* One element after update.h, written down once more. */
static void move_element(const pada_update *u, double g, double t, double *w, double *s0,
                         double *s1)
{
    const double slope = u->grad_scale * g + u->weight_decay * *w;

    if (u->rule == PADA_RULE_SGD) {
        *s0 = u->momentum * *s0 + slope;
        *w -= u->lr * (u->nesterov ? slope + u->momentum * *s0 : *s0);
    } else if (u->rule == PADA_RULE_RMSPROP) {
        *s0 = u->decay * *s0 + (1 - u->decay) * slope * slope;
        *s1 = u->momentum * *s1 + u->lr * slope / sqrt(*s0 + u->epsilon);
        *w = *w - *s1;
    } else {
        *s0 = u->momentum * *s0 + (1 - u->momentum) * slope;
        *s1 = u->decay * *s1 + (1 - u->decay) * slope * slope;
        const double mean = *s0 / (1 - pow(u->momentum, t));
        *w -= u->lr * mean / (sqrt(*s1 / (1 - pow(u->decay, t))) + u->epsilon);
    }
}

/* Weights, gradients and the first state are vectors 0, 1, 2; the second state is a vector of its own, of
 * squares. Every range has its own t. */
static void check_update(vectors *x, const pada_update *update, const char *verb)
{
    static double second[N_VECTOR], have[N_VECTOR];
    const pada_range all = {0, N_VECTOR};
    int64_t counts[N_RANGES];
    void *state;

    CHECK_OK(x->backend->alloc(x->device, &state, N_VECTOR * pada_dtype_bytes(x->backend->dtype)));
    for (int64_t i = 0; i < N_VECTOR; i++) {
        second[i] = x->is[1][i] * x->is[1][i] / 2;
        if (update->rule == PADA_RULE_RMSPROP) x->is[2][i] = fabs(x->is[2][i]);
    }
    x->backend->write(x->device, state, all, second);
    x->backend->read(x->device, state, all, second); /* as it was rounded */
    x->backend->write(x->device, x->at[2], all, x->is[2]);
    for (int k = 0; k < N_RANGES; k++)
        counts[k] = 1 + 3 * k;
    const pada_update_ranges moved = {ranges, update->rule == PADA_RULE_ADAM ? counts : NULL,
                                      N_RANGES, 1};
    pada_update of_range = *update;
    x->backend->update(x->device, &(pada_update_buffers){x->at[0], x->at[1], {x->at[2], state}},
                       &moved, update);
    for (int k = 0; k < N_RANGES; k++) {
        if (k == N_RANGES - 1) of_range.weight_decay = 0;
        for (int64_t i = ranges[k].first; i < ranges[k].first + ranges[k].count; i++)
            move_element(&of_range, x->is[1][i], (double)counts[k], &x->is[0][i], &x->is[2][i],
                         &second[i]);
    }
    x->backend->read(x->device, state, all, have);
    for (int64_t i = 0; i < N_VECTOR; i++)
        CHECK_CLOSE(have[i], second[i], in_ranges(i) ? 1e-6 * (1 + second[i]) : 0);
    x->backend->release(x->device, state);
    check_all(x, verb);
}

/* The values of TensorFlow's form that timm gives for a weight of 1 and three gradients. */
static void check_rmsprop_values(const vectors *x)
{
    static const double gradients[] = {0.5, -0.25, 0.1};
    static const double weights[] = {0.9168632687631374, 0.8856886724049304, 0.8392388054598053};
    const pada_update update = {.rule = PADA_RULE_RMSPROP,
                                .lr = 0.16,
                                .momentum = 0.9,
                                .weight_decay = 1e-5,
                                .decay = 0.9,
                                .epsilon = 1e-3,
                                .grad_scale = 1};
    const pada_range one = {0, 1};
    const double starts[] = {1, 0, 1, 0};
    void *at[4];
    double w;

    for (int k = 0; k < 4; k++) {
        CHECK_OK(x->backend->alloc(x->device, &at[k], 64));
        x->backend->write(x->device, at[k], one, &starts[k]);
    }
    for (int i = 0; i < 3; i++) {
        x->backend->write(x->device, at[1], one, &gradients[i]);
        x->backend->update(x->device, &(pada_update_buffers){at[0], at[1], {at[2], at[3]}},
                           &(pada_update_ranges){&one, NULL, 1, 0}, &update);
        x->backend->read(x->device, at[0], one, &w);
        CHECK_CLOSE(w, weights[i], x->backend->dtype == PADA_F64 ? 1e-15 : 1e-6);
    }
    for (int k = 0; k < 4; k++)
        x->backend->release(x->device, at[k]);
}

static void check_updates(vectors *x)
{
    const pada_update plain = {.lr = 0.1, .momentum = 0.9, .weight_decay = 5e-4, .grad_scale = 1};
    pada_update u = plain;

    check_update(x, &u, "sgd");
    u.nesterov = true;
    u.grad_scale = 0.5;
    check_update(x, &u, "sgd with nesterov");
    check_update(x, &(pada_update){.lr = 0.1, .grad_scale = 1}, "sgd without momentum");
    u = plain;
    u.rule = PADA_RULE_RMSPROP;
    u.decay = 0.9;
    u.epsilon = 1e-2;
    u.grad_scale = 0.5;
    check_update(x, &u, "rmsprop");
    u.rule = PADA_RULE_ADAM;
    u.decay = 0.99;
    check_update(x, &u, "adam");
    check_rmsprop_values(x);
}

static void check_sum_squares(const vectors *x)
{
    double sums[N_RANGES], again[N_RANGES];

    x->backend->sum_squares(x->device, x->at[1], ranges, N_RANGES, sums);
    x->backend->sum_squares(x->device, x->at[1], ranges, N_RANGES, again);
    assert_memory_equal(sums, again, sizeof sums);
    for (int k = 0; k < N_RANGES; k++) {
        double want = 0;
        for (int64_t i = 0; i < ranges[k].count; i++)
            want += x->is[1][ranges[k].first + i] * x->is[1][ranges[k].first + i];
        CHECK_CLOSE(sums[k], want, 1e-12 * want);
    }
    check_all(x, "sum_squares");
}

/* By hand, and the same bits again. */
static void check_dot(const vectors *x)
{
    double sums[N_RANGES], again[N_RANGES], squares[N_RANGES];

    x->backend->dot(x->device, x->at[1], x->at[2], ranges, N_RANGES, sums);
    x->backend->dot(x->device, x->at[1], x->at[2], ranges, N_RANGES, again);
    assert_memory_equal(sums, again, sizeof sums);
    for (int k = 0; k < N_RANGES; k++) {
        double want = 0, scale = 0;
        for (int64_t i = ranges[k].first; i < ranges[k].first + ranges[k].count; i++) {
            want += x->is[1][i] * x->is[2][i];
            scale += fabs(x->is[1][i] * x->is[2][i]);
        }
        CHECK_CLOSE(sums[k], want, 1e-12 * scale);
    }
    x->backend->dot(x->device, x->at[1], x->at[1], ranges, N_RANGES, sums);
    x->backend->sum_squares(x->device, x->at[1], ranges, N_RANGES, squares);
    assert_memory_equal(sums, squares, sizeof sums);
    check_all(x, "dot");
}

/* Three samples: the vectors themselves, one of them twice; mean and spread against two passes. */
static void check_welford(const vectors *x)
{
    static const int samples[] = {1, 2, 1};
    void *mean, *spread;
    static double means[N_VECTOR], spreads[N_VECTOR];

    CHECK_OK(x->backend->alloc(x->device, &mean, N_VECTOR * pada_dtype_bytes(x->backend->dtype)));
    CHECK_OK(x->backend->alloc(x->device, &spread, N_VECTOR * pada_dtype_bytes(x->backend->dtype)));
    for (int64_t s = 0; s < 3; s++) {
        int64_t counts[N_RANGES];
        for (int k = 0; k < N_RANGES; k++)
            counts[k] = s + 1;
        x->backend->welford(x->device, mean, spread, x->at[samples[s]], ranges, counts, N_RANGES);
    }
    x->backend->read(x->device, mean, (pada_range){0, N_VECTOR}, means);
    x->backend->read(x->device, spread, (pada_range){0, N_VECTOR}, spreads);
    for (int64_t i = 0; i < N_VECTOR; i++) {
        const double a = x->is[1][i], b = x->is[2][i], m = (2 * a + b) / 3;
        const double want = 2 * (a - m) * (a - m) + (b - m) * (b - m);
        CHECK_CLOSE(means[i], in_ranges(i) ? m : 0, 1e-5);
        CHECK_CLOSE(spreads[i], in_ranges(i) ? want : 0, 1e-5 * (1 + want));
    }
    x->backend->release(x->device, mean);
    x->backend->release(x->device, spread);
    check_all(x, "welford");
}

/* Ranges of which some are longer than what a backend moves at once, to the host and back to another place. */
static void check_raw(const vectors *x)
{
    static const pada_range from[] = {{3, 1}, {16, 300000}, {400000, 7}, {400010, 530000}};
    static const pada_range to[] = {{0, 300000}, {300001, 530008}};
    enum { N = 1000000, N_RAW = 830008 };
    const int64_t size = pada_dtype_bytes(x->backend->dtype);
    void *buffer, *raw, *memory;

    CHECK_OK(pada_calloc(&raw, N_RAW, sizeof(double)));
    CHECK_OK(pada_calloc(&memory, N, sizeof(double)));
    double *numbers = memory;
    for (int64_t i = 0; i < N; i++)
        numbers[i] = (double)i;
    CHECK_OK(x->backend->alloc(x->device, &buffer, N * size));
    x->backend->write(x->device, buffer, (pada_range){0, N}, numbers);
    x->backend->read_raw(x->device, buffer, from, 4, raw);
    for (int64_t r = 0, at = 0; r < 4; at += from[r++].count)
        for (int64_t i = 0; i < from[r].count; i++)
            assert_true((size == 8 ? ((double *)raw)[at + i] : (double)((float *)raw)[at + i]) ==
                        (double)(from[r].first + i));
    x->backend->write_raw(x->device, buffer, to, 2, raw);
    x->backend->read(x->device, buffer, (pada_range){0, N}, numbers);
    for (int64_t r = 0, at = 0; r < 2; at += to[r++].count)
        for (int64_t i = 0; i < to[r].count; i++)
            assert_true(numbers[to[r].first + i] ==
                        (size == 8 ? ((double *)raw)[at + i] : (double)((float *)raw)[at + i]));
    assert_true(numbers[300000] == 300000 && numbers[830009] == 830009);
    x->backend->release(x->device, buffer);
    pada_free(raw);
    pada_free(numbers);
}

static void check_layout(const vectors *x)
{
    static const pada_shape shapes[] = {{1, 1, 1}, {3, 5, 7}, {16, 4, 4}, {17, 3, 2}, {40, 1, 3}};
    double plain[3 * 256], back[3 * 256];
    void *tensor;

    for (int s = 0; s < 5; s++) {
        const int64_t n = 3 * pada_shape_count(shapes[s]);
        const int64_t bytes = x->backend->image_bytes(x->device, shapes[s]);
        assert_int_equal(bytes % 64, 0);
        assert_int_equal(x->backend->channel_bytes(x->device, shapes[s].c) % 64, 0);
        random_normal(plain, n, (uint64_t)s);
        for (int64_t i = 0; i < n && x->backend->half; i++)
            plain[i] = rint(plain[i] * 32) / 32; /* what 8 bits can hold */
        CHECK_OK(x->backend->alloc(x->device, &tensor, 3 * bytes));
        x->backend->pack(x->device, tensor, 3, shapes[s], plain);
        x->backend->unpack(x->device, tensor, 3, shapes[s], back);
        assert_memory_equal(plain, back, (size_t)n * sizeof(double));
        /* image 1 is at image_bytes */
        x->backend->unpack(x->device, (char *)tensor + bytes, 1, shapes[s], back);
        assert_memory_equal(plain + n / 3, back, (size_t)n / 3 * sizeof(double));
        x->backend->release(x->device, tensor);
    }
}

static void test_vectors(void **state)
{
    static vectors x;

    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        pada_device *device;
        if (backend != ref && !is_tested_backend(backend)) continue;
        if (is_absent_backend(backend, backend->open(&device, 3))) continue;
        assert_true(strlen(backend->describe(device)) > 0);
        make_vectors(&x, backend, device);
        check_all(&x, "write and read");
        check_sum_squares(&x);
        check_dot(&x);
        check_welford(&x);
        check_updates(&x);
        backend->axpy(device, x.at[0], -1.5, x.at[1], ranges, N_RANGES);
        for (int64_t k = 0; k < N_VECTOR; k++)
            if (in_ranges(k)) x.is[0][k] += -1.5 * x.is[1][k];
        check_all(&x, "axpy");
        backend->blend(device, x.at[0], 0.75, x.at[1], ranges, N_RANGES);
        for (int64_t k = 0; k < N_VECTOR; k++)
            if (in_ranges(k)) x.is[0][k] = 0.75 * x.is[0][k] + 0.25 * x.is[1][k];
        check_all(&x, "blend");
        backend->copy(device, x.at[2], x.at[0], ranges, N_RANGES);
        for (int64_t k = 0; k < N_VECTOR; k++)
            if (in_ranges(k)) x.is[2][k] = x.is[0][k];
        check_all(&x, "copy");
        backend->fill_zero(device, x.at[1], ranges, N_RANGES);
        for (int64_t k = 0; k < N_VECTOR; k++)
            if (in_ranges(k)) x.is[1][k] = 0;
        check_all(&x, "fill_zero");
        check_raw(&x);
        check_layout(&x);
        free_vectors(&x);
        backend->close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),           cmocka_unit_test(test_convolution_options),
        cmocka_unit_test(test_convolution_sizes), cmocka_unit_test(test_everything_else),
        cmocka_unit_test(test_tiny_images),       cmocka_unit_test(test_threads_and_batches),
        cmocka_unit_test(test_leftovers),         cmocka_unit_test(test_permuted_batch),
        cmocka_unit_test(test_gradients_add_up),  cmocka_unit_test(test_loss_of_known_logits),
    };
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}
