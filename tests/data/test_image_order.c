/* test_image_order.c - fixed orders of labelled images: classes in turn, and hold-outs by class. */
#include "data/image_order.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/scratch.h"
#include "check.h"

enum { MAX_IMAGES = 2000, MAX_CLASSES = 20 };

typedef struct images {
    int n, n_classes;
    int counts[MAX_CLASSES];
    int32_t labels[MAX_IMAGES];
    uint64_t keys[MAX_IMAGES];
} images;

/* Class after class, as a folder lists them. */
static void fill(images *to, const int *counts, int n_classes)
{
    pada_rng rng;

    *to = (images){.n_classes = n_classes};
    pada_rng_init(&rng, 1, "keys", 0);
    for (int c = 0; c < n_classes; c++) {
        to->counts[c] = counts[c];
        for (int i = 0; i < counts[c]; i++, to->n++) {
            to->labels[to->n] = c;
            to->keys[to->n] = pada_rng_u32(&rng) % 1000; /* some are equal */
        }
    }
}

/* Every image once, those of a class by key and then by number. */
static void check_permutation(const images *from, const int32_t *order)
{
    static char seen[MAX_IMAGES];
    int last[MAX_CLASSES];

    memset(seen, 0, sizeof seen);
    memset(last, -1, sizeof last);
    for (int i = 0; i < from->n; i++) {
        const int image = order[i], label = from->labels[image], before = last[label];
        assert_in_range(image, 0, from->n - 1);
        assert_false(seen[image]);
        seen[image] = 1;
        if (before >= 0)
            assert_true(from->keys[before] < from->keys[image] ||
                        (from->keys[before] == from->keys[image] && before < image));
        last[label] = image;
    }
}

/* After every number of images each class has had its share, to less than one image. */
static void check_shares(const images *from, const int32_t *order)
{
    int seen[MAX_CLASSES] = {0};

    for (int i = 0; i < from->n; i++) {
        seen[from->labels[order[i]]]++;
        for (int c = 0; c < from->n_classes; c++)
            if (fabs(seen[c] - (double)from->counts[c] * (i + 1) / from->n) > 1)
                fail_msg("%d of class %d after %d images", seen[c], c, i + 1);
    }
}

static void test_classes_take_turns(void **state)
{
    static const int counts[][3] = {{5, 5, 5}, {8, 1, 3}, {1, 1, 100}, {300, 200, 7}, {0, 4, 2}};
    static images from;
    static int32_t order[MAX_IMAGES];

    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        fill(&from, counts[k], 3);
        assert_ok(pada_image_order(order, from.labels, from.keys, from.n, 3));
        check_permutation(&from, order);
        check_shares(&from, order);
    }
    fill(&from, counts[0], 3);
    assert_ok(pada_image_order(order, from.labels, from.keys, from.n, 3));
    for (int i = 0; i < 15; i++)
        assert_int_equal(from.labels[order[i]], i % 3);
    assert_ok(pada_image_order(order, from.labels, from.keys, 0, 3));
}

/* The order is one of the images, not of the places that they were found in. */
static void test_order_of_listing(void **state)
{
    static const int counts[] = {40, 25, 3, 17};
    static images from, shuffled;
    static int32_t order[MAX_IMAGES], other[MAX_IMAGES];
    pada_rng rng;

    (void)state;
    fill(&from, counts, 4);
    for (int i = 0; i < from.n; i++)
        from.keys[i] = (uint64_t)(i * 7919 % 1000); /* all different */
    shuffled = from;
    pada_rng_init(&rng, 2, "shuffle", 0);
    for (int i = from.n - 1; i > 0; i--) {
        const int k = (int)pada_rng_below(&rng, (uint32_t)i + 1);
        const int32_t label = shuffled.labels[i];
        const uint64_t key = shuffled.keys[i];
        shuffled.labels[i] = shuffled.labels[k];
        shuffled.labels[k] = label;
        shuffled.keys[i] = shuffled.keys[k];
        shuffled.keys[k] = key;
    }
    assert_ok(pada_image_order(order, from.labels, from.keys, from.n, 4));
    assert_ok(pada_image_order(other, shuffled.labels, shuffled.keys, from.n, 4));
    for (int i = 0; i < from.n; i++) {
        assert_int_equal(from.keys[order[i]], shuffled.keys[other[i]]);
        assert_int_equal(from.labels[order[i]], shuffled.labels[other[i]]);
    }
}

static void test_hold_out_counts(void **state)
{
    (void)state;
    assert_int_equal(pada_hold_out_count(100, 0.2), 20);
    assert_int_equal(pada_hold_out_count(7, 0.2), 1);
    assert_int_equal(pada_hold_out_count(8, 0.2), 2);
    assert_int_equal(pada_hold_out_count(100, 0), 0);
    /* Of two images and more, one on each side. */
    assert_int_equal(pada_hold_out_count(0, 0.5), 0);
    assert_int_equal(pada_hold_out_count(1, 0.9), 0);
    assert_int_equal(pada_hold_out_count(2, 0.01), 1);
    assert_int_equal(pada_hold_out_count(2, 0.9), 1);
    assert_int_equal(pada_hold_out_count(3, 0.9), 2);
}

/* The last ones of each class are held out, wherever they are. */
static void test_hold_out(void **state)
{
    static const int counts[] = {10, 1, 2, 25, 0};
    static images from;
    static int32_t held[MAX_IMAGES];
    int n_kept;

    (void)state;
    fill(&from, counts, 5);
    for (int share = 0; share < 10; share++) {
        int last_kept[5] = {-1, -1, -1, -1, -1}, kept[5] = {0};
        assert_ok(pada_hold_out(held, &n_kept, from.labels, from.n, 5, share / 10.0));
        for (int i = 0; i < n_kept; i++) {
            if (i > 0) assert_true(held[i] > held[i - 1]);
            kept[from.labels[held[i]]]++;
            last_kept[from.labels[held[i]]] = held[i];
        }
        for (int i = n_kept; i < from.n; i++) {
            if (i > n_kept) assert_true(held[i] > held[i - 1]);
            assert_true(held[i] > last_kept[from.labels[held[i]]]);
        }
        for (int c = 0; c < 5; c++)
            assert_int_equal(counts[c] - kept[c], pada_hold_out_count(counts[c], share / 10.0));
    }
}

static void test_oom(void **state)
{
    static const int counts[] = {3, 4};
    static images from;
    static int32_t order[MAX_IMAGES];
    int n_kept;

    (void)state;
    fill(&from, counts, 2);
    assert_survives_oom(pada_image_order(order, from.labels, from.keys, from.n, 2), (void)0);
    assert_survives_oom(pada_hold_out(order, &n_kept, from.labels, from.n, 2, 0.5), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_take_turns),
        cmocka_unit_test(test_order_of_listing),
        cmocka_unit_test(test_hold_out_counts),
        cmocka_unit_test(test_hold_out),
        cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
