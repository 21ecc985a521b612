/* test_same_bits.c - every method trains to the same bits with every instruction set and any number
 * of threads, and to those of other machines: the hashes below. PADA_TEST_PRINT: says them, after a
 * change that is meant to change results. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/scratch.h"
#include "check.h"
#include "strategy/method_flags.h"
#include "strategy/strategy_fewshot.h"
#include "strategy/strategy_single.h"
#include "train/tiny_engine.h"
#include "train/trainer.h"

/* Four chunks of unequal length; channels that fill no vector, one to two of them, or six. */
enum { BATCH = 33, CHANNELS = 6, EPOCHS = 3 };

typedef struct method {
    const char *name, *flags;
    const void *settings; /* instead of flags, where there is text among them */
    int blocks;
    double hold_out;
    bool with_plain; /* the slowest set is tried with some only */
    uint64_t hash;
} method;

#define NETWORK                                        \
    "|nor_conv_3x3~0|+|avg_pool_3x3~0|nor_conv_1x1~1|" \
    "+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"

static const method methods[] = {
    {"pada", "", .with_plain = true, .hash = 0x8d4e225850854dbb},
    {"spos", "", .hash = 0x3f9fe36a0a06c395},
    {"spos_depth", "", .hash = 0x55166ffd6bf77235},
    {"spos_macs", "", .hash = 0x4e7d08d3f1621dfa},
    {"pa", "--path-update step", .hash = 0x9c0369dcee87f31e},
    {"da", "", .hash = 0xf98f1e1264147d5c},
    {"uniform_replacement", "", .hash = 0xbc8a97000cfd4cb9},
    {"conv_anneal", "", .hash = 0xc00bd6e7e5c49286},
    {"fairnas", "", .hash = 0x324873b40b258b3e},
    {"sumnas", "", .hash = 0x6feaf357714da8ae},
    {"nsas", "", .hash = 0xf74b37f759d6b40c},
    {"magic_t", "", .hold_out = 0.2, .hash = 0x825cbc48a882b70d},
    {"magic_a", "", .hold_out = 0.2, .hash = 0x36f79fa481034eec},
    {"magic_at", "--align 2", .hold_out = 0.2, .with_plain = true, .hash = 0x9e6ceab5ffe67e04},
    {"close", "--close-grow 0.5", .blocks = 2, .hash = 0xb6cf5f824a3e4228},
    {"fewshot", .settings = &(pada_fewshot_settings){"3", 1}, .hash = 0x7eed197f3482b672},
    {"gm", "--splits 1 --split-repeats 2 --warmup-epochs 1 --final-epochs 1",
     .hash = 0x4f42d69f838d4bdd},
    {"single", .settings = &(pada_single_settings){NETWORK}, .hash = 0x02fca30d46cfeff8},
};

static const method *method_of(const pada_strategy_ops *ops)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, ops->name) == 0) return &methods[i];
    fail_msg("method %s has no hash here", ops->name);
    return NULL;
}

static tiny_data data;

/* The weights and the loss of every epoch, of every supernet. */
static void see_epoch(void *context, const pada_progress *progress, const pada_epoch_metrics *m)
{
    uint64_t *hash = context;
    const double loss = pada_epoch_metrics_get(m, "loss");

    (void)progress;
    *hash = pada_hash(&m->weights_hash, sizeof m->weights_hash, *hash);
    *hash = pada_hash(&loss, sizeof loss, *hash);
}

/* The hash of what the method makes of the engine, which is destroyed. */
static uint64_t train(const method *m, const pada_strategy_ops *ops, pada_engine *e,
                      const char *name)
{
    static max_align_t settings[64];
    const pada_recipe recipe = {.epochs = EPOCHS,
                                .batch_size = BATCH,
                                .lr = 0.05,
                                .momentum = 0.9,
                                .weight_decay = 1e-3,
                                .clip = 5,
                                .hold_out = m->hold_out,
                                .augment = true};
    char run[1300];
    uint64_t hash = 0;

    snprintf(run, sizeof run, "%s/%s", scratch_path("."), name);
    if (m->flags) CHECK_OK(method_settings(ops, m->flags, settings, sizeof settings));
    CHECK_OK(pada_train(&(pada_train_desc){.engine = e,
                                           .data = &data.base,
                                           .recipe = &recipe,
                                           .strategy = ops,
                                           .settings = m->flags ? settings : m->settings,
                                           .run = run,
                                           .listener = {.context = &hash, .epoch = see_epoch}}));
    pada_engine_destroy(e);
    return hash;
}

static bool is_here(const pada_backend *backend)
{
    pada_device *device;

    if (backend->open(&device, 1) != PADA_OK) return false;
    backend->close(device);
    return true;
}

static const char *const sets[] = {"cpu-avx512", "cpu-avx2", "cpu-fma", "cpu-plain"};
enum { N_SETS = sizeof sets / sizeof *sets };

/* Trains on every set that is here, with one and two threads, an engine that `open` makes for `what`; returns how many
 * runs have another hash. */
static int try_sets(const method *m, const char *title,
                    pada_engine *(*open)(const void *, const pada_backend *, int), const void *what,
                    uint64_t expected)
{
    const pada_strategy_ops *ops;
    int wrong = 0;

    CHECK_OK(pada_strategy_find(&ops, m->name));
    for (int k = 0; k < N_SETS; k++) {
        const bool plain = strcmp(sets[k], "cpu-plain") == 0;
        const pada_backend *backend;
        CHECK_OK(pada_backend_find(&backend, sets[k]));
        if ((plain && !m->with_plain) || !is_here(backend)) continue;
        for (int n_threads = 1; n_threads <= (plain ? 1 : 2); n_threads++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%s-%d", title, sets[k], n_threads);
            const uint64_t hash = train(m, ops, open(what, backend, n_threads), name);
            if (hash != expected || getenv("PADA_TEST_PRINT"))
                print_message("%s, %s, %d threads: 0x%016" PRIx64 "\n", title, sets[k], n_threads,
                              hash);
            wrong += hash != expected;
        }
    }
    return wrong;
}

static pada_engine *open_nb201(const void *what, const pada_backend *backend, int n_threads)
{
    pada_space space;

    return tiny_wide_engine(&space, backend, n_threads, BATCH, ((const method *)what)->blocks,
                            CHANNELS);
}

static void all_sets_give_the_same_bits(void **state)
{
    int wrong = 0;

    (void)state;
    for (int i = 0; i < pada_strategy_count(); i++) {
        const method *m = method_of(pada_strategy_get(i));
        wrong += try_sets(m, m->name, open_nb201, m, m->hash);
    }
    if (wrong) fail_msg("%d runs ended with other weights than those above", wrong);
}

/* Pools, concatenations, depthwise and dilated convolutions; an odd number of channels. */
typedef struct space_case {
    const char *name, *flags[3];
    uint64_t hash;
} space_case;

static const space_case spaces[] = {
    {"macro", {"--channels=5", "--features=20", NULL}, .hash = 0x5fa76da4688be949},
    {"darts", {"--channels=5", "--cells=3", NULL}, .hash = 0xd3ef09aafbace3d9},
};

static pada_engine *open_space(const void *what, const pada_backend *backend, int n_threads)
{
    const space_case *c = what;
    const pada_space_ops *ops;
    pada_space space;
    pada_engine *e;

    CHECK_OK(pada_space_find(&ops, c->name));
    CHECK_OK(pada_space_init(
        &space, ops,
        &(pada_space_config){.classes = TINY_CLASSES, .image_size = TINY_SIDE, .flags = c->flags}));
    CHECK_OK(pada_engine_create(&e, &(pada_engine_desc){.space = &space,
                                                        .backend = backend,
                                                        .n_threads = n_threads,
                                                        .batch_size = BATCH,
                                                        .mode = PADA_TRAIN}));
    return e;
}

static void other_spaces_have_the_same_bits(void **state)
{
    static const method spos = {"spos", "", .with_plain = true};
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        wrong += try_sets(&spos, spaces[i].name, open_space, &spaces[i], spaces[i].hash);
    if (wrong) fail_msg("%d runs ended with other weights than those above", wrong);
}

static int make_data(void **state)
{
    tiny_data_init(&data);
    return scratch_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_sets_give_the_same_bits, make_data, scratch_teardown),
        cmocka_unit_test_setup_teardown(other_spaces_have_the_same_bits, make_data,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
