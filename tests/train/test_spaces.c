/* test_spaces.c - every method on every space: it trains, with the same bits when it is interrupted, or says in one line
 * why it does not. NAS-Bench-201 has tests of its own (test_trainer.c). */
#include <stdlib.h>

#include "base/scratch.h"
#include "check.h"
#include "engine/engine.h"
#include "engine/engine_weights.h"
#include "strategy/method_flags.h"
#include "strategy/strategy_fewshot.h"
#include "strategy/strategy_single.h"
#include "train/checkpoint_hash.h"
#include "train/tiny_data.h"
#include "train/trainer.h"

enum { EPOCHS = 2, BATCH = 22 /* two steps per epoch */ };

typedef struct refusal {
    const char *method, *why; /* part of the message */
} refusal;

typedef struct space_case {
    const char *name;
    const char *flags[8];
    pada_single_settings network;
    refusal refusals[8];
} space_case;

static const space_case cases[] = {
    {"macro",
     {"--channels=2", "--features=4", NULL},
     {"01201201"},
     {{"close", "share no weights"}}},
    {"proxyless",
     {"--widths=2,2,2,3,4,4,5,6,8", "--se=0.25", NULL},
     {"0 6 2 5 3 6 4 1 0 1 6 2 3 4 5 6 0 1 2 3 5"},
     {{"close", "share no weights"},
      {"spos_depth", "has more than 1048576 paths"},
      {"fairnas", "slot 1 has 7 choices, slot 0 has 6"},
      {"sumnas", "slot 1 has 7 choices, slot 0 has 6"}}},
    {"darts",
     {"--channels=2", "--cells=3", NULL},
     {"|sep_conv_3x3~0|skip_connect~1|+|none~0|dil_conv_3x3~2|+|max_pool_3x3~0|avg_pool_3x3~3|+"
      "|dil_conv_5x5~1|sep_conv_5x5~4|/|skip_connect~0|max_pool_3x3~1|+|avg_pool_3x3~0|"
      "skip_connect~2|+|sep_conv_5x5~1|dil_conv_3x3~3|+|none~0|dil_conv_5x5~1|"},
     {{"close", "share no weights"},
      {"spos_depth", "has no score conv_depth or blocks"},
      {"fairnas", "do not use all slots"},
      {"sumnas", "do not use all slots"},
      {"gm", "do not use all slots"}}},
};

static tiny_data data;
static volatile sig_atomic_t stop_now;

/* Settings small enough for two epochs. Borrowed until the next call. */
static const void *settings_of(const space_case *c, const pada_strategy_ops *method)
{
    static const pada_fewshot_settings split = {.split_edges = "0", .child_epochs = 1};
    static max_align_t settings[64];
    const char *flags = "";

    if (strcmp(method->name, "single") == 0) return &c->network;
    if (strcmp(method->name, "fewshot") == 0) return &split;
    if (strcmp(method->name, "gm") == 0)
        flags = "--splits 1 --split-repeats 2 --warmup-epochs 1 --final-epochs 1";
    if (strcmp(method->name, "nsas") == 0)
        flags = "--nsas-archive 4 --nsas-recent 6 --nsas-candidates 1";
    CHECK_OK(method_settings(method, flags, settings, sizeof settings));
    return settings;
}

/* Inside the second epoch, or the second phase. */
static void stop_soon(void *context, const pada_progress *progress)
{
    int *n_steps = context;

    (void)progress;
    if (++*n_steps == 3) stop_now = 1;
}

static void stop_soon_at_epoch(void *context, const pada_progress *progress,
                               const pada_epoch_metrics *metrics)
{
    (void)metrics;
    stop_soon(context, progress);
}

static pada_status train(pada_engine *engine, const space_case *c, const pada_strategy_ops *method,
                         const char *folder, bool stops)
{
    const pada_recipe recipe = {.epochs = EPOCHS,
                                .batch_size = BATCH,
                                .lr = 0.1,
                                .momentum = 0.9,
                                .clip = 0.5,
                                .augment = true,
                                .hold_out = strncmp(method->name, "magic_a", 7) == 0 ? 0.1 : 0,
                                .validate = TINY_TEST};

    int n_steps = 0;

    stop_now = 0;
    return pada_train(&(pada_train_desc){.engine = engine,
                                         .data = &data.base,
                                         .recipe = &recipe,
                                         .strategy = method,
                                         .settings = settings_of(c, method),
                                         .run = folder,
                                         .stop = &stop_now,
                                         .listener = {.context = &n_steps,
                                                      .step = stops ? stop_soon : NULL,
                                                      .epoch = stops ? stop_soon_at_epoch : NULL}});
}

static pada_engine *open_engine(const space_case *c, const char *backend_name)
{
    const pada_space_ops *ops;
    const pada_backend *backend;
    pada_space space;
    pada_engine *engine;

    CHECK_OK(pada_space_find(&ops, c->name));
    CHECK_OK(pada_backend_find(&backend, backend_name));
    CHECK_OK(pada_space_init(
        &space, ops,
        &(pada_space_config){.classes = TINY_CLASSES, .image_size = TINY_SIDE, .flags = c->flags}));
    CHECK_OK(pada_engine_create(&engine, &(pada_engine_desc){.space = &space,
                                                             .backend = backend,
                                                             .n_threads = 2,
                                                             .batch_size = BATCH,
                                                             .mode = PADA_TRAIN}));
    return engine;
}

static const char *refusal_of(const space_case *c, const char *method)
{
    for (const refusal *r = c->refusals; r->method; r++)
        if (strcmp(r->method, method) == 0) return r->why;
    return NULL;
}

static void check_method(pada_engine *engine, const space_case *c, const pada_strategy_ops *method)
{
    const char *why = refusal_of(c, method->name);
    char whole[64], parts[64];
    pada_status st;

    snprintf(whole, sizeof whole, "%s-%s-whole", c->name, method->name);
    snprintf(parts, sizeof parts, "%s-%s-parts", c->name, method->name);
    st = train(engine, c, method, scratch_path(whole), false);
    if (why) {
        assert_int_equal(st, PADA_EINVAL);
        if (!strstr(pada_message(), why))
            fail_msg("%s on %s: '%s', not '%s'", method->name, c->name, pada_message(), why);
        return;
    }
    if (st != PADA_OK) fail_msg("%s on %s: %s", method->name, c->name, pada_message());
    assert_int_equal(train(engine, c, method, scratch_path(parts), true), PADA_ESTOPPED);
    CHECK_OK(train(engine, c, method, scratch_path(parts), false));
    if (hash_checkpoint(scratch_path(whole)) != hash_checkpoint(scratch_path(parts)))
        fail_msg("%s on %s: other bits after a stop", method->name, c->name);
}

/* Slow builds leave most methods to the optimised one: their own code runs on NAS-Bench-201 in every build. */
static bool is_tried(const char *method)
{
#ifdef __SANITIZE_ADDRESS__
    return strcmp(method, "pa") == 0 || strcmp(method, "magic_at") == 0;
#else
    (void)method;
    return true;
#endif
}

static void methods_resume_or_say_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pada_engine *engine = open_engine(&cases[i], "cpu");
        for (int m = 0; m < pada_strategy_count(); m++)
            if (is_tried(pada_strategy_get(m)->name))
                check_method(engine, &cases[i], pada_strategy_get(m));
        pada_engine_destroy(engine);
    }
}

/* The oracle trains them too. */
static void ref_trains_every_space(void **state)
{
    const pada_strategy_ops *method;

    (void)state;
    CHECK_OK(pada_strategy_find(&method, "pa"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pada_engine *engine = open_engine(&cases[i], "ref");
        char folder[64];
        snprintf(folder, sizeof folder, "%s-ref", cases[i].name);
        CHECK_OK(train(engine, &cases[i], method, scratch_path(folder), false));
        pada_engine_destroy(engine);
    }
}

static int open_all(void **state)
{
    tiny_data_init(&data);
    return scratch_setup(state);
}

/* The weights that PA ends with. */
static uint64_t train_pa(const space_case *c, const char *flags)
{
    static max_align_t settings[64];
    const pada_recipe recipe = {
        .epochs = EPOCHS, .batch_size = BATCH / 2, .lr = 0.1, .clip = 0.5, .augment = true};
    const pada_strategy_ops *method;
    pada_engine *engine = open_engine(c, "cpu");

    CHECK_OK(pada_strategy_find(&method, "pa"));
    CHECK_OK(method_settings(method, flags, settings, sizeof settings));
    CHECK_OK(pada_train(&(pada_train_desc){.engine = engine,
                                           .data = &data.base,
                                           .recipe = &recipe,
                                           .strategy = method,
                                           .settings = settings}));
    const uint64_t hash = pada_engine_weights_hash(engine);
    pada_engine_destroy(engine);
    return hash;
}

/* Blocks have three weight tensors; operators of NAS-Bench-201 one, so that nothing changes there. */
static void norms_of_several_tensors(void **state)
{
    static const space_case nb201 = {.name = "nb201", .flags = {"--channels=2", "--cells=1", NULL}};
    static const char *const together = "--path-tensors concat --path-schedule const",
                             *const each = "--path-tensors sum --path-schedule const";

    (void)state;
    assert_true(train_pa(&cases[0], each) != train_pa(&cases[0], together));
    assert_true(train_pa(&cases[0], each) == train_pa(&cases[0], "--path-schedule const"));
    assert_true(train_pa(&nb201, each) == train_pa(&nb201, together));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_resume_or_say_why),
        cmocka_unit_test(norms_of_several_tensors),
        cmocka_unit_test(ref_trains_every_space),
    };
    return cmocka_run_group_tests(tests, open_all, scratch_teardown);
}
