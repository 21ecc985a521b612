/* schedule.c - learning rates over the epochs of a run. */
#include "optim/schedule.h"

#include <math.h>

#include "base/elementary.h"
#include "base/status.h"

/* rate^n of a whole n, by squaring: the same bits with every C library. */
static double power_of(double rate, double n)
{
    double power = 1;

    for (; n >= 1; n = floor(n / 2), rate *= rate)
        if (fmod(n, 2) == 1) power *= rate;
    return power;
}

double pada_schedule_lr(const pada_schedule *schedule, double done, double total)
{
    const pada_schedule *s = schedule;
    const double at = total > 0 && done < total ? done / total : 1;

    PADA_ASSERT(s->kind != PADA_SCHEDULE_STEP || s->decay_epochs > 0);
    if (done < s->warmup_epochs && done < total)
        return s->warmup_first + (s->first - s->warmup_first) * done / s->warmup_epochs;
    switch (s->kind) {
    case PADA_SCHEDULE_COSINE:
        return s->last + (s->first - s->last) * (1 + pada_cos_turns(at / 2)) / 2;
    case PADA_SCHEDULE_LINEAR: return s->first + (s->last - s->first) * at;
    case PADA_SCHEDULE_STEP:
        return fmax(s->first * power_of(s->decay_rate, floor(fmin(done, total) / s->decay_epochs)),
                    s->last);
    case PADA_SCHEDULE_CONSTANT: break;
    }
    return s->first;
}
