/* importance.h - PA and DA as one strategy; pa, da, pada and uniform_replacement are settings of it.
 *
 * Both parts are always there. A part that is switched off has tau_max 0 and draws uniformly: paths
 * as SPOS does, images once per epoch. */
#ifndef PADA_STRATEGY_IMPORTANCE_H
#define PADA_STRATEGY_IMPORTANCE_H

#include "engine/engine_log.h"
#include "strategy/data_importance.h"
#include "strategy/path_importance.h"

typedef struct pada_importance_settings {
    pada_path_settings path;
    pada_data_settings data;
} pada_importance_settings;

typedef struct pada_importance {
    pada_strategy_env env;
    pada_path_importance path;
    pada_data_importance data;
} pada_importance;

/* The functions of a strategy whose state is a pada_importance. */
pada_status pada_importance_init(pada_importance *im, const pada_strategy_env *env,
                                 const pada_importance_settings *settings);
void pada_importance_deinit(void *self);
pada_status pada_importance_begin_epoch(void *self, const pada_epoch *epoch, int32_t *order);
pada_status pada_importance_step(void *self, pada_engine *e, const pada_draws *draws,
                                 const pada_epoch *epoch, int64_t step);
pada_status pada_importance_end_epoch(void *self, const pada_log *log, const pada_epoch *epoch,
                                      const int32_t *order);
void pada_importance_visit(void *self, pada_state *state);
bool pada_importance_by_tensor(const void *self);
void pada_importance_distributions(const void *self, const pada_epoch *epoch,
                                   pada_distributions *out);

/* What a strategy of this family lists besides its name, summary, settings and init. */
#define PADA_IMPORTANCE_OPS                                                                    \
    .narrows = true, .state_bytes = sizeof(pada_importance), .deinit = pada_importance_deinit, \
    .begin_epoch = pada_importance_begin_epoch, .step = pada_importance_step,                  \
    .end_epoch = pada_importance_end_epoch, .visit = pada_importance_visit,                    \
    .distributions = pada_importance_distributions, .by_tensor = pada_importance_by_tensor

#endif
