/* path_importance.h - PA: candidates are sampled in proportion to their gradient norms.
 *
 *   norm of a choice in a step   sum over the sites where it ran, and there over its weight tensors, of
 *                                ||gradient||, over the number of slots that chose it (shared, global) or
 *                                of its own slot (per slot)
 *   importance                   those norms accumulated over the steps of an epoch
 *   probability                  tau * importance / sum + (1 - tau) * uniform
 *
 * The defaults are those of the official code, including that the running half-mean starts at zero
 * and that norms are taken after clipping. */
#ifndef PADA_STRATEGY_PATH_IMPORTANCE_H
#define PADA_STRATEGY_PATH_IMPORTANCE_H

#include "engine/engine_log.h"
#include "space/choice_labels.h"
#include "strategy/strategy.h"

typedef struct pada_path_settings {
    /* 0: choices of the same label share their norms in a group of slots, 1: every slot has its own, 2: in all slots */
    int scope;
    int norm;    /* 0: after clipping, 1: before, 2: before it and without the weight of the path */
    int tensors; /* of a site, 0: one norm of all of them, 1: the sum of their norms */
    int accumulate; /* 0: running half-mean, 1: mean, 2: sum */
    int reset;      /* 0: every epoch, 1: never */
    int update;     /* 0: every epoch, 1: every step */
    int schedule;   /* pada_anneal */
    double tau_max;
    bool reweight; /* gradients times uniform / own probability of the path */
    bool skip_dead;
} pada_path_settings;

extern const pada_opt pada_path_options[];

typedef struct pada_path_importance {
    pada_path_settings settings;
    const pada_strategy_env *env;
    pada_path_sampler sampler;
    pada_choice_labels labels;
    /* by label, or with scope per_slot by slot * PADA_MAX_CHOICES + choice */
    double norms[PADA_MAX_LABELS];
    int64_t counts[PADA_MAX_LABELS];
} pada_path_importance;

pada_status pada_path_importance_init(pada_path_importance *pi, const pada_strategy_env *env,
                                      const pada_path_settings *settings);
/* The path of a step and the factor of its gradient. */
void pada_path_importance_draw(const pada_path_importance *pi, int64_t step, pada_path *path,
                               double *grad_scale);
/* After every step: updates the distribution if that is asked for. A failure of the log, of which
 * nothing is learnt, is returned. */
pada_status pada_path_importance_after_step(pada_path_importance *pi, pada_engine *e,
                                            const pada_epoch *epoch);
/* Whether the log of the engine is to be by tensor. */
bool pada_path_importance_by_tensor(const pada_path_importance *pi);
void pada_path_importance_end_epoch(pada_path_importance *pi, const pada_log *log,
                                    const pada_epoch *epoch);
void pada_path_importance_visit(pada_path_importance *pi, pada_state *state);

#endif
