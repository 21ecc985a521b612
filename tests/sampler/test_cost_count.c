/* test_cost_count.c - costs as sums over slots, networks counted by cost, and random ones inside limits, against
 * enumeration and published numbers. */
#include <stdlib.h>

#include "base/mem.h"
#include "sampler/cost_count.h"
#include "sampler/slot_units.h"
#include "space/toy_space.h"
#include "study/search_fixture.h"

enum { N_LIMITS = 10 };

static int64_t cost_of(const pada_space *space, const pada_path *path, pada_counted what,
                       bool in_supernet)
{
    pada_cost cost;

    (in_supernet ? pada_space_search_cost : pada_space_cost)(space, path, &cost);
    return what == PADA_COUNTED_MACS ? cost.macs : cost.params;
}

/* ---- sums ---- */

static void check_additive(const pada_space *space)
{
    pada_slot_costs costs;
    pada_path path;
    pada_rng rng;

    for (int form = 0; form < 2; form++)
        for (int what = 0; what < 2; what++) {
            CHECK_OK(pada_slot_costs_count(&costs, space, (pada_counted)what, form == 1));
            pada_rng_init(&rng, 1, "test", 0);
            for (int i = 0; i < 300; i++) {
                pada_path_random(space, &rng, &path);
                assert_int_equal(pada_slot_costs_of(&costs, space, &path),
                                 cost_of(space, &path, (pada_counted)what, form == 1));
            }
        }
}

static void test_costs_are_sums(void **state)
{
    static const char *const no_none[] = {"--no-none", NULL};

    (void)state;
    for (int i = 0; i < pada_space_count(); i++) {
        const pada_space space = space_of(pada_space_get(i)->name, NULL);
        check_additive(&space);
    }
    const pada_space space = space_of("darts", no_none);
    check_additive(&space);
}

static pada_status fail_later(void *user, const pada_space *space, const pada_path *path,
                              int64_t *cost)
{
    (void)space;
    (void)path;
    *cost = 1;
    return --*(int *)user < 0 ? PADA_FAIL(PADA_EDATA, "no such key") : PADA_OK;
}

static void test_failing_cost(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_slot_costs costs;

    (void)state;
    for (int n = 0; n < 25; n++) { /* 1 + 8 x 3 questions */
        int left = n;
        assert_int_equal(pada_slot_costs_measure(&costs, &space, fail_later, &left), PADA_EDATA);
    }
}

/* ---- units ---- */

static void test_units(void **state)
{
    const pada_space darts = space_of("darts", NULL), macro = space_of("macro", NULL);
    const pada_space toy = toy_space();
    pada_slot_units units;
    double n = 1;

    (void)state;
    CHECK_OK(pada_slot_units_init(&units, &darts));
    assert_int_equal(units.n, 2 * (2 + 3)); /* the two edges of the first node are always there */
    pada_slot_units_deinit(&units);
    CHECK_OK(pada_slot_units_init(&units, &macro));
    assert_int_equal(units.n, 8);
    pada_slot_units_deinit(&units);
    CHECK_OK(pada_slot_units_init(&units, &toy));
    assert_int_equal(units.n, 2);
    for (int i = 0; i < units.n; i++)
        n *= units.list[i].n_choices;
    assert_int_equal((int)n, 2 * (1 + 3)); /* deep or not; off, or on with one of three */
    pada_slot_units_deinit(&units);
    pada_slot_units_deinit(&units);
}

/* ---- counts ---- */

static int compare_costs(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return a < b ? -1 : a > b;
}

/* The costs of all networks, the smallest first. */
static int64_t *list_costs(const pada_space *space, pada_counted what, int *n)
{
    pada_path path;
    void *mem;

    *n = pada_path_count(space, 100000);
    CHECK_OK(pada_calloc(&mem, (size_t)*n, sizeof(int64_t)));
    int64_t *list = mem;
    for (int i = 0; i < *n; i++) {
        pada_path_of_number(space, i, &path);
        list[i] = cost_of(space, &path, what, false);
    }
    qsort(list, (size_t)*n, sizeof *list, compare_costs);
    return list;
}

static void check_limits(const pada_space *space, const pada_slot_costs *costs, const int64_t *list,
                         int n, int64_t min, int64_t max)
{
    pada_cost_count *count;
    uint64_t inside = 0;
    double sum = 0;

    for (int i = 0; i < n; i++) {
        inside += (min == 0 || list[i] >= min) && (max == 0 || list[i] <= max);
        sum += (double)list[i];
    }
    CHECK_OK(pada_cost_count_create(&count, space, costs, min, max));
    const pada_cost_summary *s = pada_cost_count_summary(count);
    assert_true(s->is_exact);
    assert_int_equal(s->smallest, list[0]);
    assert_int_equal(s->largest, list[n - 1]);
    assert_int_equal(s->n_networks, n);
    assert_int_equal(s->n_inside, inside);
    CHECK_CLOSE(s->mean, sum / n, 1e-6 * s->mean);
    pada_cost_count_destroy(count);
}

static void check_counts(const char *name, pada_counted what)
{
    const pada_space space = space_of(name, NULL);
    pada_slot_costs costs;
    int n;
    int64_t *list = list_costs(&space, what, &n);

    CHECK_OK(pada_slot_costs_count(&costs, &space, what, false));
    for (int i = 0; i < N_LIMITS; i++) {
        const int64_t limit = list[(n - 1) * i / (N_LIMITS - 1)];
        check_limits(&space, &costs, list, n, 0, limit);
        check_limits(&space, &costs, list, n, 0, limit - 1);
        check_limits(&space, &costs, list, n, limit + 1, 0);
        check_limits(&space, &costs, list, n, list[n / 3], limit);
    }
    check_limits(&space, &costs, list, n, 0, 0);
    check_limits(&space, &costs, list, n, 0, 1);
    check_limits(&space, &costs, list, n, INT64_MAX, INT64_MAX);
    check_limits(&space, &costs, list, n, 1, INT64_MAX);
    pada_free(list);
}

static void test_counts(void **state)
{
    (void)state;
    check_counts("nb201", PADA_COUNTED_MACS);
    check_counts("nb201", PADA_COUNTED_PARAMS);
    check_counts("macro", PADA_COUNTED_MACS);
    check_counts("macro", PADA_COUNTED_PARAMS);
}

/* The share of ProxylessNAS networks of at most so many multiply-adds, in percent. */
static double share_inside(const pada_space *space, int64_t max, int64_t mean)
{
    pada_slot_costs costs;
    pada_cost_count *count;

    CHECK_OK(pada_slot_costs_count(&costs, space, PADA_COUNTED_MACS, false));
    CHECK_OK(pada_cost_count_create(&count, space, &costs, 0, max));
    const pada_cost_summary s = *pada_cost_count_summary(count);
    assert_true(s.is_exact);
    assert_true(s.n_networks == 221502229807900608u);
    CHECK_CLOSE(s.mean, (double)mean, 1);
    pada_cost_count_destroy(count);
    return 100.0 * (double)s.n_inside / (double)s.n_networks;
}

static void test_proxyless(void **state)
{
    static const char *const wide[] = {"--widths=32,16,32,40,80,96,192,320,1280", NULL};
    pada_space space = space_of("proxyless", NULL);

    (void)state;
    CHECK_CLOSE(share_inside(&space, 400000000, 373300544), 75.559, 0.0005);
    CHECK_CLOSE(share_inside(&space, 330000000, 373300544), 12.97, 0.005);
    space = space_of("proxyless", wide);
    CHECK_CLOSE(share_inside(&space, 400000000, 423884672), 30.786, 0.0005);
    CHECK_CLOSE(share_inside(&space, 330000000, 423884672), 2.50, 0.005);
}

/* ---- draws ---- */

/* Draws many networks of a small space: those inside the limits come equally often, others never. */
static void check_uniform(const pada_space *space, const pada_slot_costs *costs, int64_t min,
                          int64_t max)
{
    enum { PER_NETWORK = 20, MAX_NETWORKS = 6561 };
    static int seen[MAX_NETWORKS];
    const int n = pada_path_count(space, MAX_NETWORKS);
    pada_cost_count *count;
    double chi2 = 0;
    pada_path path;
    pada_rng rng;

    CHECK_OK(pada_cost_count_create(&count, space, costs, min, max));
    const int n_inside = (int)pada_cost_count_summary(count)->n_inside;
    assert_true(n_inside > 30);
    memset(seen, 0, sizeof seen);
    pada_rng_init(&rng, 3, "test", 0);
    for (int i = 0; i < PER_NETWORK * n_inside; i++) {
        int number = 0;
        assert_true(pada_cost_count_draw(count, &rng, &path));
        for (int slot = 0; slot < space->ops->n_slots; slot++)
            number = number * space->ops->n_choices(space, slot) + path.choice[slot];
        seen[number]++;
    }
    for (int i = 0; i < n; i++) {
        pada_path_of_number(space, i, &path);
        const int64_t cost = pada_slot_costs_of(costs, space, &path);
        const bool inside = (min == 0 || cost >= min) && (max == 0 || cost <= max);
        if (!inside) assert_int_equal(seen[i], 0);
        if (inside) chi2 += (seen[i] - PER_NETWORK) * (seen[i] - PER_NETWORK) / (double)PER_NETWORK;
    }
    /* mean n_inside - 1, deviation sqrt(2 (n_inside - 1)) */
    CHECK_CLOSE(chi2, n_inside - 1, 4 * sqrt(2.0 * n_inside));
    pada_cost_count_destroy(count);
}

static void test_draws_are_uniform(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_slot_costs costs;

    (void)state;
    CHECK_OK(pada_slot_costs_count(&costs, &space, PADA_COUNTED_MACS, false));
    check_uniform(&space, &costs, 0, 40000000);
    check_uniform(&space, &costs, 60000000, 62000000);
    check_uniform(&space, &costs, 0, 0);
}

/* DARTS networks have slots that they do not use, and those are 0 in all that are drawn. */
static void test_draws_of_darts(void **state)
{
    const pada_space space = space_of("darts", NULL);
    pada_slot_costs costs;
    pada_cost_count *count;
    pada_path path;
    pada_rng rng;

    (void)state;
    CHECK_OK(pada_slot_costs_count(&costs, &space, PADA_COUNTED_PARAMS, false));
    CHECK_OK(pada_cost_count_create(&count, &space, &costs, 3000000, 3300000));
    const pada_cost_summary *s = pada_cost_count_summary(count);
    CHECK_CLOSE((double)s->n_networks, space.ops->n_networks(&space), 1e4);
    pada_rng_init(&rng, 4, "test", 0);
    for (int i = 0; i < 2000; i++) {
        assert_true(pada_cost_count_draw(count, &rng, &path));
        const pada_path drawn = path;
        pada_path_settle(&space, &path);
        assert_true(pada_path_equal(&space, &path, &drawn));
        const int64_t params = cost_of(&space, &path, PADA_COUNTED_PARAMS, false);
        assert_true(params >= 3000000 && params <= 3300000);
    }
    pada_cost_count_destroy(count);
}

/* Draws networks of costs with too many different sums to be counted exactly: all inside the limits come, and no
 * others. */
static void check_coarse(const pada_space *space, const pada_slot_costs *costs, int64_t min,
                         int64_t max)
{
    static bool seen[6561];
    pada_cost_count *count;
    pada_path path;
    pada_rng rng;
    int n_inside = 0, n_drawn = 0;

    for (int i = 0; i < 6561; i++) {
        seen[i] = false;
        pada_path_of_number(space, i, &path);
        const int64_t cost = pada_slot_costs_of(costs, space, &path);
        n_inside += cost >= min && cost <= max;
    }
    CHECK_OK(pada_cost_count_create(&count, space, costs, min, max));
    const pada_cost_summary *s = pada_cost_count_summary(count);
    assert_false(s->is_exact);
    assert_in_range(s->n_inside, n_inside, n_inside * 11 / 10 + 20);
    pada_rng_init(&rng, 5, "test", 0);
    for (int i = 0; i < 50 * n_inside; i++) {
        int number = 0;
        if (!pada_cost_count_draw(count, &rng, &path)) continue;
        const int64_t cost = pada_slot_costs_of(costs, space, &path);
        assert_true(cost >= min && cost <= max);
        for (int slot = 0; slot < 8; slot++)
            number = number * 3 + path.choice[slot];
        n_drawn += !seen[number];
        seen[number] = true;
    }
    assert_int_equal(n_drawn, n_inside);
    pada_cost_count_destroy(count);
}

static void test_coarse_counts(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_slot_costs costs;
    pada_path path;

    (void)state;
    CHECK_OK(pada_slot_costs_count(&costs, &space, PADA_COUNTED_MACS, false));
    for (int slot = 0; slot < 8; slot++)
        for (int choice = 1; choice < 3; choice++)
            costs.cost[slot][choice] += 37 * slot + 5 * choice + (slot == 3 && choice == 1);
    check_coarse(&space, &costs, 1, 40000000);
    for (int i = 0; i < 20; i++) { /* limits that are costs of networks, to the unit */
        pada_path_of_number(&space, 300 * i + 7, &path);
        const int64_t cost = pada_slot_costs_of(&costs, &space, &path);
        check_coarse(&space, &costs, cost, cost + 100000);
        check_coarse(&space, &costs, cost > 100000 ? cost - 100000 : 1, cost);
    }
}

static void test_out_of_memory(void **state)
{
    const pada_space space = space_of("nb201", NULL);
    pada_slot_costs costs;
    pada_cost_count *count;
    pada_status st = PADA_ENOMEM;

    (void)state;
    CHECK_OK(pada_slot_costs_count(&costs, &space, PADA_COUNTED_MACS, false));
    const int64_t live = pada_mem_live();
    for (int n = 0; st != PADA_OK; n++) {
        pada_mem_fail_after(n);
        st = pada_cost_count_create(&count, &space, &costs, 0, 100000000);
        pada_mem_fail_after(-1);
        assert_true(st == PADA_OK || (st == PADA_ENOMEM && !count));
        pada_cost_count_destroy(count);
        assert_int_equal(pada_mem_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_are_sums), cmocka_unit_test(test_failing_cost),
        cmocka_unit_test(test_units),          cmocka_unit_test(test_counts),
        cmocka_unit_test(test_proxyless),      cmocka_unit_test(test_draws_are_uniform),
        cmocka_unit_test(test_draws_of_darts), cmocka_unit_test(test_coarse_counts),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
