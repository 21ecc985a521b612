/* test_phases.c - runs with several supernets: what starts from what, and who judges which network.
 * PADA_TEST_BACKEND=NAME: on that backend instead of cpu. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/scratch.h"
#include "check.h"
#include "space/nb201_cells.h"
#include "strategy/method_flags.h"
#include "strategy/strategy_fewshot.h"
#include "tensor/safetensors.h"
#include "train/family.h"
#include "train/timetable.h"
#include "train/trainer.h"

#include "engine/engine_weights.h"
#include "train/tiny_engine.h"

enum { EPOCHS = 2, BATCH = 12, STEPS = 4, MAX_PHASES = 40, MAX_EPOCHS = 80 };

static tiny_data data;
static pada_space space;
static pada_engine *engine;

static int open_all(void **state)
{
    const char *only = getenv("PADA_TEST_BACKEND");
    const pada_backend *backend;

    tiny_data_init(&data);
    CHECK_OK(pada_backend_find(&backend, only ? only : "cpu"));
    engine = tiny_engine(&space, backend, 2, BATCH);
    return scratch_setup(state);
}

static int close_all(void **state)
{
    pada_engine_destroy(engine);
    return scratch_teardown(state);
}

/* For tests of many passes that check what is the same on every backend. */
static void skip_on_other_backends(void)
{
    if (getenv("PADA_TEST_BACKEND")) skip();
}

/* What a run told. */
typedef struct witness {
    uint64_t first[MAX_PHASES], last[MAX_PHASES]; /* hashes of the weights, by phase */
    pada_subspace parts[MAX_PHASES];
    bool fresh_optimiser[MAX_PHASES];
    int n_phases, n_epochs;
    double lr[MAX_EPOCHS], steps[MAX_EPOCHS], passes[MAX_EPOCHS], images[MAX_EPOCHS],
        gmacs[MAX_EPOCHS];
    int phase[MAX_EPOCHS];
} witness;

/* Whether momentum is zero and nothing counts as sampled. */
static bool is_optimiser_fresh(void)
{
    pada_state *state;
    pada_safetensors *file;
    const char *path = scratch_path("optimiser.safetensors");
    bool fresh = true;
    int n = 0;

    CHECK_OK(pada_state_create(&state));
    pada_engine_visit(engine, state);
    CHECK_OK(pada_state_write(state, path));
    pada_state_destroy(state);
    CHECK_OK(pada_safetensors_open(&file, path));
    for (int i = 0; i < pada_safetensors_count(file); i++) {
        const pada_st_tensor *t = pada_safetensors_get(file, i);
        if (!strstr(t->name, "pada/momentum/") && strcmp(t->name, "pada/engine/sampled") != 0)
            continue;
        n++;
        for (size_t k = 0; k < t->bytes; k++)
            if (((const uint8_t *)t->data)[k] != 0) fresh = false;
    }
    assert_true(n > 10);
    pada_safetensors_close(file);
    return fresh;
}

static void see_phase(void *context, const pada_progress *progress, const pada_subspace *part)
{
    witness *w = context;

    assert_int_equal(progress->phase, w->n_phases);
    assert_true(w->n_phases < MAX_PHASES && progress->n_phases <= MAX_PHASES);
    w->first[w->n_phases] = pada_engine_weights_hash(engine);
    w->fresh_optimiser[w->n_phases] = is_optimiser_fresh();
    w->parts[w->n_phases++] = *part;
}

static void see_epoch(void *context, const pada_progress *progress, const pada_epoch_metrics *m)
{
    witness *w = context;
    const int i = w->n_epochs++;

    assert_true(i < MAX_EPOCHS);
    assert_int_equal((int)pada_epoch_metrics_get(m, "supernet"), progress->phase);
    w->last[progress->phase] = m->weights_hash;
    w->phase[i] = progress->phase;
    w->lr[i] = pada_epoch_metrics_get(m, "lr");
    w->steps[i] = pada_epoch_metrics_get(m, "steps");
    w->passes[i] = pada_epoch_metrics_get(m, "passes");
    w->images[i] = pada_epoch_metrics_get(m, "images");
    w->gmacs[i] = pada_epoch_metrics_get(m, "gmacs");
}

/* Trains in a new folder. */
static void train(const char *folder, const char *method, const void *settings, int epochs,
                  witness *w)
{
    char run[1300];
    const pada_recipe recipe = {.epochs = epochs,
                                .batch_size = BATCH,
                                .lr = 0.1,
                                .momentum = 0.9,
                                .weight_decay = 1e-3,
                                .seed = 5};
    const pada_strategy_ops *strategy;

    *w = (witness){0};
    snprintf(run, sizeof run, "%s", scratch_path(folder)); /* others need the buffer */
    CHECK_OK(pada_strategy_find(&strategy, method));
    CHECK_OK(pada_train(
        &(pada_train_desc){.engine = engine,
                           .data = &data.base,
                           .recipe = &recipe,
                           .strategy = strategy,
                           .settings = settings,
                           .run = run,
                           .listener = {.context = w, .phase = see_phase, .epoch = see_epoch}}));
}

/* Every network is in exactly one final supernet, which the family finds. */
static void check_partition(const char *run, const witness *w, int first_final)
{
    pada_family *family;
    int member;

    CHECK_OK(pada_family_open(&family, run, &space));
    assert_int_equal(pada_family_count(family), w->n_phases - first_final);
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i);
        int n = 0, in = -1;
        for (int k = first_final; k < w->n_phases; k++)
            if (pada_subspace_has(&w->parts[k], &space, &path)) {
                n++;
                in = k - first_final;
            }
        assert_int_equal(n, 1);
        CHECK_OK(pada_family_find(family, &path, &member));
        assert_int_equal(member, in);
    }
    for (int k = first_final; k < w->n_phases; k++) {
        CHECK_OK(pada_family_enter(family, k - first_final, engine));
        assert_true(pada_engine_weights_hash(engine) == w->last[k]);
    }
    pada_family_close(family);
}

/* ---- Few-Shot ---- */

static void fewshot_children_inherit(void **state)
{
    static witness spos, w;

    (void)state;
    train("spos", "spos", NULL, EPOCHS, &spos);
    train("few", "fewshot", &(pada_fewshot_settings){"3", 1}, EPOCHS, &w);
    assert_int_equal(w.n_phases, 6);
    assert_int_equal(w.n_epochs, EPOCHS + 5);
    assert_true(w.last[0] == spos.last[0]); /* the first one is SPOS */
    for (int k = 1; k < 6; k++) {
        assert_true(w.first[k] == w.last[0]);
        assert_true(w.fresh_optimiser[k]);
        assert_true(w.last[k] != w.first[k]);
        for (int other = 1; other < k; other++)
            assert_true(w.last[k] != w.last[other]);
    }
    /* Each has a schedule of its own. */
    const double want[] = {0.1, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1};
    for (int i = 0; i < 7; i++) {
        CHECK_CLOSE(w.lr[i], want[i], 1e-12);
        assert_true(w.steps[i] == (i + 1) * STEPS);
        assert_true(w.passes[i] == STEPS && w.images[i] == TINY_TRAIN);
    }
    check_partition(scratch_path("few"), &w, 1);
}

static void fewshot_sub_spaces_are_a_partition(void **state)
{
    static const struct {
        const char *edges;
        int children;
    } cases[] = {{"0,1", 25}, {"5,2", 25}};
    static witness w;

    (void)state;
    skip_on_other_backends();
    for (int i = 0; i < 2; i++) {
        const char *folder = i == 0 ? "few0" : "few1";
        /* 0.4 of one epoch is none; one it is. */
        train(folder, "fewshot", &(pada_fewshot_settings){cases[i].edges, 0}, 1, &w);
        assert_int_equal(w.n_phases, 1 + cases[i].children);
        assert_int_equal(w.n_epochs, 1 + cases[i].children);
        check_partition(scratch_path(folder), &w, 1);
    }
}

/* ---- GM ---- */

/* One run for all tests. */
static const witness *gm_run(void)
{
    static witness w;
    max_align_t settings[64];
    const pada_strategy_ops *ops;

    if (w.n_phases > 0) return &w;
    CHECK_OK(pada_strategy_find(&ops, "gm"));
    CHECK_OK(method_settings(ops, "--splits 2 --split-repeats 4 --warmup-epochs 1 --final-epochs 2",
                             settings, sizeof settings));
    train("gm", "gm", settings, 4, &w);
    return &w;
}

static void gm_restarts_at_the_last_level(void **state)
{
    (void)state;
    skip_on_other_backends();
    const witness *w = gm_run();
    assert_int_equal(w->n_phases, 7);
    CHECK_OK(pada_engine_init_weights(engine, 5));
    const uint64_t fresh = pada_engine_weights_hash(engine);
    for (int k = 0; k < 7; k++) {
        const bool inner = k == 1 || k == 2;
        assert_true(w->first[k] == (inner ? w->last[0] : fresh));
        assert_true(w->fresh_optimiser[k]);
        assert_true(w->last[k] != w->first[k]);
    }
    /* Children divide what their parent has. */
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < N_CELLS; i += 7) {
            const pada_path path = cell_at(i);
            const int n = pada_subspace_has(&w->parts[2 * k + 1], &space, &path) +
                          pada_subspace_has(&w->parts[2 * k + 2], &space, &path);
            assert_int_equal(n, pada_subspace_has(&w->parts[k], &space, &path));
        }
    for (int slot = 0; slot < 6; slot++) { /* two and three, or five */
        const int n = pada_subspace_choices(&w->parts[1], slot);
        assert_true(n == 5 || n == 2);
        assert_int_equal(pada_subspace_choices(&w->parts[2], slot), n == 5 ? 5 : 3);
    }
    check_partition(scratch_path("gm"), w, 3);
}

/* Epochs of probes move nothing, and count what they run. */
static void probes_cost_and_move_nothing(void **state)
{
    (void)state;
    skip_on_other_backends();
    const witness *w = gm_run();
    /* Each of three: an epoch, and probes on 3 + 1 whole batches. Then two epochs for each of four. */
    static const int phases[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6};
    assert_int_equal(w->n_epochs, 17);
    int trained = 0;
    for (int i = 0; i < 17; i++) {
        assert_int_equal(w->phase[i], phases[i]);
        const int probes = i >= 9 || i % 3 == 0 ? 0 : i % 3 == 1 ? 3 : 1;
        const int slots = phases[i] == 0 ? 6 : 5; /* that are whole */
        trained += probes == 0;
        assert_true(w->steps[i] == trained * STEPS);
        assert_true(w->passes[i] == (probes == 0 ? STEPS : probes * slots * 5));
        assert_true(w->images[i] == (probes == 0 ? TINY_TRAIN : w->passes[i] * BATCH));
        assert_true(w->gmacs[i] > 0);
    }
    /* Levels follow a schedule of four epochs, final ones their own. */
    CHECK_CLOSE(w->lr[0], 0.1, 1e-12);
    assert_true(isnan(w->lr[1])); /* probes */
    CHECK_CLOSE(w->lr[3], 0.1 * (1 + cos(acos(-1) / 4)) / 2, 1e-12);
    CHECK_CLOSE(w->lr[6], w->lr[3], 0);
    CHECK_CLOSE(w->lr[9], 0.1, 1e-12);
    CHECK_CLOSE(w->lr[10], 0.05, 1e-12);
}

static uint64_t hash_family(const char *folder)
{
    pada_family *family;

    CHECK_OK(pada_family_open(&family, scratch_path(folder), &space));
    assert_int_equal(pada_family_count(family), 2);
    const uint64_t hash = pada_family_hash(family);
    pada_family_close(family);
    return hash;
}

/* Stopped after every step, on this backend; test_trainer.c has more of it on cpu. */
static void a_stopped_run_ends_the_same(void **state)
{
    static const pada_recipe recipe = {
        .epochs = 1, .batch_size = BATCH, .lr = 0.1, .momentum = 0.9, .clip = 0.5, .augment = true};
    volatile sig_atomic_t stop = 1;
    max_align_t settings[64];
    pada_train_desc desc = {
        .engine = engine, .data = &data.base, .recipe = &recipe, .settings = settings};
    int stops = 0;
    pada_status st;

    (void)state;
    CHECK_OK(pada_strategy_find(&desc.strategy, "gm"));
    CHECK_OK(
        method_settings(desc.strategy, "--splits 1 --split-repeats 2", settings, sizeof settings));
    desc.run = scratch_path("at-once");
    CHECK_OK(pada_train(&desc));
    const uint64_t last = pada_engine_weights_hash(engine);
    desc.run = scratch_path("stopped");
    desc.stop = &stop;
    while ((st = pada_train(&desc)) == PADA_ESTOPPED)
        stops++;
    CHECK_OK(st);
    assert_int_equal(stops, 3 * STEPS + 2 - 1);
    assert_true(pada_engine_weights_hash(engine) == last);
    assert_true(hash_family("stopped") == hash_family("at-once"));
}

/* ---- the timetable ---- */

static const pada_phase *fake_phases;

static int fake_count(const void *self)
{
    (void)self;
    return 3;
}

static void fake_get(const void *self, int phase, pada_phase *out)
{
    (void)self;
    *out = fake_phases[phase];
}

static void epochs_follow_the_phases(void **state)
{
    static const pada_phase list[] = {{.parent = PADA_FRESH, .n_epochs = 2, .n_probes = 7},
                                      {.parent = 0, .n_epochs = 1},
                                      {.parent = PADA_FRESH, .n_epochs = 3, .n_probes = 3}};
    static const struct {
        int phase, epoch, probes, first, last, n_steps;
    } want[] = {
        {0, 0, 0, 1, 0, 4}, {0, 1, 0, 0, 0, 4}, {0, 2, 1, 0, 0, 3}, {0, 3, 1, 0, 0, 3},
        {0, 4, 1, 0, 1, 1}, {1, 0, 0, 1, 1, 4}, {2, 0, 0, 1, 0, 4}, {2, 1, 0, 0, 0, 4},
        {2, 2, 0, 0, 0, 4}, {2, 3, 1, 0, 1, 3},
    };
    const pada_phase_ops phases = {.count = fake_count, .get = fake_get};
    const pada_strategy_ops ops = {.phases = &phases};
    const pada_strategy_env env = {.n_images = 44, .batch_size = 12, .n_epochs = 99};
    pada_timetable table;
    int64_t steps = 0, trained = 0;

    (void)state;
    fake_phases = list;
    CHECK_OK(pada_timetable_init(&table, &ops, NULL, &env));
    assert_int_equal(table.n_phases, 3);
    assert_int_equal(table.n_epochs, 10);
    for (int i = 0; i < 10; i++) {
        pada_timetable_entry e;
        pada_timetable_find(&table, i, &e);
        assert_int_equal(e.phase, want[i].phase);
        assert_int_equal(e.epoch, want[i].epoch);
        assert_int_equal(e.probes, want[i].probes);
        assert_int_equal(e.first, want[i].first);
        assert_int_equal(e.last, want[i].last);
        assert_int_equal(e.n_steps, want[i].n_steps);
        assert_true(e.first_step == steps);
        steps += e.n_steps;
        if (!e.probes) trained += e.n_steps;
        assert_true(e.train_steps == trained);
    }
    assert_true(table.n_steps == steps);
    const pada_strategy_ops one = {.name = "one"};
    CHECK_OK(pada_timetable_init(&table, &one, NULL, &env));
    assert_int_equal(table.n_phases, 1);
    assert_int_equal(table.n_epochs, 99);
    assert_true(table.n_steps == 99 * 4);
    const pada_strategy_env whole = {.n_images = 48, .batch_size = 12, .n_epochs = 99};
    CHECK_OK(pada_timetable_init(&table, &one, NULL, &whole));
    assert_true(table.n_steps == 99 * 4);
    const pada_phase endless[] = {
        {.parent = -1, .n_epochs = 1 << 30}, {.n_epochs = 1 << 30}, {.n_epochs = 1 << 30}};
    fake_phases = endless;
    assert_int_equal(pada_timetable_init(&table, &ops, NULL, &env), PADA_EINVAL);
}

/* ---- files ---- */

static pada_subspace part_of(int slot, uint32_t choices)
{
    pada_subspace part;

    pada_subspace_init(&part, &space);
    part.allowed[slot] = choices;
    return part;
}

static void families_are_checked(void **state)
{
    const pada_path conv = cell_at(N_CELLS - 1), none = cell_at(0);
    const char *run = scratch_path("family");
    const pada_subspace low = part_of(0, 3), high = part_of(0, 28), all = part_of(0, 31);
    pada_family *family;
    char path[1300];
    int member;

    (void)state;
    CHECK_OK(pada_family_open(&family, run, &space)); /* a run with one supernet */
    assert_null(family);
    CHECK_OK(pada_family_begin(run));
    CHECK_OK(pada_family_open(&family, run, &space)); /* nothing is done yet */
    assert_int_equal(pada_family_count(family), 0);
    assert_int_equal(pada_family_find(family, &conv, &member), PADA_ENOENT);
    assert_non_null(strstr(pada_message(), "the training is not over"));
    pada_family_close(family);

    CHECK_OK(pada_engine_init_weights(engine, 1));
    const uint64_t first = pada_engine_weights_hash(engine);
    CHECK_OK(pada_family_keep(run, 0, false, &all, engine)); /* no judge of anything */
    CHECK_OK(pada_family_keep(run, 7, true, &high, engine));
    CHECK_OK(pada_engine_init_weights(engine, 2));
    CHECK_OK(pada_family_keep(run, 3, true, &low, engine));
    CHECK_OK(pada_family_open(&family, run, &space));
    assert_int_equal(pada_family_count(family), 2);
    CHECK_OK(pada_family_find(family, &none, &member)); /* by number */
    assert_int_equal(member, 0);
    CHECK_OK(pada_family_find(family, &conv, &member));
    assert_int_equal(member, 1);
    CHECK_OK(pada_family_enter(family, 1, engine));
    assert_true(pada_engine_weights_hash(engine) == first);
    const uint64_t hash = pada_family_hash(family);
    pada_family_close(family);

    CHECK_OK(pada_family_keep(run, 3, true, &low, engine)); /* other weights */
    CHECK_OK(pada_family_open(&family, run, &space));
    assert_true(pada_family_hash(family) != hash);
    pada_family_close(family);
    assert_survives_oom(pada_family_open(&family, run, &space), pada_family_close(family));
    assert_survives_oom(pada_family_inherit(run, 3, engine), (void)0);
    assert_survives_oom(pada_family_keep(run, 3, true, &low, engine), (void)0);

    CHECK_OK(pada_family_keep(run, 8, true, &all, engine));
    assert_int_equal(pada_family_open(&family, run, &space), PADA_EDATA);
    assert_null(family);
    assert_non_null(strstr(pada_message(), "overlaps"));
    const pada_subspace strange = part_of(2, 1u << 6);
    CHECK_OK(pada_family_keep(run, 8, true, &strange, engine));
    assert_int_equal(pada_family_open(&family, run, &space), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "0008.safetensors: its sub-space is none of nb201"));
    snprintf(path, sizeof path, "%s/supernets/0008.safetensors", run);
    CHECK_OK(pada_engine_save_weights(engine, path)); /* weights of something else */
    assert_int_equal(pada_family_open(&family, run, &space), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "0008.safetensors: tensor pada/supernet/choices"));
    scratch_write(path, "short", 5);
    assert_int_equal(pada_family_open(&family, run, &space), PADA_EDATA);
    unlink(path);
    snprintf(path, sizeof path, "%s/supernets/0003.safetensors", run);
    unlink(path);
    assert_int_equal(pada_family_inherit(run, 3, engine), PADA_ENOENT);
    assert_non_null(strstr(pada_message(), "0003.safetensors"));
}

/* A child without the file of its parent cannot begin, and says so. */
static void a_missing_parent_is_a_failure(void **state)
{
    static const pada_recipe recipe = {.epochs = 1, .batch_size = BATCH, .lr = 0.1};
    const pada_fewshot_settings settings = {"0", 1};
    volatile sig_atomic_t stop = 1; /* after every step */
    pada_train_desc desc = {.engine = engine,
                            .data = &data.base,
                            .recipe = &recipe,
                            .strategy = &pada_strategy_fewshot,
                            .settings = &settings,
                            .run = scratch_path("orphan"),
                            .stop = &stop};

    (void)state;
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(pada_train(&desc), PADA_ESTOPPED);
    unlink(scratch_path("orphan/supernets/0000.safetensors"));
    assert_int_equal(pada_train(&desc), PADA_ENOENT);
    assert_non_null(strstr(pada_message(), "supernets/0000.safetensors"));
    desc.run = NULL;
    assert_int_equal(pada_train(&desc), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "needs a run folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewshot_children_inherit),
        cmocka_unit_test(fewshot_sub_spaces_are_a_partition),
        cmocka_unit_test(gm_restarts_at_the_last_level),
        cmocka_unit_test(probes_cost_and_move_nothing),
        cmocka_unit_test(a_stopped_run_ends_the_same),
        cmocka_unit_test(epochs_follow_the_phases),
        cmocka_unit_test(families_are_checked),
        cmocka_unit_test(a_missing_parent_is_a_failure),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
