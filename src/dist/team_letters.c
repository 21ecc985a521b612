/* team_letters.c - messages from one process of a team to another that nobody is waiting for. */
#include <string.h>

#include "base/mem.h"
#include "dist/team_state.h"

/* Frees the copies of letters that are gone. */
static pada_status forget_sent(pada_team *team)
{
    for (int i = 0; i < team->n_letters;) {
        pada_parcel *letter = &team->letters[i];
        PADA_TRY(team->carrier->test(&letter->request, &letter->done));
        if (!letter->done) {
            i++;
            continue;
        }
        pada_free(letter->copy);
        *letter = team->letters[--team->n_letters];
    }
    return PADA_OK;
}

void pada__team_drop_letters(pada_team *team)
{
    for (int i = 0; i < team->n_letters; i++) {
        team->carrier->abandon(&team->letters[i].request);
        pada_free(team->letters[i].copy);
    }
    pada_free(team->letters);
    team->letters = NULL;
    team->n_letters = team->cap_letters = 0;
}

pada_status pada__team_post(pada_team *team, pada_channel channel, int to, int tag,
                            const void *data, size_t bytes)
{
    void *copy, *letters;

    PADA_TRY(forget_sent(team));
    letters = team->letters;
    PADA_TRY(pada_grow(&letters, &team->cap_letters, team->n_letters + 1, sizeof *team->letters));
    team->letters = letters;
    PADA_TRY(pada_calloc(&copy, bytes, 1));
    if (bytes > 0) memcpy(copy, data, bytes);
    pada_parcel *letter = &team->letters[team->n_letters];
    *letter = (pada_parcel){.copy = copy};
    const pada_status st = team->carrier->send(channel, to, tag, copy, bytes, &letter->request);
    if (st == PADA_OK)
        team->n_letters++;
    else
        pada_free(copy);
    return st;
}

pada_status pada_team_send(pada_team *team, int to, int tag, const void *data, size_t bytes)
{
    PADA_ASSERT(team && to != team->place.rank);
    PADA_TRY(pada__team_listen(team));
    return pada__team_post(team, PADA_CHANNEL_LETTER, to, tag, data, bytes);
}

pada_status pada_team_poll(pada_team *team, bool *found, pada_message_head *out)
{
    *found = false;
    if (!team) return PADA_OK;
    PADA_TRY(pada__team_listen(team));
    PADA_TRY(forget_sent(team));
    return team->carrier->probe(PADA_CHANNEL_LETTER, found, out);
}

pada_status pada_team_await(pada_team *team, pada_message_head *out)
{
    pada_team_wait wait = {0};
    bool found;

    PADA_ASSERT(team);
    for (;;) {
        PADA_TRY(pada_team_poll(team, &found, out));
        if (found) return PADA_OK;
        pada__team_pause(&wait);
    }
}

pada_status pada_team_receive(pada_team *team, const pada_message_head *head, void *data)
{
    pada_team_wait wait = {0};
    pada_request request;
    bool done = false;
    pada_status st;

    PADA_TRY(team->carrier->receive(PADA_CHANNEL_LETTER, head->from, head->tag, data, head->bytes,
                                    &request));
    for (;;) {
        st = team->carrier->test(&request, &done);
        if (st != PADA_OK || done) return st;
        if ((st = pada__team_listen(team)) != PADA_OK) break;
        pada__team_pause(&wait);
    }
    team->carrier->abandon(&request);
    return st;
}
