/* job_team.h - the processes that this one was started with, by mpirun or srun, for commands that divide their work. */
#ifndef PADA_CLI_JOB_TEAM_H
#define PADA_CLI_JOB_TEAM_H

#include "dist/team.h"

/* Joins them, the first time that it is called. From then on only process 0 has a standard output. */
pada_status pada_job_join(void);
/* NULL: this process is alone. */
pada_team *pada_job_team(void);
/* Whether this process writes files, tells people where the command stands, and prints. */
bool pada_job_leads(void);
/* Agrees how the command ended, and whether this process is to say it. */
pada_status pada_job_end(pada_status st, bool *speaks);
/* The last call. */
void pada_job_leave(void);

/* What teams are made by in this build; NULL: nothing. */
const char *pada_job_carrier(void);

#endif
