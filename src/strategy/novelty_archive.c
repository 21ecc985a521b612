/* novelty_archive.c - a few paths that are as different from each other as random search finds. */
#include "strategy/novelty_archive.h"

#include "base/mem.h"

pada_status pada_novelty_archive_init(pada_novelty_archive *a, const pada_space *space,
                                      uint64_t seed, const pada_novelty_settings *settings)
{
    void *memory;

    PADA_ASSERT(settings->members >= 1 && settings->members <= PADA_MAX_MEMBERS);
    PADA_ASSERT(settings->recent >= 1 && settings->candidates >= 1 && settings->neighbours >= 1);
    a->settings = *settings;
    a->space = space;
    a->seed = seed;
    PADA_TRY(pada_calloc(&memory, (size_t)settings->recent, sizeof *a->recent));
    a->recent = memory;
    return PADA_OK;
}

void pada_novelty_archive_deinit(pada_novelty_archive *a)
{
    pada_free(a->recent);
}

double pada_path_distance(const pada_space *space, const pada_path *x, const pada_path *y)
{
    int differ = 0;

    for (int slot = 0; slot < space->ops->n_slots; slot++)
        differ += x->choice[slot] != y->choice[slot];
    return (double)differ / space->ops->n_slots;
}

double pada_novelty_archive_novelty(const pada_novelty_archive *a, const pada_path *x, int without)
{
    double nearest[PADA_MAX_MEMBERS], sum = 0; /* in ascending order */
    int n = 0;

    for (int i = 0; i < a->n_members; i++) {
        if (i == without) continue;
        const double distance = pada_path_distance(a->space, x, &a->members[i]);
        int k = n++;
        for (; k > 0 && nearest[k - 1] > distance; k--)
            nearest[k] = nearest[k - 1];
        nearest[k] = distance;
    }
    if (n > a->settings.neighbours) n = (int)a->settings.neighbours;
    for (int i = 0; i < n; i++)
        sum += nearest[i];
    return n > 0 ? sum / n : 0;
}

/* Adds the most novel of some random paths; the first of equals. */
static void grow(pada_novelty_archive *a, int64_t step)
{
    double best = -1;
    pada_path chosen = {{0}};
    pada_rng rng;

    pada_rng_init(&rng, a->seed, "novelty", (uint64_t)step);
    for (int i = 0; i < a->settings.candidates; i++) {
        pada_path candidate;
        pada_path_random(a->space, &rng, &candidate);
        const double novelty = pada_novelty_archive_novelty(a, &candidate, -1);
        if (novelty <= best) continue;
        best = novelty;
        chosen = candidate;
    }
    a->members[a->n_members++] = chosen;
}

static int closest_member(const pada_novelty_archive *a, const pada_path *path)
{
    double least = 2;
    int closest = 0;

    for (int i = 0; i < a->n_members; i++) {
        const double distance = pada_path_distance(a->space, path, &a->members[i]);
        if (distance >= least) continue;
        least = distance;
        closest = i;
    }
    return closest;
}

/* The member stays unless a recent path is more novel than it is. */
static void renew(pada_novelty_archive *a, const pada_path *current)
{
    const int place = closest_member(a, current);
    pada_path chosen = a->members[place];
    double best = pada_novelty_archive_novelty(a, &chosen, place);

    for (int i = 0; i < a->n_recent; i++) {
        const double novelty = pada_novelty_archive_novelty(a, &a->recent[i], place);
        if (novelty <= best) continue;
        best = novelty;
        chosen = a->recent[i];
    }
    a->members[place] = chosen;
}

void pada_novelty_archive_update(pada_novelty_archive *a, const pada_path *current, int64_t step)
{
    if (a->n_members < a->settings.members)
        grow(a, step);
    else
        renew(a, current);
    a->recent[a->next] = *current;
    a->next = (a->next + 1) % (int32_t)a->settings.recent;
    if (a->n_recent < a->settings.recent) a->n_recent++;
}

static bool are_valid(const pada_space *space, const pada_path *paths, int n)
{
    for (int i = 0; i < n; i++)
        if (!pada_path_is_valid(space, &paths[i])) return false;
    return true;
}

void pada_novelty_archive_visit(pada_novelty_archive *a, pada_state *state)
{
    const int32_t recent = (int32_t)a->settings.recent;
    int32_t counts[3] = {a->n_members, a->n_recent, a->next};

    pada_state_array(state, "archive/counts", PADA_STATE_I32, counts, 3);
    pada_state_array(state, "archive/members", PADA_STATE_U8, a->members,
                     a->settings.members * (int64_t)sizeof *a->members);
    pada_state_array(state, "archive/recent", PADA_STATE_U8, a->recent,
                     recent * (int64_t)sizeof *a->recent);
    if (counts[0] < 0 || counts[0] > a->settings.members || counts[1] < 0 || counts[1] > recent ||
        counts[2] < 0 || counts[2] >= recent ||
        !are_valid(a->space, a->members, (int)a->settings.members) ||
        !are_valid(a->space, a->recent, recent)) {
        pada_state_reject(state, PADA_FAIL(PADA_EDATA,
                                           "an archive of %d and %d paths, or paths "
                                           "that space %s does not have",
                                           (int)counts[0], (int)counts[1], a->space->ops->name));
        return;
    }
    a->n_members = counts[0];
    a->n_recent = counts[1];
    a->next = counts[2];
}
