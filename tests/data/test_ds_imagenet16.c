/* test_ds_imagenet16.c - folders of ImageNet16: what is read, and what is refused. */
#include "base/scratch.h"

#include "check.h"
#include "data/dataset.h"

#define PIXELS 768

static uint8_t pixel(int file, int i, int k)
{
    return (uint8_t)(file * 40 + i * 11 + k * 3 + k / 256);
}

/* A file as Python 2 wrote it: n images, with these labels. */
static void write_file(const char *name, int file, const int *labels, int n_labels, int n,
                       int columns)
{
    FILE *f = fopen(scratch_path(name), "wb");
    const uint32_t bytes = (uint32_t)(n * columns);

    assert_non_null(f);
    assert_true(n < 256 && columns < 65536);
    fwrite("\x80\2}(U\6labels](", 1, 14, f);
    for (int i = 0; i < n_labels; i++) {
        fputc('J', f);
        fwrite(&labels[i], 4, 1, f); /* the low byte first, as on every machine we know */
    }
    fwrite("eU\4data", 1, 7, f);
    fputs("cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K", f);
    fwrite("\0tU\1btR(K\1K", 1, 11, f);
    fputc(n, f);
    fputc('M', f);
    fputc(columns % 256, f);
    fputc(columns / 256, f);
    fputs("\x86"
          "cnumpy\ndtype\n(U\2u1\x89\x88tRNb\x89T",
          f);
    fwrite(&bytes, 4, 1, f);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < columns; k++)
            fputc(pixel(file, i, k), f);
    fputs("tbu.", f);
    assert_int_equal(fclose(f), 0);
}

/* Of the five images of each file the second and the fourth are of the first 120 classes. */
static void write_folder(void)
{
    char name[40];

    for (int file = 0; file <= 10; file++) {
        const int labels[] = {121, file + 1, 1000, 120, 500};
        snprintf(name, sizeof name, "train_data_batch_%d", file + 1);
        write_file(file < 10 ? name : "val_data", file, labels, 5, 5, PIXELS);
    }
}

static pada_status open_folder(pada_dataset **out, unsigned splits)
{
    return pada_dataset_open(out, &(pada_dataset_desc){.where = scratch_dir, .splits = splits});
}

static void assert_refused(unsigned splits, pada_status status, const char *rest)
{
    const int64_t live = pada_mem_live();
    pada_dataset *ds;
    char message[2048];

    assert_int_equal(open_folder(&ds, splits), status);
    assert_null(ds);
    snprintf(message, sizeof message, "%s%s", scratch_dir, rest);
    assert_string_equal(pada_message(), message);
    assert_int_equal(pada_mem_live(), live);
}

static void check_image(const pada_dataset *ds, pada_split split, int at, int file, int i)
{
    const uint8_t *image = ds->ops->image(ds, split, at);

    for (int k = 0; k < PIXELS; k++)
        assert_int_equal(image[k], pixel(file, i, k));
}

static void test_folder(void **state)
{
    pada_text odd = {0};
    pada_dataset *ds;

    (void)state;
    write_folder();
    assert_ok(open_folder(&ds, 0));
    assert_string_equal(ds->name, "ImageNet16-120");
    assert_int_equal(ds->n_classes, 120);
    assert_true(pada_shape_equal(ds->shape, (pada_shape){3, 16, 16}));
    assert_int_equal(ds->pad, 2);
    assert_true(ds->flip_first);
    CHECK_CLOSE(ds->mean[0], 122.68 / 255, 1e-12);
    CHECK_CLOSE(ds->deviation[2], 65.09 / 255, 1e-12);
    assert_int_equal(ds->n_images[PADA_SPLIT_TRAIN], 20);
    assert_int_equal(ds->n_images[PADA_SPLIT_TEST], 2);
    for (int file = 0; file < 10; file++) {
        assert_int_equal(ds->ops->label(ds, PADA_SPLIT_TRAIN, 2 * file), file);
        assert_int_equal(ds->ops->label(ds, PADA_SPLIT_TRAIN, 2 * file + 1), 119);
        check_image(ds, PADA_SPLIT_TRAIN, 2 * file, file, 1);
        check_image(ds, PADA_SPLIT_TRAIN, 2 * file + 1, file, 3);
    }
    assert_int_equal(ds->ops->label(ds, PADA_SPLIT_TEST, 0), 10);
    check_image(ds, PADA_SPLIT_TEST, 1, 10, 3);
    ds->ops->remark(ds, &odd);
    assert_string_equal(pada_text_str(&odd), "20 train images; the official data set has 151700\n"
                                             "2 test images; the official data set has 6000\n");
    pada_text_deinit(&odd);
    pada_dataset_close(ds);
}

static void test_missing_files(void **state)
{
    pada_dataset *ds;

    (void)state;
    write_folder();
    unlink(scratch_path("train_data_batch_10"));
    assert_refused(0, PADA_ENOENT, "/train_data_batch_10: No such file or directory");
    assert_ok(open_folder(&ds, PADA_SPLIT_BIT(PADA_SPLIT_TEST)));
    assert_int_equal(ds->n_images[PADA_SPLIT_TRAIN], 0);
    pada_dataset_close(ds);
}

static void test_refused(void **state)
{
    const unsigned test = PADA_SPLIT_BIT(PADA_SPLIT_TEST);
    const int fine[] = {1, 2}, zero[] = {1, 0}, large[] = {1001, 1}, other[] = {121, 300};

    (void)state;
    write_file("val_data", 0, zero, 2, 2, PIXELS);
    assert_refused(test, PADA_EDATA, "/val_data: label 0 of image 1 is outside 1 to 1000");
    write_file("val_data", 0, large, 2, 2, PIXELS);
    assert_refused(test, PADA_EDATA, "/val_data: label 1001 of image 0 is outside 1 to 1000");
    write_file("val_data", 0, other, 2, 2, PIXELS);
    assert_refused(test, PADA_EDATA, ": no test images of label 1 to 120");
    write_file("val_data", 0, fine, 0, 0, PIXELS);
    assert_refused(test, PADA_EDATA, ": no test images of label 1 to 120");
    write_file("val_data", 0, fine, 1, 2, PIXELS);
    assert_refused(test, PADA_EDATA, "/val_data: 1 labels for 2 images");
    write_file("val_data", 0, fine, 2, 2, 3072); /* of ImageNet32 */
    assert_refused(test, PADA_EDATA, "/val_data: images of 3072 bytes, not 768");
    assert_int_equal(truncate(scratch_path("val_data"), 100), 0);
    assert_refused(test, PADA_EDATA, "/val_data: byte 100: the pickle ends without a result");
    assert_int_equal(truncate(scratch_path("val_data"), 0), 0);
    assert_refused(test, PADA_EDATA, "/val_data: not a Python pickle of protocol 2 to 5");
}

static void test_oom(void **state)
{
    pada_dataset *ds = NULL;

    (void)state;
    write_folder();
    assert_survives_oom(open_folder(&ds, 0), pada_dataset_close(ds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_folder, scratch_clear),
        cmocka_unit_test_setup(test_missing_files, scratch_clear),
        cmocka_unit_test_setup(test_refused, scratch_clear),
        cmocka_unit_test_setup(test_oom, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
