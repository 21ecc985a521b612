/* test_search.c - searches with made-up scores: what they find, that nothing is scored twice, and that interruptions
 * change nothing. */
#include "base/scratch.h"

#include "base/mem.h"
#include "space/path_index.h"
#include "study/pareto_order.h"
#include "study/search_files.h"
#include "study/search_fixture.h"

enum { MAX_KEPT = 20000 };

/* Scores networks, and remembers those of earlier runs as a scores folder does. */
typedef struct judge {
    const pada_space *space;
    pada_path_index *seen; /* canonical forms that were asked for in this run */
    pada_path_index *kept; /* those that have scores, of all runs */
    int fail_after;        /* new scores before a failure; -1: never */
    int n_calls, n_new;    /* of this run */
    int last_generation;   /* by progress */
    bool stops;            /* when asked */
} judge;

static pada_status evaluate(void *user, const pada_path *paths, int n, pada_search_score *scores)
{
    judge *j = user;
    pada_path form;

    j->n_calls++;
    for (int i = 0; i < n; i++) {
        j->space->ops->canonical(j->space, &paths[i], &form);
        assert_int_equal(pada_path_index_find(j->seen, &form), -1); /* never twice */
        (void)pada_path_index_add(j->seen, &form);
        if (pada_path_index_find(j->kept, &form) < 0) {
            if (j->fail_after >= 0 && j->n_new == j->fail_after)
                return PADA_FAIL(PADA_ESTOPPED, "killed");
            j->n_new++;
            (void)pada_path_index_add(j->kept, &form);
        }
        const double top1 = made_up_score(j->space, &paths[i]);
        scores[i] = (pada_search_score){.value = top1, .loss = i, .top1 = top1};
    }
    return PADA_OK;
}

static bool stop(void *user)
{
    return ((judge *)user)->stops;
}

static void progress(void *user, const pada_search_progress *p)
{
    judge *j = user;

    assert_int_equal(p->generation, j->last_generation + 1);
    assert_int_equal(p->n_done, pada_path_index_count(j->seen));
    assert_true(p->n_done <= p->n_most);
    j->last_generation = p->generation;
}

static void judge_init(judge *j, const pada_space *space)
{
    *j = (judge){.space = space, .fail_after = -1};
    CHECK_OK(pada_path_index_create(&j->kept, space, MAX_KEPT));
}

static void judge_deinit(judge *j)
{
    pada_path_index_destroy(j->seen);
    pada_path_index_destroy(j->kept);
}

/* The usual settings of an algorithm. */
static pada_search_desc desc_of(const pada_space *space, const pada_cost_limits *limits,
                                const char *algorithm, judge *j)
{
    pada_search_desc desc = {.space = space,
                             .limits = limits,
                             .seed = 1,
                             .user = j,
                             .evaluate = evaluate,
                             .stop = stop,
                             .progress = progress};

    CHECK_OK(pada_search_find(&desc.algorithm, algorithm));
    pada_options_defaults(pada_search_options, &desc.settings);
    return desc;
}

static pada_status run_once(const pada_search_desc *desc, pada_search_result *result)
{
    judge *j = desc->user;

    pada_path_index_destroy(j->seen);
    CHECK_OK(pada_path_index_create(&j->seen, j->space, MAX_KEPT));
    j->n_calls = j->n_new = 0;
    j->last_generation = -1;
    return pada_search_run(desc, result);
}

static pada_cost_limits *limits_of(const pada_space *space, int64_t max_macs)
{
    pada_cost_limit limits[PADA_COST_KINDS] = {
        [PADA_COST_MACS] = {.is_known = true, .max = max_macs}};
    pada_cost_limits *out;

    CHECK_OK(pada_slot_costs_count(&limits[PADA_COST_MACS].costs, space, PADA_COUNTED_MACS, false));
    CHECK_OK(pada_cost_limits_create(&out, space, limits));
    return out;
}

/* ---- what all algorithms promise ---- */

static void check_result(const pada_search_result *r, const pada_space *space,
                         const pada_cost_limits *limits)
{
    pada_cost cost;

    for (int i = 0; i < r->n; i++) {
        const pada_search_entry *e = &r->entries[i];
        assert_true(pada_cost_limits_allow(limits, &e->path));
        pada_space_cost(space, &e->path, &cost);
        assert_int_equal(e->cost[PADA_COST_MACS], cost.macs);
        assert_int_equal(e->cost[PADA_COST_PARAMS], -1);
        assert_true(e->score.top1 == made_up_score(space, &e->path));
        assert_true(i == 0 || e->generation >= r->entries[i - 1].generation);
        if (i > 0)
            assert_true(r->entries[r->order[i]].score.top1 <=
                        r->entries[r->order[i - 1]].score.top1);
    }
}

static void assert_same_result(const pada_search_result *a, const pada_search_result *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        assert_memory_equal(&a->entries[i].path, &b->entries[i].path, sizeof(pada_path));
        assert_true(a->entries[i].score.top1 == b->entries[i].score.top1);
        assert_int_equal(a->order[i], b->order[i]);
    }
}

/* Runs it again and again, each time until it fails somewhere, and then to its end. */
static void check_resume(pada_search_desc *desc, const pada_search_result *whole)
{
    judge *j = desc->user;
    pada_search_result result = {0};
    pada_status st;
    pada_rng rng;
    int n_runs = 0;

    pada_path_index_destroy(j->kept);
    CHECK_OK(pada_path_index_create(&j->kept, j->space, MAX_KEPT));
    pada_rng_init(&rng, 2, "test", 0);
    do {
        j->fail_after = (int)pada_rng_below(&rng, 300);
        st = run_once(desc, &result);
        assert_true(st == PADA_OK || (st == PADA_ESTOPPED && !result.entries && !result.order));
        n_runs++;
    } while (st != PADA_OK);
    assert_true(n_runs > 2);
    assert_same_result(&result, whole);
    assert_int_equal(pada_path_index_count(j->kept), whole->n); /* nothing else was scored */
    j->fail_after = -1;
    pada_search_result_deinit(&result);
}

static void check_algorithm(const char *space_name, const char *algorithm, int64_t max_macs)
{
    const pada_space space = space_of(space_name, NULL);
    pada_cost_limits *limits = limits_of(&space, max_macs);
    pada_search_result first, again, other;
    judge j;

    judge_init(&j, &space);
    pada_search_desc desc = desc_of(&space, limits, algorithm, &j);
    desc.settings.rounds = 10;
    CHECK_OK(run_once(&desc, &first));
    assert_true(first.n > 500 && first.n <= first.n_most);
    assert_int_equal(first.n, pada_path_index_count(j.seen));
    check_result(&first, &space, limits);
    CHECK_OK(run_once(&desc, &again));
    assert_same_result(&again, &first);
    check_resume(&desc, &first);
    desc.seed = 2;
    CHECK_OK(run_once(&desc, &other));
    assert_memory_not_equal(&other.entries[0].path, &first.entries[0].path, sizeof(pada_path));
    pada_search_result_deinit(&other);
    desc.settings.budget = 120;
    CHECK_OK(run_once(&desc, &other));
    assert_int_equal(other.n, 120);
    pada_search_result_deinit(&other);
    pada_search_result_deinit(&again);
    pada_search_result_deinit(&first);
    judge_deinit(&j);
    pada_cost_limits_destroy(limits);
}

static void test_algorithms(void **state)
{
    static const struct {
        const char *name;
        int64_t max_macs;
    } spaces[] = {
        {"nb201", 80000000}, {"macro", 60000000}, {"proxyless", 330000000}, {"darts", 400000000}};
    const char *name;

    (void)state;
    for (int k = 0; k < 4; k++)
        for (int i = 0; (name = pada_search_name(i)); i++)
            check_algorithm(spaces[k].name, name, spaces[k].max_macs);
}

/* ---- what they find ---- */

/* The best score of all networks inside the limits. */
static double find_optimum(const pada_space *space, const pada_cost_limits *limits)
{
    const int n = pada_path_count(space, MAX_KEPT);
    double best = -1;
    pada_path path;

    for (int i = 0; i < n; i++) {
        pada_path_of_number(space, i, &path);
        if (!pada_cost_limits_allow(limits, &path)) continue;
        const double score = made_up_score(space, &path);
        if (score > best) best = score;
    }
    return best;
}

/* The mean distance of the best that is found from the optimum, over seeds. */
static double mean_regret(pada_search_desc *desc, double optimum)
{
    enum { N_SEEDS = 10 };
    pada_search_result result;
    double sum = 0;

    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        desc->seed = seed;
        CHECK_OK(run_once(desc, &result));
        assert_int_equal(result.n, 400);
        sum += optimum - result.entries[result.order[0]].score.top1;
        pada_search_result_deinit(&result);
    }
    return sum / N_SEEDS;
}

static void test_regret(void **state)
{
    static const struct {
        const char *name;
        int64_t max_macs;
    } spaces[] = {{"nb201", 80000000}, {"macro", 60000000}};

    (void)state;
    for (int k = 0; k < 2; k++) {
        const pada_space space = space_of(spaces[k].name, NULL);
        pada_cost_limits *limits = limits_of(&space, spaces[k].max_macs);
        const double optimum = find_optimum(&space, limits);
        double regret[2];
        judge j;

        judge_init(&j, &space);
        for (int i = 0; i < 2; i++) {
            pada_search_desc desc = desc_of(&space, limits, i == 0 ? "evolution" : "random", &j);
            desc.settings.budget = 400;
            regret[i] = mean_regret(&desc, optimum);
            assert_true(regret[i] >= 0);
        }
        print_message("%s: regret %.4f by evolution, %.4f at random\n", spaces[k].name, regret[0],
                      regret[1]);
        assert_true(regret[0] < 0.05 && regret[0] < 0.5 * regret[1]);
        judge_deinit(&j);
        pada_cost_limits_destroy(limits);
    }
}

/* ---- breeding ---- */

/* A search of a DARTS space, in which canonical forms are the networks themselves, with one bred generation. */
static void run_bred(const pada_space *space, const pada_search_settings *changed,
                     pada_search_result *result)
{
    pada_cost_limits *limits = limits_of(space, 0);
    judge j;

    judge_init(&j, space);
    pada_search_desc desc = desc_of(space, limits, "evolution", &j);
    desc.settings.generations = 1;
    desc.settings.tries = 100000;
    desc.settings.population = 50;
    desc.settings.parents = changed->parents;
    desc.settings.mutants = changed->mutants;
    desc.settings.crossovers = changed->crossovers;
    CHECK_OK(run_once(&desc, result));
    judge_deinit(&j);
    pada_cost_limits_destroy(limits);
}

/* The k-th best of the first generation. */
static const pada_path *parent_of(const pada_search_result *r, int k)
{
    for (int i = 0; i < r->n; i++)
        if (r->entries[r->order[i]].generation == 0 && k-- == 0)
            return &r->entries[r->order[i]].path;
    fail();
    return NULL;
}

static void test_crossovers(void **state)
{
    static const char *const no_none[] = {"--no-none", NULL};
    const pada_space space = space_of("darts", no_none);
    pada_search_result r;

    (void)state;
    run_bred(&space, &(pada_search_settings){.parents = 2, .crossovers = 50}, &r);
    assert_int_equal(r.n, 100);
    const pada_path *a = parent_of(&r, 0), *b = parent_of(&r, 1);
    for (int i = 50; i < r.n; i++)
        for (int slot = 0; slot < space.ops->n_slots; slot++) {
            const pada_path *child = &r.entries[i].path;
            const int choice = child->choice[slot];
            if (!pada_path_takes(&space, child, slot)) continue;
            assert_true((pada_path_takes(&space, a, slot) && choice == a->choice[slot]) ||
                        (pada_path_takes(&space, b, slot) && choice == b->choice[slot]));
        }
    pada_search_result_deinit(&r);
}

static void test_mutants(void **state)
{
    static const char *const no_none[] = {"--no-none", NULL};
    enum { N = 150 };
    const pada_space space = space_of("darts", no_none);
    double expected = 0, unchanged = 1; /* how many choices change; probability that none does */
    int n_changed = 0, n_taken = 0, n_first = 0;
    pada_search_result r;

    (void)state;
    run_bred(&space, &(pada_search_settings){.parents = 1, .mutants = N}, &r);
    assert_int_equal(r.n, 50 + N);
    const pada_path *parent = parent_of(&r, 0);
    for (int slot = 0; slot < space.ops->n_slots; slot++) {
        const double n = space.ops->n_choices(&space, slot);
        if (!pada_path_takes(&space, parent, slot)) continue;
        expected += 0.1 * (1 - 1 / n);
        unchanged *= 1 - 0.1 * (1 - 1 / n);
    }
    for (int i = 50; i < r.n; i++)
        for (int slot = 0; slot < space.ops->n_slots; slot++) {
            const pada_path *child = &r.entries[i].path;
            if (!pada_path_takes(&space, child, slot)) continue;
            if (pada_path_takes(&space, parent, slot)) {
                n_changed += child->choice[slot] != parent->choice[slot];
            } else { /* an edge that the parent does not have */
                n_taken++;
                n_first += child->choice[slot] == 0;
            }
        }
    /* Mutants that are the parent do not count. */
    CHECK_CLOSE((double)n_changed / N, expected / (1 - unchanged), 0.15 * expected);
    assert_true(n_taken > N / 4);
    CHECK_CLOSE((double)n_first / n_taken, 1.0 / 7, 0.1);
    pada_search_result_deinit(&r);
}

/* ---- fronts ---- */

/* Whether a is at least as good as b in both, and better in one. */
static bool beats(const pada_pareto_point *a, const pada_pareto_point *b)
{
    return a->gain >= b->gain && a->cost <= b->cost && (a->gain > b->gain || a->cost < b->cost);
}

/* The next values on either side among the points of the same front, apart, as a share of all of them. */
static double room_of(const pada_pareto_point *list, int n, const pada_pareto_point *p)
{
    double below = -1, above = 1e9, least = 1e9, most = -1, gain_below = 0, gain_above = 0,
           gain_least = 1e9, gain_most = -1;

    for (int i = 0; i < n; i++) {
        const pada_pareto_point *q = &list[i];
        if (q->front != p->front) continue;
        least = fmin(least, q->cost);
        most = fmax(most, q->cost);
        gain_least = fmin(gain_least, q->gain);
        gain_most = fmax(gain_most, q->gain);
        if (q->cost < p->cost && q->cost > below) below = q->cost, gain_below = q->gain;
        if (q->cost > p->cost && q->cost < above) above = q->cost, gain_above = q->gain;
    }
    if (p->cost == least || p->cost == most) return INFINITY;
    return (above - below) / (most - least) + (gain_above - gain_below) / (gain_most - gain_least);
}

static void test_pareto_order(void **state)
{
    enum { N = 200 };
    pada_pareto_point list[N];
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 6, "test", 0);
    for (int i = 0; i < N; i++) /* ties of gains, and no two costs equal */
        list[i] = (pada_pareto_point){
            .gain = pada_rng_below(&rng, 50), .cost = (i * 37) % N + 1, .id = i};
    CHECK_OK(pada_pareto_order(list, N));
    for (int i = 0; i < N; i++) {
        int front = 0;
        bool is_beaten = false;
        for (int k = 0; k < N; k++) {
            if (!beats(&list[k], &list[i])) continue;
            is_beaten = true;
            if (list[k].front >= front) front = list[k].front + 1;
        }
        assert_int_equal(list[i].front, front); /* behind all that beat it */
        assert_true(is_beaten == (list[i].front > 0));
        const double room = room_of(list, N, &list[i]);
        if (isinf(room))
            assert_true(isinf(list[i].room));
        else
            CHECK_CLOSE(list[i].room, room, 1e-12);
        if (i == 0) continue;
        const bool same = list[i].front == list[i - 1].front;
        assert_true(list[i].front >= list[i - 1].front);
        assert_true(!same || list[i].room <= list[i - 1].room);
    }
}

/* Points that are equal in both are in one front. */
static void test_pareto_copies(void **state)
{
    pada_pareto_point list[] = {{.gain = 1, .cost = 1, .id = 0}, {.gain = 1, .cost = 1, .id = 1},
                                {.gain = 1, .cost = 2, .id = 2}, {.gain = 2, .cost = 2, .id = 3},
                                {.gain = 0, .cost = 1, .id = 4}, {.gain = 2, .cost = 2, .id = 5}};
    static const int fronts[] = {0, 0, 1, 0, 1, 0};

    (void)state;
    CHECK_OK(pada_pareto_order(list, 6));
    for (int i = 0; i < 6; i++)
        assert_int_equal(list[i].front, fronts[list[i].id]);
    CHECK_OK(pada_pareto_order(list, 0));
}

static bool dominates(const pada_search_entry *a, const pada_search_entry *b)
{
    const int64_t cost_a = a->cost[PADA_COST_MACS], cost_b = b->cost[PADA_COST_MACS];

    return a->score.top1 >= b->score.top1 && cost_a <= cost_b &&
           (a->score.top1 > b->score.top1 || cost_a < cost_b);
}

/* The front of a result is that of all pairs; returns the area below it, up to a cost. */
static double check_front(const pada_search_result *r, int64_t max)
{
    double area = 0;
    int *front, n, n_free = 0;

    CHECK_OK(pada_search_front(r, PADA_COST_MACS, &front, &n));
    for (int i = 0; i < r->n; i++) {
        bool is_free = true;
        for (int k = 0; k < r->n && is_free; k++)
            is_free = !dominates(&r->entries[k], &r->entries[i]);
        n_free += is_free;
    }
    assert_int_equal(n, n_free); /* no two made-up scores are equal */
    for (int i = 0; i < n; i++) {
        const pada_search_entry *e = &r->entries[front[i]];
        const int64_t next = i + 1 < n ? r->entries[front[i + 1]].cost[PADA_COST_MACS] : max;
        for (int k = 0; k < r->n; k++)
            assert_false(dominates(&r->entries[k], e));
        assert_true(next > e->cost[PADA_COST_MACS]);
        area += e->score.top1 * (double)(next - e->cost[PADA_COST_MACS]) / (double)max;
    }
    pada_free(front);
    return area;
}

static void test_pareto(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_cost_limits *limits = limits_of(&space, 0);
    double area[2] = {0};
    judge j;

    (void)state;
    judge_init(&j, &space);
    for (int i = 0; i < 2; i++) {
        pada_search_desc desc = desc_of(&space, limits, i == 0 ? "pareto" : "random", &j);
        desc.settings.budget = 600;
        for (desc.seed = 0; desc.seed < 5; desc.seed++) {
            pada_search_result result;
            CHECK_OK(run_once(&desc, &result));
            area[i] += check_front(&result, 110000000) / 5;
            pada_search_result_deinit(&result);
        }
    }
    print_message("area below the front: %.4f by pareto, %.4f at random\n", area[0], area[1]);
    assert_true(area[0] > area[1] + 0.7);
    judge_deinit(&j);
    pada_cost_limits_destroy(limits);
}

/* All networks inside a tight limit are found, and the search ends. */
static void test_few_networks(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_cost_limits *limits = limits_of(&space, 16000000);
    const int n_inside = (int)pada_cost_limits_summary(limits, PADA_COST_MACS)->n_inside;
    pada_path_index *forms;
    pada_path path, form;
    const char *name;

    (void)state;
    CHECK_OK(pada_path_index_create(&forms, &space, n_inside));
    for (int i = 0; i < 6561; i++) {
        pada_path_of_number(&space, i, &path);
        space.ops->canonical(&space, &path, &form);
        if (pada_cost_limits_allow(limits, &path)) (void)pada_path_index_add(forms, &form);
    }
    assert_in_range(pada_path_index_count(forms), 5, 100);
    for (int i = 0; (name = pada_search_name(i)); i++) {
        pada_search_result result;
        judge j;
        judge_init(&j, &space);
        const pada_search_desc desc = desc_of(&space, limits, name, &j);
        CHECK_OK(run_once(&desc, &result));
        assert_int_equal(result.n, pada_path_index_count(forms));
        pada_search_result_deinit(&result);
        judge_deinit(&j);
    }
    pada_path_index_destroy(forms);
    pada_cost_limits_destroy(limits);
}

/* ---- limits ---- */

/* Multiply-adds, parameters, and a third cost that somebody measured: microseconds. */
static void know_all(pada_cost_limit limits[PADA_COST_KINDS], const pada_space *space)
{
    for (int kind = 0; kind < PADA_COST_KINDS; kind++)
        limits[kind] = (pada_cost_limit){.is_known = true};
    CHECK_OK(pada_slot_costs_count(&limits[PADA_COST_MACS].costs, space, PADA_COUNTED_MACS, false));
    CHECK_OK(
        pada_slot_costs_count(&limits[PADA_COST_PARAMS].costs, space, PADA_COUNTED_PARAMS, false));
    limits[PADA_COST_LATENCY].costs = (pada_slot_costs){.fixed = 1000};
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        limits[PADA_COST_LATENCY].costs.cost[slot][1] = 150 + slot;
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        limits[PADA_COST_LATENCY].costs.cost[slot][2] = 100 + slot;
}

static void test_several_limits(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_cost_limit given[PADA_COST_KINDS];
    pada_cost_limits *limits;
    pada_path path;
    pada_rng rng;

    (void)state;
    know_all(given, &space);
    given[PADA_COST_MACS].max = 60000000;
    given[PADA_COST_PARAMS].min = 1500000;
    given[PADA_COST_LATENCY].max = 1700;
    CHECK_OK(pada_cost_limits_create(&limits, &space, given));
    pada_rng_init(&rng, 1, "test", 0);
    for (int i = 0; i < 500; i++) {
        pada_cost cost;
        int64_t us = 1000;
        assert_true(pada_cost_limits_draw(limits, &rng, &path));
        pada_space_cost(&space, &path, &cost);
        for (int slot = 0; slot < 8; slot++)
            us += path.choice[slot] == 1 ? 150 + slot : path.choice[slot] == 2 ? 100 + slot : 0;
        assert_true(cost.macs <= 60000000 && cost.params >= 1500000 && us <= 1700);
        assert_int_equal(pada_cost_limits_cost(limits, PADA_COST_LATENCY, &path), us);
    }
    pada_cost_limits_destroy(limits);
}

/* Networks are drawn inside the tightest limit, here one network in 10^9, whichever it is. */
static void test_tight_second_limit(void **state)
{
    const pada_space space = space_of("proxyless", NULL);
    pada_cost_limit given[PADA_COST_KINDS] = {{.is_known = true, .max = 600000000},
                                              {.is_known = true, .max = 2250000}};
    pada_cost_limits *limits;
    pada_path path;
    pada_rng rng;

    (void)state;
    CHECK_OK(pada_slot_costs_count(&given[0].costs, &space, PADA_COUNTED_MACS, false));
    CHECK_OK(pada_slot_costs_count(&given[1].costs, &space, PADA_COUNTED_PARAMS, false));
    CHECK_OK(pada_cost_limits_create(&limits, &space, given));
    const pada_cost_summary *s = pada_cost_limits_summary(limits, PADA_COST_PARAMS);
    assert_true((double)s->n_inside / (double)s->n_networks < 1e-7);
    pada_rng_init(&rng, 1, "test", 0);
    for (int i = 0; i < 100; i++) {
        assert_true(pada_cost_limits_draw(limits, &rng, &path));
        assert_true(pada_cost_limits_cost(limits, PADA_COST_PARAMS, &path) <= 2250000);
    }
    pada_cost_limits_destroy(limits);
}

static void check_refused(const pada_space *space, const pada_cost_limit *given, const char *why)
{
    pada_cost_limits *limits;

    assert_int_equal(pada_cost_limits_create(&limits, space, given), PADA_EINVAL);
    assert_null(limits);
    assert_non_null(strstr(pada_message(), why));
}

static void test_impossible_limits(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_cost_limit given[PADA_COST_KINDS];

    (void)state;
    know_all(given, &space);
    given[PADA_COST_MACS].max = 7713279;
    check_refused(&space, given, "macs: no network has at most 7713279; the smallest has 7713280");
    given[PADA_COST_MACS].max = 0;
    given[PADA_COST_PARAMS].min = 2932587;
    check_refused(&space, given,
                  "params: no network has at least 2932587; the largest has 2932586");
    given[PADA_COST_PARAMS] = (pada_cost_limit){
        .is_known = true, .costs = given[PADA_COST_PARAMS].costs, .min = 387883, .max = 387883};
    check_refused(&space, given, "params: no network has from 387883 to 387883");
    given[PADA_COST_PARAMS].max = 387882; /* only the smallest, */
    given[PADA_COST_PARAMS].min = 0;
    given[PADA_COST_MACS].min = 100000000; /* and only large ones */
    check_refused(&space, given, "no network inside all limits was found in 100000 draws");
}

/* ---- wrong calls, files, failures ---- */

static void test_wrong_settings(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_cost_limits *limits = limits_of(&space, 0);
    const pada_search_algorithm *algorithm;
    pada_search_result result;
    judge j;

    (void)state;
    assert_int_equal(pada_search_find(&algorithm, "evolutoin"), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "evolution"));
    judge_init(&j, &space);
    pada_search_desc desc = desc_of(&space, limits, "random", &j);
    desc.settings.rounds = desc.settings.per_round = 1000000;
    assert_int_equal(run_once(&desc, &result), PADA_EINVAL);
    desc = desc_of(&space, limits, "pareto", &j);
    desc.settings.cost = PADA_COST_PARAMS;
    assert_int_equal(run_once(&desc, &result), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "params"));
    assert_int_equal(j.n_calls, 0);
    desc.settings.cost = PADA_COST_MACS;
    j.stops = true;
    assert_int_equal(run_once(&desc, &result), PADA_ESTOPPED);
    assert_int_equal(j.n_calls, 0);
    judge_deinit(&j);
    pada_cost_limits_destroy(limits);
}

static void test_files(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_search_entry entries[] = {
        {.path = {{0, 1, 2}}, .score = {0.7, 2, 50.5}, .generation = 0, .cost = {300, 40, -1}},
        {.path = {{2, 2, 2}}, .score = {0.9, 1.25, 60}, .generation = 0, .cost = {300, 60, 1500}},
        {.path = {{1, 0, 0}}, .score = {0.8, 1.5, 55}, .generation = 1, .cost = {100, 50, 2}},
    };
    int order[] = {1, 2, 0};
    pada_search_result result = {.entries = entries, .order = order, .n = 3};
    static const char best[] = "rank,arch,top1,loss,macs,params,latency\n"
                               "1,22200000,60,1.25,300,60,1.5\n"
                               "2,10000000,55,1.5,100,50,0.002\n"
                               "3,01200000,50.5,2,300,40,\n";
    static const char front[] = "rank,arch,top1,loss,macs,params,latency\n"
                                "1,10000000,55,1.5,100,50,0.002\n"
                                "2,22200000,60,1.25,300,60,1.5\n";
    static const char history[] = "evaluation,generation,arch,top1,best_so_far\n"
                                  "1,0,01200000,50.5,50.5\n"
                                  "2,0,22200000,60,60\n"
                                  "3,1,10000000,55,60\n";

    (void)state;
    CHECK_OK(pada_search_write(&result, &space, PADA_COST_MACS, scratch_path("a/b")));
    assert_file_holds(scratch_path("a/b/best.csv"), best, sizeof best - 1);
    assert_file_holds(scratch_path("a/b/front.csv"), front, sizeof front - 1);
    assert_file_holds(scratch_path("a/b/history.csv"), history, sizeof history - 1);

    /* What they are ordered by has a column where it is not the accuracy. */
    static const char with_values[] = "rank,arch,top1,loss,macs,params,latency,score\n"
                                      "1,22200000,60,1.25,300,60,1.5,0.9\n"
                                      "2,10000000,61,1.5,100,50,0.002,0.8\n"
                                      "3,01200000,50.5,2,300,40,,0.7\n";
    static const char other_history[] = "evaluation,generation,arch,top1,best_so_far\n"
                                        "1,0,01200000,50.5,50.5\n"
                                        "2,0,22200000,60,60\n"
                                        "3,1,10000000,61,60\n";
    result.has_values = true;
    entries[2].score.top1 = 61;
    CHECK_OK(pada_search_write(&result, &space, PADA_COST_MACS, scratch_path("a/b")));
    assert_file_holds(scratch_path("a/b/best.csv"), with_values, sizeof with_values - 1);
    assert_file_holds(scratch_path("a/b/history.csv"), other_history, sizeof other_history - 1);
}

static void test_out_of_memory(void **state)
{
    const pada_space space = space_of("macro", NULL);
    pada_cost_limits *limits = limits_of(&space, 60000000);
    const char *name;
    judge j;

    (void)state;
    judge_init(&j, &space);
    for (int i = 0; (name = pada_search_name(i)); i++) {
        pada_search_desc desc = desc_of(&space, limits, name, &j);
        pada_search_result result;
        pada_status st = PADA_ENOMEM;

        desc.progress = NULL;
        desc.settings.budget = 120;
        for (int n = 0; st != PADA_OK; n++) {
            pada_path_index_destroy(j.seen);
            CHECK_OK(pada_path_index_create(&j.seen, &space, MAX_KEPT));
            const int64_t live = pada_mem_live();
            pada_mem_fail_after(n);
            st = pada_search_run(&desc, &result);
            pada_mem_fail_after(-1);
            assert_true(st == PADA_OK || st == PADA_ENOMEM);
            pada_search_result_deinit(&result);
            assert_int_equal(pada_mem_live(), live);
        }
    }
    judge_deinit(&j);
    pada_cost_limits_destroy(limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_algorithms),
        cmocka_unit_test(test_regret),
        cmocka_unit_test(test_crossovers),
        cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_pareto_order),
        cmocka_unit_test(test_pareto_copies),
        cmocka_unit_test(test_pareto),
        cmocka_unit_test(test_few_networks),
        cmocka_unit_test(test_several_limits),
        cmocka_unit_test(test_tight_second_limit),
        cmocka_unit_test(test_impossible_limits),
        cmocka_unit_test(test_wrong_settings),
        cmocka_unit_test_setup_teardown(test_files, scratch_setup, scratch_teardown),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
