/* test_one_path.c - methods that train one path per step: the step is the gradient of that path. */
#include <string.h>

#include "strategy/small_run.h"
#include "strategy/strategy_fewshot.h"
#include "strategy/strategy_single.h"

static void check_steps(const char *method, const void *settings)
{
    int32_t order[SMALL_BATCH];
    small_run r;
    int n;

    small_run_open(&r, settings ? "spos" : method, "");
    if (settings) small_run_use(&r, method, settings);
    r.draws.indices = order;
    const int64_t count = pada_params_elements(r.env.params);
    CHECK_OK(
        pada_strategy_begin_epoch(r.ops, r.self, &r.env, &(pada_epoch){.first_step = 0}, order));
    for (int step = 0; step < 4; step++) {
        double *before = small_run_weights(&r);
        const pada_path path = *small_run_step(&r, 0, step, &n);
        double *after = small_run_weights(&r);
        assert_int_equal(n, 1);
        /* Back to where it was, for the gradient there. */
        small_run_set_weights(&r, before);
        small_run_add_grad(&r, &path, -1, before); /* the learning rate is 1 */
        for (int64_t i = 0; i < count; i++)
            if (!(fabs(after[i] - before[i]) <= 1e-12))
                fail_msg("%s, step %d: %g, not %g", method, step, after[i], before[i]);
        small_run_set_weights(&r, after);
        free(before);
        free(after);
    }
    small_run_close(&r);
}

static void a_step_is_the_gradient(void **state)
{
    static const char *const methods[] = {
        "spos", "spos_depth",          "spos_macs",   "pada",    "pa",
        "da",   "uniform_replacement", "conv_anneal", "magic_t", "gm"};
    const pada_fewshot_settings split = {.split_edges = "0", .child_epochs = 1};
    const pada_single_settings network = {
        "|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|none~0|nor_conv_3x3~1|none~2|"};

    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        check_steps(methods[i], NULL);
    check_steps("fewshot", &split);
    check_steps("single", &network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_the_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
