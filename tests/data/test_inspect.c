/* test_inspect.c - counts, duplicates and numbers of images that are known. */
#include "base/scratch.h"

#include "check.h"
#include "data/inspect.h"

#define PIXELS 3072

/* An image by one number: 0 to 99 give different ones, from 100 on they are of one colour. */
static void write_image(FILE *f, int label, int number)
{
    fputc(label, f);
    for (int k = 0; k < PIXELS; k++)
        fputc(number >= 100 ? number - 100 + k / 1024 : (k * 7 + number * (k % 5)) % 256, f);
}

/* Pairs of label and number; the same for the other training files, with other numbers. */
static void write_cifar(const int (*train)[2], int n_train, const int (*test)[2], int n_test)
{
    char name[40];

    for (int file = 0; file < 6; file++) {
        snprintf(name, sizeof name, "data_batch_%d.bin", file + 1);
        FILE *f = fopen(scratch_path(file < 5 ? name : "test_batch.bin"), "wb");
        assert_non_null(f);
        for (int i = 0; i < (file == 0 ? n_train : file < 5 ? 1 : n_test); i++) {
            const int *image = file == 0 ? train[i] : test[i];
            if (file == 0 || file == 5)
                write_image(f, image[0], image[1]);
            else
                write_image(f, 9, 50 + file);
        }
        assert_int_equal(fclose(f), 0);
    }
}

static const int train[][2] = {{0, 1}, {0, 2}, {1, 1}, {0, 1}, {2, 100}, {2, 140}, {3, 3}};
static const int test[][2] = {{0, 1}, {4, 1}, {5, 7}, {5, 7}, {6, 100}};

static pada_dataset *open_cifar(unsigned splits)
{
    pada_dataset *ds;

    write_cifar(train, 7, test, 5);
    assert_ok(pada_dataset_open(&ds, &(pada_dataset_desc){.where = scratch_dir, .splits = splits}));
    return ds;
}

static void test_facts(void **state)
{
    static const int counts[][10] = {{3, 1, 2, 1, 0, 0, 0, 0, 0, 4}, {1, 0, 0, 0, 1, 2, 1}};
    pada_dataset *ds = open_cifar(0);
    pada_facts facts;

    (void)state;
    assert_ok(pada_facts_init(&facts, ds));
    assert_null(facts.splits[PADA_SPLIT_VAL].class_counts); /* CIFAR has none */
    for (int split = 0; split < 2; split++)
        assert_memory_equal(facts.splits[split].class_counts, counts[split], sizeof counts[0]);
    const pada_split_facts *a = &facts.splits[PADA_SPLIT_TRAIN];
    assert_int_equal(a->smallest, 0);
    assert_int_equal(a->largest, 4);
    assert_int_equal(a->n_constant, 2);
    assert_int_equal(a->n_duplicates, 2); /* image 1 three times */
    assert_int_equal(a->n_conflicts, 1);  /* once as class 1 */
    const pada_split_facts *b = &facts.splits[PADA_SPLIT_TEST];
    assert_int_equal(b->n_constant, 1);
    assert_int_equal(b->n_duplicates, 2); /* 1 and 7 */
    assert_int_equal(b->n_conflicts, 1);
    assert_int_equal(facts.n_shared, 3); /* 1, 1, 100 */
    assert_int_equal(facts.n_twins, 6);  /* image 1 five times, 7 twice, 100 twice */
    for (int i = 0; i < facts.n_twins; i++) {
        const pada_twins *t = &facts.twins[i];
        assert_true(t->other_split < t->split ||
                    (t->other_split == t->split && t->other < t->image));
        assert_memory_equal(ds->ops->image(ds, t->split, t->image),
                            ds->ops->image(ds, t->other_split, t->other), 3072);
    }
    pada_facts_deinit(&facts);
    pada_dataset_close(ds);
}

/* Mean and deviation by two passes in double. */
static void test_numbers(void **state)
{
    pada_dataset *ds = open_cifar(0);
    pada_facts facts;

    (void)state;
    assert_ok(pada_facts_init(&facts, ds));
    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int c = 0; c < 3; c++) {
            double mean = 0, variance = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int i = 0; i < ds->n_images[split]; i++)
                    for (int k = 0; k < 1024; k++) {
                        const double x = ds->ops->image(ds, split, i)[c * 1024 + k] / 255.0;
                        if (pass == 0)
                            mean += x / (1024.0 * ds->n_images[split]);
                        else
                            variance += pow(x - mean, 2) / (1024.0 * ds->n_images[split]);
                    }
            CHECK_CLOSE(facts.splits[split].mean[c], mean, 1e-12);
            CHECK_CLOSE(facts.splits[split].deviation[c], sqrt(variance), 1e-12);
        }
    pada_facts_deinit(&facts);
    pada_dataset_close(ds);
}

static void test_one_split(void **state)
{
    pada_dataset *ds = open_cifar(PADA_SPLIT_BIT(PADA_SPLIT_TEST));
    pada_facts facts;

    (void)state;
    assert_ok(pada_facts_init(&facts, ds));
    assert_null(facts.splits[PADA_SPLIT_TRAIN].class_counts);
    assert_int_equal(facts.splits[PADA_SPLIT_TEST].n_duplicates, 2);
    assert_int_equal(facts.n_shared, 0);
    pada_facts_deinit(&facts);
    pada_dataset_close(ds);
}

static void test_oom(void **state)
{
    pada_dataset *ds = open_cifar(0);
    const int64_t live = pada_mem_live();

    (void)state;
    for (int n = 0;; n++) {
        pada_facts facts;
        pada_mem_fail_after(n);
        const pada_status st = pada_facts_init(&facts, ds);
        pada_mem_fail_after(-1);
        pada_facts_deinit(&facts);
        assert_int_equal(pada_mem_live(), live);
        if (st == PADA_OK) break;
        assert_int_equal(st, PADA_ENOMEM);
        assert_true(n < 10);
    }
    pada_dataset_close(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_facts, scratch_clear),
        cmocka_unit_test_setup(test_numbers, scratch_clear),
        cmocka_unit_test_setup(test_one_split, scratch_clear),
        cmocka_unit_test_setup(test_oom, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
