/* team_deaths.c - processes that have died while their launcher lets the others live (mpirun --enable-recovery): noticed by
 * those on the same machine, who can ask it. Of a process elsewhere nothing is known but its silence (team_silence.c). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/launch.h"
#include "base/mem.h"
#include "dist/team_state.h"

/* What numbers of processes belong to: this machine since it was started, and the container. 0: not known. */
static uint64_t find_machine(void)
{
    char text[256];
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = file < 0 ? -1 : read(file, text, sizeof text / 2);
    const ssize_t more =
        n <= 0 ? -1 : readlink("/proc/self/ns/pid", text + n, sizeof text - (size_t)n);

    if (file >= 0) close(file);
    return more <= 0 ? 0 : pada_hash(text, (size_t)(n + more), 0) | 1;
}

pada_status pada_team_meet(pada_team *team)
{
    const pada_member me = {.machine = find_machine(), .process = (int64_t)getpid()};
    void *members;

    if (!team || team->members || !pada_launch_spares_others()) return PADA_OK;
    PADA_TRY(pada_calloc(&members, (size_t)team->place.size, sizeof *team->members));
    team->members = members;
    return pada_team_all_gather(team, &me, sizeof me, members);
}

bool pada__team_has_died(const pada_team *team, int rank)
{
    const pada_member *all = team->members;

    if (!all) return false;
    if (all[rank].is_lost) return true;
    return all[rank].machine != 0 && all[rank].machine == all[team->place.rank].machine &&
           kill((pid_t)all[rank].process, 0) != 0 && errno == ESRCH;
}

void pada__team_lose(pada_team *team, int rank)
{
    team->members[rank].is_lost = true;
}

pada_status pada__team_miss(const pada_team *team, int rank)
{
    if (!pada__team_has_died(team, rank)) return PADA_OK;
    return PADA_FAIL(PADA_EIO, "process %d of %d has died", rank, team->place.size);
}

pada_status pada__team_miss_any(const pada_team *team, pada_team_wait *wait)
{
    const double pause = 0.2; /* seconds between two looks */

    if (!team->members || wait->since == 0) return PADA_OK;
    const double now = pada_clock_seconds();
    if (now - wait->last_roll_call < pause) return PADA_OK;
    wait->last_roll_call = now;
    for (int k = 0; k < team->place.size; k++)
        PADA_TRY(pada__team_miss(team, k));
    return PADA_OK;
}

bool pada_team_speaks(const pada_team *team)
{
    const int rank = pada_team_rank(team);

    return rank == 0 || (rank == 1 && pada__team_has_died(team, 0));
}
