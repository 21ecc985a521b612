/* study_jobs.h - a study as commands of pada: which there are, and which are done.
 *
 *   OUT/RUN-sSEED                  a run folder; of a run that ranks others, the folder of its ranking
 *   OUT/RUN-sSEED-best-sN          its best network, retrained with seed N; OUT/RUN-sSEED-random-sN: a random one
 *   FOLDER/study/STAGE.yaml        what a stage was asked for, written when it is done */
#ifndef PADA_CLI_STUDY_JOBS_H
#define PADA_CLI_STUDY_JOBS_H

#include "cli/command_line.h"
#include "cli/truth_args.h"
#include "run/engine_args.h"
#include "study/study_plan.h"

/* An option of --set. */
typedef struct pada_study_set {
    char *key; /* owned */
    const char *value;
    bool is_known; /* to the options of any run */
} pada_study_set;

/* What all commands are made from. */
typedef struct pada_study_request {
    const pada_study_plan *plan;
    const char *out, *data; /* data NULL: not given */
    pada_truth_args truth;
    pada_engine_args engine; /* threads 0: not given */
    const bool *is_chosen;   /* [n_runs] */
    pada_study_set *sets;
    int n_sets;
} pada_study_request;

typedef enum pada_study_state {
    PADA_STUDY_TO_DO,
    PADA_STUDY_THERE, /* from an earlier start */
    PADA_STUDY_DONE,
    PADA_STUDY_STOPPED,
    PADA_STUDY_FAILED,
} pada_study_state;

/* "to do", "there", .. */
const char *pada_study_state_name(pada_study_state state);

/* A stage of a run with one seed. */
typedef struct pada_study_job {
    int run;
    uint64_t seed;
    int chain; /* jobs of a run and seed have the same, and are done one after the other */
    pada_study_stage stage;
    uint64_t again;         /* seed of a retraining */
    const char *space;      /* of the run; NULL: not known yet */
    pada_text name;         /* "spos-s0", and of its log and folder */
    pada_text run_folder;   /* of the supernet, or of the network alone */
    pada_text folder;       /* where it works */
    pada_command_line line; /* without the network that a random one will be */
    pada_text record;       /* its options, and the file of them */
    pada_text record_file;
    pada_study_state state;
    pada_text message; /* why it failed */
} pada_study_job;

/* Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_study_jobs {
    const pada_study_request *request;
    pada_study_job *of; /* [n], owned; in the order of runs, seeds and stages */
    int n, cap, n_chains;
} pada_study_jobs;

/* Makes all commands and checks their options, and what is there: a stage that was done with other ones, and options of
 * --set that no run has, are PADA_EINVAL. Nothing is written. */
pada_status pada_study_jobs_init(pada_study_jobs *jobs, const pada_study_request *request);
void pada_study_jobs_deinit(pada_study_jobs *jobs);

bool pada_study_job_is_done(const pada_study_job *job); /* now, or by an earlier start */
/* A stage of the runs that it ranks which is not done; NULL: there is none. */
const pada_study_job *pada_study_job_missing(const pada_study_jobs *jobs,
                                             const pada_study_job *job);
/* Appends the folder of a member of its run, of the same seed; of the run itself, where that has none. */
void pada_study_job_add_folder(const pada_study_request *request, const pada_study_job *job,
                               int member, pada_text *out);

/* Says which random network it is about, now that the best one is known. Nothing for other stages. */
pada_status pada_study_job_choose(const pada_study_jobs *jobs, pada_study_job *job);
/* Keeps what it was asked for: it is done. */
pada_status pada_study_job_record(const pada_study_job *job);

#endif
