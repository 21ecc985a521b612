/* search_random.c - rounds of random networks. */
#include "study/search_parts.h"

static double most(const pada_search_settings *settings)
{
    return (double)settings->rounds * (double)settings->per_round;
}

static pada_status run(pada__search *s)
{
    const pada_search_settings *settings = &s->desc->settings;

    for (int64_t round = 0; round < settings->rounds; round++) {
        pada__search_fill(s, settings->per_round);
        if (pada__search_n_offered(s) == 0) break;
        PADA_TRY(pada__search_score(s));
    }
    return PADA_OK;
}

const pada_search_algorithm pada_search_random = {.name = "random", .most = most, .run = run};
