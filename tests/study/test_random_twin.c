/* test_random_twin.c - random networks that cost as much as another one. */
#include <stdlib.h>
#include <string.h>

#include "study/random_twin.h"
#include "study/search_fixture.h"

static void count(const pada_space *space, pada_cost_limit limits[PADA_COST_KINDS])
{
    memset(limits, 0, PADA_COST_KINDS * sizeof *limits);
    limits[PADA_COST_MACS].is_known = limits[PADA_COST_PARAMS].is_known = true;
    CHECK_OK(pada_slot_costs_count(&limits[PADA_COST_MACS].costs, space, PADA_COUNTED_MACS, false));
    CHECK_OK(
        pada_slot_costs_count(&limits[PADA_COST_PARAMS].costs, space, PADA_COUNTED_PARAMS, false));
}

/* In every space: another function, of nearly the same cost; the same one for a seed, and others for others. */
static void twins_cost_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < pada_space_count(); i++) {
        const pada_space space = space_of(pada_space_get(i)->name, NULL);
        pada_cost_limit limits[PADA_COST_KINDS];
        pada_path network, own, twin, again;
        int n_other = 0;
        bool found;
        pada_rng rng;

        count(&space, limits);
        pada_rng_init(&rng, 3, "test", 0);
        pada_path_random(&space, &rng, &network);
        space.ops->canonical(&space, &network, &own);
        for (uint64_t seed = 0; seed < 8; seed++) {
            pada_cost a, b;
            CHECK_OK(pada_random_twin(&space, limits, &network, 0.05, seed, &found, &twin));
            assert_true(found);
            pada_space_cost(&space, &own, &a);
            pada_space_cost(&space, &twin, &b);
            assert_true(llabs((long long)(a.macs - b.macs)) <= 0.05 * (double)a.macs);
            assert_false(pada_path_equal(&space, &own, &twin));
            CHECK_OK(pada_random_twin(&space, limits, &network, 0.05, seed, &found, &again));
            assert_true(pada_path_equal(&space, &twin, &again));
            CHECK_OK(pada_random_twin(&space, limits, &network, 0.05, seed + 8, &found, &again));
            n_other += !pada_path_equal(&space, &twin, &again);
        }
        assert_true(n_other > 0);
    }
}

static void twins_keep_the_limits(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_cost_limit limits[PADA_COST_KINDS];
    pada_path network, twin;
    pada_cost cost, other;
    bool found;
    pada_rng rng;

    (void)state;
    count(&space, limits);
    pada_rng_init(&rng, 5, "test", 0);
    pada_path_random(&space, &rng, &network);
    pada_space_cost(&space, &network, &cost);
    limits[PADA_COST_MACS].max = cost.macs;
    limits[PADA_COST_PARAMS].max = cost.params;
    for (uint64_t seed = 0; seed < 20; seed++) {
        CHECK_OK(pada_random_twin(&space, limits, &network, 0.05, seed, &found, &twin));
        assert_true(found);
        pada_space_cost(&space, &twin, &other);
        assert_true(other.macs <= cost.macs && other.params <= cost.params);
    }
}

/* Nothing else costs as much as the largest network. */
static void there_may_be_none(void **state)
{
    const pada_space space = space_of("nb201", NULL);
    pada_cost_limit limits[PADA_COST_KINDS];
    pada_path network, twin;
    bool found;

    (void)state;
    count(&space, limits);
    CHECK_OK(space.ops->parse(&space, "3,3,3,3,3,3", "list", &network));
    CHECK_OK(pada_random_twin(&space, limits, &network, 0, 1, &found, &twin));
    assert_false(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_cost_the_same),
        cmocka_unit_test(twins_keep_the_limits),
        cmocka_unit_test(there_may_be_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
