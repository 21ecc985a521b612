/* engine_log.c - what the steps of an epoch leave behind. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine_state.h"

static int n_sites(const pada_engine *e)
{
    return e->space.ops->n_sites(&e->space);
}

/* ---- room ---- */

void pada__log_free(pada_engine *e)
{
    engine_log *log = &e->log;

    pada_free(log->losses);
    pada_free(log->norms);
    pada_free(log->ranks);
    pada_free(log->grad_norms);
    pada_free(log->clip_factors);
    pada_free(log->site_norms);
    pada_free(log->active);
    pada_free(log->fetched);
    pada_free(log->paths);
    if (log->records) e->backend->release(e->device, log->records);
    pada__results_free(e, &log->results, log->cap_images);
    *log = (engine_log){.by_tensor = log->by_tensor};
}

bool pada__log_splits(const pada_engine *e, const param_group *group)
{
    return e->log.by_tensor && group->n_weights > 1;
}

/* Numbers that a step leaves on the device, at most. */
static int64_t record_size(const pada_engine *e)
{
    return 2 + (e->log.by_tensor ? pada_params_count(e->params) : e->n_groups);
}

static pada_status make_device_room(pada_engine *e, int64_t n_steps, int64_t n_images)
{
    const int64_t size = pada_dtype_bytes(e->backend->dtype);
    engine_log *log = &e->log;

    void *memory;

    PADA_TRY(pada__results_alloc(e, &log->results, n_images));
    if (!e->backend->clip_update) return PADA_OK;
    PADA_TRY(pada_calloc(&memory, (size_t)(n_steps * record_size(e)), sizeof *log->fetched));
    log->fetched = memory;
    return e->backend->alloc(e->device, &log->records, n_steps * record_size(e) * size);
}

static pada_status make_room(pada_engine *e, int n_steps, int n_passes, int n_images)
{
    const size_t steps = (size_t)n_steps, passes = (size_t)n_passes, images = (size_t)n_images;
    const size_t sites = (size_t)n_sites(e);
    engine_log *log = &e->log;
    void *memory;

    PADA_TRY(pada_calloc(&memory, images, sizeof *log->losses));
    log->losses = memory;
    PADA_TRY(pada_calloc(&memory, images, sizeof *log->norms));
    log->norms = memory;
    PADA_TRY(pada_calloc(&memory, images, sizeof *log->ranks));
    log->ranks = memory;
    PADA_TRY(pada_calloc(&memory, steps, sizeof *log->grad_norms));
    log->grad_norms = memory;
    PADA_TRY(pada_calloc(&memory, steps, sizeof *log->clip_factors));
    log->clip_factors = memory;
    PADA_TRY(pada_calloc(&memory, steps, sites * sizeof *log->site_norms));
    log->site_norms = memory;
    PADA_TRY(pada_calloc(&memory, steps, (size_t)e->n_groups * sizeof *log->active));
    log->active = memory;
    PADA_TRY(pada_calloc(&memory, passes, sizeof *log->paths));
    log->paths = memory;
    PADA_TRY(make_device_room(e, n_steps, n_images));
    log->cap_steps = n_steps;
    log->cap_passes = n_passes;
    log->cap_images = n_images;
    return PADA_OK;
}

void pada_engine_log_by_tensor(pada_engine *e, bool by_tensor)
{
    if (e->log.by_tensor == by_tensor) return;
    pada__log_free(e); /* records have another size */
    e->log.by_tensor = by_tensor;
}

pada_status pada_engine_log_begin(pada_engine *e, int n_steps, int n_passes, int n_images)
{
    engine_log *log = &e->log;

    PADA_ASSERT(n_steps > 0 && n_passes > 0 && n_images > 0);
    log->n_steps = log->n_passes = log->n_images = log->n_read_steps = log->n_read_images = 0;
    log->macs = 0;
    if (n_steps <= log->cap_steps && n_passes <= log->cap_passes && n_images <= log->cap_images)
        return PADA_OK;
    pada__log_free(e);
    const pada_status st = make_room(e, n_steps, n_passes, n_images);
    if (st != PADA_OK) pada__log_free(e);
    return st;
}

/* ---- writing ---- */

pada_results pada__log_results(const pada_engine *e, int n)
{
    if (e->log.cap_images == 0) return e->results;
    PADA_ASSERT(e->log.n_images + n <= e->log.cap_images);
    return pada__results_from(e, &e->log.results, e->log.n_images);
}

void pada__log_pass(pada_engine *e)
{
    engine_log *log = &e->log;

    if (log->cap_images == 0) return;
    PADA_ASSERT(log->n_passes < log->cap_passes);
    log->paths[log->n_passes++] = e->last_path;
    log->n_images += e->last_n;
}

/* What the forward stages of a program multiply and add for one image. */
static int64_t program_macs(const pada_program *q)
{
    const pada_stage *last = &q->stages[q->n_forward - 1];
    int64_t macs = 0;

    for (int i = 0; i < last->first + last->count; i++) {
        const pada_node *node = &q->nodes[q->instrs[i].v];
        const pada_shape none = {0, 0, 0};
        macs += pada_node_macs(node, node->x == PADA_ZERO ? none : q->nodes[node->x].shape);
    }
    return macs;
}

void pada__log_work(pada_engine *e)
{
    e->log.macs += (double)program_macs(pada__program(e)) * e->last_n;
}

void *pada__log_record(const pada_engine *e)
{
    const int64_t size = pada_dtype_bytes(e->backend->dtype);

    if (!e->log.records) return NULL;
    PADA_ASSERT(e->log.n_steps < e->log.cap_steps);
    return (char *)e->log.records + e->log.n_steps * record_size(e) * size;
}

/* hypot without the C library's bits; norms are far from where squares overflow. */
static double length(double a, double b)
{
    return sqrt(a * a + b * b);
}

/* The norm of a group from those of its ranges, which begin at *norms; goes on to the next one. */
static double take_norm(const pada_engine *e, const param_group *g, const double **norms)
{
    double sum = 0;

    if (!pada__log_splits(e, g)) return *(*norms)++;
    for (int k = 0; k < g->n_params; k++, (*norms)++)
        if (pada_params_get(e->params, g->first_param + k)->n_dims > 1) sum += **norms;
    return sum;
}

/* Writes the norms of the measured ranges, in their order, to the sites of a step. */
static void set_site_norms(pada_engine *e, int step, const bool *active, const double *norms)
{
    double *to = e->log.site_norms + (size_t)step * (size_t)n_sites(e);

    memset(to, 0, (size_t)n_sites(e) * sizeof *to);
    for (int i = 0; i < e->n_groups; i++) {
        const param_group *g = &e->groups[i];
        if (!active[i]) continue;
        const double norm = take_norm(e, g, &norms);
        if (g->site != PADA_SHARED) to[g->site] = length(to[g->site], norm);
    }
}

void pada__log_step(pada_engine *e, const pada_step_stats *stats)
{
    engine_log *log = &e->log;

    if (log->cap_steps == 0) return;
    PADA_ASSERT(log->n_steps < log->cap_steps);
    const int step = log->n_steps++;
    bool *active = log->active + (size_t)step * (size_t)e->n_groups;
    int n_measured = 0;
    for (int i = 0; i < e->n_groups; i++) {
        const param_group *g = &e->groups[i];
        active[i] = g->active;
        if (active[i]) n_measured += pada__log_splits(e, g) ? g->n_params : 1;
    }
    if (log->records) return;
    for (int k = 0; k < n_measured; k++)
        e->sums[k] = sqrt(e->sums[k]);
    set_site_norms(e, step, active, e->sums);
    log->grad_norms[step] = stats->grad_norm;
    log->clip_factors[step] = stats->clip_factor;
    log->n_read_steps = log->n_steps;
}

/* ---- reading ---- */

static void fetch_images(pada_engine *e)
{
    engine_log *log = &e->log;
    const pada_range range = {log->n_read_images, log->n_images - log->n_read_images};

    if (range.count == 0) return;
    e->backend->read(e->device, log->results.loss, range, log->losses + range.first);
    e->backend->read(e->device, log->results.norm, range, log->norms + range.first);
    e->backend->read_i32(e->device, log->results.rank, range, log->ranks + range.first);
    log->n_read_images = log->n_images;
}

static void fetch_steps(pada_engine *e)
{
    engine_log *log = &e->log;
    const int64_t size = record_size(e), n = log->n_steps - log->n_read_steps;
    double *records = log->fetched;

    if (n == 0) return;
    e->backend->read(e->device, log->records, (pada_range){log->n_read_steps * size, n * size},
                     records);
    for (int64_t k = 0; k < n; k++) {
        const int step = log->n_read_steps + (int)k;
        log->grad_norms[step] = records[k * size];
        log->clip_factors[step] = records[k * size + 1];
        set_site_norms(e, step, log->active + (size_t)step * (size_t)e->n_groups,
                       records + k * size + 2);
    }
    log->n_read_steps = log->n_steps;
}

pada_status pada__log_fetch(pada_engine *e)
{
    const engine_log *log = &e->log;
    const int first = log->n_read_steps;

    if (log->cap_steps == 0) return PADA_OK;
    fetch_images(e);
    fetch_steps(e);
    if (first < log->n_steps) PADA_TRY(pada__finish(e)); /* the real reason, if any */
    for (int i = 0; i < log->n_steps; i++) /* again and again, until the log is emptied */
        if (!isfinite(log->grad_norms[i]))
            return PADA_FAIL(PADA_ENUMERIC, "gradient norm is %g in step %d of the log",
                             log->grad_norms[i], i);
    return PADA_OK;
}

pada_status pada_engine_log_read(pada_engine *e, pada_log *out)
{
    const engine_log *log = &e->log;
    const pada_status st = pada__log_fetch(e);

    *out = (pada_log){.n_images = log->n_images,
                      .n_steps = log->n_steps,
                      .n_passes = log->n_passes,
                      .n_sites = n_sites(e),
                      .losses = log->losses,
                      .norms = log->norms,
                      .ranks = log->ranks,
                      .paths = log->paths,
                      .grad_norms = log->grad_norms,
                      .clip_factors = log->clip_factors,
                      .site_norms = log->site_norms,
                      .macs = log->macs};
    return st;
}

/* ---- checkpoints ---- */

static void visit_numbers(pada_engine *e, pada_state *s)
{
    engine_log *log = &e->log;
    const pada_status fetched = pada_state_loading(s) ? PADA_OK : pada__log_fetch(e);
    int32_t counts[2] = {log->n_steps, log->n_images};
    const int64_t n_sites = e->space.ops->n_sites(&e->space);

    if (fetched != PADA_OK) {
        pada_state_reject(s, fetched);
        return;
    }
    pada_state_array(s, "log/counts", PADA_STATE_I32, counts, 2);
    if (counts[0] < 0 || counts[0] > log->cap_steps || counts[1] < 0 ||
        counts[1] > log->cap_images) {
        pada_state_reject(s,
                          PADA_FAIL(PADA_EDATA, "a log of %d steps and %d images; at most %d, %d",
                                    counts[0], counts[1], log->cap_steps, log->cap_images));
        return;
    }
    log->n_steps = log->n_read_steps = counts[0];
    log->n_images = log->n_read_images = counts[1];
    pada_state_array(s, "log/macs", PADA_STATE_F64, &log->macs, 1);
    pada_state_array(s, "log/losses", PADA_STATE_F64, log->losses, log->n_images);
    pada_state_array(s, "log/norms", PADA_STATE_F64, log->norms, log->n_images);
    pada_state_array(s, "log/ranks", PADA_STATE_I32, log->ranks, log->n_images);
    pada_state_array(s, "log/grad_norms", PADA_STATE_F64, log->grad_norms, log->n_steps);
    pada_state_array(s, "log/clip_factors", PADA_STATE_F64, log->clip_factors, log->n_steps);
    pada_state_array(s, "log/site_norms", PADA_STATE_F64, log->site_norms, log->n_steps * n_sites);
}

static void visit_paths(engine_log *log, pada_state *s)
{
    int32_t n = log->n_passes;

    pada_state_array(s, "log/passes", PADA_STATE_I32, &n, 1);
    if (n < 0 || n > log->cap_passes) {
        pada_state_reject(
            s, PADA_FAIL(PADA_EDATA, "a log of %d passes; at most %d", (int)n, log->cap_passes));
        return;
    }
    log->n_passes = n;
    pada_state_array(s, "log/paths", PADA_STATE_U8, log->paths, n * (int64_t)sizeof *log->paths);
}

void pada__log_visit(pada_engine *e, pada_state *s)
{
    visit_numbers(e, s);
    visit_paths(&e->log, s);
}
