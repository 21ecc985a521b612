/* observatory.c - what an epoch did: results, and what the samplers drew. */
#include "train/observatory.h"

#include <math.h>
#include <string.h>

#include "sampler/data_sampler.h"
#include "space/choice_labels.h"

/* Below these a sampler is about to collapse. The official DA ends at a coverage of 0.31. */
#define LOW_COVERAGE  0.40
#define LOW_EFFECTIVE 0.20
#define LOW_ENTROPY   0.25

enum { MAX_LABEL_COLUMNS = 30 }; /* two of each must fit into the metrics of an epoch */

static const struct {
    const char *word, *text;
} warnings[] = {
    {"coverage", "fewer than 40 % of the training images were drawn in this epoch"},
    {"effective", "the image distribution is worth less than 20 % of the images"},
    {"entropy", "the path distribution is close to a single choice"},
    {"chance", "the validation is no better than guessing the most frequent class"},
};

const char *pada_warning_text(const char *word)
{
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
        if (strncmp(word, warnings[i].word, strlen(warnings[i].word)) == 0) return warnings[i].text;
    return word;
}

static void observe_results(const pada_log *log, pada_epoch_metrics *m)
{
    double loss = 0, norm = 0;
    int64_t top1 = 0, top5 = 0, clipped = 0;

    for (int i = 0; i < log->n_images; i++) {
        loss += log->losses[i];
        top1 += log->ranks[i] < 1;
        top5 += log->ranks[i] < 5;
    }
    for (int i = 0; i < log->n_steps; i++) {
        norm += log->grad_norms[i];
        clipped += log->clip_factors[i] < 1;
    }
    pada_epoch_metrics_add(m, loss / log->n_images, "loss");
    pada_epoch_metrics_add(m, 100.0 * (double)top1 / log->n_images, "top1");
    pada_epoch_metrics_add(m, 100.0 * (double)top5 / log->n_images, "top5");
    pada_epoch_metrics_add(m, norm / log->n_steps, "grad_norm");
    pada_epoch_metrics_add(m, (double)clipped / log->n_steps, "clipped");
}

/* How often each choice of each slot was trained; returns the least of those that slots may take. */
static int64_t count_updates(const pada_observation *seen,
                             int64_t updates[PADA_MAX_SLOTS][PADA_MAX_CHOICES])
{
    const pada_space *space = seen->env->space;
    const pada_log *log = seen->log;
    const uint32_t *allowed = seen->drawn_from->paths->within.allowed;
    int64_t least = INT64_MAX;

    for (int i = 0; i < log->n_passes; i++)
        for (int slot = 0; slot < space->ops->n_slots; slot++)
            if (pada_path_takes(space, &log->paths[i], slot))
                updates[slot][log->paths[i].choice[slot]]++;
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        for (int c = 0; c < space->ops->n_choices(space, slot); c++)
            if (allowed[slot] >> c & 1 && updates[slot][c] < least) least = updates[slot][c];
    return least;
}

/* Choices of different slots with the same label count as one. */
static void observe_choices(const pada_observation *seen, pada_epoch_metrics *m)
{
    const pada_space *space = seen->env->space;
    int64_t updates[PADA_MAX_SLOTS][PADA_MAX_CHOICES] = {{0}};
    const int64_t least = count_updates(seen, updates);
    pada_choice_labels labels;

    pada_choice_labels_init(&labels, space, false);
    for (int label = 0; label < labels.n && label < MAX_LABEL_COLUMNS; label++) {
        double p = 0;
        int64_t n = 0;
        for (int slot = 0; slot < space->ops->n_slots; slot++)
            for (int c = 0; c < space->ops->n_choices(space, slot); c++) {
                if (labels.of[slot][c] != label) continue;
                p += seen->drawn_from->paths->p[slot][c] / labels.n_slots[label];
                n += updates[slot][c];
            }
        pada_epoch_metrics_add(m, p, "p_%s", labels.names[label]);
        pada_epoch_metrics_add(m, (double)n, "updates_%s", labels.names[label]);
    }
    pada_epoch_metrics_add(m, (double)least, "updates_min");
}

static void observe_paths(const pada_observation *seen, pada_epoch_metrics *m)
{
    const pada_space *space = seen->env->space;
    const double entropy = pada_path_sampler_entropy(seen->drawn_from->paths);
    int64_t dead = 0;

    for (int i = 0; i < seen->log->n_passes; i++) {
        dead += space->ops->dead && space->ops->dead(space, &seen->log->paths[i]);
    }
    pada_epoch_metrics_add(m, entropy, "path_entropy");
    observe_choices(seen, m);
    pada_epoch_metrics_add(m, (double)dead / seen->log->n_passes, "dead");
    pada_epoch_metrics_add(m, seen->log->macs / 1e9, "gmacs");
    /* Exactly zero is one path on purpose. */
    if (entropy < LOW_ENTROPY && entropy > 0) pada_epoch_metrics_warn(m, "entropy");
}

/* Draws of each class over what every image once would give: the least and the most. */
static void observe_classes(const pada_observation *seen, pada_epoch_metrics *m)
{
    const pada_strategy_env *env = seen->env;
    int64_t *images = seen->classes, *draws = seen->classes + env->n_classes;
    double least = INFINITY, most = 0;

    memset(seen->classes, 0, 2 * (size_t)env->n_classes * sizeof *seen->classes);
    for (int i = 0; i < env->n_images; i++) {
        images[env->labels[i]]++;
        draws[env->labels[i]] += seen->counts[i];
    }
    for (int c = 0; c < env->n_classes; c++) {
        if (images[c] == 0) continue;
        least = fmin(least, (double)draws[c] / (double)images[c]);
        most = fmax(most, (double)draws[c] / (double)images[c]);
    }
    pada_epoch_metrics_add(m, least, "class_min");
    pada_epoch_metrics_add(m, most, "class_max");
}

static void observe_images(const pada_observation *seen, pada_epoch_metrics *m)
{
    const int n = seen->env->n_images;
    const double *p = seen->drawn_from->images;
    const double effective = p ? pada_data_effective_share(p, n) : 1;
    int64_t covered = 0;

    memset(seen->counts, 0, (size_t)n * sizeof *seen->counts);
    for (int i = 0; i < n; i++)
        covered += seen->counts[seen->order[i]]++ == 0;
    const double coverage = (double)covered / n;
    pada_epoch_metrics_add(m, p ? pada_data_entropy(p, n) : 1, "data_entropy");
    pada_epoch_metrics_add(m, effective, "data_effective");
    pada_epoch_metrics_add(m, coverage, "data_coverage");
    observe_classes(seen, m);
    if (coverage < LOW_COVERAGE) pada_epoch_metrics_warn(m, "coverage");
    if (effective < LOW_EFFECTIVE) pada_epoch_metrics_warn(m, "effective");
}

void pada_observe(const pada_observation *seen, pada_epoch_metrics *metrics)
{
    observe_results(seen->log, metrics);
    observe_paths(seen, metrics);
    observe_images(seen, metrics);
}
