/* team_check.c - whether all processes of a team were given the same to work on. */
#include "run/team_check.h"

#include <string.h>

#include "base/hash.h"
#include "dist/same.h"
#include "run/run_env.h"

static uint64_t hash_text(const char *text)
{
    return pada_hash(text, strlen(text), 0);
}

static pada_status hash_options(const pada_options *options, uint64_t *hash)
{
    pada_text config = {0};

    pada_options_dump(options, &config);
    *hash = hash_text(pada_text_str(&config));
    const pada_status st = config.status;
    pada_text_deinit(&config);
    return st;
}

static uint64_t hash_backend(const pada_engine *e)
{
    const pada_backend *backend = pada_engine_backend(e);

    return hash_text(backend->name) ^ hash_text(pada_backend_precision(backend));
}

pada_status pada_team_check_call(pada_team *team, const pada_options *options,
                                 const pada_same *more, int n)
{
    uint64_t options_hash;

    if (!team) return PADA_OK;
    PADA_ASSERT(n <= PADA_SAME_MOST - 2);
    PADA_TRY(pada_team_agree(team, hash_options(options, &options_hash)));
    pada_same list[PADA_SAME_MOST] = {
        {"build", hash_text(pada_run_build()) ^ hash_text(pada_version()), PADA_EDATA},
        {"options", options_hash, PADA_EINVAL},
    };
    memcpy(list + 2, more, (size_t)n * sizeof *more);
    return pada_team_check_same(team, list, n + 2);
}

pada_status pada_team_check(pada_team *team, const pada_options *options, const pada_engine *e,
                            const pada_data_card *images, uint64_t weights)
{
    if (!team) return PADA_OK;
    const pada_same list[] = {
        {"backend", hash_backend(e), PADA_EDEVICE},
        {"images", pada_hash(images->hash, sizeof images->hash, 0), PADA_EDATA},
        {"weights", weights, PADA_EDATA},
    };
    return pada_team_check_call(team, options, list, (int)(sizeof list / sizeof list[0]));
}
