/* test_ds_builtin.c - the generated images: always the same, and worth learning. */
#include "base/scratch.h"

#include <math.h>

#include "base/hash.h"
#include "check.h"
#include "data/dataset.h"

#define N_CLASSES   10
#define SIDE        16
#define PLANE       (SIDE * SIDE)
#define IMAGE_BYTES (3 * PLANE)

static const pada_dataset_desc all_images = {.where = "builtin"};

static pada_dataset *open_all(void)
{
    pada_dataset *ds;

    assert_ok(pada_dataset_open(&ds, &all_images));
    return ds;
}

static uint64_t hash_split(const pada_dataset *ds, pada_split split)
{
    uint64_t hash = 0;

    for (int i = 0; i < ds->n_images[split]; i++)
        hash = pada_hash(ds->ops->image(ds, split, i), IMAGE_BYTES, hash);
    return hash;
}

static void test_shape(void **state)
{
    pada_dataset *ds = open_all();

    (void)state;
    assert_string_equal(ds->name, "builtin");
    assert_int_equal(ds->n_classes, N_CLASSES);
    assert_true(pada_shape_equal(ds->shape, (pada_shape){3, SIDE, SIDE}));
    assert_int_equal(ds->n_images[PADA_SPLIT_TRAIN], 2000);
    assert_int_equal(ds->n_images[PADA_SPLIT_TEST], 1000);
    for (int split = 0; split < PADA_N_SPLITS; split++) {
        int count[N_CLASSES] = {0};
        for (int i = 0; i < ds->n_images[split]; i++)
            count[ds->ops->label(ds, split, i)]++;
        for (int c = 0; c < N_CLASSES; c++)
            assert_int_equal(count[c], ds->n_images[split] / N_CLASSES);
    }
    pada_dataset_close(ds);
}

/* Results on these images are compared over machines and versions: a change of the images must be
 * meant. */
static void test_golden(void **state)
{
    pada_dataset *ds = open_all();

    (void)state;
    assert_int_equal(hash_split(ds, PADA_SPLIT_TRAIN), 0x4aed98d9aa8e3122);
    assert_int_equal(hash_split(ds, PADA_SPLIT_TEST), 0xe1f3341339ea5856);
    pada_dataset_close(ds);
}

/* One split alone has the same images. */
static void test_one_split(void **state)
{
    const pada_dataset_desc test_images = {.where = "builtin",
                                           .splits = PADA_SPLIT_BIT(PADA_SPLIT_TEST)};
    pada_dataset *all = open_all(), *test;

    (void)state;
    assert_ok(pada_dataset_open(&test, &test_images));
    assert_int_equal(test->n_images[PADA_SPLIT_TRAIN], 0);
    assert_int_equal(hash_split(test, PADA_SPLIT_TEST), hash_split(all, PADA_SPLIT_TEST));
    pada_dataset_close(test);
    pada_dataset_close(all);
}

/* No image twice, neither in a split nor in both. */
static void test_all_different(void **state)
{
    static uint64_t hashes[3000];
    pada_dataset *ds = open_all();
    int n = 0;

    (void)state;
    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int i = 0; i < ds->n_images[split]; i++)
            hashes[n++] = pada_hash(ds->ops->image(ds, split, i), IMAGE_BYTES, 0);
    assert_int_equal(n, 3000);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(hashes[i], hashes[k]);
    pada_dataset_close(ds);
}

/* The constants of the normalisation are those of the training images: mean 0, deviation 1
 * afterwards. */
static void test_normalised(void **state)
{
    pada_dataset *ds = open_all();
    const int n = ds->n_images[PADA_SPLIT_TRAIN];
    float *images = calloc((size_t)n * IMAGE_BYTES, sizeof *images);
    int32_t *labels = calloc((size_t)n, sizeof *labels);

    (void)state;
    pada_dataset_fill(ds, PADA_SPLIT_TRAIN, 0, n, images, labels);
    for (int c = 0; c < 3; c++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < PLANE; k++) {
                const double x = images[(size_t)i * IMAGE_BYTES + (size_t)(c * PLANE + k)];
                sum += x;
                squares += x * x;
            }
        const double mean = sum / ((double)n * PLANE);
        CHECK_CLOSE(mean, 0, 1e-3);
        CHECK_CLOSE(sqrt(squares / ((double)n * PLANE) - mean * mean), 1, 1e-3);
    }
    free(images);
    free(labels);
    pada_dataset_close(ds);
}

/* Mean grey level of a channel. */
static double level(const uint8_t *image, int c)
{
    int sum = 0;

    for (int k = 0; k < PLANE; k++)
        sum += image[c * PLANE + k];
    return (double)sum / PLANE;
}

/* The nearest class mean of the colours: brightness tells how large a shape is, and no more. */
static void test_colours_tell_little(void **state)
{
    pada_dataset *ds = open_all();
    const pada_split train = PADA_SPLIT_TRAIN, test = PADA_SPLIT_TEST;
    double centre[N_CLASSES][3] = {{0}};
    int right = 0;

    (void)state;
    for (int i = 0; i < ds->n_images[train]; i++)
        for (int c = 0; c < 3; c++)
            centre[ds->ops->label(ds, train, i)][c] +=
                level(ds->ops->image(ds, train, i), c) * N_CLASSES / ds->n_images[train];
    for (int i = 0; i < ds->n_images[test]; i++) {
        int best = 0;
        double nearest = INFINITY;
        for (int k = 0; k < N_CLASSES; k++) {
            double apart = 0;
            for (int c = 0; c < 3; c++)
                apart += pow(level(ds->ops->image(ds, test, i), c) - centre[k][c], 2);
            if (apart < nearest) {
                nearest = apart;
                best = k;
            }
        }
        right += best == ds->ops->label(ds, test, i);
    }
    print_message("colour alone: %d of 1000\n", right);
    assert_in_range(right, 80, 200);
    pada_dataset_close(ds);
}

static void test_oom(void **state)
{
    pada_dataset *ds = NULL;

    (void)state;
    assert_survives_oom(pada_dataset_open(&ds, &all_images), pada_dataset_close(ds));
}

/* The size may be named, but it is what it is. */
static void test_image_size(void **state)
{
    const int64_t live = pada_mem_live();
    pada_dataset_desc desc = {.where = "builtin", .image_size = SIDE};
    pada_dataset *ds;

    (void)state;
    assert_ok(pada_dataset_open(&ds, &desc));
    assert_int_equal(ds->pad, SIDE / 8);
    assert_false(ds->flip_first);
    pada_dataset_close(ds);
    desc.image_size = 32;
    assert_fails(pada_dataset_open(&ds, &desc), PADA_EINVAL,
                 "image size 32 does not fit the data set builtin, which has 16");
    assert_null(ds);
    desc.image_size = -1;
    assert_fails(pada_dataset_open(&ds, &desc), PADA_EINVAL, "image size -1 is not positive");
    assert_int_equal(pada_mem_live(), live);
}

static void test_registry(void **state)
{
    pada_dataset *ds;

    (void)state;
    assert_int_equal(pada_dataset_count(), 4);
    assert_string_equal(pada_dataset_get(0)->name, "builtin");
    assert_string_equal(pada_dataset_get(1)->name, "cifar");
    assert_string_equal(pada_dataset_get(2)->name, "imagenet16");
    assert_string_equal(pada_dataset_get(3)->name, "folder");
    assert_string_equal(pada_split_name(PADA_SPLIT_TRAIN), "train");
    assert_string_equal(pada_split_name(PADA_SPLIT_TEST), "test");
    pada_dataset_close(NULL);
    assert_fails(pada_dataset_open(&ds, &(pada_dataset_desc){.where = "bulitin"}), PADA_ENOENT,
                 "bulitin: no such folder; did you mean 'builtin'?");
    assert_null(ds);
    assert_fails(pada_dataset_open(&ds, &(pada_dataset_desc){.where = "/no/such/folder"}),
                 PADA_ENOENT, "/no/such/folder: no such folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),      cmocka_unit_test(test_golden),
        cmocka_unit_test(test_one_split),  cmocka_unit_test(test_all_different),
        cmocka_unit_test(test_normalised), cmocka_unit_test(test_colours_tell_little),
        cmocka_unit_test(test_oom),        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_image_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
