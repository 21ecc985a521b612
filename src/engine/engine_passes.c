/* engine_passes.c - which paths the training passes of an epoch ran. */
#include "base/mem.h"
#include "engine/engine_state.h"

void pada__passes_free(pada_engine *e)
{
    pada_free(e->passes.paths);
    e->passes = (engine_passes){0};
}

static pada_status make_room(engine_passes *passes, int n_passes)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)n_passes, sizeof *passes->paths));
    passes->paths = memory;
    passes->cap = n_passes;
    return PADA_OK;
}

pada_status pada__passes_begin(pada_engine *e, int n_passes)
{
    PADA_ASSERT(n_passes > 0);
    e->passes.n = 0;
    if (n_passes <= e->passes.cap) return PADA_OK;
    pada__passes_free(e);
    const pada_status st = make_room(&e->passes, n_passes);
    if (st != PADA_OK) pada__passes_free(e);
    return st;
}

void pada__passes_add(pada_engine *e)
{
    engine_passes *passes = &e->passes;

    PADA_ASSERT(passes->n < passes->cap);
    passes->paths[passes->n++] = e->last_path;
}

void pada__passes_visit(pada_engine *e, pada_state *s)
{
    engine_passes *passes = &e->passes;
    int32_t n = passes->n;

    pada_state_array(s, "log/passes", PADA_STATE_I32, &n, 1);
    if (n < 0 || n > passes->cap) {
        pada_state_reject(
            s, PADA_FAIL(PADA_EDATA, "a log of %d passes; at most %d", (int)n, passes->cap));
        return;
    }
    passes->n = n;
    pada_state_array(s, "log/paths", PADA_STATE_U8, passes->paths,
                     n * (int64_t)sizeof *passes->paths);
}
