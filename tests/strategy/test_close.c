/* test_close.c - CLOSE: when blocks are opened and as what, who runs them, and how the gate learns. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "engine/engine_blocks.h"
#include "engine/engine_log.h"
#include "engine/engine_weights.h"
#include "strategy/iso_paths.h"
#include "strategy/method_flags.h"
#include "train/tiny_engine.h"

enum { BLOCKS = 3, EPOCHS = 10, EDGES = 6, BATCH = 6 };

/* The backend of all tests: `ref`, which counts what is read. A device would be waited for each time. */
static pada_backend counting;
static void (*plain_read)(pada_device *device, const void *buffer, pada_range range, double *to);
static int n_reads;

static void count_read(pada_device *device, const void *buffer, pada_range range, double *to)
{
    n_reads++;
    plain_read(device, buffer, range, to);
}

typedef struct close_test {
    pada_space space;
    pada_engine *engine;
    pada_strategy_env env;
    const pada_strategy_ops *ops;
    void *self;
    float images[BATCH * 3 * TINY_SIDE * TINY_SIDE];
    int32_t labels[BATCH];
    pada_draws draws;
} close_test;

static pada_status open_method(close_test *r, int blocks, const char *flags)
{
    static max_align_t settings[64];
    double pixels[BATCH * 3 * TINY_SIDE * TINY_SIDE];
    const pada_space_ops *space;
    const pada_backend *ref;

    *r = (close_test){.self = NULL};
    CHECK_OK(pada_space_find(&space, "nb201"));
    CHECK_OK(pada_space_init(&r->space, space,
                             &(pada_space_config){.channels = 2,
                                                  .cells = 1,
                                                  .classes = TINY_CLASSES,
                                                  .image_size = TINY_SIDE,
                                                  .blocks = blocks}));
    CHECK_OK(pada_backend_find(&ref, "ref"));
    plain_read = ref->read;
    counting = *ref;
    counting.read = count_read;
    CHECK_OK(pada_engine_create(&r->engine, &(pada_engine_desc){.space = &r->space,
                                                                .backend = &counting,
                                                                .batch_size = BATCH,
                                                                .mode = PADA_TRAIN}));
    CHECK_OK(pada_engine_init_weights(r->engine, 2));
    random_normal(pixels, BATCH * 3 * TINY_SIDE * TINY_SIDE, 3);
    for (int i = 0; i < BATCH * 3 * TINY_SIDE * TINY_SIDE; i++)
        r->images[i] = (float)pixels[i];
    for (int i = 0; i < BATCH; i++)
        r->labels[i] = i % TINY_CLASSES;
    r->draws.batch = (pada_batch){.n = BATCH, .images = r->images, .labels = r->labels};
    r->env = (pada_strategy_env){.space = &r->space,
                                 .params = pada_engine_params(r->engine),
                                 .n_images = 2 * BATCH,
                                 .n_classes = TINY_CLASSES,
                                 .n_epochs = EPOCHS,
                                 .batch_size = BATCH,
                                 .seed = 5};
    CHECK_OK(pada_strategy_find(&r->ops, "close"));
    CHECK_OK(method_settings(r->ops, flags, settings, sizeof settings));
    r->self = calloc(1, r->ops->state_bytes);
    CHECK_OK(pada_engine_log_begin(r->engine, 100, 100, 100 * BATCH));
    return r->ops->init(r->self, &r->env, settings);
}

static void close_method(close_test *r)
{
    r->ops->deinit(r->self);
    free(r->self);
    pada_engine_destroy(r->engine);
}

/* Step `number`, two of which are an epoch; gives the path with its blocks. */
static pada_path step(close_test *r, int number, double lr)
{
    const pada_epoch epoch = {
        .index = number / 2, .first_step = number / 2 * 2, .optim = {.lr = lr, .momentum = 0.5}};
    pada_log log;

    CHECK_OK(r->ops->step(r->self, r->engine, &r->draws, &epoch, number));
    CHECK_OK(pada_engine_log_read(r->engine, &log));
    return log.paths[log.n_passes - 1];
}

static double *read_weights(const close_test *r)
{
    double *all = calloc((size_t)pada_params_elements(r->env.params), sizeof *all);

    for (int i = 0; i < pada_params_count(r->env.params); i++)
        pada_engine_read_weight(r->engine, i, all + pada_params_get(r->env.params, i)->offset);
    return all;
}

static int gate_param(const close_test *r, int i)
{
    return pada_block_gate_first_param(r->env.params) + i;
}

/* ---- paths ---- */

static void isomorphic_paths_are_one(void **state)
{
    pada_iso_paths list = {0};
    close_test r;
    int seen = 0;
    double with[EDGES][5] = {{0}};

    (void)state;
    CHECK_OK(open_method(&r, BLOCKS, ""));
    CHECK_OK(pada_iso_paths_init(&list, &r.space));
    assert_int_equal(list.n, 6466); /* methods.md: the list of CLOSE */
    for (int i = 1; i < list.n; i++)
        assert_true(list.numbers[i] > list.numbers[i - 1]);
    bool *drawn = calloc(15625, sizeof *drawn);
    for (int i = 0; i < 20000; i++) {
        pada_path path;
        int number = 0;
        pada_iso_paths_draw(&list, 3, i, &path);
        for (int slot = 0; slot < EDGES; slot++)
            number = number * 5 + path.choice[slot];
        seen += !drawn[number];
        drawn[number] = true;
    }
    /* n (1 - exp(-20000 / n)), and nothing else was drawn */
    CHECK_CLOSE(seen, 6466 * (1 - exp(-20000.0 / 6466)), 80);
    for (int i = 0; i < list.n; i++) {
        int number = list.numbers[i];
        seen -= drawn[number];
        for (int slot = EDGES - 1; slot >= 0; slot--, number /= 5)
            with[slot][number % 5]++;
    }
    assert_int_equal(seen, 0);
    for (int slot = 0; slot < EDGES; slot++) {
        double sum = 0;
        for (int c = 0; c < 5; c++) {
            CHECK_CLOSE(list.sampler.p[slot][c], with[slot][c] / list.n, 1e-9);
            sum += list.sampler.p[slot][c];
        }
        CHECK_CLOSE(sum, 1, 1e-9);
    }
    free(drawn);
    pada_iso_paths_deinit(&list);
    close_method(&r);
}

/* ---- the curriculum ---- */

/* Blocks are opened at 20 % and 40 % of the epochs, and only open ones run, also in evaluation. */
static void blocks_open_one_by_one(void **state)
{
    int most[EPOCHS] = {0};
    close_test r;

    (void)state;
    CHECK_OK(open_method(&r, BLOCKS, "--close-temperature 0.01"));
    for (int i = 0; i < 2 * EPOCHS; i++) {
        const pada_path path = step(&r, i, 0.01);
        const int n_open = i / 2 < 2 ? 1 : i / 2 < 4 ? 2 : 3;
        double bias[BLOCKS];
        pada_engine_read_weight(r.engine, gate_param(&r, PADA_GATE_OUT_BIAS), bias);
        for (int k = 0; k < BLOCKS; k++)
            assert_true(k < n_open ? bias[k] > -10 : bias[k] < -9000);
        for (int k = 0; k < EDGES; k++) {
            assert_true(path.choice[EDGES + k] < n_open);
            if (path.choice[EDGES + k] > most[i / 2]) most[i / 2] = path.choice[EDGES + k];
        }
    }
    int highest = 0;
    for (int i = 4; i < EPOCHS; i++)
        highest = most[i] > highest ? most[i] : highest;
    assert_int_equal(highest, 2);
    close_method(&r);
}

/* Closing blocks at the start of a run touches their logits alone. */
static void blocks_are_closed_at_first(void **state)
{
    close_test r;

    (void)state;
    CHECK_OK(open_method(&r, BLOCKS, ""));
    double *before = read_weights(&r);
    step(&r, 0, 0); /* without moving */
    double *after = read_weights(&r);
    const pada_param *bias = pada_params_get(r.env.params, gate_param(&r, PADA_GATE_OUT_BIAS));
    for (int64_t k = 0; k < pada_params_elements(r.env.params); k++) {
        const bool closed = k > bias->offset && k < bias->offset + BLOCKS;
        if (closed ? after[k] > -9000 : after[k] != before[k])
            fail_msg("parameter %d: %g, was %g", (int)k, after[k], before[k]);
    }
    assert_true(before[bias->offset] != 0);
    free(before);
    free(after);
    close_method(&r);
}

/* A new block is its own start plus the block before; so is its logit. */
static void a_new_block_starts_from_the_one_before(void **state)
{
    close_test r;
    int n_blocks = 0;

    (void)state;
    CHECK_OK(open_method(&r, BLOCKS, ""));
    double *start = read_weights(&r);
    for (int i = 0; i < 4; i++)
        step(&r, i, 0.1);
    double *before = read_weights(&r);
    step(&r, 4, 0); /* the first one of epoch 2, without moving */
    double *after = read_weights(&r);
    for (int i = 0; i < pada_params_count(r.env.params); i++) {
        const pada_param *p = pada_params_get(r.env.params, i);
        const bool opened = p->site != PADA_SHARED && p->site % BLOCKS == 1;
        for (int64_t k = p->offset; k < p->offset + p->count; k++) {
            double want = before[k];
            if (p->site == PADA_SHARED && i == gate_param(&r, PADA_GATE_OUT_WEIGHT)) {
                const int64_t row = (k - p->offset) / PADA_GATE_HIDDEN;
                if (row == 1) want += before[k - PADA_GATE_HIDDEN];
            } else if (i == gate_param(&r, PADA_GATE_OUT_BIAS)) {
                if (k - p->offset == 1) { /* near that of the block before */
                    assert_true(fabs(after[k] - before[k - 1]) <= p->bound);
                    assert_true(after[k] != before[k - 1]);
                    continue;
                }
            } else if (opened) {
                const pada_param *q = pada_params_get(r.env.params, i - 4);
                assert_int_equal(q->site, p->site - 1);
                assert_int_equal(q->choice, p->choice);
                assert_true(before[k] == start[k]); /* it has not moved so far */
                want += before[k - p->offset + q->offset];
            }
            CHECK_CLOSE(after[k], want, 1e-15);
        }
        n_blocks += opened;
    }
    assert_int_equal(n_blocks, 12); /* four tensors in three cells */
    free(start);
    free(before);
    free(after);
    close_method(&r);
}

/* At 40 % momentum is forgotten and the schedule counts anew. */
static void the_optimiser_restarts(void **state)
{
    for (int restarts = 0; restarts < 2; restarts++) {
        close_test r;
        int n_moved = 0;
        (void)state;
        CHECK_OK(open_method(&r, 1, restarts ? "" : "--close-restart 0"));
        for (int i = 0; i < 8; i++)
            step(&r, i, 0.1);
        double *before = read_weights(&r);
        /* A gradient without weight: what still moves is momentum. */
        r.draws.batch.grad_scale = 1e-300;
        step(&r, 8, 0.1);
        double *after = read_weights(&r);
        for (int64_t k = 0; k < pada_params_elements(r.env.params); k++)
            n_moved += after[k] != before[k];
        assert_int_equal(n_moved > 0, !restarts);
        for (int epoch = 0; epoch < EPOCHS; epoch++)
            assert_int_equal(r.ops->schedule_start(r.self, epoch), restarts && epoch >= 4 ? 4 : 0);
        free(before);
        free(after);
        close_method(&r);
    }
}

/* ---- the gate ---- */

/* Sum over edges and open blocks of derivative * p, by hand: what the gate descends. */
static double surrogate(const close_test *r, pada_block_gate *gate, const pada_path *path,
                        int number, int n_open, double temperature, double dropout,
                        const double *derivatives, double p[PADA_GATE_MAX_EDGES][BLOCKS])
{
    static double mask[PADA_GATE_MAX_EDGES * PADA_GATE_HIDDEN_LAYERS * PADA_GATE_HIDDEN];
    double logits[PADA_GATE_MAX_EDGES * BLOCKS], sum = 0;
    pada_gate_cell cell;
    pada_rng rng;

    r->space.ops->gate_cell(&r->space, path, &cell);
    pada_rng_init(&rng, r->env.seed, "gate", (uint64_t)number);
    for (int i = 0; i < cell.n_edges * PADA_GATE_HIDDEN_LAYERS * PADA_GATE_HIDDEN; i++)
        mask[i] = pada_rng_uniform(&rng) < dropout ? 0 : 1 / (1 - dropout);
    pada_block_gate_forward(gate, &cell, mask, logits);
    for (int k = 0; k < cell.n_edges; k++) {
        double total = 0;
        for (int i = 0; i < n_open; i++) {
            const double noise = -log(-log(pada_rng_uniform(&rng)));
            p[k][i] = exp((logits[k * BLOCKS + i] + noise) / temperature);
            total += p[k][i];
        }
        for (int i = 0; i < n_open; i++) {
            p[k][i] /= total;
            sum += derivatives[cell.slot[k] * BLOCKS + i] * p[k][i];
        }
    }
    return sum;
}

/* A step moves the gate against the gradient of sum(derivative * p), with the derivatives of the
 * loss by the factors of blocks held fixed; and edges run the block with the largest p. */
static void the_gate_descends(void **state)
{
    double derivatives[EDGES * BLOCKS], p[PADA_GATE_MAX_EDGES][BLOCKS];
    const double difference = 1e-4;
    pada_block_gate *gate;
    pada_gate_cell cell;
    close_test r, again;
    int n_checked = 0;
    double largest = 0;

    (void)state;
    CHECK_OK(pada_block_gate_create(&gate, 5, BLOCKS));
    CHECK_OK(open_method(&r, BLOCKS, "--close-temperature 0.5 --close-restart 0.5"));
    CHECK_OK(open_method(&again, BLOCKS, "--close-temperature 0.5 --close-restart 0.5"));
    /* The last step of both, once to see the derivatives and once to move; without momentum. */
    for (int i = 0; i < 10; i++) {
        step(&r, i, i < 9 ? 0.1 : 0);
        step(&again, i, i < 9 ? 0.1 : 0);
    }
    double *before = read_weights(&again);
    for (int i = 0; i < PADA_GATE_TENSORS; i++)
        memcpy(pada_block_gate_weights(gate, i),
               before + pada_params_get(r.env.params, gate_param(&r, i))->offset,
               (size_t)pada_block_gate_count(gate, i) * sizeof(double));
    const pada_path path = step(&r, 10, 0);
    pada_engine_probes(r.engine, derivatives);
    surrogate(&r, gate, &path, 10, 3, 0.5, 0.1, derivatives, p);
    r.space.ops->gate_cell(&r.space, &path, &cell);
    assert_true(cell.n_edges > 2);
    for (int k = 0; k < cell.n_edges; k++)
        for (int i = 0; i < BLOCKS; i++)
            assert_true(p[k][i] <= p[k][path.choice[EDGES + cell.slot[k]]]);
    step(&again, 10, 1);
    double *after = read_weights(&again);
    for (int i = 0; i < PADA_GATE_TENSORS; i++) {
        const int64_t n = pada_block_gate_count(gate, i);
        const int64_t offset = pada_params_get(r.env.params, gate_param(&r, i))->offset;
        double *w = pada_block_gate_weights(gate, i);
        for (int64_t k = 0; k < n; k += 1 + n / 11) {
            const double centre = w[k];
            w[k] = centre + difference;
            const double above = surrogate(&r, gate, &path, 10, 3, 0.5, 0.1, derivatives, p);
            w[k] = centre - difference;
            const double below = surrogate(&r, gate, &path, 10, 3, 0.5, 0.1, derivatives, p);
            w[k] = centre;
            const double slope = (above - below) / (2 * difference);
            CHECK_CLOSE(before[offset + k] - after[offset + k], slope, 1e-6 + 1e-4 * fabs(slope));
            largest = fmax(largest, fabs(slope));
            n_checked++;
        }
    }
    assert_true(n_checked > 200 && largest > 1e-3);
    free(before);
    free(after);
    pada_block_gate_destroy(gate);
    close_method(&r);
    close_method(&again);
}

/* For the weights of the gate and for its gradient. An epoch that opens a block reads more, once. */
static void a_step_waits_twice(void **state)
{
    close_test r;

    (void)state;
    CHECK_OK(open_method(&r, BLOCKS, ""));
    for (int i = 0; i < 2 * EPOCHS; i++) {
        const pada_epoch epoch = {.index = i / 2, .first_step = i / 2 * 2, .optim = {.lr = 0.01}};
        n_reads = 0;
        CHECK_OK(r.ops->step(r.self, r.engine, &r.draws, &epoch, i));
        if (i % 2) assert_int_equal(n_reads, epoch.index < 2 ? 0 : 2);
    }
    close_method(&r);
}

/* Twice the same batch is the batch, for weights and gate. Blocks open in epoch 2, with step 4. */
static void steps_of_two_batches(void **state)
{
    close_test once, twice;

    (void)state;
    CHECK_OK(open_method(&once, BLOCKS, ""));
    CHECK_OK(open_method(&twice, BLOCKS, ""));
    for (int i = 0; i < 6; i++) {
        step(&once, i, 0.1);
        twice.draws.batch.grad_scale = 0.5;
        for (int k = 0; k < 2; k++) {
            twice.draws.joins = k == 1;
            twice.draws.more = k == 0;
            step(&twice, i, 0.1);
        }
    }
    double *want = read_weights(&once), *have = read_weights(&twice);
    for (int64_t i = 0; i < pada_params_elements(once.env.params); i++)
        CHECK_CLOSE(have[i], want[i], 1e-9);
    free(want);
    free(have);
    close_method(&once);
    close_method(&twice);
}

static void it_needs_blocks(void **state)
{
    close_test r;

    (void)state;
    assert_int_equal(open_method(&r, 0, ""), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "--blocks"));
    close_method(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(isomorphic_paths_are_one),
        cmocka_unit_test(blocks_open_one_by_one),
        cmocka_unit_test(blocks_are_closed_at_first),
        cmocka_unit_test(a_new_block_starts_from_the_one_before),
        cmocka_unit_test(the_optimiser_restarts),
        cmocka_unit_test(the_gate_descends),
        cmocka_unit_test(a_step_waits_twice),
        cmocka_unit_test(steps_of_two_batches),
        cmocka_unit_test(it_needs_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
