/* uses.h - which parameters a path has. */
#ifndef PADA_TESTS_ENGINE_USES_H
#define PADA_TESTS_ENGINE_USES_H

#include "engine/engine.h"

static inline bool uses(const pada_engine *e, const pada_param *p, const pada_path *path)
{
    const pada_space *space = pada_engine_space(e);

    return p->site == PADA_SHARED ||
           path->choice[space->ops->site_slot(space, p->site)] == p->choice;
}

#endif
