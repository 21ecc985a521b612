/* test_optimizers.c - every optimiser: steps against plain loops, runs that resume, one set of bits. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "engine/engine_inspect.h"
#include "engine/engine_snapshot.h"
#include "engine/engine_weights.h"
#include "engine/uses.h"
#include "train/checkpoint.h"
#include "train/tiny_engine.h"
#include "train/trainer.h"

enum { BATCH = 8, N_STEPS = 6, MOST = 1 << 15 };

static tiny_data data;

static pada_engine *engine_with(const pada_optimizer *optimizer, const char *backend_name)
{
    const pada_space_ops *ops;
    const pada_backend *backend;
    pada_space space;
    pada_engine *e;

    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_backend_find(&backend, backend_name));
    CHECK_OK(pada_space_init(
        &space, ops,
        &(pada_space_config){
            .channels = 4, .cells = 1, .classes = TINY_CLASSES, .image_size = TINY_SIDE}));
    if (pada_engine_create(&e, &(pada_engine_desc){.space = &space,
                                                   .backend = backend,
                                                   .n_threads = 2,
                                                   .batch_size = BATCH,
                                                   .mode = PADA_TRAIN,
                                                   .optimizer = optimizer}) != PADA_OK)
        return NULL;
    CHECK_OK(pada_engine_init_weights(e, 3));
    return e;
}

static void names_are_found(void **state)
{
    const pada_optimizer *found;
    const pada_opt *option = pada_recipe_options;
    char choices[256] = "";

    (void)state;
    for (const pada_optimizer *o = pada_optimizers; o->name; o++) {
        CHECK_OK(pada_optimizer_find(&found, o->name));
        assert_ptr_equal(found, o);
        assert_int_equal(o->rule, o - pada_optimizers);
        if (choices[0]) strcat(choices, "|");
        strcat(choices, o->name);
    }
    while (strcmp(option->name, "optimizer") != 0)
        option++;
    assert_string_equal(option->choices, choices); /* an index is stored */
    assert_int_equal(pada_optimizer_find(&found, "rmsprob"), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "rmsprop"));
}

/* ---- steps ---- */

/* All parameters in a row, with what an optimiser remembers of each. */
typedef struct model {
    double w[MOST], g[MOST], s0[MOST], s1[MOST];
    int t[MOST]; /* per parameter */
    bool sampled[MOST];
} model;

static void read_all(const pada_engine *e, void (*read)(const pada_engine *, int, double *),
                     double *to)
{
    for (int i = 0; i < pada_params_count(pada_engine_params(e)); i++)
        read(e, i, to + pada_params_get(pada_engine_params(e), i)->offset);
}

static void model_element(const pada_optimizer *o, const pada_optim *by, model *m, int64_t i, int t)
{
    const double g = m->g[i] + by->weight_decay * m->w[i];

    if (strcmp(o->name, "sgd") == 0) {
        m->s0[i] = by->momentum * m->s0[i] + g;
        m->w[i] -= by->lr * m->s0[i];
    } else if (strcmp(o->name, "rmsprop") == 0) {
        m->s0[i] = 0.9 * m->s0[i] + 0.1 * g * g;
        m->s1[i] = by->momentum * m->s1[i] + by->lr * g / sqrt(m->s0[i] + 1e-3);
        m->w[i] -= m->s1[i];
    } else {
        m->s0[i] = by->momentum * m->s0[i] + (1 - by->momentum) * g;
        m->s1[i] = 0.999 * m->s1[i] + 0.001 * g * g;
        m->w[i] -= by->lr * m->s0[i] / (1 - pow(by->momentum, t)) /
                   (sqrt(m->s1[i] / (1 - pow(0.999, t))) + 1e-8);
    }
}

static void model_step(const pada_engine *e, const pada_optimizer *o, const pada_optim *by,
                       const pada_path *path, model *m)
{
    const pada_params *params = pada_engine_params(e);

    for (int k = 0; k < pada_params_count(params); k++) {
        const pada_param *p = pada_params_get(params, k);
        const bool used = uses(e, p, path);
        m->sampled[k] |= used;
        if (by->mode == PADA_OPTIM_DENSE ? !m->sampled[k] : !used) continue;
        m->t[k]++;
        for (int64_t i = p->offset; i < p->offset + p->count; i++)
            model_element(o, by, m, i, m->t[k]);
    }
}

static void make_gradients(pada_engine *e, const pada_path *path)
{
    static float images[BATCH * 3 * TINY_SIDE * TINY_SIDE];
    int32_t labels[BATCH];

    pada_dataset_fill(&data.base, PADA_SPLIT_TRAIN, 0, BATCH, images, labels);
    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward(
        e, path, &(pada_batch){.n = BATCH, .images = images, .labels = labels}, PADA_TRAIN));
    pada_engine_backward(e);
}

static void check_steps(const pada_optimizer *o, pada_optim_mode mode)
{
    static const pada_path paths[] = {
        {{3, 1, 4, 2, 0, 3}}, {{2, 2, 2, 2, 2, 2}}, {{3, 3, 1, 1, 4, 2}}};
    static model m;
    static double have[MOST];
    const pada_optim by = {.lr = 0.01, .momentum = 0.8, .weight_decay = 0.01, .mode = mode};
    pada_engine *e = engine_with(o, "ref");
    pada_step_stats stats;

    assert_true(pada_params_elements(pada_engine_params(e)) <= MOST);
    m = (model){.w = {0}};
    for (int i = 0; i < MOST; i++)
        m.s0[i] = strcmp(o->name, "rmsprop") == 0;
    read_all(e, pada_engine_read_weight, m.w);
    for (int i = 0; i < N_STEPS; i++) {
        make_gradients(e, &paths[i % 3]);
        read_all(e, pada_engine_read_grad, m.g);
        if (i == 2) { /* a step that is taken back leaves no trace */
            CHECK_OK(pada_engine_snapshot(e));
            CHECK_OK(pada_engine_step(e, &by, &stats));
            pada_engine_restore(e);
        }
        if (i == 3) { /* nor does one with other states, but for its move of the weights */
            CHECK_OK(pada_engine_snapshot(e));
            CHECK_OK(pada_engine_swap_states(e));
            CHECK_OK(pada_engine_step(e, &by, &stats));
            CHECK_OK(pada_engine_swap_states(e));
            pada_engine_restore_weights(e);
        }
        CHECK_OK(pada_engine_step(e, &by, &stats));
        model_step(e, o, &by, &paths[i % 3], &m);
        read_all(e, pada_engine_read_weight, have);
        for (int64_t k = 0; k < pada_params_elements(pada_engine_params(e)); k++)
            CHECK_CLOSE(have[k], m.w[k], 1e-12);
    }
    pada_engine_destroy(e);
}

static void steps_are_those_of_plain_loops(void **state)
{
    (void)state;
    for (const pada_optimizer *o = pada_optimizers; o->name; o++) {
        check_steps(o, PADA_OPTIM_DENSE);
        check_steps(o, PADA_OPTIM_SKIP);
    }
}

/* ---- runs ---- */

static volatile sig_atomic_t stop_now;

static void stop_soon(void *context, const pada_progress *progress)
{
    (void)context, (void)progress;
    stop_now = 1;
}

/* Stops after every step if asked to. */
static pada_status train(pada_engine *e, const pada_optimizer *o, const char *folder, bool stops)
{
    const pada_strategy_ops *spos;
    const pada_recipe recipe = {.epochs = 2,
                                .batch_size = BATCH,
                                .lr = 0.01,
                                .momentum = 0.9,
                                .weight_decay = 1e-3,
                                .clip = 1,
                                .augment = true,
                                .optimizer = (int)(o - pada_optimizers)};

    CHECK_OK(pada_strategy_find(&spos, "spos"));
    stop_now = 0;
    return pada_train(&(pada_train_desc){.engine = e,
                                         .data = &data.base,
                                         .recipe = &recipe,
                                         .strategy = spos,
                                         .run = folder,
                                         .stop = &stop_now,
                                         .listener = {.step = stops ? stop_soon : NULL}});
}

static void runs_resume_with_all_states(void **state)
{
    uint64_t hashes[8];
    int n = 0;

    (void)state;
    for (const pada_optimizer *o = pada_optimizers; o->name; o++, n++) {
        char whole[64], parts[64];
        pada_status st = PADA_ESTOPPED;
        snprintf(whole, sizeof whole, "%s-whole", o->name);
        snprintf(parts, sizeof parts, "%s-parts", o->name);
        pada_engine *e = engine_with(o, "cpu");
        CHECK_OK(train(e, o, scratch_path(whole), false));
        hashes[n] = pada_engine_weights_hash(e);
        for (int k = 0; k < 100 && st == PADA_ESTOPPED; k++)
            st = train(e, o, scratch_path(parts), true);
        CHECK_OK(st);
        assert_true(pada_engine_weights_hash(e) == hashes[n]);
        for (int k = 0; k < n; k++)
            assert_true(hashes[k] != hashes[n]);
        pada_engine_destroy(e);
    }
}

static void all_sets_give_the_same_bits(void **state)
{
    static const char *const sets[] = {"cpu-avx512", "cpu-avx2", "cpu-fma", "cpu-plain"};

    (void)state;
    for (const pada_optimizer *o = pada_optimizers; o->name; o++) {
        uint64_t first = 0;
        for (int i = 0; i < 4; i++) {
            char folder[64];
            pada_engine *e = engine_with(o, sets[i]);
            if (!e) continue; /* not on this machine */
            snprintf(folder, sizeof folder, "%s-%s", o->name, sets[i]);
            CHECK_OK(train(e, o, scratch_path(folder), false));
            const uint64_t hash = pada_engine_weights_hash(e);
            if (first == 0) first = hash;
            if (hash != first) fail_msg("%s: other weights on %s", o->name, sets[i]);
            pada_engine_destroy(e);
        }
    }
}

static int open_all(void **state)
{
    tiny_data_init(&data);
    return scratch_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(steps_are_those_of_plain_loops),
        cmocka_unit_test(runs_resume_with_all_states),
        cmocka_unit_test(all_sets_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, open_all, scratch_teardown);
}
