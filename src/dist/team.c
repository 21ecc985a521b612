/* team.c - the processes of a team: joining, waiting, and ending together. What they do together is in team_together.c,
 * letters are in team_letters.c. */
#include "dist/team.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/launch.h"
#include "base/mem.h"
#include "dist/team_state.h"

/* ---- joining ---- */

static pada_status open_team(pada_team *team)
{
    void *parcels;

    PADA_TRY(team->carrier->open(&team->place));
    team->is_open = true;
    PADA_TRY(pada_calloc(&parcels, 2 * (size_t)team->place.size, sizeof *team->parcels));
    team->parcels = parcels;
    return PADA_OK;
}

pada_status pada_team_join(pada_team **out, const pada_carrier *carrier)
{
    const int launched = pada_launched_processes();
    void *mem;

    *out = NULL;
    if (launched == 1 || (launched == 0 && !carrier)) return PADA_OK;
    if (!carrier)
        return PADA_FAIL(PADA_EUNSUPPORTED,
                         "%d processes were started, and this pada is built without MPI", launched);
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    *out = mem;
    (*out)->carrier = carrier;
    const pada_status st = open_team(*out);
    if (st == PADA_OK && (*out)->place.size > 1) return PADA_OK;
    pada_team_leave(*out);
    *out = NULL;
    return st;
}

/* Whether a process has died: closing waits for all of them. */
static bool has_lost(const pada_team *team)
{
    for (int k = 0; k < team->place.size; k++)
        if (pada__team_has_died(team, k)) return true;
    return false;
}

void pada_team_leave(pada_team *team)
{
    if (!team) return;
    pada__team_drop_letters(team);
    if (team->is_open && !team->is_torn && !has_lost(team)) team->carrier->close(!team->has_failed);
    pada_free(team->parcels);
    pada_free(team->waits);
    pada_free(team->members);
    pada_free(team);
}

int pada_team_size(const pada_team *team)
{
    return team ? team->place.size : 1;
}

int pada_team_rank(const pada_team *team)
{
    return team ? team->place.rank : 0;
}

int pada_team_local_size(const pada_team *team)
{
    return team ? team->place.local_size : 1;
}

int pada_team_local_rank(const pada_team *team)
{
    return team ? team->place.local_rank : 0;
}

pada_team_traffic pada_team_sent(const pada_team *team)
{
    return team ? team->sent : (pada_team_traffic){0};
}

/* ---- waiting ---- */

void pada__team_pause(pada_team_wait *wait)
{
    enum { SPINS = 100 };
    const double patience = 0.05; /* seconds: longer than what is between two messages of a step */

    if (wait->n < SPINS) {
        wait->n++;
        return;
    }
    if (wait->since == 0) wait->since = pada_clock_seconds();
    if (pada_clock_seconds() - wait->since < patience)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* Waits for a message to or from a process; a failure if that has died. */
static pada_status finish_request(pada_team *team, pada_request *request, int peer)
{
    pada_team_wait wait = {0};

    for (;;) {
        /* asked first: what it sent before has come by then */
        const bool has_died = wait.since > 0 && pada__team_has_died(team, peer);
        bool done;
        PADA_TRY(team->carrier->test(request, &done));
        if (done) return PADA_OK;
        if (has_died) {
            team->carrier->abandon(request);
            return pada__team_miss(team, peer);
        }
        pada__team_pause(&wait);
    }
}

/* The failure of another process becomes this one's. */
static pada_status fail_like(const pada_ending *e)
{
    const bool known = e->status > PADA_OK && e->status <= PADA_EUNSUPPORTED;

    return PADA_FAIL(known ? (pada_status)e->status : PADA_EIO, "%.*s", (int)sizeof e->message - 1,
                     e->message);
}

pada_status pada__team_fail(pada_team *team, pada_status st)
{
    if (team->has_failed) return fail_like(&team->failure);
    if (st == PADA_OK) return PADA_OK;
    team->has_failed = true;
    team->failure.status = (int32_t)st;
    memcpy(team->failure.message, pada_message(), sizeof team->failure.message);
    return st;
}

pada_status pada_team_failure(const pada_team *team)
{
    return team && team->has_failed ? fail_like(&team->failure) : PADA_OK;
}

pada_status pada__team_listen(pada_team *team)
{
    pada_message_head head;
    pada_request request;
    pada_ending heard;
    bool found;

    if (team->has_failed) return fail_like(&team->failure);
    PADA_TRY(team->carrier->probe(PADA_CHANNEL_ALARM, &found, &head));
    if (!found) return PADA_OK;
    PADA_TRY(team->carrier->receive(PADA_CHANNEL_ALARM, head.from, head.tag, &heard, sizeof heard,
                                    &request));
    PADA_TRY(finish_request(team, &request, head.from));
    if (heard.status == PADA_OK) {
        if (team->waits) team->waits[head.from] = true;
        return PADA_OK;
    }
    team->was_told = true;
    return pada__team_fail(team, fail_like(&heard));
}

/* ---- ending ---- */

/* Tells everybody who may be waiting for this process. */
static pada_status raise_alarm(pada_team *team)
{
    for (int k = 0; k < team->place.size; k++) {
        pada_request request;
        if (k == team->place.rank || pada__team_has_died(team, k)) continue;
        PADA_TRY(team->carrier->send(PADA_CHANNEL_ALARM, k, 0, &team->failure, sizeof team->failure,
                                     &request));
        /* so short that it goes without being awaited */
        const pada_status st = finish_request(team, &request, k);
        if (!pada__team_has_died(team, k)) PADA_TRY(st);
    }
    return PADA_OK;
}

static pada_status swap_ending(pada_team *team, bool sends, int peer, pada_ending *e)
{
    pada_request request;

    PADA_TRY(sends ? team->carrier->send(PADA_CHANNEL_END, peer, 0, e, sizeof *e, &request)
                   : team->carrier->receive(PADA_CHANNEL_END, peer, 0, e, sizeof *e, &request));
    return finish_request(team, &request, peer);
}

/* How another process ended. One that has died has failed, unless this one has done without it. */
static pada_status hear_ending(pada_team *team, int rank, pada_ending *e)
{
    if (!pada__team_has_died(team, rank)) {
        const pada_status st = swap_ending(team, false, rank, e);
        if (st == PADA_OK || !pada__team_has_died(team, rank)) return st;
    }
    *e = (pada_ending){.status = PADA_OK};
    if (team->members[rank].is_lost) return PADA_OK;
    e->status = (int32_t)pada__team_miss(team, rank);
    memcpy(e->message, pada_message(), sizeof e->message);
    return PADA_OK;
}

static pada_status tell_ending(pada_team *team, int rank, pada_ending *e)
{
    if (pada__team_has_died(team, rank)) return PADA_OK;
    const pada_status st = swap_ending(team, true, rank, e);
    return pada__team_has_died(team, rank) ? PADA_OK : st;
}

/* Process 0 hears how all the others ended, decides, and tells them. */
static pada_status agree_on_ending(pada_team *team, pada_ending *e)
{
    const int size = team->place.size;

    if (team->place.rank > 0) {
        PADA_TRY(swap_ending(team, true, 0, e));
        return swap_ending(team, false, 0, e);
    }
    for (int k = 1; k < size; k++) {
        pada_ending other;
        PADA_TRY(hear_ending(team, k, &other));
        if (e->status == PADA_OK) *e = other;
    }
    e->is_torn = has_lost(team);
    for (int k = 1; k < size; k++)
        PADA_TRY(tell_ending(team, k, e));
    return PADA_OK;
}

pada_status pada_team_end(pada_team *team, pada_status st)
{
    pada_ending e = {.status = PADA_OK};

    if (!team) return st;
    if (pada__team_fail(team, st) != PADA_OK) {
        e = team->failure;
        if (!team->was_told) PADA_TRY(raise_alarm(team));
    }
    PADA_TRY(agree_on_ending(team, &e));
    team->is_torn = e.is_torn;
    if (e.status == PADA_OK) return PADA_OK;
    team->has_failed = true;
    return fail_like(&e);
}
