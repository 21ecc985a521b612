/* test_photos.c - image folders with resized crops: what batches hold, whoever makes them and when. */
#include "base/scratch.h"

#include <limits.h>

#include "base/hash.h"
#include "check.h"
#include "data/augment.h"
#include "data/inspect.h"
#include "data/loader.h"
#include "make_images.h"

#define SIZE  24
#define COUNT (3 * SIZE * SIZE)
#define N     13 /* train images */
#define BATCH 4
#define TRAIN PADA_SPLIT_TRAIN
#define JITTER        \
    {                 \
        0.4, 0.4, 0.4 \
    }

/* ---- a folder ---- */

static void write_photo(const char *name, int width, int height, picture_format format, int seed)
{
    void *memory;

    assert_ok(pada_calloc(&memory, (size_t)(width * height), (size_t)format.channels));
    uint8_t *pixels = memory;
    for (int i = 0; i < width * height * format.channels; i++)
        pixels[i] = (uint8_t)(i / format.channels % width * 3 + i / width / 5 + seed * 40 +
                              i % format.channels * 30);
    write_jpeg(scratch_path(name), width, height, format, pixels);
    pada_free(pixels);
}

/* Sizes of all kinds, grey, four inks, progressive, turned. */
static int make_folder(void **state)
{
    static const int sides[N][2] = {{100, 75}, {75, 100}, {1, 1},   {1, 9},     {300, 2},
                                    {64, 64},  {50, 40},  {24, 24}, {400, 300}, {31, 77},
                                    {90, 90},  {20, 10},  {120, 80}};
    static const char *const folders[] = {"train", "train/a", "train/b", "val", "val/a", "val/b"};
    char name[64];

    if (scratch_clear(state) != 0) return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_ok(pada_make_dirs(scratch_path(folders[i])));
    for (int i = 0; i < N; i++) {
        const picture_format format = {.channels = i == 1   ? 1
                                                   : i == 6 ? 4
                                                            : 3,
                                       .interlaced = i == 5,
                                       .orientation = i == 9 ? 6 : 0};
        snprintf(name, sizeof name, "train/%c/%d.jpg", i % 2 ? 'b' : 'a', i);
        write_photo(name, sides[i][0], sides[i][1], format, i);
    }
    write_photo("val/a/0.jpg", 60, 50, (picture_format){.channels = 3}, 1);
    write_photo("val/b/0.jpg", 50, 60, (picture_format){.channels = 3}, 2);
    return 0;
}

static pada_dataset *open_folder(int n_train_kept)
{
    pada_dataset *ds;

    assert_ok(pada_dataset_open(&ds, &(pada_dataset_desc){.where = scratch_dir,
                                                          .image_size = SIZE,
                                                          .crops = PADA_CROPS_RESIZED,
                                                          .n_train_kept = n_train_kept}));
    return ds;
}

static pada_loader *open_loader(const pada_dataset *ds, int n_threads)
{
    pada_loader *loader;

    assert_ok(pada_loader_create(&loader, &(pada_loader_desc){.data = ds,
                                                              .split = TRAIN,
                                                              .batch_size = BATCH,
                                                              .seed = 3,
                                                              .augment = true,
                                                              .changes.jitter = JITTER,
                                                              .n_threads = n_threads}));
    return loader;
}

static const int32_t order[N] = {5, 2, 12, 0, 0, 7, 9, 1, 3, 11, 10, 4, 8};

/* ---- tests ---- */

/* A batch is what its definition says, with any number of threads, and from any batch on. */
static void test_batches(void **state)
{
    pada_dataset *ds = open_folder(0);
    uint64_t hashes[4] = {0};

    (void)state;
    assert_int_equal(ds->n_images[TRAIN], N);
    assert_int_equal(ds->n_on_demand[TRAIN], N);
    assert_int_equal(ds->n_on_demand[PADA_SPLIT_VAL], 0);
    for (int n_threads = 1; n_threads <= 9; n_threads += 4)
        for (int first = 0; first < N; first += BATCH) {
            pada_loader *loader = open_loader(ds, n_threads);
            pada_draws draws;
            assert_ok(pada_loader_begin(loader, 2, order, N, first));
            for (int at = first; at < N; at += BATCH) {
                assert_ok(pada_loader_next(loader, &draws));
                assert_int_equal(draws.batch.n, N - at < BATCH ? N - at : BATCH);
                const uint64_t hash =
                    pada_hash(draws.batch.images, (size_t)draws.batch.n * COUNT * sizeof(float), 1);
                if (n_threads == 1 && first == 0) hashes[at / BATCH] = hash;
                assert_true(hash == hashes[at / BATCH]);
            }
            assert_ok(pada_loader_next(loader, &draws));
            assert_int_equal(draws.batch.n, 0);
            pada_loader_destroy(loader);
        }
    pada_dataset_close(ds);
}

/* Every number of a batch, by the functions that it is said to consist of. */
static void test_contents(void **state)
{
    pada_dataset *ds = open_folder(0);
    pada_loader *loader = open_loader(ds, 2);
    uint8_t bytes[COUNT];
    pada_draws draws;

    (void)state;
    assert_ok(pada_loader_begin(loader, 2, order, N, 0));
    for (int at = 0; at < N; at++) {
        const pada_draw draw = {.seed = 3, .epoch = 2, .position = at, .changes.jitter = JITTER};
        if (at % BATCH == 0) assert_ok(pada_loader_next(loader, &draws));
        assert_ok(pada_augment_photo(ds, TRAIN, order[at], &draw, bytes));
        assert_int_equal(draws.batch.labels[at % BATCH], ds->ops->label(ds, TRAIN, order[at]));
        for (int i = 0; i < COUNT; i++)
            assert_true(draws.batch.images[at % BATCH * COUNT + i] ==
                        ds->levels[i / SIZE / SIZE][bytes[i]]);
    }
    pada_loader_destroy(loader);
    pada_dataset_close(ds);
}

/* Without augmentation images are as evaluation sees them, kept or not; the mean is ImageNet's. */
static void test_kept(void **state)
{
    pada_dataset *none = open_folder(0), *some = open_folder(5), *all = open_folder(INT_MAX);
    static float a[N * COUNT], b[N * COUNT], c[N * COUNT];
    int32_t labels[N];
    pada_facts facts;

    (void)state;
    assert_int_equal(some->n_on_demand[TRAIN], N - 5);
    assert_int_equal(all->n_on_demand[TRAIN], 0);
    assert_ok(pada_dataset_fill(none, TRAIN, 0, N, a, labels));
    assert_ok(pada_dataset_fill(some, TRAIN, 0, N, b, labels));
    assert_ok(pada_dataset_fill(all, TRAIN, 0, N, c, labels));
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(a, c, sizeof a);
    assert_true(none->mean[0] == 0.485 && none->deviation[2] == 0.225);
    assert_true(pada_dataset_hash(none, TRAIN) == pada_dataset_hash(all, TRAIN));
    assert_ok(pada_facts_init(&facts, all));
    assert_int_equal(facts.splits[TRAIN].class_counts[0], 7);
    pada_facts_deinit(&facts);
    pada_dataset_close(none);
    pada_dataset_close(some);
    pada_dataset_close(all);
}

/* The whole epoch; the failure comes with the batch of the image, not before. */
static void check_failure(const char *file, int position, pada_status status, const char *message,
                          pada_dataset *ds)
{
    for (int n_threads = 1; n_threads <= 5; n_threads += 2) {
        pada_loader *loader = open_loader(ds, n_threads);
        pada_draws draws;
        assert_ok(pada_loader_begin(loader, 0, order, N, 0));
        for (int at = 0; at < position / BATCH; at++)
            assert_ok(pada_loader_next(loader, &draws));
        for (int again = 0; again < 2; again++) {
            assert_int_equal(pada_loader_next(loader, &draws), status);
            assert_non_null(strstr(pada_message(), file));
            assert_non_null(strstr(pada_message(), message));
        }
        pada_loader_destroy(loader);
    }
}

/* Where an image is in the order of the epoch. */
static int position_of(const pada_dataset *ds, const char *file)
{
    for (int at = 0; at < N; at++)
        if (strcmp(ds->ops->file(ds, TRAIN, order[at]), scratch_path(file)) == 0) return at;
    fail_msg("%s is not drawn", file);
    return -1;
}

/* A file that goes, changes, or is broken from the start. */
static void test_failures(void **state)
{
    static const char junk[] = "\xff\xd8\xff and no more";
    pada_dataset *ds = open_folder(0);

    (void)state;
    const char *gone = strrchr(ds->ops->file(ds, TRAIN, 10), '/') - 7;
    char path[600], name[64];
    snprintf(name, sizeof name, "%s", gone);
    snprintf(path, sizeof path, "%s", scratch_path(name));
    const int at = position_of(ds, name);
    assert_int_equal(unlink(path), 0);
    check_failure(path, at, PADA_ENOENT, "No such file", ds);
    scratch_write(path, junk, sizeof junk);
    check_failure(path, at, PADA_EDATA, "has changed", ds);
    pada_dataset_close(ds);
    ds = open_folder(0); /* nothing is decoded, nothing is noticed */
    check_failure(path, position_of(ds, name), PADA_EDATA, "broken JPEG", ds);
    pada_dataset_close(ds);
}

/* Of many failures the first one of the epoch is said, whichever thread comes first. */
static void test_first_failure(void **state)
{
    pada_dataset *ds = open_folder(0);

    (void)state;
    for (int i = 0; i < N; i++)
        assert_int_equal(unlink(ds->ops->file(ds, TRAIN, i)), 0);
    for (int k = 0; k < 20; k++)
        check_failure(ds->ops->file(ds, TRAIN, order[0]), 0, PADA_ENOENT, "No such file", ds);
    pada_dataset_close(ds);
}

/* What is asked for but cannot be. */
static void test_refused(void **state)
{
    pada_dataset_desc desc = {
        .where = scratch_dir, .image_size = SIZE, .crops = PADA_CROPS_RESIZED};
    pada_loader *loader;
    pada_dataset *ds;

    (void)state;
    desc.resize = PADA_RESIZE_PAD;
    assert_int_equal(pada_dataset_open(&ds, &desc), PADA_EINVAL);
    desc.resize = PADA_RESIZE_CROP;
    desc.eval_crop = 1.5;
    assert_int_equal(pada_dataset_open(&ds, &desc), PADA_EINVAL);
    desc = (pada_dataset_desc){.where = "builtin", .crops = PADA_CROPS_RESIZED};
    assert_int_equal(pada_dataset_open(&ds, &desc), PADA_EINVAL);
    assert_ok(pada_dataset_open(&ds, &(pada_dataset_desc){.where = scratch_dir}));
    assert_int_equal(ds->n_on_demand[TRAIN], 0); /* small ones are kept */
    assert_int_equal(pada_loader_create(&loader, &(pada_loader_desc){.data = ds,
                                                                     .split = TRAIN,
                                                                     .batch_size = 1,
                                                                     .augment = true,
                                                                     .changes.jitter = JITTER}),
                     PADA_EINVAL);
    pada_dataset_close(ds);
}

/* Large images are cut without being asked for; evaluation does not need the train files. */
static void test_auto(void **state)
{
    pada_dataset_desc desc = {.where = scratch_dir, .image_size = PADA_PHOTO_SIZE};
    pada_dataset *ds;

    (void)state;
    assert_ok(pada_dataset_open(&ds, &desc));
    assert_true(ds->is_cut);
    const uint64_t hash = pada_dataset_hash(ds, PADA_SPLIT_VAL);
    pada_dataset_close(ds);
    desc.crops = PADA_CROPS_BORDER;
    assert_ok(pada_dataset_open(&ds, &desc));
    assert_false(ds->is_cut);
    pada_dataset_close(ds);
    scratch_write(scratch_path("train/a/0.jpg"), "", 0);
    desc = (pada_dataset_desc){.where = scratch_dir,
                               .image_size = PADA_PHOTO_SIZE,
                               .splits = PADA_SPLIT_BIT(PADA_SPLIT_VAL)};
    assert_ok(pada_dataset_open(&ds, &desc));
    assert_true(pada_dataset_hash(ds, PADA_SPLIT_VAL) == hash);
    pada_dataset_close(ds);
}

static pada_status read_epoch(void)
{
    pada_dataset *ds = NULL;
    pada_loader *loader = NULL;
    float image[COUNT];
    int32_t label;
    pada_status st = pada_dataset_open(&ds, &(pada_dataset_desc){.where = scratch_dir,
                                                                 .image_size = SIZE,
                                                                 .crops = PADA_CROPS_RESIZED});

    if (st == PADA_OK) st = pada_dataset_fill(ds, TRAIN, 3, 1, image, &label);
    if (st == PADA_OK)
        st = pada_loader_create(&loader,
                                &(pada_loader_desc){.data = ds, .split = TRAIN, .batch_size = 1});
    pada_loader_destroy(loader);
    pada_dataset_close(ds);
    return st;
}

static void test_oom(void **state)
{
    (void)state;
    assert_survives_oom(read_epoch(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_batches, make_folder),
        cmocka_unit_test_setup(test_contents, make_folder),
        cmocka_unit_test_setup(test_kept, make_folder),
        cmocka_unit_test_setup(test_failures, make_folder),
        cmocka_unit_test_setup(test_first_failure, make_folder),
        cmocka_unit_test_setup(test_refused, make_folder),
        cmocka_unit_test_setup(test_auto, make_folder),
        cmocka_unit_test_setup(test_oom, make_folder),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
