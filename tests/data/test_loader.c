/* test_loader.c - batches of an epoch: what is in them, whatever the thread does. */
#include "base/scratch.h"

#include <time.h>

#include "base/hash.h"
#include "check.h"
#include "data/augment.h"
#include "data/loader.h"

#define PIXELS 768
#define N      53 /* images of an epoch; 2000 in the data */
#define BATCH  8
#define TRAIN  PADA_SPLIT_TRAIN

static pada_dataset *data;
static int32_t order[N];

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++)
        order[i] = i * i * 7 % 2000; /* some of them twice */
    return pada_dataset_open(&data, &(pada_dataset_desc){.where = "builtin"}) == PADA_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pada_dataset_close(data);
    return 0;
}

static pada_loader *open_loader(bool augment)
{
    pada_loader *loader;

    assert_ok(pada_loader_create(
        &loader,
        &(pada_loader_desc){
            .data = data, .split = TRAIN, .batch_size = BATCH, .seed = 5, .augment = augment}));
    return loader;
}

/* A while in which the thread gets on, or does not. */
static void dawdle(int microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000L}, NULL);
}

/* The batch holds draws first .. of the order and nothing else. */
static void check_draws(const pada_draws *draws, int epoch, int first, bool augment)
{
    static float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    const int n = N - first < BATCH ? N - first : BATCH;

    assert_int_equal(draws->first, first);
    assert_int_equal(draws->batch.n, n);
    assert_null(draws->batch.weights);
    for (int i = 0; i < n; i++) {
        const pada_draw draw = {.seed = 5, .epoch = epoch, .position = first + i};
        assert_int_equal(draws->indices[i], order[first + i]);
        if (augment)
            assert_ok(
                pada_augment_image(data, TRAIN, order[first + i], &draw, images + i * PIXELS));
        else
            pada_dataset_fill(data, TRAIN, order[first + i], 1, images + i * PIXELS, labels);
        assert_int_equal(draws->batch.labels[i], data->ops->label(data, TRAIN, order[first + i]));
    }
    assert_memory_equal(draws->batch.images, images, (size_t)n * PIXELS * sizeof *images);
}

static void check_end(pada_loader *loader)
{
    pada_draws draws;

    for (int i = 0; i < 2; i++) {
        pada_loader_next(loader, &draws);
        assert_int_equal(draws.batch.n, 0);
    }
}

/* All batches of two epochs, the last one smaller; what was given out stays while it is read. */
static void test_epochs(void **state)
{
    (void)state;
    for (int augment = 0; augment < 2; augment++) {
        pada_loader *loader = open_loader(augment != 0);
        check_end(loader); /* before the first epoch there is nothing */
        for (int epoch = 0; epoch < 2; epoch++) {
            assert_ok(pada_loader_begin(loader, epoch, order, N, 0));
            for (int first = 0; first < N; first += BATCH) {
                pada_draws draws;
                pada_loader_next(loader, &draws);
                if (first % 3 == 0) dawdle(2000); /* the thread fills all it may */
                check_draws(&draws, epoch, first, augment != 0);
            }
            check_end(loader);
        }
        pada_loader_destroy(loader);
    }
}

static uint64_t hash_rest(pada_loader *loader, int skip)
{
    pada_draws draws;
    uint64_t hash = 0;

    for (;;) {
        pada_loader_next(loader, &draws);
        if (draws.batch.n == 0) return hash;
        if (skip-- > 0) continue;
        const size_t n = (size_t)draws.batch.n;
        hash = pada_hash(draws.batch.images, n * PIXELS * sizeof(float), hash);
        hash = pada_hash(draws.batch.labels, n * sizeof(int32_t), hash);
        hash = pada_hash(draws.indices, n * sizeof(int32_t), hash + (uint64_t)draws.first);
    }
}

/* From the middle: the tail of the whole epoch, also at its very end. The same bits every time. */
static void test_resume(void **state)
{
    const int n_batches = (N + BATCH - 1) / BATCH;
    uint64_t hashes[(N + BATCH - 1) / BATCH + 1];

    (void)state;
    for (int k = 0; k <= n_batches; k++) {
        pada_loader *loader = open_loader(true);
        assert_ok(pada_loader_begin(loader, 3, order, N, 0));
        hashes[k] = hash_rest(loader, k);
        assert_ok(pada_loader_begin(loader, 3, order, N, k * BATCH));
        assert_int_equal(hash_rest(loader, 0), hashes[k]);
        assert_ok(pada_loader_begin(loader, 4, order, N, k * BATCH));
        if (k < n_batches) assert_int_not_equal(hash_rest(loader, 0), hashes[k]);
        pada_loader_destroy(loader);
    }
    for (int k = 0; k < n_batches; k++)
        assert_int_not_equal(hashes[k], hashes[k + 1]);
    assert_int_equal(hashes[n_batches], 0); /* nothing left */
}

/* Images that are changed: the same with any number of threads, from any batch on; and as they are said to be made. */
static void test_changes(void **state)
{
    static const pada_changes changes[] = {{.policy = PADA_POLICY_ORIGINAL},
                                           {.policy = PADA_POLICY_V0, .erasing = 0.5},
                                           {.flip_order = PADA_FLIP_FIRST, .cutout = 5}};
    static float image[PIXELS];

    (void)state;
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        uint64_t whole = 0, rest = 0;
        for (int n_threads = 1; n_threads <= 7; n_threads += 3) {
            pada_loader *loader;
            pada_draws draws;
            assert_ok(pada_loader_create(&loader, &(pada_loader_desc){.data = data,
                                                                      .split = TRAIN,
                                                                      .batch_size = BATCH,
                                                                      .seed = 5,
                                                                      .augment = true,
                                                                      .changes = changes[k],
                                                                      .n_threads = n_threads}));
            assert_int_equal(pada_loader_n_threads(loader), k < 2 ? n_threads : 1);
            assert_ok(pada_loader_begin(loader, 2, order, N, 0));
            const uint64_t all = hash_rest(loader, 0);
            assert_ok(pada_loader_begin(loader, 2, order, N, 3 * BATCH));
            const uint64_t tail = hash_rest(loader, 0);
            assert_true(n_threads == 1 || (all == whole && tail == rest));
            whole = all;
            rest = tail;
            assert_ok(pada_loader_begin(loader, 2, order, N, 0));
            assert_ok(pada_loader_next(loader, &draws));
            for (int i = 0; i < BATCH; i++) {
                const pada_draw draw = {
                    .seed = 5, .epoch = 2, .position = i, .changes = changes[k]};
                assert_ok(pada_augment_image(data, TRAIN, order[i], &draw, image));
                assert_memory_equal(draws.batch.images + i * PIXELS, image, sizeof image);
            }
            pada_loader_destroy(loader);
        }
    }
}

/* An epoch given up after k batches leaves no trace in the next, and its order is not read again. */
static void test_early_begin(void **state)
{
    pada_loader *loader = open_loader(true);
    pada_draws draws;

    (void)state;
    for (int k = 0; k < 200; k++) {
        int32_t *gone = calloc(N, sizeof *gone);
        assert_ok(pada_loader_begin(loader, 1, gone, N, 0));
        for (int i = 0; i < k % 9; i++)
            pada_loader_next(loader, &draws);
        if (k % 3 == 0) dawdle(k * 10);
        assert_ok(pada_loader_begin(loader, 0, order, N, k % 5 * BATCH));
        free(gone);
        pada_loader_next(loader, &draws);
        check_draws(&draws, 0, k % 5 * BATCH, true);
    }
    pada_loader_destroy(loader);
}

static void test_early_destroy(void **state)
{
    const int64_t live = pada_mem_live();

    (void)state;
    for (int k = 0; k < 60; k++) {
        pada_loader *loader = open_loader(true);
        pada_draws draws;
        if (k % 6 > 0) assert_ok(pada_loader_begin(loader, 1, order, N, 0));
        for (int i = 0; i < k % 6 - 1; i++)
            pada_loader_next(loader, &draws);
        if (k % 4 == 0) dawdle(k * 20);
        pada_loader_destroy(loader);
    }
    pada_loader_destroy(NULL);
    assert_int_equal(pada_mem_live(), live);
}

/* After create nothing is allocated. */
static void test_no_allocation(void **state)
{
    pada_loader *loader = open_loader(true);
    const int64_t count = pada_mem_count();

    (void)state;
    for (int epoch = 0; epoch < 3; epoch++) {
        assert_ok(pada_loader_begin(loader, epoch, order, N, 0));
        hash_rest(loader, 0);
    }
    assert_int_equal(pada_mem_count(), count);
    pada_loader_destroy(loader);
}

/* One batch of all images, and one image. */
static void test_sizes(void **state)
{
    static int32_t all[1000];
    pada_loader_desc desc = {.data = data, .split = PADA_SPLIT_TEST, .batch_size = 1000};
    pada_loader *loader;
    pada_draws draws;

    (void)state;
    for (int i = 0; i < 1000; i++)
        all[i] = 999 - i;
    assert_ok(pada_loader_create(&loader, &desc));
    assert_ok(pada_loader_begin(loader, 0, all, 1000, 0));
    pada_loader_next(loader, &draws);
    assert_int_equal(draws.batch.n, 1000);
    assert_int_equal(draws.batch.labels[1], 8); /* image 998 */
    check_end(loader);
    assert_ok(pada_loader_begin(loader, 0, all, 1, 0));
    pada_loader_next(loader, &draws);
    assert_int_equal(draws.batch.n, 1);
    check_end(loader);
    pada_loader_destroy(loader);
}

static void test_refused(void **state)
{
    const int64_t live = pada_mem_live();
    const pada_dataset_desc only_test = {.where = "builtin",
                                         .splits = PADA_SPLIT_BIT(PADA_SPLIT_TEST)};
    pada_loader_desc desc = {.data = data, .split = TRAIN, .batch_size = 2001};
    pada_loader *loader;
    pada_dataset *test;

    (void)state;
    assert_fails(pada_loader_create(&loader, &desc), PADA_EINVAL,
                 "batch size 2001 is larger than the 2000 train images of builtin");
    assert_null(loader);
    desc.batch_size = 0;
    assert_fails(pada_loader_create(&loader, &desc), PADA_EINVAL, "batch size 0 is not positive");
    assert_ok(pada_dataset_open(&test, &only_test));
    desc = (pada_loader_desc){.data = test, .split = TRAIN, .batch_size = 1};
    assert_fails(pada_loader_create(&loader, &desc), PADA_EINVAL, "builtin has no train images");
    pada_dataset_close(test);
    assert_int_equal(pada_mem_live(), live);

    loader = open_loader(true);
    assert_fails(pada_loader_begin(loader, 2, order, 0, 0), PADA_EINVAL, "epoch 2 has 0 images");
    static const int wrong[] = {-8, 4, 7, 64, 1 << 30};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char message[200];
        snprintf(message, sizeof message,
                 "epoch 2 cannot begin at image %d: not a multiple of the batch size 8 within 53",
                 wrong[i]);
        assert_fails(pada_loader_begin(loader, 2, order, N, wrong[i]), PADA_EINVAL, message);
    }
    pada_loader_destroy(loader);
}

static void test_oom(void **state)
{
    const pada_loader_desc desc = {.data = data, .split = TRAIN, .batch_size = BATCH};
    pada_loader *loader = NULL;

    (void)state;
    assert_survives_oom(pada_loader_create(&loader, &desc), pada_loader_destroy(loader));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs),        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_changes),       cmocka_unit_test(test_early_begin),
        cmocka_unit_test(test_early_destroy), cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
