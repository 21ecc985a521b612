/* test_spos_depth.c - depth-balanced SPOS: how often which paths are drawn. */
#include <string.h>

#include "strategy/path_groups.h"
#include "strategy/small_run.h"

enum { STEPS = 30000, PATHS = 15625 };

static int counts[PATHS];
static double of_choice[SMALL_SLOTS][SMALL_CHOICES];

static double depth_of(const pada_space *space, const pada_path *path)
{
    const pada_space_score *score = space->ops->scores;

    while (strcmp(score->name, "conv_depth") != 0)
        score++;
    return score->score(space, path);
}

/* Counts the paths of a run. */
static void draw(small_run *r)
{
    int n;

    for (int i = 0; i < STEPS; i++) {
        const pada_path *path = small_run_step(r, 0, i, &n);
        int number = 0;
        assert_int_equal(n, 1);
        for (int slot = 0; slot < SMALL_SLOTS; slot++) {
            number = number * SMALL_CHOICES + path->choice[slot];
            of_choice[slot][path->choice[slot]] += 1.0 / STEPS;
        }
        counts[number]++;
    }
}

static pada_path path_of(int number)
{
    pada_path path = {{0}};

    for (int slot = SMALL_SLOTS - 1; slot >= 0; slot--, number /= SMALL_CHOICES)
        path.choice[slot] = (uint8_t)(number % SMALL_CHOICES);
    return path;
}

static void groups_are_equally_likely(void **state)
{
    int sizes[3] = {0}, draws[3] = {0}, with[3][SMALL_SLOTS][SMALL_CHOICES] = {{{0}}};
    double chi[3] = {0};
    small_run r;

    (void)state;
    small_run_open_on(&r, "null", "spos_depth", "");
    draw(&r);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < PATHS; i++) {
            const pada_path path = path_of(i);
            const double depth = depth_of(&r.space, &path);
            const int g = depth <= 1 ? 0 : depth == 2 ? 1 : 2;
            if (pass == 0) {
                sizes[g]++;
                draws[g] += counts[i];
                for (int slot = 0; slot < SMALL_SLOTS; slot++)
                    with[g][slot][path.choice[slot]]++;
            } else {
                const double want = (double)draws[g] / sizes[g];
                chi[g] += (counts[i] - want) * (counts[i] - want) / want;
            }
        }
    assert_int_equal(sizes[2], 1000); /* 2^3 convolutions on the long way, 5^3 anything */
    for (int g = 0; g < 3; g++) {
        CHECK_CLOSE((double)draws[g] / STEPS, 1 / 3.0, 0.014); /* five deviations */
        /* Uniform inside: chi squared has mean size - 1 and deviation sqrt(2 size). */
        CHECK_CLOSE(chi[g], sizes[g] - 1, 6 * sqrt(2.0 * sizes[g]));
    }
    /* What it says about single choices is what it does. */
    pada_distributions told;
    r.ops->distributions(r.self, &(pada_epoch){0}, &told);
    for (int slot = 0; slot < SMALL_SLOTS; slot++) {
        double sum = 0;
        for (int c = 0; c < SMALL_CHOICES; c++) {
            double want = 0;
            for (int g = 0; g < 3; g++)
                want += with[g][slot][c] / (3.0 * sizes[g]);
            CHECK_CLOSE(told.paths->p[slot][c], want, 1e-12);
            CHECK_CLOSE(told.paths->p[slot][c], of_choice[slot][c], 0.015);
            sum += told.paths->p[slot][c];
        }
        CHECK_CLOSE(sum, 1, 1e-12);
    }
    small_run_close(&r);
}

static void steps_have_streams_of_their_own(void **state)
{
    small_run a, b;
    int n;

    (void)state;
    small_run_open_on(&a, "null", "spos_depth", "");
    small_run_open_on(&b, "null", "spos_depth", "");
    for (int i = 0; i < 5; i++)
        small_run_step(&a, 0, i, &n);
    const pada_path *x = small_run_step(&a, 0, 5, &n), *y = small_run_step(&b, 0, 5, &n);
    assert_true(pada_path_equal(&a.space, x, y));
    small_run_close(&a);
    small_run_close(&b);
}

/* In a chain depth is how many of the eight layers are there: 129 codes have at most 2, 3,360 have 3 to 5, 3,072 have more.
 * A group has 1.86, 4.4 and 6.5 layers on average. */
static void chains_have_layers(void **state)
{
    const double layers = (240.0 / 129 + 14784.0 / 3360 + 19968.0 / 3072) / 3;
    static max_align_t settings[64];
    const pada_space_ops *ops;
    pada_distributions told;
    pada_space space;
    small_run r;

    (void)state;
    small_run_open_on(&r, "null", "spos_depth", "");
    CHECK_OK(pada_space_find(&ops, "macro"));
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){0}));
    pada_strategy_env env = r.env;
    env.space = &space;
    void *self = calloc(1, r.ops->state_bytes);
    CHECK_OK(method_settings(r.ops, "", settings, sizeof settings));
    CHECK_OK(r.ops->init(self, &env, settings));
    r.ops->distributions(self, &(pada_epoch){0}, &told);
    for (int slot = 0; slot < 8; slot++) {
        CHECK_CLOSE(told.paths->p[slot][0], 1 - layers / 8, 1e-12);
        CHECK_CLOSE(told.paths->p[slot][1], layers / 16, 1e-12);
    }
    r.ops->deinit(self);
    free(self);
    small_run_close(&r);
}

/* Four groups of depth 0, 1, 2, 3, drawn 1 : 2 : 3 : 4 in the first epoch and 4 : 3 : 2 : 1 in the last one of ten. */
static void weights_move(void **state)
{
    static const double first[] = {0.1, 0.2, 0.3, 0.4};
    int32_t order[SMALL_BATCH];
    small_run r;
    int n;

    (void)state;
    small_run_open_on(&r, "null", "spos_depth",
                      "--group-weights 1,2,3,4 --group-weights-end 4,3,2,1");
    for (int epoch = 0; epoch <= 9; epoch += 3) {
        double share[4] = {0}, expected = 0;
        pada_distributions told;
        r.epoch = epoch;
        CHECK_OK(r.ops->begin_epoch(r.self, &(pada_epoch){.index = epoch}, order));
        for (int i = 0; i < STEPS / 3; i++) {
            const pada_path *path = small_run_step(&r, 0, i, &n);
            share[(int)fmax(0, depth_of(&r.space, path))] += 3.0 / STEPS;
        }
        for (int g = 0; g < 4; g++) {
            const double want = first[g] + epoch / 9.0 * (first[3 - g] - first[g]);
            CHECK_CLOSE(share[g], want, 5 * sqrt(want * (1 - want) * 3 / STEPS));
        }
        r.ops->distributions(r.self, &(pada_epoch){.index = epoch}, &told);
        for (int c = 0; c < SMALL_CHOICES; c++)
            expected += told.paths->p[0][c];
        CHECK_CLOSE(expected, 1, 1e-12);
    }
    small_run_close(&r);
}

/* A group that weighs nothing is never drawn; groups of cost have equal width in what is live. */
static void costs_are_balanced(void **state)
{
    static const double want[] = {0.2, 0, 0.2, 0.3, 0.3};
    double share[5] = {0}, smallest, largest;
    const pada_path dead = {{0}}, full = {{3, 3, 3, 3, 3, 3}};
    pada_cost cost;
    small_run r;
    int n;

    (void)state;
    small_run_open_on(&r, "null", "spos_depth", "--groups macs --group-weights 2,0,2,3,3");
    pada_space_cost(&r.space, &dead, &cost);
    smallest = (double)cost.macs;
    pada_space_cost(&r.space, &full, &cost);
    largest = (double)cost.macs;
    for (int i = 0; i < STEPS / 3; i++) {
        const pada_path *path = small_run_step(&r, 0, i, &n);
        pada_path form;
        r.space.ops->canonical(&r.space, path, &form);
        pada_space_cost(&r.space, &form, &cost);
        const double at = 5 * ((double)cost.macs - smallest) / (largest - smallest);
        share[at <= 1 ? 0 : (int)ceil(at) - 1] += 3.0 / STEPS;
    }
    CHECK_CLOSE(share[1], 0, 0);
    for (int g = 0; g < 5; g++)
        CHECK_CLOSE(share[g], want[g], 0.024);
    small_run_close(&r);
}

static pada_status open_groups(const char *space_name, const char *flags, pada_path_groups *groups)
{
    static max_align_t settings[64];
    static pada_space space;
    const pada_strategy_ops *method;
    const pada_space_ops *ops;

    CHECK_OK(pada_strategy_find(&method, "spos_depth"));
    CHECK_OK(pada_space_find(&ops, space_name));
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){0}));
    CHECK_OK(method_settings(method, flags, settings, sizeof settings));
    *groups = (pada_path_groups){0};
    return pada_path_groups_init(groups, &space, (const void *)settings, "spos_depth");
}

static void large_spaces_are_refused(void **state)
{
    pada_path_groups groups;

    (void)state;
    assert_int_equal(open_groups("darts", "--groups macs", &groups), PADA_EINVAL);
    assert_string_equal(
        pada_message(),
        "method spos_depth: space darts has more than 1048576 paths; method spos_macs "
        "balances cheap and expensive ones in any space");
    pada_path_groups_deinit(&groups);
}

static void wrong_weights_are_refused(void **state)
{
    static const struct {
        const char *flags, *message;
    } cases[] = {
        {"--group-weights 0,0", "--group-weights: no group is ever drawn"},
        {"--group-weights-end 0,0,0", "--group-weights-end: no group is ever drawn"},
        {"--group-weights-end 1,1", "--group-weights-end: 2 groups, but 3 of --group-weights"},
        {"--group-weights 1,1,1,1,1,1",
         "method spos_depth: space nb201 has no path in group 3 of 6"},
    };
    pada_path_groups groups;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(open_groups("nb201", cases[i].flags, &groups), PADA_EINVAL);
        assert_string_equal(pada_message(), cases[i].message);
        pada_path_groups_deinit(&groups);
    }
}

static void a_space_without_depth_is_refused(void **state)
{
    static max_align_t settings[64];
    small_run r, other;

    (void)state;
    small_run_open_on(&r, "null", "spos_depth", "");
    other = r;
    pada_space_ops ops = *r.space.ops;
    ops.scores = NULL;
    other.space.ops = &ops;
    other.env.space = &other.space;
    other.self = calloc(1, r.ops->state_bytes);
    CHECK_OK(method_settings(r.ops, "", settings, sizeof settings));
    assert_int_equal(r.ops->init(other.self, &other.env, settings), PADA_EINVAL);
    assert_string_equal(pada_message(),
                        "method spos_depth: space nb201 has no score conv_depth or blocks; method "
                        "spos_macs balances cheap and expensive ones in any space");
    r.ops->deinit(other.self);
    free(other.self);
    small_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_equally_likely),
        cmocka_unit_test(steps_have_streams_of_their_own),
        cmocka_unit_test(chains_have_layers),
        cmocka_unit_test(weights_move),
        cmocka_unit_test(costs_are_balanced),
        cmocka_unit_test(large_spaces_are_refused),
        cmocka_unit_test(wrong_weights_are_refused),
        cmocka_unit_test(a_space_without_depth_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
