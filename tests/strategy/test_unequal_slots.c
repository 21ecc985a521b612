/* test_unequal_slots.c - methods on a space whose slots differ and are not always used: they train, or say why not. */
#include <stdlib.h>

#include "check.h"
#include "engine/engine_weights.h"
#include "space/choice_labels.h"
#include "space/toy_space.h"
#include "strategy/method_flags.h"
#include "strategy/path_importance.h"
#include "strategy/strategy_fewshot.h"
#include "strategy/strategy_single.h"

enum { SIDE = 8, BATCH = 4, STEPS = 12, IMAGES = STEPS * BATCH, HELD_OUT = 4 };

static void labels_join_choices(void **state)
{
    const pada_space space = toy_space();
    pada_choice_labels labels;

    (void)state;
    pada_choice_labels_init(&labels, &space, true);
    assert_int_equal(labels.n, 6);
    assert_string_equal(labels.names[labels.of[TOY_EDGE][1]], "1x1");
    assert_int_equal(labels.of[TOY_EDGE][1], labels.of[TOY_DEPTH][0]);
    assert_int_equal(labels.n_slots[labels.of[TOY_EDGE][1]], 2);
    assert_int_equal(labels.n_slots[labels.of[TOY_EDGE][2]], 1);
    assert_string_equal(labels.names[5], "3x3");
}

/* Three steps: a 1x1 convolution in both slots; then in one, while the edge is not taken; then two of them. */
static void learn(pada_path_importance *pi, const pada_space *space, int scope)
{
    static const pada_path paths[] = {{{0, 1, 1}}, {{0, 0, 1}}, {{1, 0, 1}}};
    static const double site_norms[] = {2, 4, 5, 0, 5, 0}, clip[] = {1, 1, 1};
    static pada_strategy_env env;
    const pada_log log = {.n_steps = 3,
                          .n_passes = 3,
                          .n_sites = 2,
                          .paths = paths,
                          .site_norms = site_norms,
                          .clip_factors = clip};

    env = (pada_strategy_env){.space = space, .n_epochs = 10};
    *pi = (pada_path_importance){0};
    CHECK_OK(
        pada_path_importance_init(pi, &env, &(pada_path_settings){.tau_max = 1, .scope = scope}));
    pada_path_importance_end_epoch(pi, &log, &(pada_epoch){.index = 4}); /* tau = 0.4 */
}

static void norms_are_shared_by_label(void **state)
{
    const pada_space space = toy_space();
    static pada_path_importance pi;

    (void)state;
    learn(&pi, &space, 0); /* 1x1: (2 + 4) / 2 slots, then 5; twice: 5; 3x3: never */
    CHECK_CLOSE(pi.sampler.p[TOY_DEPTH][0], 0.3 + 0.4 * 3.25 / 5.75, 1e-15);
    CHECK_CLOSE(pi.sampler.p[TOY_DEPTH][1], 0.3 + 0.4 * 2.5 / 5.75, 1e-15);
    CHECK_CLOSE(pi.sampler.p[TOY_TAKE][0], 0.5, 1e-15); /* has no norms */
    CHECK_CLOSE(pi.sampler.p[TOY_EDGE][0], 0.2, 1e-15);
    CHECK_CLOSE(pi.sampler.p[TOY_EDGE][1], 0.6, 1e-15);
    learn(&pi, &space, 1); /* 1x1: 2 and 5 in one slot, 4 in the other */
    CHECK_CLOSE(pi.sampler.p[TOY_DEPTH][0], 0.3 + 0.4 * 3 / 5.5, 1e-15);
    CHECK_CLOSE(pi.sampler.p[TOY_EDGE][1], 0.6, 1e-15);
}

static int toy_group(const pada_space *space, int slot)
{
    (void)space;
    return slot == TOY_EDGE;
}

/* Slots of two groups share nothing, unless the scope is global. */
static void groups_are_told_apart(void **state)
{
    static const double shared = 0.3 + 0.4 * 3.25 / 5.75, apart = 0.3 + 0.4 * 3 / 5.5;
    pada_space_ops ops = toy_ops;
    pada_space space = toy_space();
    static pada_path_importance pi;

    (void)state;
    ops.slot_group = toy_group;
    space.ops = &ops;
    learn(&pi, &space, 0); /* as if every slot had its own, since two slots are alone */
    CHECK_CLOSE(pi.sampler.p[TOY_DEPTH][0], apart, 1e-15);
    CHECK_CLOSE(pi.sampler.p[TOY_EDGE][1], 0.6, 1e-15);
    learn(&pi, &space, 2);
    CHECK_CLOSE(pi.sampler.p[TOY_DEPTH][0], shared, 1e-15);
}

/* What a path does not use has its first choice: equal networks are equal paths. */
static void unused_slots_are_settled(void **state)
{
    const pada_space space = toy_space();
    pada_path_sampler sampler;
    pada_rng rng;

    (void)state;
    pada_path_sampler_init(&sampler, &space);
    pada_rng_init(&rng, 1, "test", 0);
    for (int i = 0; i < 200; i++) {
        pada_path drawn, random;
        pada_path_sampler_draw(&sampler, 1, i, false, &drawn);
        pada_path_random(&space, &rng, &random);
        if (drawn.choice[TOY_TAKE] == 0) assert_int_equal(drawn.choice[TOY_EDGE], 0);
        if (random.choice[TOY_TAKE] == 0) assert_int_equal(random.choice[TOY_EDGE], 0);
    }
}

/* Only slots that the path uses have a part in its probability. */
static void unused_slots_do_not_change_the_ratio(void **state)
{
    const pada_space space = toy_space();
    pada_path_sampler sampler;

    (void)state;
    pada_path_sampler_init(&sampler, &space);
    sampler.p[TOY_EDGE][0] = sampler.p[TOY_EDGE][1] = 0.25;
    sampler.p[TOY_EDGE][2] = 0.5;
    CHECK_CLOSE(pada_path_sampler_ratio(&sampler, &(pada_path){{0, 0, 2}}), 1, 1e-15);
    CHECK_CLOSE(pada_path_sampler_ratio(&sampler, &(pada_path){{0, 1, 2}}), 2.0 / 3, 1e-15);
}

typedef struct fixture {
    pada_space space;
    pada_engine *engine;
    pada_strategy_env env;
    pada_draws draws;
    float images[BATCH * 3 * SIDE * SIDE]; /* of every batch */
    int32_t labels[IMAGES + HELD_OUT], numbers[IMAGES + HELD_OUT];
} fixture;

static void open_fixture(fixture *f)
{
    double pixels[BATCH * 3 * SIDE * SIDE];
    const pada_backend *backend;

    *f = (fixture){.space = toy_space()};
    CHECK_OK(pada_backend_find(&backend, "ref"));
    CHECK_OK(pada_engine_create(&f->engine, &(pada_engine_desc){.space = &f->space,
                                                                .backend = backend,
                                                                .batch_size = BATCH,
                                                                .mode = PADA_TRAIN}));
    CHECK_OK(pada_engine_init_weights(f->engine, 1));
    random_normal(pixels, BATCH * 3 * SIDE * SIDE, 2);
    for (int i = 0; i < BATCH * 3 * SIDE * SIDE; i++)
        f->images[i] = (float)pixels[i];
    for (int i = 0; i < IMAGES + HELD_OUT; i++) {
        f->labels[i] = i % 10;
        f->numbers[i] = i;
    }
    f->draws = (pada_draws){.batch = {.n = BATCH, .images = f->images, .labels = f->labels},
                            .indices = f->numbers};
    f->env = (pada_strategy_env){.space = &f->space,
                                 .params = pada_engine_params(f->engine),
                                 .labels = f->labels,
                                 .images = f->numbers,
                                 .n_images = IMAGES,
                                 .n_classes = 10,
                                 .n_epochs = 2,
                                 .batch_size = BATCH,
                                 .seed = 3};
}

/* An epoch of steps, and what is learnt from it. */
static void train(fixture *f, const pada_strategy_ops *ops, void *self)
{
    const pada_epoch epoch = {.optim = {.lr = 0.1}};
    int32_t order[IMAGES];
    pada_log log;

    CHECK_OK(pada_engine_log_begin(f->engine, STEPS, STEPS * 16, STEPS * 16 * BATCH));
    CHECK_OK(pada_strategy_begin_epoch(ops, self, &f->env, &epoch, order));
    for (int i = 0; i < STEPS; i++) {
        f->draws.indices = order + i * BATCH;
        CHECK_OK(ops->step(self, f->engine, &f->draws, &epoch, i));
    }
    CHECK_OK(pada_engine_log_read(f->engine, &log));
    assert_int_equal(log.n_steps, STEPS);
    for (int i = 0; i < log.n_passes; i++)
        assert_true(pada_path_is_valid(&f->space, &log.paths[i]));
    if (ops->end_epoch) CHECK_OK(ops->end_epoch(self, &log, &epoch, order));
}

static void run_method(const pada_strategy_ops *ops, const void *settings, const char *refusal)
{
    void *self = calloc(1, ops->state_bytes);
    fixture f;

    open_fixture(&f);
    const pada_status st = ops->init(self, &f.env, settings);
    if (refusal) {
        assert_int_equal(st, PADA_EINVAL);
        if (!strstr(pada_message(), refusal))
            fail_msg("%s: '%s', not '%s'", ops->name, pada_message(), refusal);
    } else {
        CHECK_OK(st);
        train(&f, ops, self);
    }
    if (ops->deinit) ops->deinit(self);
    free(self);
    pada_engine_destroy(f.engine);
}

static void methods_train_or_say_why(void **state)
{
    static const struct {
        const char *method, *refusal;
    } refusals[] = {
        {"fairnas", "do not use all slots"},
        {"sumnas", "do not use all slots"},
        {"gm", "not of the same weights"},
        {"close", "share no weights"},
        {"spos_depth", "has no score conv_depth or blocks"},
        {"spos_macs", "has no path in range 2 of 3"},
    };
    static const pada_fewshot_settings split = {.split_edges = "2", .child_epochs = 1};
    static const pada_single_settings network = {"112"};
    static max_align_t settings[64];

    (void)state;
    for (int i = 0; i < pada_strategy_count(); i++) {
        const pada_strategy_ops *ops = pada_strategy_get(i);
        const char *refusal = NULL;
        if (strncmp(ops->name, "magic_a", 7) == 0)
            continue; /* wants held-out images of a data set */
        for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++)
            if (strcmp(ops->name, refusals[k].method) == 0) refusal = refusals[k].refusal;
        CHECK_OK(method_settings(ops, "", settings, sizeof settings));
        if (strcmp(ops->name, "single") == 0)
            run_method(ops, &network, NULL);
        else if (strcmp(ops->name, "fewshot") == 0)
            run_method(ops, &split, NULL);
        else
            run_method(ops, settings, refusal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_join_choices),
        cmocka_unit_test(norms_are_shared_by_label),
        cmocka_unit_test(groups_are_told_apart),
        cmocka_unit_test(unused_slots_are_settled),
        cmocka_unit_test(unused_slots_do_not_change_the_ratio),
        cmocka_unit_test(methods_train_or_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
