/* data_importance.c - DA: images are sampled in proportion to the gradient norms they cause. */
#include "strategy/data_importance.h"

#include <string.h>

#include "base/mem.h"
#include "sampler/data_sampler.h"
#include "strategy/anneal.h"

enum { INSTANCE, CLASS };
enum { HALF_MEAN, MEAN, SUM };
enum { RESET, KEEP };

#define CHOICE(option_name, field, words, first, text)                                           \
    {                                                                                            \
        .name = option_name, .type = PADA_OPT_CHOICE,                                            \
        .offset = offsetof(pada_data_settings, field), .default_value = first, .choices = words, \
        .help = text                                                                             \
    }

const pada_opt pada_data_options[] = {
    CHOICE("data-granularity", granularity, "instance|class", "instance",
           "importance of every image, or of every class"),
    CHOICE("data-accumulate", accumulate, "half_ema|mean|sum", "half_ema",
           "how the norms of several draws of an image are put together"),
    CHOICE("data-memory", memory, "reset|keep", "reset",
           "forget the norms of images that an epoch did not draw, or keep them"),
    CHOICE("data-schedule", schedule, PADA_ANNEAL_CHOICES, "inc",
           "weight of the norms against uniform over the epochs"),
    {.name = "data-tau-max",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_data_settings, tau_max),
     .default_value = "1",
     .min = 0,
     .max = 1,
     .meta = "T",
     .help = "largest weight of the norms against uniform"},
    {.name = "data-reweight",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_data_settings, reweight),
     .default_value = "false",
     .help = "divide losses by the probability of the image (unbiased)"},
    {.name = "data-replacement",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_data_settings, replacement),
     .default_value = "true",
     .help = "draw with replacement; without, every epoch has every image once"},
    {.name = NULL},
};

pada_status pada_data_importance_init(pada_data_importance *di, const pada_strategy_env *env,
                                      const pada_data_settings *settings)
{
    const size_t n = (size_t)env->n_images;
    void *memory;

    di->settings = *settings;
    di->env = env;
    PADA_TRY(pada_alias_create(&di->alias, env->n_images));
    PADA_TRY(pada_calloc(&memory, n, sizeof *di->norms));
    di->norms = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *di->counts));
    di->counts = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *di->p));
    di->p = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)env->n_classes, sizeof *di->classes));
    di->classes = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)env->n_classes, sizeof *di->drawn));
    di->drawn = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)env->batch_size, sizeof *di->weights));
    di->weights = memory;
    for (size_t i = 0; i < n; i++)
        di->p[i] = 1.0 / (double)n;
    return PADA_OK;
}

void pada_data_importance_deinit(pada_data_importance *di)
{
    pada_alias_destroy(di->alias);
    pada_free(di->norms);
    pada_free(di->counts);
    pada_free(di->p);
    pada_free(di->classes);
    pada_free(di->drawn);
    pada_free(di->weights);
}

/* Whether an epoch has every image once. */
static bool is_permutation(const pada_data_importance *di, const pada_epoch *epoch)
{
    return epoch->index == 0 || !di->settings.replacement;
}

pada_status pada_data_importance_begin_epoch(pada_data_importance *di, const pada_epoch *epoch,
                                             int32_t *order)
{
    const int n = di->env->n_images;

    if (!is_permutation(di, epoch))
        return pada_data_draw(di->alias, di->p, di->env->seed, epoch->index, order, n);
    pada_data_permute(di->env->seed, epoch->index, order, n);
    return PADA_OK;
}

const float *pada_data_importance_weights(pada_data_importance *di, const pada_draws *draws,
                                          const pada_epoch *epoch)
{
    if (!di->settings.reweight || is_permutation(di, epoch)) return NULL;
    for (int i = 0; i < draws->batch.n; i++)
        di->weights[i] = (float)(1 / (di->env->n_images * di->p[draws->indices[i]]));
    return di->weights;
}

static void accumulate(pada_data_importance *di, int image, double norm)
{
    double *sum = &di->norms[image];

    /* As in the official code the running half-mean begins with the first norm that is not zero. */
    if (di->settings.accumulate == HALF_MEAN)
        *sum = *sum == 0 ? norm : (*sum + norm) / 2;
    else
        *sum += norm;
    di->counts[image]++;
}

static double importance(const pada_data_importance *di, int image)
{
    const int n = di->counts[image];

    return di->settings.accumulate == MEAN && n > 0 ? di->norms[image] / n : di->norms[image];
}

/* The mean over the images of each class that have been drawn. */
static void average_classes(pada_data_importance *di)
{
    memset(di->classes, 0, (size_t)di->env->n_classes * sizeof *di->classes);
    memset(di->drawn, 0, (size_t)di->env->n_classes * sizeof *di->drawn);
    for (int i = 0; i < di->env->n_images; i++) {
        if (di->counts[i] == 0) continue;
        di->classes[di->env->labels[i]] += importance(di, i);
        di->drawn[di->env->labels[i]]++;
    }
    for (int c = 0; c < di->env->n_classes; c++)
        if (di->drawn[c] > 0) di->classes[c] /= di->drawn[c];
}

static void update(pada_data_importance *di, const pada_epoch *epoch)
{
    const int n = di->env->n_images;
    const double tau = pada_anneal_tau((pada_anneal)di->settings.schedule, di->settings.tau_max,
                                       epoch->index, di->env->n_epochs);
    double sum = 0;

    if (di->settings.granularity == CLASS) average_classes(di);
    for (int i = 0; i < n; i++) {
        di->p[i] =
            di->settings.granularity == CLASS ? di->classes[di->env->labels[i]] : importance(di, i);
        sum += di->p[i];
    }
    for (int i = 0; i < n; i++)
        di->p[i] = sum > 0 ? tau * (di->p[i] / sum) + (1 - tau) / n : 1.0 / n;
}

void pada_data_importance_end_epoch(pada_data_importance *di, const pada_log *log,
                                    const pada_epoch *epoch, const int32_t *order)
{
    PADA_ASSERT(log->n_images == di->env->n_images);
    if (di->settings.memory == RESET) {
        memset(di->norms, 0, (size_t)di->env->n_images * sizeof *di->norms);
        memset(di->counts, 0, (size_t)di->env->n_images * sizeof *di->counts);
    }
    for (int i = 0; i < log->n_images; i++)
        accumulate(di, order[i], log->norms[i]);
    update(di, epoch);
}

const double *pada_data_importance_p(const pada_data_importance *di, const pada_epoch *epoch)
{
    return is_permutation(di, epoch) ? NULL : di->p;
}

void pada_data_importance_visit(pada_data_importance *di, pada_state *state)
{
    const int64_t n = di->env->n_images;

    pada_state_array(state, "data/probabilities", PADA_STATE_F64, di->p, n);
    if (di->settings.memory == KEEP) {
        pada_state_array(state, "data/norms", PADA_STATE_F64, di->norms, n);
        pada_state_array(state, "data/counts", PADA_STATE_I32, di->counts, n);
    }
}
