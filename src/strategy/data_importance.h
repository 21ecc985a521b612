/* data_importance.h - DA: images are sampled in proportion to the gradient norms they cause.
 *
 *   norm of a draw   ||softmax(logits) - target||, an upper bound from the last layer
 *   importance       the norms of an image's draws, accumulated over an epoch (or all of them)
 *   probability      tau * importance / sum + (1 - tau) / n, drawn with replacement
 *
 * The first epoch uses every image once. The defaults are those of the official code, including
 * that an image that an epoch did not draw has importance zero in the next. */
#ifndef PADA_STRATEGY_DATA_IMPORTANCE_H
#define PADA_STRATEGY_DATA_IMPORTANCE_H

#include "engine/engine_log.h"
#include "sampler/alias.h"
#include "strategy/strategy.h"

typedef struct pada_data_settings {
    int granularity; /* 0: every image its own, 1: the mean of its class */
    int accumulate;  /* 0: running half-mean, 1: mean, 2: sum */
    int memory;      /* 0: norms of the last epoch only, 1: kept until drawn again */
    int schedule;    /* pada_anneal */
    double tau_max;
    bool reweight; /* losses times 1 / (n probability) */
    bool replacement;
} pada_data_settings;

extern const pada_opt pada_data_options[];

typedef struct pada_data_importance {
    pada_data_settings settings;
    const pada_strategy_env *env;
    pada_alias *alias;
    double *norms;   /* [n_images] accumulated */
    int32_t *counts; /* [n_images] draws in them */
    double *p;       /* [n_images] of the epoch that begins next, or is under way */
    double *classes; /* [n_classes] mean importance */
    int *drawn;      /* [n_classes] images that have been drawn */
    float *weights;  /* [batch_size] */
} pada_data_importance;

pada_status pada_data_importance_init(pada_data_importance *di, const pada_strategy_env *env,
                                      const pada_data_settings *settings);
void pada_data_importance_deinit(pada_data_importance *di); /* a zeroed one is fine */
pada_status pada_data_importance_begin_epoch(pada_data_importance *di, const pada_epoch *epoch,
                                             int32_t *order);
/* Factors of the losses of a batch, or NULL; borrowed until the next call. */
const float *pada_data_importance_weights(pada_data_importance *di, const pada_draws *draws,
                                          const pada_epoch *epoch);
void pada_data_importance_end_epoch(pada_data_importance *di, const pada_log *log,
                                    const pada_epoch *epoch, const int32_t *order);
/* The probabilities of the epoch; NULL if it has every image once. */
const double *pada_data_importance_p(const pada_data_importance *di, const pada_epoch *epoch);
void pada_data_importance_visit(pada_data_importance *di, pada_state *state);

#endif
