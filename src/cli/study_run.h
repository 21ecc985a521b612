/* study_run.h - runs the stages of a study, several at once. */
#ifndef PADA_CLI_STUDY_RUN_H
#define PADA_CLI_STUDY_RUN_H

#include <signal.h>

#include "cli/study_jobs.h"
#include "dist/team.h"
#include "train/run_config.h"

/* Seconds for the processes of a study that was killed to write their checkpoints. */
enum { PADA_STUDY_PATIENCE = 30 };

typedef struct pada_study_running {
    pada_team *team;    /* whose processes share the runs; NULL: this one alone */
    int n_at_once;      /* in each process, at least 1 */
    double max_seconds; /* 0: no limit */
    bool quiet;
    const volatile sig_atomic_t *stop;
    const pada_run_lock *lock; /* of the folder, which child processes of process 0 share */
} pada_study_running;

/* Does what is to do, in order, each stage in a child process of its own whose words go to OUT/NAME.log. A stage that fails
 * ends its run, not the others; what becomes of each is in its state, on process 0. PADA_ESTOPPED, on process 0: it was told to
 * stop, or time was over; the children have ended. All processes of the team have the same jobs. */
pada_status pada_study_jobs_run(pada_study_jobs *jobs, const pada_study_running *how);

#endif
