/* test_ds_cifar.c - CIFAR folders: what is read, and what is refused. */
#include "base/scratch.h"

#include "check.h"
#include "data/dataset.h"

#define PIXELS 3072

/* The bytes of a file of n records. Pixel k of image i is a function of both, so that a shifted
 * read shows. */
static uint8_t pixel(int file, int i, int k)
{
    return (uint8_t)(file * 50 + i * 7 + k * 3 + k / 256);
}

static void write_records(const char *name, int file, int n, int label_bytes)
{
    const size_t size = (size_t)label_bytes + PIXELS;
    uint8_t *bytes = calloc((size_t)n, size);

    for (int i = 0; i < n; i++) {
        uint8_t *at = bytes + (size_t)i * size;
        if (label_bytes == 2) *at++ = 19; /* the coarse label, which nobody reads */
        *at++ = (uint8_t)((label_bytes == 2 ? 90 : 0) + (file + i) % 10);
        for (int k = 0; k < PIXELS; k++)
            at[k] = pixel(file, i, k);
    }
    scratch_write(scratch_path(name), bytes, (size_t)n * size);
    free(bytes);
}

static const char *const cifar10_files[] = {"data_batch_1.bin", "data_batch_2.bin",
                                            "data_batch_3.bin", "data_batch_4.bin",
                                            "data_batch_5.bin", "test_batch.bin"};

/* 2, 3, 4, 5, 6 training images and 7 for the test. */
static void write_cifar10(void)
{
    for (int file = 0; file < 6; file++)
        write_records(cifar10_files[file], file, file + 2, 1);
}

static void write_cifar100(void)
{
    write_records("train.bin", 0, 4, 2);
    write_records("test.bin", 1, 3, 2);
}

static void set_byte(const char *name, long at, int value)
{
    FILE *f = fopen(scratch_path(name), "r+b");

    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(value, f), value);
    assert_int_equal(fclose(f), 0);
}

/* What to open: these splits (0: all) of the scratch folder. */
static const pada_dataset_desc *folder(unsigned splits)
{
    static pada_dataset_desc desc;

    desc = (pada_dataset_desc){.where = scratch_dir, .splits = splits};
    return &desc;
}

/* Opening fails with this status, and a message that is file or folder followed by `message`. */
static void assert_refused(unsigned splits, pada_status status, const char *name,
                           const char *message)
{
    const int64_t live = pada_mem_live();
    pada_dataset *ds;
    char full[2048];

    assert_int_equal(pada_dataset_open(&ds, folder(splits)), status);
    assert_null(ds);
    snprintf(full, sizeof full, "%s%s%s%s", scratch_dir, *name ? "/" : "", name, message);
    assert_string_equal(pada_message(), full);
    assert_int_equal(pada_mem_live(), live);
}

static void test_cifar10(void **state)
{
    static const double mean[] = {0.49139968, 0.48215827, 0.44653124};
    static const double deviation[] = {0.24703233, 0.24348505, 0.26158768};
    pada_text odd = {0};
    pada_dataset *ds;
    int at = 0;

    (void)state;
    write_cifar10();
    assert_ok(pada_dataset_open(&ds, folder(0)));
    assert_string_equal(ds->name, "CIFAR-10");
    assert_int_equal(ds->n_classes, 10);
    assert_true(pada_shape_equal(ds->shape, (pada_shape){3, 32, 32}));
    assert_int_equal(ds->n_images[PADA_SPLIT_TRAIN], 20);
    assert_int_equal(ds->n_images[PADA_SPLIT_TEST], 7);
    for (int c = 0; c < 3; c++) {
        CHECK_CLOSE(ds->mean[c], mean[c], 0);
        CHECK_CLOSE(ds->deviation[c], deviation[c], 0);
    }
    assert_string_equal(ds->ops->class_name(ds, 3), "cat");
    ds->ops->remark(ds, &odd);
    assert_non_null(strstr(pada_text_str(&odd), "data_batch_5.bin: 6 images; the official file has "
                                                "10000\ntest_batch.bin: 7 images; "));
    pada_text_deinit(&odd);
    for (int file = 0; file < 6; file++)
        for (int i = 0; i < file + 2; i++) {
            const pada_split split = file < 5 ? PADA_SPLIT_TRAIN : PADA_SPLIT_TEST;
            const int index = file < 5 ? at++ : i;
            const uint8_t *image = ds->ops->image(ds, split, index);
            assert_int_equal(ds->ops->label(ds, split, index), (file + i) % 10);
            for (int k = 0; k < PIXELS; k++)
                assert_int_equal(image[k], pixel(file, i, k));
        }
    pada_dataset_close(ds);
}

static void test_cifar100(void **state)
{
    pada_dataset *ds;

    (void)state;
    write_cifar100();
    assert_ok(pada_dataset_open(&ds, folder(0)));
    assert_string_equal(ds->name, "CIFAR-100");
    assert_int_equal(ds->n_classes, 100);
    assert_int_equal(ds->n_images[PADA_SPLIT_TRAIN], 4);
    assert_int_equal(ds->n_images[PADA_SPLIT_TEST], 3);
    assert_int_equal(ds->ops->label(ds, PADA_SPLIT_TEST, 2), 93); /* the fine label */
    assert_int_equal(ds->ops->image(ds, PADA_SPLIT_TEST, 2)[3071], pixel(1, 2, 3071));
    CHECK_CLOSE(ds->mean[2], 113.9 / 255, 1e-12);
    pada_dataset_close(ds);
}

/* Across the border of two files: divided by 255, normalised, in order. */
static void test_fill(void **state)
{
    static float images[4 * PIXELS];
    int32_t labels[4];
    pada_dataset *ds;

    (void)state;
    write_cifar10();
    assert_ok(pada_dataset_open(&ds, folder(0)));
    pada_dataset_fill(ds, PADA_SPLIT_TRAIN, 1, 4, images, labels);
    for (int n = 0; n < 4; n++) {
        const int file = n == 0 ? 0 : 1, i = n == 0 ? 1 : n - 1;
        assert_int_equal(labels[n], file + i);
        for (int k = 0; k < PIXELS; k++) {
            const int c = k / 1024;
            CHECK_CLOSE(images[n * PIXELS + k],
                        (pixel(file, i, k) / 255.0 - ds->mean[c]) / ds->deviation[c], 1e-6);
        }
    }
    pada_dataset_close(ds);
}

static void test_missing_files(void **state)
{
    pada_dataset *ds;

    (void)state;
    write_cifar10();
    unlink(scratch_path("data_batch_3.bin"));
    assert_refused(0, PADA_ENOENT, "data_batch_3.bin", ": No such file or directory");
    /* Who only wants the test images does not need the others. */
    assert_ok(pada_dataset_open(&ds, folder(PADA_SPLIT_BIT(PADA_SPLIT_TEST))));
    assert_int_equal(ds->n_images[PADA_SPLIT_TRAIN], 0);
    assert_int_equal(ds->n_images[PADA_SPLIT_TEST], 7);
    pada_dataset_close(ds);

    scratch_clear(NULL);
    write_cifar100();
    unlink(scratch_path("test.bin"));
    assert_refused(0, PADA_ENOENT, "test.bin", ": No such file or directory");
}

static void test_not_a_data_set(void **state)
{
    const pada_dataset_desc notes = {.where = scratch_path("notes.txt")};
    pada_dataset *ds;
    char message[2048];

    (void)state;
    scratch_write(scratch_path("notes.txt"), "hello", 5);
    assert_refused(
        0, PADA_EDATA, "",
        ": no data set in this folder; looked for: the word builtin; a folder with "
        "data_batch_1.bin to data_batch_5.bin and test_batch.bin (CIFAR-10), or with "
        "train.bin and test.bin (CIFAR-100); a folder with train_data_batch_1 to "
        "train_data_batch_10 and val_data (ImageNet16); a folder with PNG, JPEG or WebP images in class "
        "folders, or in class folders of train, val and test");
    assert_int_equal(pada_dataset_open(&ds, &notes), PADA_EDATA);
    snprintf(message, sizeof message, "%s: a file, not a data set", scratch_path("notes.txt"));
    assert_memory_equal(pada_message(), message, strlen(message));
    assert_null(ds);

    write_cifar10();
    write_cifar100();
    assert_refused(0, PADA_EDATA, "", ": holds files of both CIFAR-10 and CIFAR-100");

    /* A folder where a file should be. */
    scratch_clear(NULL);
    assert_ok(pada_make_dirs(scratch_path("test_batch.bin")));
    assert_refused(PADA_SPLIT_BIT(PADA_SPLIT_TEST), PADA_ENOENT, "test_batch.bin",
                   ": not a regular file");
}

static void test_wrong_sizes(void **state)
{
    static const struct {
        long bytes;
        const char *message;
    } cases[] = {
        {0, ": 0 bytes are not a number of CIFAR-10 records of 3073 bytes"},
        {1, ": 1 bytes are not a number of CIFAR-10 records of 3073 bytes"},
        {3072, ": 3072 bytes are not a number of CIFAR-10 records of 3073 bytes"},
        {7 * 3073 - 1, ": 21510 bytes are not a number of CIFAR-10 records of 3073 bytes"},
        {7 * 3073 + 1, ": 21512 bytes are not a number of CIFAR-10 records of 3073 bytes"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_cifar10();
        assert_int_equal(truncate(scratch_path("test_batch.bin"), cases[i].bytes), 0);
        assert_refused(0, PADA_EDATA, "test_batch.bin", cases[i].message);
    }
    scratch_clear(NULL);
    write_cifar100();
    assert_int_equal(truncate(scratch_path("train.bin"), 3 * 3073), 0);
    assert_refused(0, PADA_EDATA, "train.bin",
                   ": 9219 bytes are not a number of CIFAR-100 records of 3074 bytes");
}

static void test_labels_out_of_range(void **state)
{
    (void)state;
    write_cifar10();
    set_byte("data_batch_4.bin", 4 * 3073, 37); /* the last record */
    assert_refused(0, PADA_EDATA, "data_batch_4.bin", ": label 37 of image 4 is outside 0 to 9");
    set_byte("data_batch_4.bin", 0, 10);
    assert_refused(0, PADA_EDATA, "data_batch_4.bin", ": label 10 of image 0 is outside 0 to 9");

    scratch_clear(NULL);
    write_cifar100();
    set_byte("test.bin", 3074 + 1, 100);
    assert_refused(0, PADA_EDATA, "test.bin", ": label 100 of image 1 is outside 0 to 99");
}

static void test_oom(void **state)
{
    pada_dataset *ds = NULL;

    (void)state;
    write_cifar10();
    assert_survives_oom(pada_dataset_open(&ds, folder(0)), pada_dataset_close(ds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_cifar10, scratch_clear),
        cmocka_unit_test_setup(test_cifar100, scratch_clear),
        cmocka_unit_test_setup(test_fill, scratch_clear),
        cmocka_unit_test_setup(test_missing_files, scratch_clear),
        cmocka_unit_test_setup(test_not_a_data_set, scratch_clear),
        cmocka_unit_test_setup(test_wrong_sizes, scratch_clear),
        cmocka_unit_test_setup(test_labels_out_of_range, scratch_clear),
        cmocka_unit_test_setup(test_oom, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
