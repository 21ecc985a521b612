/* engine_log.c - what the steps of an epoch leave behind. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine_state.h"

static int n_sites(const pada_engine *e)
{
    return e->space.ops->n_sites(&e->space);
}

void pada__log_free(pada_engine *e)
{
    engine_log *log = &e->log;

    pada_free(log->losses);
    pada_free(log->norms);
    pada_free(log->ranks);
    pada_free(log->paths);
    pada_free(log->grad_norms);
    pada_free(log->clip_factors);
    pada_free(log->site_norms);
    *log = (engine_log){0};
}

static pada_status make_room(pada_engine *e, int n_steps, int n_images)
{
    const size_t steps = (size_t)n_steps, images = (size_t)n_images, sites = (size_t)n_sites(e);
    engine_log *log = &e->log;
    void *memory;

    PADA_TRY(pada_calloc(&memory, images, sizeof *log->losses));
    log->losses = memory;
    PADA_TRY(pada_calloc(&memory, images, sizeof *log->norms));
    log->norms = memory;
    PADA_TRY(pada_calloc(&memory, images, sizeof *log->ranks));
    log->ranks = memory;
    PADA_TRY(pada_calloc(&memory, steps, sizeof *log->paths));
    log->paths = memory;
    PADA_TRY(pada_calloc(&memory, steps, sizeof *log->grad_norms));
    log->grad_norms = memory;
    PADA_TRY(pada_calloc(&memory, steps, sizeof *log->clip_factors));
    log->clip_factors = memory;
    PADA_TRY(pada_calloc(&memory, steps, sites * sizeof *log->site_norms));
    log->site_norms = memory;
    log->cap_steps = n_steps;
    log->cap_images = n_images;
    return PADA_OK;
}

pada_status pada_engine_log_begin(pada_engine *e, int n_steps, int n_images)
{
    engine_log *log = &e->log;

    PADA_ASSERT(n_steps > 0 && n_images > 0);
    log->n_steps = log->n_images = 0;
    if (n_steps <= log->cap_steps && n_images <= log->cap_images) return PADA_OK;
    pada__log_free(e);
    const pada_status st = make_room(e, n_steps, n_images);
    if (st != PADA_OK) pada__log_free(e);
    return st;
}

void pada__log_pass(pada_engine *e)
{
    engine_log *log = &e->log;

    if (log->cap_images == 0) return;
    PADA_ASSERT(log->n_images + e->last_n <= log->cap_images);
    pada_engine_losses(e, log->losses + log->n_images);
    pada_engine_norms(e, log->norms + log->n_images);
    e->backend->read_i32(e->device, e->results.rank, (pada_range){0, e->last_n},
                         log->ranks + log->n_images);
    log->n_images += e->last_n;
}

void pada__log_step(pada_engine *e, const pada_step_stats *stats)
{
    engine_log *log = &e->log;
    int k = 0;

    if (log->cap_steps == 0) return;
    PADA_ASSERT(log->n_steps < log->cap_steps);
    double *norms = log->site_norms + (size_t)log->n_steps * (size_t)n_sites(e);
    memset(norms, 0, (size_t)n_sites(e) * sizeof *norms);
    for (int i = 0; i < e->n_groups; i++) {
        const param_group *g = &e->groups[i];
        if (!g->active) continue;
        if (g->site != PADA_SHARED) norms[g->site] = sqrt(e->sums[k]);
        k++;
    }
    log->paths[log->n_steps] = e->last_path;
    log->grad_norms[log->n_steps] = stats->grad_norm;
    log->clip_factors[log->n_steps] = stats->clip_factor;
    log->n_steps++;
}

void pada_engine_log_read(const pada_engine *e, pada_log *out)
{
    const engine_log *log = &e->log;

    *out = (pada_log){.n_images = log->n_images,
                      .n_steps = log->n_steps,
                      .n_sites = n_sites(e),
                      .losses = log->losses,
                      .norms = log->norms,
                      .ranks = log->ranks,
                      .paths = log->paths,
                      .grad_norms = log->grad_norms,
                      .clip_factors = log->clip_factors,
                      .site_norms = log->site_norms};
}
