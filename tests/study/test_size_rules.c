/* test_size_rules.c - sizes and lengths that fit the images and the time. */
#include <string.h>

#include "check.h"
#include "space/space.h"
#include "study/size_rules.h"

static void image_sizes(void **state)
{
    (void)state;
    assert_int_equal(pada_rule_image_size(1), 16);
    assert_int_equal(pada_rule_image_size(16), 16);
    assert_int_equal(pada_rule_image_size(17), 32);
    assert_int_equal(pada_rule_image_size(63), 32);
    assert_int_equal(pada_rule_image_size(64), 64);
    assert_int_equal(pada_rule_image_size(4000), 64);
}

static void batch_sizes(void **state)
{
    (void)state;
    assert_int_equal(pada_rule_batch_size(3, 32), 3);
    assert_int_equal(pada_rule_batch_size(76, 32), 8);
    assert_int_equal(pada_rule_batch_size(256, 32), 16);
    assert_int_equal(pada_rule_batch_size(4095, 32), 128);
    assert_int_equal(pada_rule_batch_size(50000, 32), 256);
    assert_int_equal(pada_rule_batch_size(50000, 64), 64);
    assert_int_equal(pada_rule_batch_size(50000, 224), 8);
}

/* Every rule is about a size that its space has, and few images never mean larger networks. */
static void sizes_are_options(void **state)
{
    const pada_size_rule *rule;

    (void)state;
    for (int i = 0; (rule = pada_size_rule_get(i)) != NULL; i++) {
        const pada_space_ops *ops;
        const pada_opt *opt;
        CHECK_OK(pada_space_find(&ops, rule->space));
        for (opt = ops->options; opt->name && strcmp(opt->name, rule->option) != 0; opt++) {}
        assert_non_null(opt->name);
        assert_int_equal(opt->type, PADA_OPT_INT);
        assert_true(rule->few <= rule->some);
        assert_int_equal(pada_size_rule_value(rule, PADA_FEW_IMAGES - 1), rule->few);
        assert_int_equal(pada_size_rule_value(rule, PADA_FEW_IMAGES), rule->some);
        assert_int_equal(pada_size_rule_value(rule, PADA_MANY_IMAGES), 0);
    }
}

/* Steps of 10 ms for 10 images: an epoch of 9,000 images, validated on 3,000, takes ten seconds. */
static const pada_length_facts facts = {.step_seconds = 0.01,
                                        .network_step_seconds = 0.02,
                                        .batch_size = 10,
                                        .n_train = 9000,
                                        .n_validate = 3000};

static pada_lengths lengths_of(double seconds)
{
    pada_length_facts f = facts;

    f.seconds = seconds;
    return pada_rule_lengths(&f);
}

static void lengths_fit_the_time(void **state)
{
    const pada_lengths l = lengths_of(2000);

    (void)state;
    assert_int_equal(l.epochs, 80);         /* 800 s of 10 s */
    assert_int_equal(l.network_epochs, 25); /* 500 s of 20 s */
    assert_int_equal(l.evaluations, 200);   /* 200 s of 1 s */
    assert_false(l.is_rushed);
    assert_false(l.has_most);
    CHECK_CLOSE(pada_lengths_seconds(&l, &facts), 2000, 1e-6);
}

static void lengths_have_bounds(void **state)
{
    const pada_lengths least = lengths_of(1), most = lengths_of(1e12);

    (void)state;
    assert_true(least.is_rushed);
    assert_false(least.has_most);
    assert_int_equal(least.epochs, 10);
    assert_int_equal(least.network_epochs, 10);
    assert_int_equal(least.evaluations, 100);
    assert_false(most.is_rushed);
    assert_true(most.has_most);
    assert_int_equal(most.epochs, 250);
    assert_int_equal(most.network_epochs, 200);
    assert_int_equal(most.evaluations, 1050);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_sizes),         cmocka_unit_test(batch_sizes),
        cmocka_unit_test(sizes_are_options),   cmocka_unit_test(lengths_fit_the_time),
        cmocka_unit_test(lengths_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
