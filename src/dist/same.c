/* same.c - whether the processes of a team work on the same thing. */
#include "dist/same.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "base/text.h"

typedef struct card {
    uint64_t hashes[PADA_SAME_MOST];
    char machine[64];
} card;

static pada_status compare(const card *cards, int size, const pada_same *list, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 1; k < size; k++)
            if (cards[k].hashes[i] != cards[0].hashes[i])
                return PADA_FAIL(
                    list[i].otherwise,
                    "process %d of %d, on %.63s, does not have the %s of process 0, on %.63s", k,
                    size, cards[k].machine, list[i].what, cards[0].machine);
    return PADA_OK;
}

pada_status pada_team_check_same(pada_team *team, const pada_same *list, int n)
{
    const int size = pada_team_size(team);
    struct utsname machine = {0};
    card own = {0};
    void *cards;

    PADA_ASSERT(n <= PADA_SAME_MOST);
    uname(&machine);
    snprintf(own.machine, sizeof own.machine, "%.63s", machine.nodename);
    for (int i = 0; i < n; i++)
        own.hashes[i] = list[i].hash;
    PADA_TRY(pada_calloc(&cards, (size_t)size, sizeof own));
    pada_status st = pada_team_all_gather(team, &own, sizeof own, cards);
    if (st == PADA_OK) st = compare(cards, size, list, n);
    pada_free(cards);
    return st;
}
