/* team_together.c - what all processes of a team do together, made of messages between two. */
#include <string.h>

#include "dist/team_state.h"

/* ---- several messages at once ---- */

static pada_status begin_send(pada_team *team, int to, const void *data, size_t bytes)
{
    pada_parcel *p = &team->parcels[team->n_parcels];

    if (bytes == 0) return PADA_OK;
    PADA_TRY(team->carrier->send(PADA_CHANNEL_STEP, to, 0, data, bytes, &p->request));
    p->done = false;
    team->n_parcels++;
    team->sent.messages++;
    team->sent.bytes += (int64_t)bytes;
    return PADA_OK;
}

static pada_status begin_receive(pada_team *team, int from, void *data, size_t bytes)
{
    pada_parcel *p = &team->parcels[team->n_parcels];

    if (bytes == 0) return PADA_OK;
    PADA_TRY(team->carrier->receive(PADA_CHANNEL_STEP, from, 0, data, bytes, &p->request));
    p->done = false;
    team->n_parcels++;
    return PADA_OK;
}

static pada_status test_all(pada_team *team, bool *done)
{
    *done = true;
    for (int i = 0; i < team->n_parcels; i++) {
        pada_parcel *p = &team->parcels[i];
        if (!p->done) PADA_TRY(team->carrier->test(&p->request, &p->done));
        *done = *done && p->done;
    }
    return PADA_OK;
}

/* Ends what was begun, `st` being how beginning went: all messages have gone and come, or are given up. */
static pada_status finish(pada_team *team, pada_status st)
{
    pada_team_wait wait = {0};
    bool done = false;

    while (st == PADA_OK) {
        st = test_all(team, &done);
        if (st != PADA_OK || done) break;
        st = pada__team_listen(team);
        if (st == PADA_OK) st = pada__team_watch(team, &wait);
        if (st == PADA_OK) st = pada__team_miss_any(team, &wait);
        pada__team_pause(&wait);
    }
    for (int i = 0; i < team->n_parcels; i++)
        if (!team->parcels[i].done) team->carrier->abandon(&team->parcels[i].request);
    team->n_parcels = 0;
    return pada__team_fail(team, st);
}

/* Sends to one process and receives from another, at once. */
static pada_status pass_on(pada_team *team, int to, const void *out, int from, void *in,
                           size_t bytes)
{
    pada_status st = begin_receive(team, from, in, bytes);

    if (st == PADA_OK) st = begin_send(team, to, out, bytes);
    return finish(team, st);
}

/* Whether there is nothing to do together: a team of one, or one that has failed. */
static bool is_over(pada_team *team, pada_status *st)
{
    *st = pada_team_failure(team);
    return !team || *st != PADA_OK;
}

/* ---- calls ---- */

pada_status pada_team_all_gather(pada_team *team, const void *part, size_t bytes, void *all)
{
    const int size = pada_team_size(team), rank = pada_team_rank(team);
    char *parts = all;
    pada_status st;

    if (part != parts + (size_t)rank * bytes) memcpy(parts + (size_t)rank * bytes, part, bytes);
    if (is_over(team, &st)) return st;
    for (int k = 1; st == PADA_OK && k < size; k++)
        st = begin_receive(team, (rank + k) % size, parts + (size_t)((rank + k) % size) * bytes,
                           bytes);
    for (int k = 1; st == PADA_OK && k < size; k++)
        st = begin_send(team, (rank + size - k) % size, parts + (size_t)rank * bytes, bytes);
    return finish(team, st);
}

pada_status pada_team_fill(pada_team *team, void *all, const size_t *first)
{
    const int size = pada_team_size(team), rank = pada_team_rank(team);
    char *bytes = all;
    pada_status st;

    if (is_over(team, &st)) return st;
    for (int k = 0; st == PADA_OK && k < size; k++)
        if (k != rank) st = begin_receive(team, k, bytes + first[k], first[k + 1] - first[k]);
    for (int k = 0; st == PADA_OK && k < size; k++)
        if (k != rank) st = begin_send(team, k, bytes + first[rank], first[rank + 1] - first[rank]);
    return finish(team, st);
}

/* As a binomial tree: in every round those that have it send it on. */
pada_status pada_team_broadcast(pada_team *team, void *data, size_t bytes, int root)
{
    const int size = pada_team_size(team), place = (pada_team_rank(team) + size - root) % size;
    pada_status st;

    if (is_over(team, &st)) return st;
    for (int step = 1; st == PADA_OK && step < size; step *= 2) {
        if (place < step && place + step < size)
            st = begin_send(team, (place + step + root) % size, data, bytes);
        else if (place >= step && place < 2 * step)
            st = begin_receive(team, (place - step + root) % size, data, bytes);
        st = finish(team, st);
    }
    return st;
}

pada_status pada_team_exchange(pada_team *team, int peer, const void *out, void *in, size_t bytes)
{
    pada_status st;

    if (is_over(team, &st)) return st;
    return pass_on(team, peer, out, peer, in, bytes);
}

/* In round k everybody hears of 2^k more. */
pada_status pada_team_any(pada_team *team, bool mine, bool *any)
{
    const int size = pada_team_size(team), rank = pada_team_rank(team);
    char here = mine, there = 0;
    pada_status st;

    *any = mine;
    if (is_over(team, &st)) return st;
    for (int step = 1; st == PADA_OK && step < size; step *= 2) {
        st = pass_on(team, (rank + step) % size, &here, (rank + size - step) % size, &there, 1);
        here |= there;
    }
    *any = here != 0;
    return st;
}

pada_status pada_team_barrier(pada_team *team)
{
    bool any;

    return pada_team_any(team, false, &any);
}

pada_status pada_team_agree(pada_team *team, pada_status st)
{
    return st != PADA_OK ? st : pada_team_barrier(team);
}
