/* test_fewshot.c - Few-Shot NAS: sub-spaces, phases, paths, and what is refused. */
#include <string.h>

#include "space/nb201_cells.h"
#include "strategy/small_run.h"
#include "strategy/strategy_fewshot.h"

/* The strategy with settings that no flag gives. */
static pada_status restart(small_run *r, const char *edges, int64_t child_epochs, int n_epochs)
{
    memset(r->self, 0, r->ops->state_bytes);
    r->env.n_epochs = n_epochs;
    return r->ops->init(r->self, &r->env, &(pada_fewshot_settings){edges, child_epochs});
}

static void open_run(small_run *r)
{
    small_run_open_on(r, "null", "spos", "");
    free(r->self);
    r->ops = &pada_strategy_fewshot;
    r->self = calloc(1, r->ops->state_bytes);
}

/* Every network is in exactly one child, and they differ in the chosen slots alone. */
static void children_are_a_partition(void **state)
{
    static const struct {
        const char *edges;
        int n;
    } cases[] = {{"0", 5}, {"0,1", 25}, {"5", 5}, {"4,2", 25}, {"1,3,5", 125}};
    small_run r;

    (void)state;
    open_run(&r);
    for (int i = 0; i < 5; i++) {
        pada_subspace parts[126];
        CHECK_OK(restart(&r, cases[i].edges, 0, 10));
        assert_int_equal(r.ops->phases->count(r.self), 1 + cases[i].n);
        for (int k = 0; k <= cases[i].n; k++) {
            CHECK_OK(r.ops->phases->subspace(r.self, k, &parts[k]));
            assert_true(pada_subspace_is_valid(&parts[k], &r.space));
            for (int slot = 0; slot < SMALL_SLOTS; slot++)
                assert_int_equal(pada_subspace_choices(&parts[k], slot),
                                 k > 0 && strchr(cases[i].edges, '0' + slot) ? 1 : 5);
        }
        for (int cell = 0; cell < N_CELLS; cell++) {
            const pada_path path = cell_at(cell);
            int n = 0;
            for (int k = 1; k <= cases[i].n; k++)
                n += pada_subspace_has(&parts[k], &r.space, &path);
            assert_int_equal(n, 1);
            assert_true(pada_subspace_has(&parts[0], &r.space, &path));
        }
    }
    small_run_close(&r);
}

/* The sheet: 250 epochs, then 25 times 100, each with a schedule of its own. */
static void phases_are_those_of_the_sheet(void **state)
{
    pada_phase phase;
    small_run r;

    (void)state;
    open_run(&r);
    CHECK_OK(restart(&r, "0,1", 0, 250));
    for (int k = 0; k < 26; k++) {
        r.ops->phases->get(r.self, k, &phase);
        assert_int_equal(phase.parent, k == 0 ? PADA_FRESH : 0);
        assert_int_equal(phase.final, k > 0);
        assert_int_equal(phase.n_epochs, k == 0 ? 250 : 100);
        assert_int_equal(phase.lr_first, 0);
        assert_int_equal(phase.lr_epochs, phase.n_epochs);
        assert_int_equal(phase.n_probes, 0);
    }
    CHECK_OK(restart(&r, "0", 7, 250));
    r.ops->phases->get(r.self, 3, &phase);
    assert_int_equal(phase.n_epochs, 7);
    CHECK_OK(restart(&r, "0", 0, 2)); /* at least one */
    r.ops->phases->get(r.self, 3, &phase);
    assert_int_equal(phase.n_epochs, 1);
    small_run_close(&r);
}

static void paths_stay_inside(void **state)
{
    int32_t order[SMALL_BATCH];
    pada_subspace part;
    small_run r, spos;
    int n;

    (void)state;
    open_run(&r);
    small_run_open_on(&spos, "null", "spos", "");
    CHECK_OK(restart(&r, "0,1", 0, 10));
    CHECK_OK(r.ops->begin_epoch(r.self, &(pada_epoch){.phase = 0}, order));
    for (int i = 0; i < 20; i++) { /* the first supernet is SPOS */
        const pada_path path = *small_run_step(&r, 0, i, &n);
        assert_true(pada_path_equal(&r.space, &path, small_run_step(&spos, 0, i, &n)));
    }
    for (int k = 1; k < 26; k++) {
        CHECK_OK(r.ops->begin_epoch(r.self, &(pada_epoch){.phase = k}, order));
        CHECK_OK(r.ops->phases->subspace(r.self, k, &part));
        for (int i = 0; i < 20; i++)
            assert_true(pada_subspace_has(&part, &r.space, small_run_step(&r, 0, i, &n)));
    }
    small_run_close(&r);
    small_run_close(&spos);
}

static void wrong_edges_are_refused(void **state)
{
    static const struct {
        const char *edges, *why;
    } cases[] = {
        {"", "is no list of numbers"},     {"a", "is no list of numbers"},
        {"0,", "is no list of numbers"},   {",0", "is no list of numbers"},
        {"0;1", "is no list of numbers"},  {"0 1", "is no list of numbers"},
        {"-1", "is no list of numbers"},   {" 1", "is no list of numbers"},
        {"6", "6 is not in 0 to 5"},       {"1,99999999999999999999", "is not in 0 to 5"},
        {"2,0,2", "2 stands there twice"}, {"0,1,2,3,4,5", "more than 3125 sub-supernets"},
    };
    small_run r;

    (void)state;
    open_run(&r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(restart(&r, cases[i].edges, 0, 10), PADA_EINVAL);
        if (!strstr(pada_message(), cases[i].why) || !strstr(pada_message(), cases[i].edges))
            fail_msg("'%s': %s", cases[i].edges, pada_message());
    }
    small_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_a_partition),
        cmocka_unit_test(phases_are_those_of_the_sheet),
        cmocka_unit_test(paths_stay_inside),
        cmocka_unit_test(wrong_edges_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
