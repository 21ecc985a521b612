/* test_engine.c - the verbs of the engine: memory, SGD in its two modes, snapshots, and what is
 * refused. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/engine_gradients.h"
#include "engine/engine_inspect.h"
#include "engine/engine_log.h"
#include "engine/engine_results.h"
#include "engine/engine_snapshot.h"
#include "engine/engine_weights.h"
#include "engine/uses.h"
#include "space/nb201_cells.h"

enum { CLASSES = 10, SIZE = 8, MAX_BATCH = 9, PIXELS = 3 * SIZE * SIZE };

static float images[MAX_BATCH * PIXELS];
static int32_t labels[MAX_BATCH];

static int make_data(void **state)
{
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 3, "test engine", 0);
    for (int i = 0; i < MAX_BATCH * PIXELS; i++)
        images[i] = (float)pada_rng_normal(&rng);
    for (int i = 0; i < MAX_BATCH; i++)
        labels[i] = (int32_t)pada_rng_below(&rng, CLASSES);
    return 0;
}

static pada_batch batch_of(int n)
{
    return (pada_batch){.n = n, .images = images, .labels = labels};
}

static pada_path path_of(int a, int b, int c, int d, int e, int f)
{
    return (pada_path){{(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d, (uint8_t)e, (uint8_t)f}};
}

/* NULL: this machine lacks the instructions or the device, or the build the backend. */
static pada_engine *make_engine_of(const char *name, int channels, int batch_size, pada_mode mode)
{
    const pada_space_config config = {
        .channels = channels, .cells = 1, .classes = CLASSES, .image_size = SIZE};
    const pada_space space = nb201_space(&config);
    const pada_backend *backend;
    pada_engine *e;

    if (pada_backend_find(&backend, name) == PADA_EDEVICE) return NULL;
    const pada_status st = pada_engine_create(&e, &(pada_engine_desc){.space = &space,
                                                                      .backend = backend,
                                                                      .n_threads = 2,
                                                                      .batch_size = batch_size,
                                                                      .mode = mode});
    if (st == PADA_EDEVICE) return NULL;
    CHECK_OK(st);
    CHECK_OK(pada_engine_init_weights(e, 1));
    return e;
}

static pada_engine *make_engine(const char *name)
{
    return make_engine_of(name, 4, MAX_BATCH, PADA_TRAIN);
}

static void add_gradients(pada_engine *e, const pada_path *path, int n)
{
    const pada_batch batch = batch_of(n);

    CHECK_OK(pada_engine_forward(e, path, &batch, PADA_TRAIN));
    pada_engine_backward(e);
}

/* ---- all parameters as doubles ---- */

typedef void read_fn(const pada_engine *e, int param, double *to);

static int64_t total(const pada_engine *e)
{
    return pada_params_elements(pada_engine_params(e));
}

/* All weights or gradients at their offsets; gaps are zero. */
static double *read_all(const pada_engine *e, read_fn *read)
{
    const pada_params *params = pada_engine_params(e);
    double *all = calloc((size_t)total(e), sizeof *all);

    assert_non_null(all);
    for (int i = 0; i < pada_params_count(params); i++)
        read(e, i, all + pada_params_get(params, i)->offset);
    return all;
}

/* ---- memory ---- */

/* An engine that is being created, saved or loaded while the n-th allocation fails. */
typedef struct verb {
    const pada_backend *backend;
    pada_engine *e;
    const char *file;
} verb;

static pada_status create_and_init(verb *v)
{
    const pada_space_config config = {.channels = 4, .cells = 1, .image_size = SIZE};
    const pada_space space = nb201_space(&config);

    PADA_TRY(pada_engine_create(&v->e, &(pada_engine_desc){.space = &space,
                                                           .backend = v->backend,
                                                           .n_threads = 2,
                                                           .batch_size = 2,
                                                           .mode = PADA_TRAIN}));
    return pada_engine_init_weights(v->e, 1);
}

static pada_status save(verb *v)
{
    return pada_engine_save_weights(v->e, v->file);
}

static pada_status load(verb *v)
{
    return pada_engine_load_weights(v->e, v->file);
}

static pada_status snapshot(verb *v)
{
    return pada_engine_snapshot(v->e);
}

static pada_status add_difference(verb *v)
{
    return pada_engine_add_difference(v->e, 1);
}

static pada_status keep_grad(verb *v)
{
    return pada_engine_keep_grad(v->e, 0);
}

static pada_status swap_momentum(verb *v)
{
    return pada_engine_swap_states(v->e);
}

/* Fails the first, second, .. allocation until the verb succeeds; a failure leaves nothing behind.
 * */
static void check_out_of_memory(pada_status (*run)(verb *), verb *v, int at_least)
{
    const int64_t live = pada_mem_live();
    const uint64_t hash = v->e ? pada_engine_weights_hash(v->e) : 0;

    for (int n = 0;; n++) {
        pada_mem_fail_after(n);
        const pada_status st = run(v);
        pada_mem_fail_after(-1);
        if (st == PADA_OK) {
            assert_true(n >= at_least);
            return;
        }
        if (st != PADA_ENOMEM) fail_msg("allocation %d: %s", n, pada_message());
        if (hash) assert_int_equal(pada_engine_weights_hash(v->e), hash);
        if (!hash) assert_null(v->e);
        if (run != snapshot) assert_int_equal(pada_mem_live(), live); /* it keeps what it has */
    }
}

static void test_out_of_memory(void **state)
{
    static const char *const backends[] = {"ref", "cpu"};
    char file[64] = "/tmp/pada-engine-XXXXXX";
    const int fd = mkstemp(file);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (int b = 0; b < 2; b++) {
        const int64_t live = pada_mem_live();
        verb v = {.file = file};
        CHECK_OK(pada_backend_find(&v.backend, backends[b]));
        check_out_of_memory(create_and_init, &v, 50);
        if (b == 0) { /* the same code for every backend */
            check_out_of_memory(save, &v, 10);
            check_out_of_memory(load, &v, 10); /* and what was saved is whole */
        }
        check_out_of_memory(snapshot, &v, 2);
        check_out_of_memory(add_difference, &v, 1);
        check_out_of_memory(swap_momentum, &v, 1);
        check_out_of_memory(keep_grad, &v, 1);
        const pada_path path = path_of(3, 1, 4, 2, 3, 3);
        add_gradients(v.e, &path, 2);
        pada_engine_destroy(v.e);
        assert_int_equal(pada_mem_live(), live);
    }
    unlink(file);
    pada_engine_destroy(NULL);
}

/* After create, steps over any path and any size of batch allocate nothing, in training and in
 * evaluation. The reference does: it makes room for the tensors of a stage when it meets the first
 * path that needs it. */
static void test_steps_do_not_allocate(void **state)
{
    static const char *const backends[] = {"cpu", "cpu-plain", "cuda"};
    /* Many tensors in one stage: pools and identities only. */
    static const int special[] = {13029, 13034, 4687, N_CELLS - 1, 0};
    const pada_optim optim = {.lr = 0.01, .momentum = 0.9, .weight_decay = 5e-4, .clip = 5};

    (void)state;
    for (int b = 0; b < 3; b++) {
        pada_engine *e = make_engine_of(backends[b], 16, MAX_BATCH, PADA_TRAIN);
        if (!e) continue;
        const int64_t before = pada_mem_count();
        pada_rng rng;
        pada_rng_init(&rng, 1, "paths", 0);
        for (int i = 0; i < 50; i++) {
            const pada_batch batch = batch_of(MAX_BATCH - i * 4 % MAX_BATCH);
            pada_step_stats stats;
            pada_results_view view;
            pada_path path;
            pada_path_random(pada_engine_space(e), &rng, &path);
            if (i % 9 == 0 && i / 9 < 5) path = cell_at(special[i / 9]); /* with a full batch */
            pada_engine_zero_grad(e);
            add_gradients(e, &path, batch.n);
            CHECK_OK(pada_engine_results(e, &view));
            CHECK_OK(pada_engine_step(e, &optim, &stats));
            CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_EVAL));
            if (pada_mem_count() != before)
                fail_msg("%s: step %d with path %d%d%d%d%d%d, %d images allocates", backends[b], i,
                         path.choice[0], path.choice[1], path.choice[2], path.choice[3],
                         path.choice[4], path.choice[5], batch.n);
        }
        pada_engine_destroy(e);
    }
}

/* ---- SGD ---- */

/* The optimiser as a plain loop over doubles, with its own idea of what a path uses. */
typedef struct model {
    double *w, *v;
    bool *sampled; /* per parameter */
} model;

static void model_step(model *m, const pada_engine *e, const double *g, const pada_path *paths,
                       int n_paths, const pada_optim *optim, pada_step_stats *stats)
{
    const pada_params *params = pada_engine_params(e);
    double squares = 0;

    for (int64_t i = 0; i < total(e); i++)
        squares += g[i] * g[i];
    stats->grad_norm = sqrt(squares);
    stats->clip_factor = 1;
    if (optim->clip > 0 && stats->grad_norm > optim->clip) /* PyTorch's clip_grad_norm_ */
        stats->clip_factor = optim->clip / (stats->grad_norm + 1e-6);
    for (int k = 0; k < pada_params_count(params); k++) {
        const pada_param *p = pada_params_get(params, k);
        bool used = false;
        for (int j = 0; j < n_paths; j++)
            used |= uses(e, p, &paths[j]);
        m->sampled[k] |= used;
        if (optim->mode == PADA_OPTIM_DENSE ? !m->sampled[k] : !used) continue;
        for (int64_t i = p->offset; i < p->offset + p->count; i++) {
            const double slope = stats->clip_factor * g[i] + optim->weight_decay * m->w[i];
            m->v[i] = optim->momentum * m->v[i] + slope;
            m->w[i] -= optim->lr * (optim->nesterov ? slope + optim->momentum * m->v[i] : m->v[i]);
        }
    }
}

static void run_sgd(const pada_optim *optim)
{
    const pada_path paths[] = {path_of(3, 1, 4, 2, 0, 3), path_of(2, 2, 2, 2, 2, 2),
                               path_of(3, 3, 1, 1, 4, 2), path_of(1, 1, 1, 1, 1, 1),
                               path_of(0, 0, 0, 0, 0, 0), path_of(3, 1, 4, 2, 0, 3)};
    pada_engine *e = make_engine("ref");
    model m = {read_all(e, pada_engine_read_weight), calloc((size_t)total(e), sizeof(double)),
               calloc((size_t)pada_params_count(pada_engine_params(e)), sizeof(bool))};
    double *start = read_all(e, pada_engine_read_weight);

    for (int i = 0; i < 6; i++) {
        pada_step_stats have, want;
        pada_engine_zero_grad(e);
        add_gradients(e, &paths[i], MAX_BATCH);
        double *g = read_all(e, pada_engine_read_grad);
        CHECK_OK(pada_engine_step(e, optim, &have));
        model_step(&m, e, g, &paths[i], 1, optim, &want);
        CHECK_CLOSE(have.grad_norm, want.grad_norm, 1e-12);
        CHECK_CLOSE(have.clip_factor, want.clip_factor, 1e-12);
        double *w = read_all(e, pada_engine_read_weight);
        for (int64_t k = 0; k < total(e); k++)
            CHECK_CLOSE(w[k], m.w[k], 1e-12);
        free(w);
        free(g);
    }
    /* What no path used has not moved by a bit; what the first one used alone has. */
    double *w = read_all(e, pada_engine_read_weight);
    for (int k = 0; k < pada_params_count(pada_engine_params(e)); k++) {
        const pada_param *p = pada_params_get(pada_engine_params(e), k);
        const bool moved =
            memcmp(w + p->offset, start + p->offset, (size_t)p->count * sizeof *w) != 0;
        if (optim->weight_decay > 0) assert_int_equal(moved, m.sampled[k]);
        if (!m.sampled[k]) assert_false(moved);
    }
    free(w);
    free(start);
    free(m.w);
    free(m.v);
    free(m.sampled);
    pada_engine_destroy(e);
}

static void test_sgd_dense(void **state)
{
    (void)state;
    run_sgd(
        &(pada_optim){.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .mode = PADA_OPTIM_DENSE});
    run_sgd(&(pada_optim){
        .lr = 0.05, .momentum = 0.9, .nesterov = true, .clip = 0.5, .mode = PADA_OPTIM_DENSE});
}

static void test_sgd_skip(void **state)
{
    (void)state;
    run_sgd(
        &(pada_optim){.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .mode = PADA_OPTIM_SKIP});
    run_sgd(&(pada_optim){.lr = 0.05,
                          .momentum = 0.5,
                          .weight_decay = 0.1,
                          .nesterov = true,
                          .clip = 0.1,
                          .mode = PADA_OPTIM_SKIP});
}

/* In dense mode an op that was sampled before goes on by momentum and decay alone; in skip mode it
 * rests. */
static void test_sgd_modes_differ(void **state)
{
    const pada_path first = path_of(3, 3, 3, 3, 3, 3), second = path_of(2, 2, 2, 2, 2, 2);

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        const pada_optim optim = {
            .lr = 0.1, .momentum = 0.9, .weight_decay = 0.05, .mode = (pada_optim_mode)mode};
        pada_engine *e = make_engine("ref");
        pada_step_stats stats;
        const int id = pada_params_find(pada_engine_params(e), "cells.0.edges.1<-0.3.op.1.weight");
        double w[4][4 * 4 * 9], g[4 * 4 * 9];
        assert_true(id >= 0);
        pada_engine_read_weight(e, id, w[0]);
        for (int i = 0; i < 3; i++) {
            pada_engine_zero_grad(e);
            add_gradients(e, i == 0 ? &first : &second, 4);
            if (i == 0) pada_engine_read_grad(e, id, g);
            CHECK_OK(pada_engine_step(e, &optim, &stats));
            pada_engine_read_weight(e, id, w[i + 1]);
        }
        for (int k = 0; k < 4 * 4 * 9; k++) {
            double v = g[k] + 0.05 * w[0][k], at = w[0][k] - 0.1 * v;
            CHECK_CLOSE(w[1][k], at, 1e-14);
            for (int i = 2; i < 4; i++) {
                if (mode == PADA_OPTIM_DENSE) {
                    v = 0.9 * v + 0.05 * at;
                    at -= 0.1 * v;
                }
                CHECK_CLOSE(w[i][k], at, mode == PADA_OPTIM_DENSE ? 1e-14 : 0);
            }
        }
        pada_engine_destroy(e);
    }
}

static void test_clipping(void **state)
{
    const pada_path path = path_of(3, 1, 4, 2, 0, 3);
    pada_engine *e = make_engine("ref");
    pada_step_stats free_step, clipped;

    (void)state;
    add_gradients(e, &path, 4);
    CHECK_OK(pada_engine_step(e, &(pada_optim){.lr = 0}, &free_step));
    assert_true(free_step.grad_norm > 0.1);
    CHECK_CLOSE(free_step.clip_factor, 1, 0);
    double *before = read_all(e, pada_engine_read_weight), *g = read_all(e, pada_engine_read_grad);
    CHECK_OK(pada_engine_step(e, &(pada_optim){.lr = 1, .clip = 0.05}, &clipped));
    double *after = read_all(e, pada_engine_read_weight);
    CHECK_CLOSE(clipped.grad_norm, free_step.grad_norm, 0);
    CHECK_CLOSE(clipped.clip_factor, 0.05 / (free_step.grad_norm + 1e-6), 1e-15);
    double squares = 0;
    for (int64_t i = 0; i < total(e); i++) {
        CHECK_CLOSE(before[i] - after[i], g[i] * clipped.clip_factor, 1e-14);
        squares += (before[i] - after[i]) * (before[i] - after[i]);
    }
    CHECK_CLOSE(sqrt(squares), 0.05, 1e-6);
    CHECK_OK(pada_engine_step(e, &(pada_optim){.lr = 0, .clip = 1e9},
                              &clipped)); /* far above the norm */
    CHECK_CLOSE(clipped.clip_factor, 1, 0);
    free(before);
    free(after);
    free(g);
    pada_engine_destroy(e);
}

/* ---- gradients ---- */

static void test_gradients_of_two_paths_add_up(void **state)
{
    static const char *const backends[] = {"ref", "cpu", "cuda"};
    const pada_path paths[] = {path_of(3, 1, 4, 2, 0, 3), path_of(3, 2, 2, 1, 1, 3)};

    (void)state;
    for (int b = 0; b < 3; b++) {
        pada_engine *e = make_engine(backends[b]);
        if (!e) continue;
        double *g[3];
        for (int i = 0; i < 3; i++) {
            pada_engine_zero_grad(e);
            if (i != 1) add_gradients(e, &paths[0], 5);
            if (i != 0) add_gradients(e, &paths[1], 5);
            g[i] = read_all(e, pada_engine_read_grad);
        }
        for (int64_t i = 0; i < total(e); i++)
            CHECK_CLOSE(g[2][i], g[0][i] + g[1][i], b == 0 ? 1e-14 : 1e-6);
        for (int i = 0; i < 3; i++)
            free(g[i]);
        pada_engine_destroy(e);
    }
}

/* grad_scale and the weights of the images are factors of the gradient, not of the losses. */
static void test_weights_of_images(void **state)
{
    static const float weights[] = {2, 0, 0.5f, 1}, none[] = {0, 0, 0, 0};
    const pada_path path = path_of(3, 1, 4, 2, 0, 3);
    pada_engine *e = make_engine("ref");
    pada_batch batch = batch_of(4);
    pada_results_view plain, weighted;

    (void)state;
    add_gradients(e, &path, 4);
    CHECK_OK(pada_engine_results(e, &plain));
    double *g = read_all(e, pada_engine_read_grad);
    pada_engine_zero_grad(e);
    batch.grad_scale = -3;
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_TRAIN));
    pada_engine_backward(e);
    CHECK_OK(pada_engine_results(e, &weighted));
    CHECK_CLOSE(weighted.loss, plain.loss, 0);
    double *scaled = read_all(e, pada_engine_read_grad);
    for (int64_t i = 0; i < total(e); i++)
        CHECK_CLOSE(scaled[i], -3 * g[i], 1e-13);
    /* The bias of the classifier sees the images one by one: mean of weight (p - onehot). */
    const int bias = pada_params_find(pada_engine_params(e), "classifier.bias");
    double logits[4 * CLASSES], have[CLASSES], want[CLASSES] = {0};
    pada_engine_zero_grad(e);
    batch.grad_scale = 0;
    batch.weights = weights;
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_TRAIN));
    pada_engine_logits(e, logits);
    pada_engine_backward(e);
    pada_engine_read_grad(e, bias, have);
    for (int n = 0; n < 4; n++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++)
            sum += exp(logits[n * CLASSES + c]);
        for (int c = 0; c < CLASSES; c++)
            want[c] += weights[n] / 4 * (exp(logits[n * CLASSES + c]) / sum - (c == labels[n]));
    }
    for (int c = 0; c < CLASSES; c++)
        CHECK_CLOSE(have[c], want[c], 1e-14);
    pada_engine_zero_grad(e);
    batch.weights = none;
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_TRAIN));
    pada_engine_backward(e);
    free(scaled);
    scaled = read_all(e, pada_engine_read_grad);
    for (int64_t i = 0; i < total(e); i++)
        assert_true(scaled[i] == 0);
    free(g);
    free(scaled);
    pada_engine_destroy(e);
}

/* What the path does not use has a gradient of exactly zero, and so has what it uses for nothing.
 * */
static void test_unsampled_gradients_are_zero(void **state)
{
    static const char *const backends[] = {"ref", "cpu", "cpu-plain", "cuda"};
    const pada_path paths[] = {path_of(3, 1, 4, 2, 0, 3),
                               path_of(3, 3, 3, 1, 0, 0)}; /* the second: dead convs */

    (void)state;
    for (int b = 0; b < 4; b++)
        for (int k = 0; k < 2; k++) {
            pada_engine *e = make_engine(backends[b]);
            if (!e) continue;
            const pada_params *params = pada_engine_params(e);
            add_gradients(e, &paths[k], 5);
            double *g = read_all(e, pada_engine_read_grad);
            int n_used = 0;
            for (int i = 0; i < pada_params_count(params); i++) {
                const pada_param *p = pada_params_get(params, i);
                double squares = 0;
                for (int64_t j = p->offset; j < p->offset + p->count; j++)
                    squares += g[j] * g[j];
                if (!uses(e, p, &paths[k]) || (k == 1 && p->site != PADA_SHARED))
                    assert_true(squares == 0);
                else if (!p->bias_before_norm)
                    assert_true(squares > 0);
                n_used += squares > 0;
            }
            assert_true(n_used > 5);
            free(g);
            pada_engine_destroy(e);
        }
}

static void test_grad_norm(void **state)
{
    const pada_path paths[] = {path_of(3, 1, 4, 2, 0, 3), path_of(2, 1, 1, 2, 1, 1)};
    pada_engine *e = make_engine("ref");
    const pada_params *params = pada_engine_params(e);

    (void)state;
    for (int k = 0; k < 2; k++) {
        pada_engine_zero_grad(e);
        add_gradients(e, &paths[k], 5);
        double *g = read_all(e, pada_engine_read_grad);
        int n_nonzero = 0;
        for (int site = 0; site < 18; site++)
            for (int choice = 0; choice < 5; choice++) {
                const pada_range range = pada_params_range(params, site, choice);
                double squares = 0;
                for (int64_t i = range.first; i < range.first + range.count; i++)
                    squares += g[i] * g[i];
                const double norm = pada_engine_grad_norm(e, site, choice);
                CHECK_CLOSE(norm, sqrt(squares), 1e-14);
                if (paths[k].choice[site % 6] != choice) assert_true(norm == 0);
                n_nonzero += norm > 0;
            }
        assert_int_equal(n_nonzero, k == 0 ? 3 * 3 : 3 * 2);
        free(g);
    }
    pada_engine_destroy(e);
}

/* A network that nothing gets through answers with the bias of its classifier, for every image. */
static void test_dead_cell(void **state)
{
    static const char *const backends[] = {"ref", "cpu", "cpu-plain", "cuda"};
    const pada_path paths[] = {path_of(0, 0, 0, 0, 0, 0), path_of(3, 3, 3, 0, 0, 0),
                               path_of(0, 0, 3, 0, 2, 4)};

    (void)state;
    for (int b = 0; b < 4; b++) {
        pada_engine *e = make_engine(backends[b]);
        if (!e) continue;
        const int id = pada_params_find(pada_engine_params(e), "classifier.bias");
        double bias[CLASSES], logits[5 * CLASSES];
        pada_engine_read_weight(e, id, bias);
        for (int k = 0; k < 3; k++) {
            pada_engine_zero_grad(e);
            add_gradients(e, &paths[k], 5);
            pada_engine_logits(e, logits);
            for (int i = 0; i < 5 * CLASSES; i++)
                assert_true(logits[i] == bias[i % CLASSES]);
            double *g = read_all(e, pada_engine_read_grad);
            const pada_param *p = pada_params_get(pada_engine_params(e), id);
            for (int64_t i = 0; i < total(e); i++)
                assert_int_equal(g[i] != 0, i >= p->offset && i < p->offset + p->count);
            free(g);
        }
        pada_engine_destroy(e);
    }
}

/* The log counts the multiply-adds of passes of both modes, as the space does for live paths; a dead path has
 * a bias to add. */
static void test_counted_work(void **state)
{
    const pada_path paths[] = {path_of(3, 3, 3, 3, 3, 3), path_of(3, 1, 4, 2, 1, 3),
                               path_of(3, 3, 3, 0, 0, 0)};
    pada_engine *e = make_engine("ref");
    const pada_space *space = pada_engine_space(e);
    double want = 0;
    pada_log log;

    (void)state;
    CHECK_OK(pada_engine_log_begin(e, 1, 3, 3 * 5));
    for (int k = 0; k < 3; k++) {
        const pada_batch batch = batch_of(5), other = batch_of(3);
        pada_cost cost = {.macs = CLASSES};
        if (k < 2) pada_space_cost(space, &paths[k], &cost);
        CHECK_OK(pada_engine_forward(e, &paths[k], &batch, PADA_TRAIN));
        CHECK_OK(pada_engine_forward(e, &paths[k], &other, PADA_EVAL));
        want += 8.0 * (double)cost.macs;
        CHECK_OK(pada_engine_log_read(e, &log));
        assert_true(log.macs == want);
    }
    CHECK_OK(pada_engine_log_begin(e, 1, 1, 5));
    CHECK_OK(pada_engine_log_read(e, &log));
    assert_true(log.macs == 0);
    pada_engine_destroy(e);
}

/* ||p - onehot|| of equal logits, and the counts of right answers with ties. */
static void test_zero_logits(void **state)
{
    static const double zeros[CLASSES];
    const pada_path path = path_of(0, 0, 0, 0, 0, 0);
    pada_engine *e = make_engine("cpu");
    double norms[MAX_BATCH], losses[MAX_BATCH];
    pada_results_view view;
    int first = 0, first_five = 0;

    (void)state;
    pada_engine_write_weight(e, pada_params_find(pada_engine_params(e), "classifier.bias"), zeros);
    add_gradients(e, &path, MAX_BATCH);
    pada_engine_norms(e, norms);
    pada_engine_losses(e, losses);
    for (int i = 0; i < MAX_BATCH; i++) {
        CHECK_CLOSE(norms[i], 0.948683, 5e-7);
        CHECK_CLOSE(losses[i], log(10), 1e-6);
        first += labels[i] < 1;
        first_five += labels[i] < 5;
    }
    CHECK_OK(pada_engine_results(e, &view));
    assert_int_equal(view.n, MAX_BATCH);
    assert_int_equal(view.top1, first);
    assert_int_equal(view.top5, first_five);
    CHECK_CLOSE(view.loss, log(10), 1e-6);
    pada_engine_destroy(e);
}

/* ---- snapshots and files ---- */

static void sgd_step(pada_engine *e, const pada_path *path)
{
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01};
    pada_step_stats stats;

    pada_engine_zero_grad(e);
    add_gradients(e, path, 4);
    CHECK_OK(pada_engine_step(e, &optim, &stats));
}

/* Steps from a snapshot are those of engines that had none: weights, momentum, and what has been sampled
 * and therefore decays. */
static void test_snapshot(void **state)
{
    static const char *const backends[] = {"ref", "cpu", "cuda"};
    const pada_path paths[] = {path_of(3, 1, 4, 2, 0, 3), path_of(2, 3, 1, 0, 3, 2)};

    (void)state;
    for (int b = 0; b < 3; b++) {
        pada_engine *e = make_engine(backends[b]);
        uint64_t want[2];
        if (!e) continue;
        for (int i = 0; i < 2; i++) {
            pada_engine *plain = make_engine(backends[b]);
            sgd_step(plain, &paths[0]);
            sgd_step(plain, &paths[i]);
            want[i] = pada_engine_weights_hash(plain);
            pada_engine_destroy(plain);
        }
        sgd_step(e, &paths[0]);
        const uint64_t before = pada_engine_weights_hash(e);
        assert_true(want[0] != before && want[1] != before && want[0] != want[1]);
        const int64_t memory = pada_engine_memory_bytes(e);
        CHECK_OK(pada_engine_snapshot(e));
        assert_true(pada_engine_memory_bytes(e) > memory);
        for (int i = 0; i < 4; i++) {
            sgd_step(e, &paths[i % 2]);
            assert_int_equal(pada_engine_weights_hash(e), want[i % 2]);
            pada_engine_restore(e);
            assert_int_equal(pada_engine_weights_hash(e), before);
        }
        const int64_t count = pada_mem_count();
        CHECK_OK(pada_engine_snapshot(e)); /* reuses its buffers */
        assert_int_equal(pada_mem_count(), count);
        pada_engine_destroy(e);
    }
}

/* Two ways from the same weights become a gradient: half of the one, a quarter of the other. */
static void test_differences(void **state)
{
    static const char *const backends[] = {"ref", "cpu", "cuda"};
    const pada_optim optim = {.lr = 0.1};
    const pada_path paths[] = {path_of(3, 1, 4, 2, 0, 3), path_of(2, 3, 1, 0, 3, 2)};

    (void)state;
    for (int b = 0; b < 3; b++) {
        pada_engine *e = make_engine(backends[b]);
        if (!e) continue;
        double *want = calloc((size_t)total(e), sizeof *want);
        pada_step_stats stats;
        CHECK_OK(pada_engine_snapshot(e));
        for (int k = 0; k < 2; k++) {
            pada_engine_zero_grad(e);
            add_gradients(e, &paths[k], 4);
            double *g = read_all(e, pada_engine_read_grad);
            for (int64_t i = 0; i < total(e); i++)
                want[i] += 0.1 * g[i] * (k == 0 ? 0.5 : 0.25);
            CHECK_OK(pada_engine_inner_step(e, &optim, &stats));
            CHECK_OK(pada_engine_add_difference(e, k == 0 ? 0.5 : 0.25));
            pada_engine_restore(e);
            free(g);
        }
        for (int round = 0; round < 2; round++) { /* the second time nothing has moved */
            if (round == 1) CHECK_OK(pada_engine_add_difference(e, 1));
            pada_engine_take_differences(e);
            double *have = read_all(e, pada_engine_read_grad);
            /* float32 weights of about 0.1 keep differences of about 0.001 to five digits */
            if (round == 0) assert_true(relative_error(have, want, total(e)) < 1e-4);
            for (int64_t i = 0; i < total(e) && round == 1; i++)
                assert_true(have[i] == 0);
            free(have);
        }
        free(want);
        pada_engine_destroy(e);
    }
}

/* The steps of two momenta, taken in turn, are those of two engines' momenta. */
static void test_momenta(void **state)
{
    static const char *const backends[] = {"ref", "cpu", "cuda"};
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9};
    const pada_path path = path_of(3, 1, 4, 2, 0, 3);

    (void)state;
    for (int b = 0; b < 3; b++) {
        pada_engine *e = make_engine(backends[b]);
        pada_step_stats stats;
        uint64_t hash[4];
        if (!e) continue;
        const int64_t memory = pada_engine_memory_bytes(e);
        CHECK_OK(pada_engine_snapshot(e));
        /* Steps from the same weights: 0 and 1 have no momentum, 2 has that of 0; 3 has none. */
        for (int i = 0; i < 4; i++) {
            if (i == 1 || i == 2) CHECK_OK(pada_engine_swap_states(e));
            if (i == 3) pada_engine_reset_states(e);
            pada_engine_zero_grad(e);
            add_gradients(e, &path, 4);
            CHECK_OK(pada_engine_step(e, &optim, &stats));
            hash[i] = pada_engine_weights_hash(e);
            pada_engine_restore_weights(e);
        }
        assert_true(hash[0] == hash[1] && hash[0] == hash[3]);
        assert_true(hash[0] != hash[2]);
        assert_true(pada_engine_memory_bytes(e) > memory);
        CHECK_OK(pada_engine_init_weights(e, 1)); /* gives the other one up */
        CHECK_OK(pada_engine_swap_states(e));
        pada_engine_zero_grad(e);
        add_gradients(e, &path, 4);
        CHECK_OK(pada_engine_step(e, &optim, &stats));
        assert_true(pada_engine_weights_hash(e) == hash[0]);
        pada_engine_destroy(e);
    }
}

/* Whether a parameter counts in the products of a path without a slot. */
static bool is_counted(const pada_engine *e, int param, const pada_path *path, int without)
{
    const pada_space *space = pada_engine_space(e);
    const pada_param *p = pada_params_get(pada_engine_params(e), param);

    if (p->site == PADA_SHARED) return true;
    const int slot = space->ops->site_slot(space, p->site);
    return slot != without && path->choice[slot] == p->choice;
}

/* Products of kept gradients against sums by hand, with a slot left out, on every backend. */
static void test_gradient_products(void **state)
{
    static const char *const backends[] = {"ref", "cpu", "cuda"};
    const pada_path other = path_of(2, 2, 2, 2, 2, 2);

    (void)state;
    for (int b = 0; b < 3; b++) {
        pada_engine *e = make_engine(backends[b]);
        if (!e) continue;
        const pada_params *params = pada_engine_params(e);
        const int64_t memory = pada_engine_memory_bytes(e);
        pada_path path = path_of(3, 1, 4, 2, 0, 3);
        double *grads[3], products[9];
        /* What a buffer held before does not count. */
        add_gradients(e, &other, 4);
        for (int k = 0; k < 3; k++)
            CHECK_OK(pada_engine_keep_grad(e, k));
        for (int k = 0; k < 3; k++) {
            path.choice[3] = (uint8_t)(k + 1);
            pada_engine_zero_grad(e);
            add_gradients(e, &path, 4);
            CHECK_OK(pada_engine_keep_grad(e, k));
            grads[k] = read_all(e, pada_engine_read_grad);
        }
        assert_true(pada_engine_memory_bytes(e) > memory);
        for (int without = -1; without < 6; without++) {
            CHECK_OK(pada_engine_grad_products(e, &path, without, 3, products));
            for (int i = 0; i < 9; i++) {
                double want = 0, scale = 0;
                for (int p = 0; p < pada_params_count(params); p++) {
                    const pada_param *param = pada_params_get(params, p);
                    if (!is_counted(e, p, &path, without)) continue;
                    for (int64_t k = param->offset; k < param->offset + param->count; k++) {
                        want += grads[i / 3][k] * grads[i % 3][k];
                        scale += fabs(grads[i / 3][k] * grads[i % 3][k]);
                    }
                }
                assert_true(scale > 0);
                CHECK_CLOSE(products[i], want, 1e-9 * scale);
            }
        }
        for (int k = 0; k < 3; k++)
            free(grads[k]);
        pada_engine_destroy(e);
    }
}

/* Gradients that are not finite are a failure, not a distance. */
static void test_products_of_nan(void **state)
{
    pada_engine *e = make_engine("ref");
    const pada_path path = path_of(3, 1, 4, 2, 0, 3);
    double bias[CLASSES] = {NAN}, product;

    (void)state;
    pada_engine_write_weight(e, pada_params_find(pada_engine_params(e), "classifier.bias"), bias);
    add_gradients(e, &path, 4);
    CHECK_OK(pada_engine_keep_grad(e, 0));
    assert_int_equal(pada_engine_grad_products(e, &path, -1, 1, &product), PADA_ENUMERIC);
    assert_non_null(strstr(pada_message(), "inner product of gradients 0 and 0"));
    pada_engine_destroy(e);
}

/* A network that has gone to NaN leaves nothing behind once its weights are restored. */
static void test_nan_does_not_outlive_restore(void **state)
{
    static const char *const backends[] = {"ref", "cpu-plain", "cpu-avx2", "cpu-avx512", "cuda"};
    const pada_path paths[] = {path_of(3, 1, 4, 2, 0, 3), path_of(2, 4, 1, 3, 3, 2)};
    double want[2 * CLASSES], have[2 * CLASSES], nan[27 * 5];
    int wrong = 0;

    (void)state;
    for (int i = 0; i < 27 * 5; i++)
        nan[i] = NAN;
    for (int b = 0; b < 5; b++) {
        pada_engine *e =
            make_engine_of(backends[b], 5, MAX_BATCH, PADA_TRAIN); /* fills no vector */
        if (!e) continue;
        add_gradients(e, &paths[1], 2);
        pada_engine_logits(e, want);
        CHECK_OK(pada_engine_snapshot(e));
        pada_engine_write_weight(e, 0, nan);
        for (int k = 0; k < 2; k++)
            add_gradients(e, &paths[k], MAX_BATCH);
        pada_engine_restore(e);
        pada_engine_zero_grad(e);
        add_gradients(e, &paths[1], 2);
        pada_engine_logits(e, have);
        double *g = read_all(e, pada_engine_read_grad), sum = 0;
        for (int64_t i = 0; i < total(e); i++)
            sum += g[i];
        if (memcmp(want, have, sizeof want) != 0 || !isfinite(sum)) {
            print_error("%s: logits %g, before the NaN %g; sum of gradients %g\n", backends[b],
                        have[0], want[0], sum);
            wrong++;
        }
        free(g);
        pada_engine_destroy(e);
    }
    assert_int_equal(wrong, 0);
}

static void test_save_and_load(void **state)
{
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9};
    const pada_path path = path_of(3, 1, 4, 2, 0, 3);
    char file[64] = "/tmp/pada-engine-XXXXXX";
    const int fd = mkstemp(file);
    pada_engine *e = make_engine("ref"), *f = make_engine("cpu"),
                *eval = make_engine_of("ref", 4, 2, PADA_EVAL);
    pada_step_stats stats;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(pada_engine_weights_hash(e), pada_engine_weights_hash(f)); /* the same seed */
    CHECK_OK(pada_engine_init_weights(e, 2));
    assert_true(pada_engine_weights_hash(e) != pada_engine_weights_hash(f));
    CHECK_OK(pada_engine_save_weights(e, file));
    CHECK_OK(pada_engine_load_weights(f, file));
    CHECK_OK(pada_engine_load_weights(eval, file));
    assert_int_equal(pada_engine_weights_hash(e), pada_engine_weights_hash(f));
    assert_int_equal(pada_engine_weights_hash(e), pada_engine_weights_hash(eval));

    /* Loading makes a fresh start: no momentum, nothing sampled. */
    uint64_t hash[2];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(pada_engine_load_weights(e, file));
        pada_engine_zero_grad(e);
        add_gradients(e, &path, 4);
        CHECK_OK(pada_engine_step(e, &optim, &stats));
        hash[i] = pada_engine_weights_hash(e);
    }
    assert_int_equal(hash[0], hash[1]);

    /* A file of another network changes nothing. */
    pada_engine *other = make_engine_of("ref", 8, 2, PADA_EVAL);
    const uint64_t before = pada_engine_weights_hash(other);
    assert_int_equal(pada_engine_load_weights(other, file), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "has shape"));
    assert_int_equal(pada_engine_weights_hash(other), before);
    pada_engine_destroy(other);
    pada_engine_destroy(eval);
    pada_engine_destroy(e);
    pada_engine_destroy(f);
    unlink(file);
}

/* An engine for evaluation gives the same logits as one for training. */
static void test_eval_engine(void **state)
{
    static const char *const backends[] = {"ref", "cpu", "cuda"};
    const pada_path path = path_of(3, 1, 4, 2, 0, 3);
    double a[4 * CLASSES], b[4 * CLASSES];
    const pada_batch batch = batch_of(4);

    (void)state;
    for (int i = 0; i < 3; i++) {
        pada_engine *train = make_engine(backends[i]);
        if (!train) continue;
        pada_engine *eval = make_engine_of(backends[i], 4, MAX_BATCH, PADA_EVAL);
        assert_true(pada_engine_memory_bytes(eval) < pada_engine_memory_bytes(train));
        add_gradients(train, &path, 4);
        pada_engine_logits(train, a);
        CHECK_OK(pada_engine_forward(eval, &path, &batch, PADA_EVAL));
        pada_engine_logits(eval, b);
        CHECK_CLOSE(relative_error(b, a, 4 * CLASSES), 0, i == 0 ? 1e-14 : 1e-6);
        CHECK_OK(pada_engine_snapshot(eval));
        pada_engine_restore(eval);
        pada_engine_destroy(train);
        pada_engine_destroy(eval);
    }
}

/* ---- what is refused ---- */

static void test_refusals(void **state)
{
    const pada_path path = path_of(3, 1, 4, 2, 0, 3);
    pada_engine *e = make_engine("ref");
    int32_t wrong[MAX_BATCH] = {0};
    pada_batch batch = {.n = 4, .images = images, .labels = wrong};

    (void)state;
    wrong[2] = CLASSES;
    assert_int_equal(pada_engine_forward(e, &path, &batch, PADA_TRAIN), PADA_EDATA);
    assert_string_equal(pada_message(), "label 10 of image 2 is outside 0 to 9");
    wrong[2] = -1;
    assert_int_equal(pada_engine_forward(e, &path, &batch, PADA_EVAL), PADA_EDATA);
    assert_string_equal(pada_message(), "label -1 of image 2 is outside 0 to 9");
    wrong[2] = 9;
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_EVAL));
    batch.n = MAX_BATCH + 1;
    assert_int_equal(pada_engine_forward(e, &path, &batch, PADA_EVAL), PADA_EINVAL);
    assert_string_equal(pada_message(), "batch of 10 images; the engine takes 1 to 9");
    batch.n = 0;
    assert_int_equal(pada_engine_forward(e, &path, &batch, PADA_EVAL), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "batch of 0 images"));
    pada_engine_destroy(e);

    pada_engine *none = e;
    const pada_backend *backend;
    const pada_space space = nb201_space(NULL);
    CHECK_OK(pada_backend_find(&backend, "ref"));
    assert_int_equal(
        pada_engine_create(
            &none, &(pada_engine_desc){.space = &space, .backend = backend, .batch_size = -2}),
        PADA_EINVAL);
    assert_null(none);
    assert_string_equal(pada_message(), "batch size -2 is not positive");
}

/* A weight of NaN anywhere on the path, before or behind activations, is seen by results and by
 * step. */
static void test_nan_is_an_error(void **state)
{
    static const char *const backends[] = {"ref", "cpu-plain", "cpu-avx2", "cpu-avx512", "cuda"};
    static const char *const params[] = {"classifier.bias", "classifier.weight", "stem.0.weight",
                                         "cells.0.edges.1<-0.3.op.1.weight",
                                         "cells.1.conv_b.op.1.weight"};
    const pada_path path = path_of(3, 1, 4, 2, 0, 3);
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9, .clip = 5};
    int wrong = 0;

    (void)state;
    for (int b = 0; b < 5; b++)
        for (int k = 0; k < 5; k++) {
            pada_engine *e = make_engine_of(backends[b], 4, 4, PADA_TRAIN);
            pada_results_view view;
            pada_step_stats stats;
            double values[3 * 8 * 8 * 9];
            if (!e) continue;
            const int id = pada_params_find(pada_engine_params(e), params[k]);
            assert_true(id >= 0);
            pada_engine_read_weight(e, id, values);
            values[3] = NAN;
            pada_engine_write_weight(e, id, values);
            add_gradients(e, &path, 4);
            if (pada_engine_results(e, &view) != PADA_ENUMERIC ||
                !strstr(pada_message(), "loss is ")) {
                print_error("%s, NaN in %s: loss %g\n", backends[b], params[k], view.loss);
                wrong++;
            }
            const uint64_t before = pada_engine_weights_hash(e);
            if (pada_engine_step(e, &optim, &stats) != PADA_ENUMERIC ||
                !strstr(pada_message(), "gradient norm is ")) {
                print_error("%s, NaN in %s: gradient norm %g\n", backends[b], params[k],
                            stats.grad_norm);
                wrong++;
            } else {
                assert_int_equal(pada_engine_weights_hash(e), before); /* nothing has moved */
            }
            pada_engine_destroy(e);
        }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_steps_do_not_allocate),
        cmocka_unit_test(test_sgd_dense),
        cmocka_unit_test(test_sgd_skip),
        cmocka_unit_test(test_sgd_modes_differ),
        cmocka_unit_test(test_clipping),
        cmocka_unit_test(test_gradients_of_two_paths_add_up),
        cmocka_unit_test(test_weights_of_images),
        cmocka_unit_test(test_unsampled_gradients_are_zero),
        cmocka_unit_test(test_grad_norm),
        cmocka_unit_test(test_dead_cell),
        cmocka_unit_test(test_counted_work),
        cmocka_unit_test(test_zero_logits),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_momenta),
        cmocka_unit_test(test_gradient_products),
        cmocka_unit_test(test_products_of_nan),
        cmocka_unit_test(test_nan_does_not_outlive_restore),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_eval_engine),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nan_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
