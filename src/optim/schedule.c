/* schedule.c - learning rates over the epochs of a run. */
#include "optim/schedule.h"

#include <math.h>

double pada_schedule_lr(const pada_schedule *schedule, double done, double total)
{
    const double pi = 3.14159265358979323846;
    const double at = total > 0 && done < total ? done / total : 1;

    switch (schedule->kind) {
    case PADA_SCHEDULE_COSINE:
        return schedule->last + (schedule->first - schedule->last) * (1 + cos(pi * at)) / 2;
    case PADA_SCHEDULE_LINEAR: return schedule->first + (schedule->last - schedule->first) * at;
    case PADA_SCHEDULE_CONSTANT: break;
    }
    return schedule->first;
}
