/* team_silence.c - a process that neither goes on nor ends: the others, who wait, find out which one it is.
 *
 * Who waits long says so to everybody, again and again. At its second look a process has therefore heard of all who wait, too;
 * the first of these names the others. */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dist/team_state.h"

void pada_team_watch(pada_team *team, double seconds, void (*say)(const char *text))
{
    void *waits;

    if (!team || team->waits) return;
    if (pada_calloc(&waits, (size_t)team->place.size, sizeof *team->waits) != PADA_OK) return;
    team->waits = waits;
    team->patience = seconds;
    team->say = say;
}

double pada__team_patience(const pada_team *team)
{
    return team->waits ? team->patience : 0;
}

void pada__team_say(const pada_team *team, const char *text)
{
    if (team->say) team->say(text);
}

void pada__team_say_silent(const pada_team *team, int rank)
{
    char text[120];

    snprintf(text, sizeof text,
             "process %d of %d gives no sign, and others have waited %.3g s for it", rank,
             team->place.size, 2 * team->patience);
    pada__team_say(team, text);
}

static bool is_first_of_waiting(const pada_team *team)
{
    for (int k = 0; k < team->place.rank; k++)
        if (team->waits[k]) return false;
    return true;
}

pada_status pada__team_watch(pada_team *team, pada_team_wait *wait)
{
    static const pada_ending still_waiting = {.status = PADA_OK};
    const int size = team->place.size;

    if (!team->waits || wait->since == 0 ||
        pada_clock_seconds() - wait->since < (wait->n_looks + 1) * team->patience)
        return PADA_OK;
    wait->n_looks++;
    for (int k = 0; k < size && wait->n_looks == 2 && is_first_of_waiting(team); k++)
        if (k != team->place.rank && !team->waits[k]) pada__team_say_silent(team, k);
    for (int k = 0; k < size; k++)
        team->waits[k] = false;
    for (int k = 0; k < size; k++)
        if (k != team->place.rank)
            PADA_TRY(pada__team_post(team, PADA_CHANNEL_ALARM, k, 0, &still_waiting,
                                     sizeof still_waiting));
    return PADA_OK;
}
