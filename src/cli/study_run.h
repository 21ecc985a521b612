/* study_run.h - runs the stages of a study, several at once. */
#ifndef PADA_CLI_STUDY_RUN_H
#define PADA_CLI_STUDY_RUN_H

#include <signal.h>

#include "cli/study_jobs.h"
#include "train/run_config.h"

typedef struct pada_study_running {
    int n_at_once;      /* at least 1 */
    double max_seconds; /* 0: no limit */
    bool quiet;
    const volatile sig_atomic_t *stop;
    const pada_run_lock *lock; /* of the folder; the processes hold it, too */
} pada_study_running;

/* Does what is to do, in order, each stage in a process of its own whose words go to OUT/NAME.log. A stage that fails ends its
 * run, not the others; what becomes of each is in its state. PADA_ESTOPPED: it was told to stop, or time was over; the
 * processes have ended. */
pada_status pada_study_jobs_run(pada_study_jobs *jobs, const pada_study_running *how);

#endif
