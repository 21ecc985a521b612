/* anchor.h - MAGIC-A: steps that pull a path towards the features of an anchor.
 *
 *   loss = CE(path) + align * mean over taps of MSE(features(path), features(anchor))
 *
 * with no gradient into the anchor. The first anchor is random; when the path of a step has more
 * images right than the anchor, on a batch that is held out of training and with the weights after
 * the step, it becomes the anchor. */
#ifndef PADA_STRATEGY_ANCHOR_H
#define PADA_STRATEGY_ANCHOR_H

#include "strategy/held_batches.h"

typedef struct pada_anchor_settings {
    double align;   /* 0: there is no anchor */
    int64_t images; /* that a path and the anchor are compared on */
    int64_t every;  /* steps from one comparison to the next */
} pada_anchor_settings;

extern const pada_opt pada_anchor_options[];
extern const pada_strategy_default pada_anchor_defaults[]; /* of the recipe */

typedef struct pada_anchor {
    pada_anchor_settings settings;
    const pada_strategy_env *env;
    pada_path path;
    pada_held_batches held;
} pada_anchor;

pada_status pada_anchor_init(pada_anchor *anchor, const pada_strategy_env *env,
                             const pada_anchor_settings *settings);
void pada_anchor_deinit(pada_anchor *anchor); /* a zeroed one is fine */
/* Step `number` of the optimiser, on one path. */
pada_status pada_anchor_step(pada_anchor *anchor, pada_engine *e, const pada_path *path,
                             const pada_draws *draws, const pada_epoch *epoch, int64_t number);
void pada_anchor_visit(pada_anchor *anchor, pada_state *state);

#endif
