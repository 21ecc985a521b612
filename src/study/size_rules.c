/* size_rules.c - sizes of networks and lengths of trainings that fit the number of images and the time. */
#include "study/size_rules.h"

#include <stddef.h>

enum {
    MIN_STEPS = 16, /* of an epoch, where possible */
    MIN_BATCH = 8,
    MAX_BATCH = 256,
    MIN_EPOCHS = 10,
    MAX_EPOCHS = 250,         /* those of the paper */
    MAX_NETWORK_EPOCHS = 200, /* those of NAS-Bench-201 */
    MIN_EVALUATIONS = 100,
    MAX_EVALUATIONS = 1050 /* those of SPOS: 50 and 20 generations of 50 */
};

static const double SUPERNET_SHARE = 0.4, SEARCH_SHARE = 0.1, NETWORK_SHARE = 0.25;

static const pada_size_rule rules[] = {
    {"nb201", "channels", 8, 16},        {"nb201", "cells", 1, 2},
    {"macro", "channels", 8, 16},        {"macro", "features", 128, 512},
    {"darts", "channels", 8, 12},        {"darts", "cells", 5, 6},
    {"darts", "final-channels", 12, 24}, {"darts", "final-cells", 8, 14},
};

int pada_rule_image_size(int side)
{
    if (side <= PADA_SMALL_IMAGES) return PADA_SMALL_IMAGES;
    return side < PADA_LARGE_IMAGES ? PADA_USUAL_IMAGES : PADA_LARGE_IMAGES;
}

int pada_rule_batch_size(int n_train, int image_size)
{
    const int pixels = image_size * image_size, usual = PADA_USUAL_IMAGES * PADA_USUAL_IMAGES;
    int batch = MIN_BATCH;

    while (2 * batch <= MAX_BATCH && 2 * batch * MIN_STEPS <= n_train &&
           2.0 * batch * pixels <= (double)MAX_BATCH * usual)
        batch *= 2;
    return batch < n_train ? batch : n_train;
}

const pada_size_rule *pada_size_rule_get(int i)
{
    return i < (int)(sizeof rules / sizeof *rules) ? &rules[i] : NULL;
}

int pada_size_rule_value(const pada_size_rule *rule, int n_train)
{
    if (n_train < PADA_FEW_IMAGES) return rule->few;
    return n_train < PADA_MANY_IMAGES ? rule->some : 0;
}

/* Seconds of an epoch with its validation. */
static double epoch_seconds(const pada_length_facts *f, double step_seconds)
{
    return step_seconds / f->batch_size * (f->n_train + f->n_validate / 3.0);
}

static double evaluation_seconds(const pada_length_facts *f)
{
    return f->step_seconds / f->batch_size * f->n_validate / 3.0;
}

/* As many as there is time for, within bounds; says where it is fewer. */
static int clamp(double n, int low, int high, bool *is_less)
{
    if (n < low) *is_less = true;
    if (!(n < high)) return high;
    return n < low ? low : (int)n;
}

pada_lengths pada_rule_lengths(const pada_length_facts *f)
{
    pada_lengths out = {0};

    out.epochs = clamp(SUPERNET_SHARE * f->seconds / epoch_seconds(f, f->step_seconds), MIN_EPOCHS,
                       MAX_EPOCHS, &out.is_rushed);
    out.network_epochs =
        clamp(NETWORK_SHARE * f->seconds / epoch_seconds(f, f->network_step_seconds), MIN_EPOCHS,
              MAX_NETWORK_EPOCHS, &out.is_rushed);
    out.evaluations = clamp(SEARCH_SHARE * f->seconds / evaluation_seconds(f), MIN_EVALUATIONS,
                            MAX_EVALUATIONS, &out.is_rushed);
    out.has_most = out.epochs == MAX_EPOCHS && out.network_epochs == MAX_NETWORK_EPOCHS;
    return out;
}

double pada_lengths_seconds(const pada_lengths *lengths, const pada_length_facts *f)
{
    return lengths->epochs * epoch_seconds(f, f->step_seconds) +
           2 * lengths->network_epochs * epoch_seconds(f, f->network_step_seconds) +
           lengths->evaluations * evaluation_seconds(f);
}
