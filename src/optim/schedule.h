/* schedule.h - learning rates over the epochs of a run. */
#ifndef PADA_OPTIM_SCHEDULE_H
#define PADA_OPTIM_SCHEDULE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_schedule_kind {
    PADA_SCHEDULE_COSINE,
    PADA_SCHEDULE_LINEAR,
    PADA_SCHEDULE_CONSTANT
} pada_schedule_kind;

typedef struct pada_schedule {
    pada_schedule_kind kind;
    /* learning rate at the start, and the value that it approaches at the end */
    double first, last;
} pada_schedule;

/* The learning rate at `done` of `total` epochs (or steps); `last` from there on. */
double pada_schedule_lr(const pada_schedule *schedule, double done, double total);

#ifdef __cplusplus
}
#endif
#endif
