/* trainer_team.c - whether the processes that train together do the same. */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "engine/engine_weights.h"
#include "train/trainer_state.h"

/* The first process whose `bytes` differ from those of process 0; 0: none does. */
static pada_status find_other(pada_team *team, const void *mine, size_t bytes, int *other)
{
    const int size = pada_team_size(team);
    void *memory;

    *other = 0;
    PADA_TRY(pada_calloc(&memory, (size_t)size, bytes));
    const char *all = memory;
    const pada_status st = pada_team_all_gather(team, mine, bytes, memory);
    for (int k = size - 1; st == PADA_OK && k > 0; k--)
        if (memcmp(all + (size_t)k * bytes, all, bytes) != 0) *other = k;
    pada_free(memory);
    return st;
}

static pada_status check_text(pada_team *team, const char *text, const char *what)
{
    const uint64_t hash = text ? pada_hash(text, strlen(text), 0) : 0;
    int other;

    PADA_TRY(find_other(team, &hash, sizeof hash, &other));
    if (other == 0) return PADA_OK;
    return PADA_FAIL(PADA_EDATA, "process %d has %s than process 0", other, what);
}

pada_status pada__trainer_check_same(const trainer *t)
{
    pada_team *team = t->desc->team;

    if (!team) return PADA_OK;
    PADA_TRY(check_text(team, t->desc->build, "another build of pada"));
    PADA_TRY(check_text(team, t->desc->config, "other options"));
    return check_text(team, t->card_note.data, "other images");
}

pada_status pada__trainer_check_resumed(const trainer *t)
{
    const int64_t mine[] = {t->position[0], t->position[1],
                            t->desc->team ? (int64_t)pada_engine_weights_hash(t->desc->engine) : 0};
    int other;

    PADA_TRY(find_other(t->desc->team, mine, sizeof mine, &other));
    if (other == 0) return PADA_OK;
    return PADA_FAIL(PADA_EDATA, "%s: process %d finds other checkpoints there than process 0",
                     t->desc->run, other);
}

pada_status pada__trainer_check_weights(const trainer *t, uint64_t hash)
{
    int other;

    PADA_TRY(find_other(t->desc->team, &hash, sizeof hash, &other));
    if (other == 0) return PADA_OK;
    return PADA_FAIL(PADA_EDATA, "epoch %" PRId64 ": process %d has other weights than process 0",
                     t->position[0] + 1, other);
}
