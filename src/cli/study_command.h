/* study_command.h - the command of one stage of a study, and the record of its options. */
#ifndef PADA_CLI_STUDY_COMMAND_H
#define PADA_CLI_STUDY_COMMAND_H

#include "cli/study_jobs.h"

/* Makes job->line and job->record. Options that do not exist, or values that they do not take, are PADA_EINVAL,
 * "file:line: run 'x': ..". Options of --set that this command does not have are left out. */
pada_status pada_study_command_make(const pada_study_request *request, pada_study_job *job);

/* Appends the path that an option names: what the file says is relative to its folder, what --set says is not. */
void pada_study_add_path(const pada_study_plan *plan, const pada_study_option *option,
                         pada_text *out);

#endif
