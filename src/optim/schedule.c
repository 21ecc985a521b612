/* schedule.c - learning rates over the epochs of a run. */
#include "optim/schedule.h"

#include "base/elementary.h"

double pada_schedule_lr(const pada_schedule *schedule, double done, double total)
{
    const double at = total > 0 && done < total ? done / total : 1;

    switch (schedule->kind) {
    case PADA_SCHEDULE_COSINE:
        return schedule->last +
               (schedule->first - schedule->last) * (1 + pada_cos_turns(at / 2)) / 2;
    case PADA_SCHEDULE_LINEAR: return schedule->first + (schedule->last - schedule->first) * at;
    case PADA_SCHEDULE_CONSTANT: break;
    }
    return schedule->first;
}
