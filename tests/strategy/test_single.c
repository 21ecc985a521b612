/* test_single.c - a network alone: its gradient and nothing else, in every step. */
#include <string.h>

#include "strategy/small_run.h"
#include "strategy/strategy_single.h"

static const char network[] =
    "|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_3x3~1|none~2|";

/* In place of a method whose settings are flags: those with texts do not outlive them. */
static void open_single(small_run *r, const char *backend)
{
    small_run_open_on(r, backend, "spos", "");
    free(r->self);
    CHECK_OK(pada_strategy_find(&r->ops, "single"));
    r->self = calloc(1, r->ops->state_bytes);
    CHECK_OK(r->ops->init(r->self, &r->env, &(pada_single_settings){network}));
}

static void steps_are_its_gradient(void **state)
{
    small_run r;
    int n;

    (void)state;
    open_single(&r, "ref");
    const int64_t count = pada_params_elements(r.env.params);
    for (int step = 0; step < 3; step++) {
        pada_path path;
        double *want = small_run_weights(&r);
        CHECK_OK(r.space.ops->parse(&r.space, network, NULL, &path));
        small_run_add_grad(&r, &path, -1, want); /* the learning rate is 1 */
        const pada_path *trained = small_run_step(&r, 0, step, &n);
        assert_int_equal(n, 1);
        assert_true(pada_path_equal(&r.space, trained, &path));
        double *now = small_run_weights(&r);
        for (int64_t i = 0; i < count; i++)
            CHECK_CLOSE(now[i], want[i], 1e-12);
        free(now);
        free(want);
    }
    small_run_close(&r);
}

static void all_weight_is_on_it(void **state)
{
    static const int choices[] = {3, 2, 1, 4, 3, 0};
    pada_distributions told;
    small_run r;

    (void)state;
    open_single(&r, "null");
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
    open_single(&r, "null");
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
        cmocka_unit_test(steps_are_its_gradient),
        cmocka_unit_test(all_weight_is_on_it),
        cmocka_unit_test(a_network_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
