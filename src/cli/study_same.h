/* study_same.h - whether processes that share the runs of a study have the same study. */
#ifndef PADA_CLI_STUDY_SAME_H
#define PADA_CLI_STUDY_SAME_H

#include "cli/study_jobs.h"
#include "dist/team.h"

/* Compares with process 0: the build, the options, runs and stages with theirs, what is done of them, and images, by the names and
 * sizes of files. A difference, or a process that does not see the folder, is a failure of all. */
pada_status pada_study_check_same(pada_team *team, const pada_options *options,
                                  const pada_study_jobs *jobs);

#endif
