/* test_importance.c - PA and DA as the specification has them, from logs made by hand. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine_log.h"
#include "strategy/data_importance.h"
#include "strategy/path_importance.h"
#include "strategy/small_run.h"

enum { SITES = 90, EPOCHS = 10 };

static pada_space space;
static pada_strategy_env env;

static int open_space(void **state)
{
    const pada_space_ops *ops;

    (void)state;
    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){0}));
    assert_int_equal(ops->n_sites(&space), SITES);
    env = (pada_strategy_env){.space = &space, .n_epochs = EPOCHS, .n_classes = 2};
    return 0;
}

/* A log of steps, each with its path and one norm for every site. */
typedef struct steps {
    pada_path paths[8];
    double norms[8][SITES], clip[8];
    int n;
} steps;

/* Adds a step; sites whose choice is `op` get `norm`, others none. */
static void add(steps *s, const char *arch, int op, double norm, double clip)
{
    CHECK_OK(space.ops->parse(&space, arch, "list", &s->paths[s->n]));
    for (int site = 0; site < SITES; site++)
        s->norms[s->n][site] =
            s->paths[s->n].choice[space.ops->site_slot(&space, site)] == op ? norm : 0;
    s->clip[s->n++] = clip;
}

static pada_log log_of(const steps *s)
{
    return (pada_log){.n_steps = s->n,
                      .n_passes = s->n,
                      .n_sites = SITES,
                      .paths = s->paths,
                      .clip_factors = s->clip,
                      .site_norms = s->norms[0]};
}

static void check_p(const pada_path_importance *pi, int slot, const double *want)
{
    double sum = 0;

    for (int c = 0; c < 5; c++) {
        CHECK_CLOSE(pi->sampler.p[slot][c], want[c], 1e-12);
        sum += pi->sampler.p[slot][c];
    }
    CHECK_CLOSE(sum, 1, 1e-12);
}

static void end_epoch(pada_path_importance *pi, const steps *s, int epoch)
{
    const pada_log log = log_of(s);

    pada_path_importance_end_epoch(pi, &log, &(pada_epoch){.index = epoch});
}

/* The official rule: sum over the cells, mean over the edges, half-mean over the steps. */
static void norms_become_probabilities(void **state)
{
    const pada_path_settings official = {.tau_max = 1};
    pada_path_importance pi = {0};
    steps s = {0};

    (void)state;
    CHECK_OK(pada_path_importance_init(&pi, &env, &official));
    /* one 3x3 edge in 15 cells, clipped to a half; then two 1x1 edges; then the 3x3 again */
    add(&s, "[3,0,0,0,0,0]", 3, 2, 0.5); /* S = 15 */
    add(&s, "[2,2,1,4,0,0]", 2, 1, 1);   /* S = 15 * 2 / 2 */
    add(&s, "[3,0,0,0,0,0]", 3, 4, 1);   /* S = 60 */
    end_epoch(&pi, &s, 4);               /* tau = 0.4 */
    const double g2 = 15 / 2.0, g3 = (15 / 2.0 + 60) / 2, sum = g2 + g3;
    const double want[] = {0.12, 0.12, 0.12 + 0.4 * g2 / sum, 0.12 + 0.4 * g3 / sum, 0.12};
    for (int slot = 0; slot < 6; slot++)
        check_p(&pi, slot, want);
    /* The norms start anew: an epoch without any is uniform. */
    steps none = {0};
    add(&none, "[1,1,1,1,1,1]", 3, 1, 1);
    end_epoch(&pi, &none, 5);
    check_p(&pi, 0, (const double[]){0.2, 0.2, 0.2, 0.2, 0.2});
}

/* One conv3x3 edge: half of the sum over the 15 cells after one step. */
static void one_step_is_half_of_its_norm(void **state)
{
    pada_path_importance pi = {0};
    steps s = {0};

    (void)state;
    CHECK_OK(pada_path_importance_init(&pi, &env, &(pada_path_settings){.tau_max = 1, .reset = 1}));
    add(&s, "[1,0,0,3,0,0]", 3, 0.25, 1);
    end_epoch(&pi, &s, 1);
    CHECK_CLOSE(pi.norms[3], 15 * 0.25 / 2, 1e-15);
}

static void switches_of_pa(void **state)
{
    pada_path_importance pi;
    steps s = {0};

    (void)state;
    add(&s, "[3,0,0,0,0,0]", 3, 2, 0.5);
    add(&s, "[2,2,1,4,0,0]", 2, 1, 1);
    add(&s, "[3,3,0,0,0,0]", 3, 4, 1);
    /* before clipping, mean: 3x3 (30 + 60) / 2, 1x1 15; constant tau 0.5 */
    pi = (pada_path_importance){0};
    CHECK_OK(pada_path_importance_init(
        &pi, &env,
        &(pada_path_settings){.norm = 1, .accumulate = 1, .schedule = 2, .tau_max = 0.5}));
    end_epoch(&pi, &s, 9);
    check_p(&pi, 0, (const double[]){0.1, 0.1, 0.1 + 0.5 * 15 / 60, 0.1 + 0.5 * 45 / 60, 0.1});
    /* sum, never reset, falling tau: 1 - 2/10, twice the same epoch */
    pi = (pada_path_importance){0};
    CHECK_OK(pada_path_importance_init(
        &pi, &env,
        &(pada_path_settings){.accumulate = 2, .reset = 1, .schedule = 1, .tau_max = 1}));
    end_epoch(&pi, &s, 0);
    end_epoch(&pi, &s, 2);
    CHECK_CLOSE(pi.norms[3], 2 * (15 + 60), 1e-12);
    check_p(&pi, 3,
            (const double[]){0.04, 0.04, 0.04 + 0.8 * 30 / 180, 0.04 + 0.8 * 150 / 180, 0.04});
    /* per slot: slot 0 saw both, slot 3 none */
    pi = (pada_path_importance){0};
    CHECK_OK(pada_path_importance_init(
        &pi, &env, &(pada_path_settings){.scope = 1, .accumulate = 2, .tau_max = 1}));
    end_epoch(&pi, &s, 5);
    check_p(&pi, 0, (const double[]){0.1, 0.1, 0.1 + 0.5 * 15 / 90, 0.1 + 0.5 * 75 / 90, 0.1});
    check_p(&pi, 1, (const double[]){0.1, 0.1, 0.1 + 0.5 * 15 / 75, 0.1 + 0.5 * 60 / 75, 0.1});
    check_p(&pi, 3, (const double[]){0.2, 0.2, 0.2, 0.2, 0.2});
}

/* With --path-update step the norms of a step count at once: as if the epoch had ended there. */
static void distributions_can_change_with_every_step(void **state)
{
    const pada_path_settings per_epoch = {.schedule = 2, .tau_max = 0.5};
    small_run now, later;
    pada_distributions told;
    pada_log log;
    int n;

    (void)state;
    small_run_open(&now, "pa", "--path-update step --path-schedule const --path-tau-max 0.5");
    small_run_open(&later, "pa", "--path-schedule const --path-tau-max 0.5");
    for (int step = 0; step < 6; step++) {
        pada_path_importance want = {0};
        CHECK_OK(pada_path_importance_init(&want, &now.env, &per_epoch));
        small_run_step(&now, 0, step, &n);
        pada_engine_log_read(now.engine, &log);
        pada_path_importance_end_epoch(&want, &log, &(pada_epoch){0});
        now.ops->distributions(now.self, &(pada_epoch){0}, &told);
        check_p(&want, 0, told.paths->p[0]);

        small_run_step(&later, 0, step, &n);
        later.ops->distributions(later.self, &(pada_epoch){0}, &told);
        for (int c = 0; c < SMALL_CHOICES; c++)
            CHECK_CLOSE(told.paths->p[0][c], 0.2, 1e-15);
    }
    now.ops->distributions(now.self, &(pada_epoch){0}, &told);
    assert_true(told.paths->p[0][3] > 0.3 && told.paths->p[0][1] == told.paths->p[0][4]);
    small_run_close(&now);
    small_run_close(&later);
}

/* A floor of (1 - tau) / n for every choice, whatever the norms are. */
static void probabilities_keep_their_floor(void **state)
{
    pada_path_importance pi = {0};
    steps s = {0};

    (void)state;
    CHECK_OK(pada_path_importance_init(&pi, &env, &(pada_path_settings){.tau_max = 1}));
    add(&s, "[3,3,3,3,3,3]", 3, 1e6, 1);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        end_epoch(&pi, &s, epoch);
        for (int c = 0; c < 5; c++)
            assert_true(pi.sampler.p[0][c] >= (1 - epoch / 10.0) / 5 - 1e-15);
        assert_true(pi.sampler.p[0][0] == pi.sampler.p[0][1] &&
                    pi.sampler.p[0][1] == pi.sampler.p[0][4]);
    }
}

static void paths_can_be_reweighted(void **state)
{
    pada_path_importance pi = {0};
    steps s = {0};
    double scale, mean = 0;
    pada_path path;

    (void)state;
    CHECK_OK(pada_path_importance_init(
        &pi, &env, &(pada_path_settings){.schedule = 2, .tau_max = 0.5, .reweight = true}));
    add(&s, "[3,2,0,0,0,0]", 3, 1, 1);
    end_epoch(&pi, &s, 0);
    for (int step = 0; step < 20000; step++) {
        pada_path_importance_draw(&pi, step, &path, &scale);
        mean += scale / 20000;
    }
    CHECK_CLOSE(mean, 1, 0.05); /* the expectation of a likelihood ratio */
}

/* The weight of a path is in the gradient that the log has the norm of; the loss itself has not got it. */
static void norms_can_be_those_of_the_loss(void **state)
{
    pada_path_importance plain = {0}, weighted = {0};
    steps first = {0}, second = {0};

    (void)state;
    CHECK_OK(pada_path_importance_init(
        &plain, &env,
        &(pada_path_settings){
            .scope = 1, .norm = 1, .accumulate = 2, .schedule = 2, .tau_max = 0.5}));
    CHECK_OK(pada_path_importance_init(&weighted, &env,
                                       &(pada_path_settings){.scope = 1,
                                                             .norm = 2,
                                                             .accumulate = 2,
                                                             .schedule = 2,
                                                             .tau_max = 0.5,
                                                             .reweight = true}));
    add(&first, "[3,2,3,2,3,2]", 3, 1, 0.1);
    end_epoch(&plain, &first, 0);
    end_epoch(&weighted, &first, 0);
    check_p(&weighted, 0, plain.sampler.p[0]); /* drawn uniformly: the weight is 1 */
    add(&second, "[3,2,3,2,0,1]", 3, 1, 0.1);
    add(&second, "[2,2,3,3,0,1]", 3, 1, 0.1);
    end_epoch(&plain, &second, 0);
    for (int i = 0; i < second.n; i++) {
        const double weight = pada_path_sampler_ratio(&weighted.sampler, &second.paths[i]);
        assert_true(fabs(weight - 1) > 0.1);
        for (int site = 0; site < SITES; site++)
            second.norms[i][site] *= weight;
    }
    end_epoch(&weighted, &second, 0);
    for (int slot = 0; slot < 6; slot++)
        check_p(&weighted, slot, plain.sampler.p[slot]);
}

/* Equation 5: over all paths, the sum of p times the gradient that a step has when it draws the path is the mean of
 * their gradients; without the weights it is not. */
static void gradients_of_paths_are_unbiased(void **state)
{
    static const double probabilities[2][SMALL_SLOTS] = {{0.9, 0.2, 0.5, 0.7, 0.4, 0.05},
                                                         {0.1, 0.8, 0.5, 0.3, 0.6, 0.95}};
    const int chosen[2] = {1, 3}; /* two operators: 64 paths */
    pada_path_importance pi = {0};
    pada_subspace within;
    small_run r;

    (void)state;
    small_run_open(&r, "pa", "");
    pada_subspace_init(&within, &r.space);
    for (int slot = 0; slot < SMALL_SLOTS; slot++)
        within.allowed[slot] = 1U << chosen[0] | 1U << chosen[1];
    r.env.within = &within;
    CHECK_OK(pada_path_importance_init(&pi, &r.env, &(pada_path_settings){.reweight = true}));
    for (int slot = 0; slot < SMALL_SLOTS; slot++)
        for (int i = 0; i < 2; i++)
            pi.sampler.p[slot][chosen[i]] = probabilities[i][slot];
    const int64_t n = pada_params_elements(r.env.params);
    double *sums = calloc((size_t)(3 * n), sizeof *sums);
    double *mean = sums, *weighted = sums + n, *plain = sums + 2 * n;
    for (int number = 0; number < 64; number++) {
        pada_path path = {{0}};
        double p = 1;
        for (int slot = 0; slot < SMALL_SLOTS; slot++) {
            path.choice[slot] = (uint8_t)chosen[number >> slot & 1];
            p *= probabilities[number >> slot & 1][slot];
        }
        if (number % 16 == 0) small_run_begin_log(&r);
        small_run_add_grad(&r, &path, 1.0 / 64, mean);
        small_run_add_grad(&r, &path, p, plain);
        small_run_add_grad(&r, &path, p * pada_path_sampler_ratio(&pi.sampler, &path), weighted);
    }
    assert_true(relative_distance(weighted, mean, n) < 1e-12);
    assert_true(relative_distance(plain, mean, n) > 0.1);
    /* What a step draws has that factor. */
    for (int step = 0; step < 100; step++) {
        pada_path path;
        double scale, p = 1;
        pada_path_importance_draw(&pi, step, &path, &scale);
        for (int slot = 0; slot < SMALL_SLOTS; slot++)
            p *= pi.sampler.p[slot][path.choice[slot]];
        CHECK_CLOSE(scale * 64 * p, 1, 1e-12);
    }
    free(sums);
    small_run_close(&r);
}

/* ---- images ---- */

enum { IMAGES = 20000, LONG_RUN = 250 };

static int32_t order[IMAGES], labels[IMAGES];
static double norms[IMAGES], of_image[IMAGES];

static void start_images(pada_data_importance *di, int n_images, int n_epochs,
                         const pada_data_settings *settings)
{
    env.n_images = n_images;
    env.n_epochs = n_epochs;
    env.labels = labels;
    env.batch_size = 4;
    *di = (pada_data_importance){0};
    CHECK_OK(pada_data_importance_init(di, &env, settings));
}

/* An epoch in which every draw of image i has the norm of_image[i]; returns the share of images
 * drawn. */
static double run_images(pada_data_importance *di, int index)
{
    const pada_epoch epoch = {.index = index};
    static char seen[IMAGES];
    int covered = 0;

    CHECK_OK(pada_data_importance_begin_epoch(di, &epoch, order));
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < env.n_images; i++) {
        covered += !seen[order[i]];
        seen[order[i]] = 1;
        norms[i] = of_image[order[i]];
    }
    const pada_log log = {.n_images = env.n_images, .norms = norms};
    pada_data_importance_end_epoch(di, &log, &epoch, order);
    return (double)covered / env.n_images;
}

static double sum_of_p(const pada_data_importance *di)
{
    double sum = 0;

    for (int i = 0; i < env.n_images; i++)
        sum += di->p[i];
    return sum;
}

/* Two published curves: equal norms, and log-normal ones as far as a norm can be (sqrt 2). */
static void coverage_falls_as_published(void **state)
{
    static const int at[] = {0, 1, 50, 100, 150, 200, 225, 240, 249};
    static const double equal[] = {1, .631, .628, .610, .579, .516, .450, .382, .315};
    static const double spread[] = {1, .631, .610, .559, .479, .360, .277, .206, .151};
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 1, "norms", 0);
    for (int kind = 0; kind < 2; kind++) {
        pada_data_importance di;
        int next = 0;
        for (int i = 0; i < IMAGES; i++)
            of_image[i] = kind == 0 ? 1 : fmin(exp(-3 + 1.5 * pada_rng_normal(&rng)), sqrt(2));
        start_images(&di, IMAGES, LONG_RUN,
                     &(pada_data_settings){.tau_max = 1, .replacement = true});
        for (int e = 0; e < LONG_RUN; e++) {
            const double coverage = run_images(&di, e);
            if (e != at[next]) continue;
            CHECK_CLOSE(coverage, kind == 0 ? equal[next] : spread[next], 0.01);
            CHECK_CLOSE(sum_of_p(&di), 1, 1e-12);
            next++;
        }
        assert_int_equal(next, 9);
        pada_data_importance_deinit(&di);
    }
}

static void images_keep_their_floor_and_memory(void **state)
{
    pada_data_importance di;

    (void)state;
    for (int i = 0; i < 4; i++)
        of_image[i] = i;
    /* Forgetful: image 0 has norm zero, and what was not drawn has importance zero too. */
    start_images(&di, 4, 10, &(pada_data_settings){.tau_max = 1, .replacement = true});
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(di.p[i], 0.25, 0);
    run_images(&di, 0); /* a permutation; tau 0 */
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(di.p[i], 0.25, 1e-15);
    const int32_t two[] = {3, 3, 2, 2};
    const double seen[] = {1, 0.5, 0.25, 0.25};
    const pada_log log = {.n_images = 4, .norms = seen};
    pada_data_importance_end_epoch(&di, &log, &(pada_epoch){.index = 5}, two);
    CHECK_CLOSE(di.p[3], 0.5 * 0.75 + 0.125, 1e-15); /* (1 + 0.5) / 2 of a sum of 1 */
    CHECK_CLOSE(di.p[2], 0.5 * 0.25 + 0.125, 1e-15);
    CHECK_CLOSE(di.p[0], 0.125, 1e-15);
    CHECK_CLOSE(di.p[1], 0.125, 1e-15);
    /* No norms at all: uniform. */
    const pada_log nothing = {.n_images = 4, .norms = (const double[4]){0}};
    pada_data_importance_end_epoch(&di, &nothing, &(pada_epoch){.index = 5}, two);
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(di.p[i], 0.25, 0);
    pada_data_importance_deinit(&di);
    /* With memory image 1 keeps its norm of 1 from the first epoch; 3 has (((3) + 1) / 2 + .5) / 2. */
    start_images(&di, 4, 10, &(pada_data_settings){.tau_max = 1, .replacement = true, .memory = 1});
    run_images(&di, 0);
    pada_data_importance_end_epoch(&di, &log, &(pada_epoch){.index = 5}, two);
    const double n2 = ((2 + 0.25) / 2 + 0.25) / 2, n3 = ((3 + 1) / 2.0 + 0.5) / 2;
    CHECK_CLOSE(di.p[1], 0.5 * 1 / (1 + n2 + n3) + 0.125, 1e-15);
    CHECK_CLOSE(di.p[3], 0.5 * n3 / (1 + n2 + n3) + 0.125, 1e-15);
    pada_data_importance_deinit(&di);
}

static void switches_of_da(void **state)
{
    const int32_t drawn[] = {0, 0, 1, 3};
    const double seen[] = {1, 2, 3, 0.5};
    const pada_log log = {.n_images = 4, .norms = seen};
    const pada_epoch epoch = {.index = 1};
    pada_data_importance di;

    (void)state;
    for (int i = 0; i < 4; i++)
        labels[i] = i / 2;
    /* classes: mean of what was drawn, uniform inside: class 0 (1.5, 3), class 1 (0.5) */
    start_images(
        &di, 4, 2,
        &(pada_data_settings){
            .granularity = 1, .accumulate = 1, .schedule = 2, .tau_max = 1, .replacement = true});
    pada_data_importance_end_epoch(&di, &log, &epoch, drawn);
    CHECK_CLOSE(di.p[0], 2.25 / 5.5, 1e-15);
    CHECK_CLOSE(di.p[1], 2.25 / 5.5, 1e-15);
    CHECK_CLOSE(di.p[2], 0.5 / 5.5, 1e-15);
    pada_data_importance_deinit(&di);
    /* sums, and weights that undo the probabilities */
    start_images(
        &di, 4, 2,
        &(pada_data_settings){
            .accumulate = 2, .schedule = 2, .tau_max = 0.5, .replacement = true, .reweight = true});
    pada_data_importance_end_epoch(&di, &log, &epoch, drawn);
    CHECK_CLOSE(di.p[0], 0.5 * 3 / 6.5 + 0.125, 1e-15);
    const pada_draws draws = {.batch = {.n = 4}, .indices = drawn};
    assert_null(pada_data_importance_weights(&di, &draws, &(pada_epoch){.index = 0}));
    const float *weights = pada_data_importance_weights(&di, &draws, &epoch);
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(weights[i], 1 / (4 * di.p[drawn[i]]), 1e-6);
    pada_data_importance_deinit(&di);
    /* without replacement every epoch has every image once, whatever the norms */
    start_images(&di, 4, 2, &(pada_data_settings){.tau_max = 1});
    for (int e = 0; e < 5; e++)
        CHECK_CLOSE(run_images(&di, e), 1, 0);
    pada_data_importance_deinit(&di);
}

/* Equation 5 for images: over all images, the sum of q times what a draw of one adds is the mean of their gradients. */
static void gradients_of_images_are_unbiased(void **state)
{
    const pada_data_settings settings = {
        .schedule = 2, .tau_max = 0.9, .replacement = true, .reweight = true};
    const int32_t all[SMALL_BATCH] = {0, 1, 2, 3};
    const double seen[SMALL_BATCH] = {1, 0.1, 0.5, 0};
    const pada_log log = {.n_images = SMALL_BATCH, .norms = seen};
    const pada_epoch epoch = {.index = 1};
    const pada_path path = {{3, 3, 1, 2, 0, 3}};
    pada_data_importance di = {0};
    small_run r;

    (void)state;
    small_run_open(&r, "da", "");
    CHECK_OK(pada_data_importance_init(&di, &r.env, &settings));
    pada_data_importance_end_epoch(&di, &log, &epoch, all);
    const int64_t n = pada_params_elements(r.env.params);
    double *sums = calloc((size_t)(3 * n), sizeof *sums);
    double *mean = sums, *weighted = sums + n, *plain = sums + 2 * n;
    for (int i = 0; i < SMALL_BATCH; i++) {
        const pada_draws one = {.batch = {.n = 1,
                                          .images = r.images + i * 3 * SMALL_SIDE * SMALL_SIDE,
                                          .labels = r.labels + i},
                                .indices = &all[i]};
        r.draws = one;
        small_run_add_grad(&r, &path, 1.0 / SMALL_BATCH, mean);
        small_run_add_grad(&r, &path, di.p[i], plain);
        r.draws.batch.weights = pada_data_importance_weights(&di, &one, &epoch);
        small_run_add_grad(&r, &path, di.p[i], weighted);
    }
    assert_true(relative_distance(weighted, mean, n) < 1e-6); /* weights are floats */
    assert_true(relative_distance(plain, mean, n) > 0.1);
    free(sums);
    pada_data_importance_deinit(&di);
    small_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_become_probabilities),
        cmocka_unit_test(one_step_is_half_of_its_norm),
        cmocka_unit_test(switches_of_pa),
        cmocka_unit_test(distributions_can_change_with_every_step),
        cmocka_unit_test(probabilities_keep_their_floor),
        cmocka_unit_test(paths_can_be_reweighted),
        cmocka_unit_test(norms_can_be_those_of_the_loss),
        cmocka_unit_test(gradients_of_paths_are_unbiased),
        cmocka_unit_test(coverage_falls_as_published),
        cmocka_unit_test(images_keep_their_floor_and_memory),
        cmocka_unit_test(switches_of_da),
        cmocka_unit_test(gradients_of_images_are_unbiased),
    };
    return cmocka_run_group_tests(tests, open_space, NULL);
}
