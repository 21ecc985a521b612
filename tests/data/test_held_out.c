/* test_held_out.c - the held-out training images as val: which they are, and that nothing else changes. */
#include "base/scratch.h"

#include <string.h>

#include "base/mem.h"
#include "check.h"
#include "data/held_out.h"
#include "data/image_order.h"

enum { MAX_IMAGES = 2000 };
#define SHARE 0.25

static pada_dataset *open_builtin(void)
{
    const unsigned splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN) | PADA_SPLIT_BIT(PADA_SPLIT_TEST);
    pada_dataset *ds;

    assert_ok(pada_dataset_open(&ds, &(pada_dataset_desc){.where = "builtin", .splits = splits}));
    assert_in_range(ds->n_images[PADA_SPLIT_TRAIN], 2, MAX_IMAGES);
    return ds;
}

static void check_image(const pada_dataset *a, pada_split split_a, int i, const pada_dataset *b,
                        pada_split split_b, int k)
{
    assert_int_equal(a->ops->label(a, split_a, i), b->ops->label(b, split_b, k));
    assert_memory_equal(a->ops->image(a, split_a, i), b->ops->image(b, split_b, k),
                        (size_t)pada_shape_count(a->shape));
}

/* The same images as a training leaves out, which asks pada_hold_out. */
static void test_images(void **state)
{
    static int32_t labels[MAX_IMAGES], images[MAX_IMAGES];
    pada_dataset *whole = open_builtin(), *ds = open_builtin();
    const int n = whole->n_images[PADA_SPLIT_TRAIN];
    int n_kept;

    (void)state;
    for (int i = 0; i < n; i++)
        labels[i] = whole->ops->label(whole, PADA_SPLIT_TRAIN, i);
    assert_ok(pada_hold_out(images, &n_kept, labels, n, whole->n_classes, SHARE));
    assert_ok(pada_dataset_hold_out(&ds, SHARE));
    assert_int_equal(ds->n_images[PADA_SPLIT_TRAIN], n_kept);
    assert_int_equal(ds->n_images[PADA_SPLIT_VAL], n - n_kept);
    for (int i = 0; i < n_kept; i++)
        check_image(ds, PADA_SPLIT_TRAIN, i, whole, PADA_SPLIT_TRAIN, images[i]);
    for (int i = n_kept; i < n; i++)
        check_image(ds, PADA_SPLIT_VAL, i - n_kept, whole, PADA_SPLIT_TRAIN, images[i]);
    check_image(ds, PADA_SPLIT_TEST, 3, whole, PADA_SPLIT_TEST, 3);
    assert_true(pada_dataset_hash(ds, PADA_SPLIT_TEST) ==
                pada_dataset_hash(whole, PADA_SPLIT_TEST));
    assert_true(pada_dataset_hash(ds, PADA_SPLIT_TRAIN) != pada_dataset_hash(ds, PADA_SPLIT_VAL));
    assert_memory_equal(ds->levels, whole->levels, sizeof ds->levels);
    assert_string_equal(ds->name, whole->name);
    pada_dataset_close(ds);
    pada_dataset_close(whole);
}

static void test_no_memory(void **state)
{
    pada_dataset *ds = open_builtin();
    pada_dataset *const before = ds;
    pada_status st;

    (void)state;
    for (int k = 0;; k++) {
        pada_mem_fail_after(k);
        st = pada_dataset_hold_out(&ds, SHARE);
        pada_mem_fail_after(-1);
        if (st == PADA_OK) break;
        assert_int_equal(st, PADA_ENOMEM);
        assert_ptr_equal(ds, before);
    }
    assert_ptr_not_equal(ds, before);
    pada_dataset_close(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
