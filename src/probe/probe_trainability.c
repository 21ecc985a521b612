/* probe_trainability.c - the condition number of the neural tangent kernel, as TE-NAS defines it: less is easier to train.
 *
 * log10 kappa of paths drawn uniformly, by the run, and by conv_anneal in the same epoch, which favours convolutions without
 * looking at any norm: all on the same weights and images. */
#include <math.h>

#include "base/mem.h"
#include "probe/ntk.h"
#include "probe/probe_parts.h"
#include "strategy/conv_anneal.h"

static const pada_probe_column columns[] = {
    {"uniform", "uniform"}, /* median of log10 kappa */
    {"uniform_lower", "lower"}, {"uniform_upper", "upper"}, {"run", "run"},
    {"run_lower", "lower"},     {"run_upper", "upper"},     {"anneal", "anneal"},
    {"anneal_lower", "lower"},  {"anneal_upper", "upper"},  {NULL, NULL},
};

typedef struct trainability {
    const pada_moment *m;
    const pada_probe_settings *settings;
    pada__ntk ntk;
    int n;           /* images */
    int32_t *order;  /* [n_images of the run] */
    double *kernel;  /* [n, n] */
    double *scratch; /* [n] */
    double *kappas;  /* [paths] log10 */
} trainability;

static pada_status make_room(trainability *t)
{
    const size_t n = (size_t)t->n;
    void *memory;

    PADA_TRY(pada__ntk_init(&t->ntk, t->m, t->n));
    PADA_TRY(pada_calloc(&memory, (size_t)t->m->env->n_images, sizeof *t->order));
    t->order = memory;
    PADA_TRY(pada_calloc(&memory, n * n, sizeof *t->kernel));
    t->kernel = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *t->scratch));
    t->scratch = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)t->settings->paths, sizeof *t->kappas));
    t->kappas = memory;
    return PADA_OK;
}

static void free_room(trainability *t)
{
    pada__ntk_deinit(&t->ntk);
    pada_free(t->order);
    pada_free(t->kernel);
    pada_free(t->scratch);
    pada_free(t->kappas);
}

/* Median and quartiles of the paths of a sampler. */
static pada_status run_sampler(trainability *t, const pada_path_sampler *sampler,
                               const pada_batch *batch, double *values)
{
    const int n = (int)t->settings->paths;

    for (int i = 0; i < n; i++) {
        pada_path path;
        pada_path_sampler_draw(sampler, t->settings->seed, i, false, &path);
        PADA_TRY(pada__ntk_compute(&t->ntk, &path, batch, t->kernel));
        PADA_TRY(pada__ntk_condition(t->kernel, t->n, t->scratch, &t->kappas[i]));
    }
    values[0] = pada__quantile(t->kappas, n, 0.5);
    values[1] = pada__quantile(t->kappas, n, 0.25);
    values[2] = pada__quantile(t->kappas, n, 0.75);
    return PADA_OK;
}

static pada_status run_samplers(trainability *t, double *values)
{
    const pada_strategy_env *env = t->m->env;
    pada_path_sampler uniform, anneal;
    pada_batch batch;

    pada_strategy_init_sampler(&uniform, env);
    anneal = uniform;
    pada_conv_anneal(&anneal, env->params, (double)t->m->epoch / env->n_epochs);
    PADA_TRY(pada__probe_batch(t->m, t->settings->seed, t->n, t->order, &batch));
    PADA_TRY(run_sampler(t, &uniform, &batch, values));
    PADA_TRY(run_sampler(t, t->m->drawn_from.paths, &batch, values + 3));
    return run_sampler(t, &anneal, &batch, values + 6);
}

static pada_status measure(const pada_moment *moment, const pada_probe_settings *settings,
                           double *values)
{
    trainability t = {.m = moment, .settings = settings};

    PADA_TRY(pada__probe_n_images(moment, settings, &t.n));
    PADA_TRY(pada_strategy_check_sites(moment->env->space));
    pada_status st = make_room(&t);
    if (st == PADA_OK) st = run_samplers(&t, values);
    free_room(&t);
    return st;
}

extern const pada_probe_kind pada_probe_trainability;
const pada_probe_kind pada_probe_trainability = {
    .name = "trainability",
    .summary = "condition number of the tangent kernel under uniform paths and the run's",
    .columns = columns,
    .measure = measure,
};
