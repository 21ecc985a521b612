/* job_team.c - the processes that this one was started with. */
#include "cli/job_team.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef PADA_HAS_MPI
#include "dist/carrier_mpi.h"
static const pada_carrier *const carrier = &pada_carrier_mpi;
#else
static const pada_carrier *const carrier = NULL;
#endif

static pada_team *team;
static bool has_joined;

#define PATIENCE_SECONDS 60.0 /* with a process that gives no sign, twice */

static void warn(const char *text)
{
    fprintf(stderr, "pada: warning: %s\n", text);
}

pada_status pada_job_join(void)
{
    if (has_joined) return PADA_OK;
    PADA_TRY(pada_team_join(&team, carrier));
    has_joined = true;
    pada_team_watch(team, PATIENCE_SECONDS, warn);
    PADA_TRY(pada_team_meet(team));
    if (pada_team_rank(team) > 0 && !freopen("/dev/null", "w", stdout))
        return PADA_FAIL(PADA_EIO, "/dev/null: %s", strerror(errno));
    return PADA_OK;
}

pada_team *pada_job_team(void)
{
    return team;
}

bool pada_job_leads(void)
{
    return pada_team_rank(team) == 0;
}

pada_status pada_job_end(pada_status st, bool *speaks)
{
    st = pada_team_end(team, st);
    *speaks = pada_team_speaks(team);
    return st;
}

void pada_job_leave(void)
{
    pada_team_leave(team);
    team = NULL;
}

const char *pada_job_carrier(void)
{
    return carrier ? carrier->describe() : NULL;
}
