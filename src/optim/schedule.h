/* schedule.h - learning rates over the epochs of a run. */
#ifndef PADA_OPTIM_SCHEDULE_H
#define PADA_OPTIM_SCHEDULE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_schedule_kind {
    PADA_SCHEDULE_COSINE,
    PADA_SCHEDULE_LINEAR,
    PADA_SCHEDULE_CONSTANT,
    PADA_SCHEDULE_STEP /* first * decay_rate^floor(epoch / decay_epochs), never below `last` */
} pada_schedule_kind;

typedef struct pada_schedule {
    pada_schedule_kind kind;
    /* learning rate at the start, and the value that it approaches at the end */
    double first, last;
    /* the first so many epochs go in equal steps from warmup_first towards `first` instead; the schedule counts them
     * as well, as timm's do */
    double warmup_epochs, warmup_first;
    double decay_epochs, decay_rate; /* STEP; decay_epochs > 0 */
} pada_schedule;

/* The learning rate at `done` of `total` epochs (or steps); at the end and beyond it is that of the end. */
double pada_schedule_lr(const pada_schedule *schedule, double done, double total);

#ifdef __cplusplus
}
#endif
#endif
