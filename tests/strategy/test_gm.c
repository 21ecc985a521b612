/* test_gm.c - GM-NAS: distances by hand and by finite differences, splits against all others. */
#include <math.h>
#include <string.h>

#include "base/scratch.h"
#include "engine/engine_log.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "strategy/best_cut.h"
#include "strategy/small_run.h"

/* ---- groups ---- */

/* The least sum inside two groups of n / 2 and the rest, over all subsets, counted another way. */
static double least_inside(const double *d, int n, double *total)
{
    double least = INFINITY;

    *total = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            *total += d[i * n + k];
    for (uint32_t set = 0; set < 1u << n; set++) {
        double inside = 0;
        int members = 0;
        for (int i = 0; i < n; i++) {
            members += set >> i & 1;
            for (int k = 0; k < i; k++)
                if ((set >> i & 1) == (set >> k & 1)) inside += d[i * n + k];
        }
        if (members == n / 2 && inside < least) least = inside;
    }
    return least;
}

static void cuts_are_the_best(void **state)
{
    double d[PADA_MAX_CUT * PADA_MAX_CUT], total;
    uint32_t group;

    (void)state;
    for (int n = 2; n <= 9; n++)
        for (uint64_t seed = 0; seed < 30; seed++) {
            random_normal(d, n * n, 100 * (uint64_t)n + seed);
            for (int i = 0; i < n; i++)
                for (int k = 0; k < i; k++)
                    d[k * n + i] = d[i * n + k];
            const double cut = pada_best_cut(d, n, &group);
            const double inside = least_inside(d, n, &total);
            CHECK_CLOSE(cut, total - inside, 1e-9);
            double have = 0;
            int members = 0;
            for (int i = 0; i < n; i++) {
                members += group >> i & 1;
                for (int k = 0; k < i; k++)
                    if ((group >> i & 1) == (group >> k & 1)) have += d[i * n + k];
            }
            assert_int_equal(members, n / 2);
            CHECK_CLOSE(have, inside, 1e-9);
        }
}

/* Choices 1 and 3 are alike, and so are 0, 2 and 4; nothing else is. */
static void a_cut_by_hand(void **state)
{
    /* clang-format off */
    static const double d[] = {
        0.0, 1.5, 0.2, 1.1, 0.1,
        1.5, 0.0, 1.2, 0.3, 1.0,
        0.2, 1.2, 0.0, 1.4, 0.4,
        1.1, 0.3, 1.4, 0.0, 1.3,
        0.1, 1.0, 0.4, 1.3, 0.0,
    };
    static const double equal[] = {0, 1, 1, 1,  1, 0, 1, 1,  1, 1, 0, 1,  1, 1, 1, 0};
    /* clang-format on */
    uint32_t group;

    (void)state;
    CHECK_CLOSE(pada_best_cut(d, 5, &group), 1.5 + 1.2 + 1.0 + 1.1 + 1.4 + 1.3, 1e-12);
    assert_int_equal(group, 1 << 1 | 1 << 3);
    CHECK_CLOSE(pada_best_cut(equal, 4, &group), 4, 0);
    assert_int_equal(group, 3); /* the smallest number */
}

/* ---- the state of the strategy, as checkpoints have it ---- */

enum { N_INNER = 7, TABLE = PADA_MAX_CHOICES * PADA_MAX_CHOICES };

typedef struct gm_state {
    int32_t slots[N_INNER];
    uint32_t groups[N_INNER];
    double distances[SMALL_SLOTS * TABLE];
} gm_state;

static void visit_state(pada_state *state, gm_state *s, int n_inner)
{
    pada_state_array(state, "gm/slots", PADA_STATE_I32, s->slots, n_inner);
    pada_state_array(state, "gm/groups", PADA_STATE_I32, s->groups, n_inner);
    pada_state_array(state, "gm/distances", PADA_STATE_F64, s->distances, SMALL_SLOTS * TABLE);
}

static void read_state(small_run *r, int n_inner, gm_state *out)
{
    const char *path = scratch_path("gm.safetensors");
    pada_state *state;

    CHECK_OK(pada_state_create(&state));
    r->ops->visit(r->self, state);
    CHECK_OK(pada_state_write(state, path));
    pada_state_destroy(state);
    CHECK_OK(pada_state_open(&state, path));
    visit_state(state, out, n_inner);
    CHECK_OK(pada_state_finish(state));
    pada_state_destroy(state);
}

static pada_status write_state(small_run *r, int n_inner, gm_state *from)
{
    const char *path = scratch_path("gm.safetensors");
    pada_state *state;

    CHECK_OK(pada_state_create(&state));
    visit_state(state, from, n_inner);
    CHECK_OK(pada_state_write(state, path));
    pada_state_destroy(state);
    CHECK_OK(pada_state_open(&state, path));
    r->ops->visit(r->self, state);
    const pada_status st = pada_state_finish(state);
    pada_state_destroy(state);
    return st;
}

/* ---- distances ---- */

static const pada_epoch probing = {.phase = 0, .probes = true, .last = true};

static void begin(small_run *r, const pada_epoch *epoch)
{
    int32_t order[SMALL_BATCH];

    CHECK_OK(r->ops->begin_epoch(r->self, epoch, order));
}

/* The gradient of a path without the parameters of a slot; freed by the caller. */
static double *grad_without(small_run *r, const pada_path *path, int slot)
{
    const pada_params *params = r->env.params;
    double *grad = calloc((size_t)pada_params_elements(params), sizeof *grad);

    small_run_add_grad(r, path, 1, grad);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        if (p->site == PADA_SHARED || r->space.ops->site_slot(&r->space, p->site) != slot) continue;
        memset(grad + p->offset, 0, (size_t)p->count * sizeof *grad);
    }
    return grad;
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double distance(const double *a, const double *b, int64_t n)
{
    return 1 - dot(a, b, n) / (sqrt(dot(a, a, n)) * sqrt(dot(b, b, n)) + 1e-6);
}

static void distances_are_those_of_the_gradients(void **state)
{
    pada_path paths[2][SMALL_SLOTS * SMALL_CHOICES];
    static gm_state have;
    small_run r;
    pada_log log;

    (void)state;
    small_run_open(&r, "gm", "--splits 1");
    const int64_t n = pada_params_elements(r.env.params);
    const uint64_t before = pada_engine_weights_hash(r.engine);
    begin(&r, &probing);
    for (int k = 0; k < 2; k++) {
        CHECK_OK(r.ops->phases->probe(r.self, r.engine, &r.draws, &probing, 40 + k));
        CHECK_OK(pada_engine_log_read(r.engine, &log));
        assert_int_equal(log.n_passes, (k + 1) * SMALL_SLOTS * SMALL_CHOICES);
        memcpy(paths[k], log.paths + k * SMALL_SLOTS * SMALL_CHOICES, sizeof paths[k]);
    }
    assert_true(pada_engine_weights_hash(r.engine) == before);
    assert_int_equal(r.ops->phases->probe_passes(r.self), SMALL_SLOTS * SMALL_CHOICES);
    read_state(&r, 1, &have);
    for (int slot = 0; slot < SMALL_SLOTS; slot++) {
        double want[SMALL_CHOICES][SMALL_CHOICES] = {{0}};
        for (int k = 0; k < 2; k++) {
            const pada_path *forced = paths[k] + slot * SMALL_CHOICES;
            double *grads[SMALL_CHOICES];
            for (int c = 0; c < SMALL_CHOICES; c++) {
                pada_path same = forced[0];
                same.choice[slot] = (uint8_t)c;
                assert_true(pada_path_equal(&r.space, &forced[c], &same)); /* all else alike */
                grads[c] = grad_without(&r, &forced[c], slot);
            }
            for (int c = 0; c < SMALL_CHOICES; c++)
                for (int d = 0; d < SMALL_CHOICES; d++)
                    want[c][d] += distance(grads[c], grads[d], n);
            for (int c = 0; c < SMALL_CHOICES; c++)
                free(grads[c]);
        }
        for (int c = 0; c < SMALL_CHOICES; c++)
            for (int d = 0; d < SMALL_CHOICES; d++)
                CHECK_CLOSE(have.distances[slot * TABLE + c * SMALL_CHOICES + d], want[c][d], 1e-9);
    }
    small_run_close(&r);
}

static double loss_of(small_run *r, const pada_path *path)
{
    pada_results_view view;

    CHECK_OK(pada_engine_forward(r->engine, path, &r->draws.batch, PADA_EVAL));
    CHECK_OK(pada_engine_results(r->engine, &view));
    return view.loss;
}

/* Moves all weights by `factor` times a vector. */
static void move_weights(small_run *r, const double *along, double factor)
{
    double *values = small_run_weights(r);

    for (int64_t k = 0; k < pada_params_elements(r->env.params); k++)
        values[k] += factor * along[k];
    small_run_set_weights(r, values);
    free(values);
}

/* <g_c, g_d> is the slope of the loss with choice c along g_d: the distances need no gradient of c. */
static void products_are_slopes(void **state)
{
    static const int pairs[][3] = {{3, 2, 3}, {0, 1, 3}, {5, 4, 1}}; /* slot, c, d */
    const double step = 1e-5;
    small_run r;
    static gm_state have;
    pada_log log;

    (void)state;
    small_run_open(&r, "gm", "--splits 1");
    const int64_t n = pada_params_elements(r.env.params);
    begin(&r, &probing);
    CHECK_OK(r.ops->phases->probe(r.self, r.engine, &r.draws, &probing, 3));
    CHECK_OK(pada_engine_log_read(r.engine, &log));
    read_state(&r, 1, &have);
    for (int i = 0; i < 3; i++) {
        const int slot = pairs[i][0], c = pairs[i][1], d = pairs[i][2];
        const pada_path at_c = log.paths[slot * SMALL_CHOICES + c];
        const pada_path at_d = log.paths[slot * SMALL_CHOICES + d];
        double *grad_c = grad_without(&r, &at_c, slot), *grad_d = grad_without(&r, &at_d, slot);
        move_weights(&r, grad_d, step);
        const double up = loss_of(&r, &at_c);
        move_weights(&r, grad_d, -2 * step);
        const double down = loss_of(&r, &at_c);
        move_weights(&r, grad_d, step);
        const double norms = sqrt(dot(grad_c, grad_c, n) * dot(grad_d, grad_d, n));
        assert_true(norms > 1e-3);
        CHECK_CLOSE(have.distances[slot * TABLE + c * SMALL_CHOICES + d],
                    1 - (up - down) / (2 * step) / (norms + 1e-6), 1e-5);
        free(grad_c), free(grad_d);
    }
    small_run_close(&r);
}

/* ---- splits ---- */

static void end(small_run *r, const pada_epoch *epoch)
{
    CHECK_OK(r->ops->end_epoch(r->self, &(pada_log){0}, epoch, NULL));
}

/* The slot with the largest cut is split into its best groups, of those that are still whole. */
static void the_largest_cut_is_split(void **state)
{
    static gm_state before, after;
    small_run r;

    (void)state;
    small_run_open(&r, "gm", "--splits 3");
    for (int phase = 0; phase < N_INNER; phase++) {
        const pada_epoch epoch = {.phase = phase, .probes = true, .last = true};
        const pada_epoch not_last = {.phase = phase, .probes = true};
        double most = -INFINITY;
        int slot_of_most = -1;
        pada_subspace part;
        begin(&r, &epoch);
        CHECK_OK(r.ops->phases->subspace(r.self, phase, &part));
        CHECK_OK(r.ops->phases->probe(r.self, r.engine, &r.draws, &epoch, 7 * phase));
        end(&r, &not_last);
        read_state(&r, N_INNER, &before);
        assert_int_equal(before.slots[phase], -1); /* not yet */
        end(&r, &epoch);
        read_state(&r, N_INNER, &after);
        for (int slot = 0; slot < SMALL_SLOTS; slot++) {
            double total;
            const double *d = before.distances + slot * TABLE;
            const double inside = least_inside(d, SMALL_CHOICES, &total);
            if (pada_subspace_choices(&part, slot) < SMALL_CHOICES) {
                assert_true(total == 0); /* nobody looked there */
                continue;
            }
            if (total - inside > most) {
                most = total - inside;
                slot_of_most = slot;
            }
        }
        assert_int_equal(after.slots[phase], slot_of_most);
        uint32_t group;
        (void)pada_best_cut(before.distances + slot_of_most * TABLE, SMALL_CHOICES, &group);
        assert_int_equal(after.groups[phase], group);
        for (int i = 0; i < SMALL_SLOTS * TABLE; i++)
            assert_true(after.distances[i] == 0); /* for the next one */
        pada_subspace first, second;
        CHECK_OK(r.ops->phases->subspace(r.self, 2 * phase + 1, &first));
        CHECK_OK(r.ops->phases->subspace(r.self, 2 * phase + 2, &second));
        for (int slot = 0; slot < SMALL_SLOTS; slot++) {
            assert_int_equal(first.allowed[slot] | second.allowed[slot], part.allowed[slot]);
            if (slot == slot_of_most) {
                assert_int_equal(first.allowed[slot] & second.allowed[slot], 0);
                assert_int_equal(pada_subspace_choices(&first, slot), 2);
                assert_int_equal(pada_subspace_choices(&second, slot), 3);
            } else {
                assert_int_equal(first.allowed[slot], second.allowed[slot]);
            }
        }
    }
    small_run_close(&r);
}

/* The null backend has no gradients: all distances are 1, and slots are split in their order. */
static void paths_stay_inside_and_live(void **state)
{
    const pada_epoch training = {.phase = 1};
    pada_subspace part;
    small_run r;
    int n;

    (void)state;
    small_run_open_on(&r, "null", "gm", "--splits 1");
    begin(&r, &probing);
    CHECK_OK(r.ops->phases->probe(r.self, r.engine, &r.draws, &probing, 0));
    end(&r, &probing);
    CHECK_OK(r.ops->phases->subspace(r.self, 1, &part));
    assert_int_equal(part.allowed[0], 3);
    small_run_begin_log(&r);
    begin(&r, &training);
    for (int i = 0; i < 3 * SMALL_STEPS; i++) {
        const pada_path *path = small_run_step(&r, 0, i, &n);
        assert_int_equal(n, 1);
        assert_true(pada_subspace_has(&part, &r.space, path));
        assert_false(r.space.ops->dead(&r.space, path));
    }
    pada_distributions told;
    r.ops->distributions(r.self, &training, &told);
    CHECK_CLOSE(told.paths->p[0][1], 0.5, 0);
    CHECK_CLOSE(told.paths->p[0][2], 0, 0);
    small_run_close(&r);
}

/* Probes force choices upon a path; that path itself lives. */
static void probed_paths_live(void **state)
{
    small_run r;

    (void)state;
    small_run_open_on(&r, "null", "gm", "--splits 1");
    begin(&r, &probing);
    for (int number = 0; number < 200; number++) {
        pada_log log;
        small_run_begin_log(&r);
        CHECK_OK(r.ops->phases->probe(r.self, r.engine, &r.draws, &probing, number));
        pada_engine_log_read(r.engine, &log);
        assert_int_equal(log.n_passes, SMALL_SLOTS * SMALL_CHOICES);
        /* Slot by slot, choice by choice: slot 0 is as it was drawn where slot 1 is forced. */
        pada_path drawn = log.paths[0];
        drawn.choice[0] = log.paths[SMALL_CHOICES].choice[0];
        assert_false(r.space.ops->dead(&r.space, &drawn));
        for (int i = 0; i < log.n_passes; i++) {
            pada_path want = drawn;
            want.choice[i / SMALL_CHOICES] = (uint8_t)(i % SMALL_CHOICES);
            assert_true(pada_path_equal(&r.space, &log.paths[i], &want));
        }
    }
    small_run_close(&r);
}

/* ---- settings ---- */

/* The sheet: 25 epochs for each level, then eight times 125. */
static void phases_are_those_of_the_sheet(void **state)
{
    max_align_t settings[8];
    const pada_strategy_ops *ops;
    pada_phase phase;
    small_run r;
    void *self;

    (void)state;
    small_run_open(&r, "spos", "");
    r.env.n_epochs = 250;
    CHECK_OK(pada_strategy_find(&ops, "gm"));
    CHECK_OK(method_settings(ops, "", settings, sizeof settings));
    self = calloc(1, ops->state_bytes);
    CHECK_OK(ops->init(self, &r.env, settings));
    assert_int_equal(ops->phases->count(self), 15);
    for (int i = 0; i < 15; i++) {
        const int level = i == 0 ? 0 : i < 3 ? 1 : i < 7 ? 2 : 3;
        ops->phases->get(self, i, &phase);
        assert_int_equal(phase.final, level == 3);
        assert_int_equal(phase.n_epochs, level == 3 ? 125 : 25);
        assert_int_equal(phase.n_probes, level == 3 ? 0 : 100);
        assert_int_equal(phase.lr_first, level == 3 ? 0 : 25 * level);
        assert_int_equal(phase.lr_epochs, level == 3 ? 125 : 250);
        assert_int_equal(phase.parent, level == 0 || level == 3 ? PADA_FRESH : (i - 1) / 2);
    }
    ops->deinit(self);
    /* A schedule that the levels would leave is made longer. */
    memset(self, 0, ops->state_bytes);
    CHECK_OK(method_settings(ops, "--warmup-epochs 100", settings, sizeof settings));
    CHECK_OK(ops->init(self, &r.env, settings));
    ops->phases->get(self, 6, &phase);
    assert_int_equal(phase.lr_first, 200);
    assert_int_equal(phase.lr_epochs, 300);
    ops->deinit(self);
    memset(self, 0, ops->state_bytes);
    CHECK_OK(method_settings(ops, "--splits 6", settings, sizeof settings));
    CHECK_OK(ops->init(self, &r.env, settings)); /* as many as there are slots */
    ops->deinit(self);
    memset(self, 0, ops->state_bytes);
    CHECK_OK(method_settings(ops, "--splits 7", settings, sizeof settings));
    assert_int_equal(ops->init(self, &r.env, settings), PADA_EINVAL);
    assert_string_equal(pada_message(), "--splits 7: space nb201 has only 6 slots to split");
    ops->deinit(self);
    free(self);
    small_run_close(&r);
}

static void wrong_splits_are_refused(void **state)
{
    static gm_state good, bad;
    pada_subspace part;
    small_run r;

    (void)state;
    small_run_open(&r, "gm", "--splits 2");
    read_state(&r, 3, &good);
    assert_int_equal(r.ops->phases->subspace(r.self, 1, &part), PADA_EDATA); /* not split yet */
    good.slots[0] = 4;
    good.groups[0] = 5;
    CHECK_OK(write_state(&r, 3, &good));
    CHECK_OK(r.ops->phases->subspace(r.self, 1, &part));
    assert_int_equal(part.allowed[4], 5);
    bad = good, bad.slots[0] = 0; /* another, but a good one */
    CHECK_OK(write_state(&r, 3, &bad));
    bad.slots[0] = 5;
    CHECK_OK(write_state(&r, 3, &bad));
    bad = good, bad.slots[0] = 6;
    assert_int_equal(write_state(&r, 3, &bad), PADA_EDATA);
    bad = good, bad.slots[0] = -2;
    assert_int_equal(write_state(&r, 3, &bad), PADA_EDATA);
    bad = good, bad.groups[0] = 0;
    assert_int_equal(write_state(&r, 3, &bad), PADA_EDATA);
    bad = good, bad.groups[0] = 31;
    assert_int_equal(write_state(&r, 3, &bad), PADA_EDATA);
    bad = good, bad.groups[0] = 32;
    assert_int_equal(write_state(&r, 3, &bad), PADA_EDATA);
    bad = good, bad.slots[2] = 4, bad.groups[2] = 5; /* the same slot again */
    assert_int_equal(write_state(&r, 3, &bad), PADA_EDATA);
    small_run_close(&r);
}

static pada_status init_and_deinit(const pada_strategy_ops *ops, const small_run *r, void *self,
                                   const void *settings)
{
    memset(self, 0, ops->state_bytes);
    const pada_status st = ops->init(self, &r->env, settings);
    ops->deinit(self); /* also of a half-made one */
    return st;
}

static void out_of_memory(void **state)
{
    max_align_t settings[8];
    small_run r;

    (void)state;
    small_run_open(&r, "gm", "");
    CHECK_OK(method_settings(r.ops, "", settings, sizeof settings));
    void *self = calloc(1, r.ops->state_bytes);
    assert_survives_oom(init_and_deinit(r.ops, &r, self, settings), (void)0);
    free(self);
    small_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_are_the_best),
        cmocka_unit_test(a_cut_by_hand),
        cmocka_unit_test(distances_are_those_of_the_gradients),
        cmocka_unit_test(products_are_slopes),
        cmocka_unit_test(the_largest_cut_is_split),
        cmocka_unit_test(paths_stay_inside_and_live),
        cmocka_unit_test(probed_paths_live),
        cmocka_unit_test(phases_are_those_of_the_sheet),
        cmocka_unit_test(wrong_splits_are_refused),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
