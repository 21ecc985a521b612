/* study_command.h - the command of one stage of a study, and the record of its options. Private to study_jobs.c. */
#ifndef PADA_CLI_STUDY_COMMAND_H
#define PADA_CLI_STUDY_COMMAND_H

#include "cli/study_jobs.h"

/* Makes job->line and job->record. Options that do not exist, or values that they do not take, are PADA_EINVAL,
 * "file:line: run 'x': ..". Options of --set that this command does not have are left out. */
pada_status pada_study_command_make(const pada_study_request *request, pada_study_job *job);

#endif
