/* timetable.h - which supernet a run works on in which epoch.
 *
 * The phases of a strategy follow each other; each has epochs that train and, after them, epochs of
 * probes. A run with one supernet has one phase. */
#ifndef PADA_TRAIN_TIMETABLE_H
#define PADA_TRAIN_TIMETABLE_H

#include "strategy/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_timetable {
    const pada_phase_ops *ops; /* NULL: one phase */
    const void *strategy;      /* borrowed */
    int one_epochs;            /* of the one phase */
    int n_phases, n_epochs;
    int64_t n_steps; /* of the run, probes included */
    int train_steps; /* of an epoch that trains: the last one may have fewer images */
    int probe_steps; /* of an epoch of probes, at most: whole batches only */
} pada_timetable;

/* One epoch. */
typedef struct pada_timetable_entry {
    int phase;
    pada_phase what;
    int epoch; /* of the phase */
    bool probes, first, last;
    int n_steps;
    int64_t first_step;  /* of the run, probes included */
    int64_t train_steps; /* of the run, up to the end of this epoch, without probes */
} pada_timetable_entry;

/* More epochs than can be counted are PADA_EINVAL. */
pada_status pada_timetable_init(pada_timetable *table, const pada_strategy_ops *ops,
                                const void *strategy, const pada_strategy_env *env);
void pada_timetable_find(const pada_timetable *table, int epoch, pada_timetable_entry *out);

#ifdef __cplusplus
}
#endif
#endif
