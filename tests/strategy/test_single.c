/* test_single.c - a network alone: it and no other; test_one_path.c has its steps. */
#include <string.h>

#include "strategy/small_run.h"
#include "strategy/strategy_single.h"

static const char network[] =
    "|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_3x3~1|none~2|";

static void open_single(small_run *r)
{
    small_run_open_on(r, "null", "spos", "");
    small_run_use(r, "single", &(pada_single_settings){network});
}

static void all_weight_is_on_it(void **state)
{
    static const int choices[] = {3, 2, 1, 4, 3, 0};
    pada_distributions told;
    small_run r;

    (void)state;
    open_single(&r);
    r.ops->distributions(r.self, &(pada_epoch){0}, &told);
    for (int slot = 0; slot < SMALL_SLOTS; slot++)
        for (int c = 0; c < SMALL_CHOICES; c++)
            CHECK_CLOSE(told.paths->p[slot][c], c == choices[slot], 0);
    assert_null(told.images);
    small_run_close(&r);
}

static void a_network_is_needed(void **state)
{
    small_run r;

    (void)state;
    open_single(&r);
    void *self = calloc(1, r.ops->state_bytes);
    assert_int_equal(r.ops->init(self, &r.env, &(pada_single_settings){NULL}), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "--arch"));
    const pada_single_settings nonsense = {"|conv~0|+|"};
    assert_int_equal(r.ops->init(self, &r.env, &nonsense), PADA_EINVAL);
    free(self);
    small_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_weight_is_on_it),
        cmocka_unit_test(a_network_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
