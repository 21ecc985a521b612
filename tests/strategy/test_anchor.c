/* test_anchor.c - MAGIC-A and MAGIC-AT: what a step is, and when the anchor changes. */
#include "engine/engine_align.h"
#include "engine/engine_inspect.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "strategy/anchor.h"
#include "strategy/small_run.h"
#include "train/tiny_engine.h"

enum { BATCH = 8, N_TRAIN = 24, N_HELD = TINY_TRAIN - N_TRAIN };

typedef struct anchor_run {
    tiny_data data;
    pada_space space;
    pada_engine *engine;
    pada_strategy_env env;
    pada_anchor anchor;
    float images[BATCH * 3 * TINY_SIDE * TINY_SIDE];
    int32_t labels[BATCH];
    pada_draws draws;
} anchor_run;

/* The images as they are, by number. */
static pada_batch batch_of(anchor_run *r, const int32_t *numbers, int n, float *images,
                           int32_t *labels)
{
    const int pixels = TINY_SIDE * TINY_SIDE;

    for (int i = 0; i < n; i++) {
        labels[i] = tiny_label(&r->data.base, PADA_SPLIT_TRAIN, numbers[i]);
        for (int k = 0; k < 3 * pixels; k++)
            images[i * 3 * pixels + k] =
                r->data.base
                    .levels[k / pixels][tiny_image(&r->data.base, PADA_SPLIT_TRAIN, numbers[i])[k]];
    }
    return (pada_batch){.n = n, .images = images, .labels = labels};
}

static void open_run(anchor_run *r, const pada_anchor_settings *settings)
{
    static const int32_t first[BATCH] = {0, 1, 2, 3, 4, 5, 6, 7};
    const pada_backend *ref;

    *r = (anchor_run){.env = {.seed = 5}};
    tiny_data_init(&r->data);
    CHECK_OK(pada_backend_find(&ref, "ref"));
    r->engine = tiny_engine(&r->space, ref, 1, BATCH);
    CHECK_OK(pada_engine_init_weights(r->engine, 2));
    r->env = (pada_strategy_env){.space = &r->space,
                                 .params = pada_engine_params(r->engine),
                                 .data = &r->data.base,
                                 .n_images = N_TRAIN,
                                 .n_held_out = N_HELD,
                                 .n_classes = TINY_CLASSES,
                                 .n_epochs = 10,
                                 .batch_size = BATCH,
                                 .seed = 5};
    CHECK_OK(pada_anchor_init(&r->anchor, &r->env, settings));
    r->draws.batch = batch_of(r, first, BATCH, r->images, r->labels);
}

static void close_run(anchor_run *r)
{
    pada_anchor_deinit(&r->anchor);
    pada_engine_destroy(r->engine);
}

static pada_path random_path(const anchor_run *r, int number)
{
    pada_rng rng;
    pada_path path;

    pada_rng_init(&rng, 1, "test paths", (uint64_t)number);
    pada_path_random(&r->space, &rng, &path);
    return path;
}

/* Step `number`, three of which are an epoch. */
static void step(anchor_run *r, const pada_path *path, int number, double lr)
{
    const pada_epoch epoch = {
        .index = number / 3, .first_step = number / 3 * 3, .optim = {.lr = lr}};

    CHECK_OK(pada_anchor_step(&r->anchor, r->engine, path, &r->draws, &epoch, number));
}

/* Images of held-out batch `number` that a path has right. */
static int count_right(anchor_run *r, const pada_path *path, int number, int size)
{
    float images[BATCH * 3 * TINY_SIDE * TINY_SIDE];
    int32_t numbers[BATCH], labels[BATCH];
    pada_results_view view;
    pada_rng rng;

    pada_rng_init(&rng, r->env.seed, "held", (uint64_t)number);
    for (int i = 0; i < size; i++)
        numbers[i] = N_TRAIN + (int32_t)pada_rng_below(&rng, N_HELD);
    const pada_batch batch = batch_of(r, numbers, size, images, labels);
    CHECK_OK(pada_engine_forward(r->engine, path, &batch, PADA_EVAL));
    CHECK_OK(pada_engine_results(r->engine, &view));
    return view.top1;
}

/* The anchor is the better one, by the weights after the step; never for a draw. */
static void the_better_path_becomes_the_anchor(void **state)
{
    static anchor_run r;
    int n_changed = 0, n_kept = 0, n_draws = 0;

    (void)state;
    open_run(&r, &(pada_anchor_settings){.align = 0.5, .images = 256, .every = 1});
    assert_false(r.space.ops->dead(&r.space, &r.anchor.path));
    for (int i = 0; i < 24; i++) {
        const pada_path before = r.anchor.path, path = random_path(&r, i);
        step(&r, &path, i, 0.05);
        const int of_path = count_right(&r, &path, i, BATCH),
                  of_anchor = count_right(&r, &before, i, BATCH);
        const pada_path *want = of_path > of_anchor ? &path : &before;
        assert_true(pada_path_equal(&r.space, &r.anchor.path, want));
        n_changed += of_path > of_anchor;
        n_kept += of_path < of_anchor;
        n_draws += of_path == of_anchor;
    }
    assert_true(n_changed > 0 && n_kept > 0 && n_draws > 0);
    close_run(&r);
}

/* Also where epochs do not begin with a comparison, on smaller batches, and for a run that begins
 * in the middle. */
static void comparisons_can_be_rare(void **state)
{
    for (int begin = 0; begin < 9; begin += 4) {
        static anchor_run r;
        int n_changed = 0;
        (void)state;
        open_run(&r, &(pada_anchor_settings){.align = 0.5, .images = 5, .every = 4});
        for (int i = begin; i < 60; i++) {
            const pada_path before = r.anchor.path, path = random_path(&r, i);
            step(&r, &path, i, 0.05);
            const bool better =
                i % 4 == 0 && count_right(&r, &path, i / 4, 5) > count_right(&r, &before, i / 4, 5);
            assert_true(pada_path_equal(&r.space, &r.anchor.path, better ? &path : &before));
            n_changed += better;
        }
        assert_true(n_changed > 0);
        close_run(&r);
    }
}

/* The step is that of CE + align * distance, and moves nothing that only the anchor has. */
static void a_step_follows_the_aligned_gradient(void **state)
{
    static anchor_run r;
    int n_anchor = 0, n_moved = 0;

    (void)state;
    open_run(&r, &(pada_anchor_settings){.align = 0.7, .images = 4, .every = 1});
    const pada_params *params = r.env.params;
    const size_t n = (size_t)pada_params_elements(params);
    const pada_path path = random_path(&r, 3), anchor = r.anchor.path;
    double *before = calloc(n, sizeof *before), *grads = calloc(n, sizeof *grads),
           *after = calloc(n, sizeof *after);
    CHECK_OK(pada_engine_keep_taps(r.engine, &anchor, &r.draws.batch));
    CHECK_OK(pada_engine_forward_aligned(r.engine, &path, &r.draws.batch, 0.7));
    pada_engine_backward(r.engine);
    for (int i = 0; i < pada_params_count(params); i++) {
        pada_engine_read_weight(r.engine, i, before + pada_params_get(params, i)->offset);
        pada_engine_read_grad(r.engine, i, grads + pada_params_get(params, i)->offset);
    }
    step(&r, &path, 0, 0.1);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        const bool used = p->site == PADA_SHARED || p->choice == path.choice[p->site % 6];
        pada_engine_read_weight(r.engine, i, after + p->offset);
        for (int64_t k = p->offset; k < p->offset + p->count; k++) {
            CHECK_CLOSE(after[k], before[k] - 0.1 * grads[k], 1e-12);
            n_moved += after[k] != before[k];
            if (!used) assert_true(after[k] == before[k]);
        }
        n_anchor += !used && p->choice == anchor.choice[p->site % 6];
    }
    assert_true(n_anchor > 0 && n_moved > 100);
    free(before);
    free(grads);
    free(after);
    close_run(&r);
}

/* magic_at walks as magic_t does: one slot per step. */
static void the_walk_is_that_of_magic_t(void **state)
{
    pada_path before = {{0}};
    small_run t, at;
    int n;

    (void)state;
    small_run_open_on(&t, "null", "magic_t", "");
    small_run_open_on(&at, "null", "magic_at", "--align 0");
    for (int i = 0; i < 200; i++) {
        const pada_path path = *small_run_step(&at, 0, i, &n);
        int changed = 0;
        assert_true(pada_path_equal(&at.space, &path, small_run_step(&t, 0, i, &n)));
        for (int slot = 0; slot < SMALL_SLOTS && i > 0; slot++)
            changed += path.choice[slot] != before.choice[slot];
        assert_int_equal(changed, i > 0);
        before = path;
    }
    small_run_close(&t);
    small_run_close(&at);
}

/* Twice the same batch is the batch, and the anchor is asked for once per step. */
static void steps_of_two_batches(void **state)
{
    const pada_anchor_settings settings = {.align = 0.5, .images = 256, .every = 1};
    static anchor_run once, twice;

    (void)state;
    open_run(&once, &settings);
    open_run(&twice, &settings);
    for (int i = 0; i < 6; i++) {
        const pada_path path = random_path(&once, i);
        step(&once, &path, i, 0.05);
        twice.draws.batch.grad_scale = 0.5;
        for (int k = 0; k < 2; k++) {
            twice.draws.joins = k == 1;
            twice.draws.more = k == 0;
            step(&twice, &path, i, 0.05);
        }
        assert_true(pada_path_equal(&once.space, &twice.anchor.path, &once.anchor.path));
    }
    for (int i = 0; i < pada_params_count(once.env.params); i++) {
        double want[4096], have[4096];
        assert_true(pada_params_get(once.env.params, i)->count <= 4096);
        pada_engine_read_weight(once.engine, i, want);
        pada_engine_read_weight(twice.engine, i, have);
        for (int64_t k = 0; k < pada_params_get(once.env.params, i)->count; k++)
            CHECK_CLOSE(have[k], want[k], 1e-9);
    }
    close_run(&once);
    close_run(&twice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_better_path_becomes_the_anchor),
        cmocka_unit_test(comparisons_can_be_rare),
        cmocka_unit_test(a_step_follows_the_aligned_gradient),
        cmocka_unit_test(the_walk_is_that_of_magic_t),
        cmocka_unit_test(steps_of_two_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
