/* engine_shards.c - training passes in shards: parts of a batch, each normalised by its own images, whose gradients are
 * added up as a binary tree. A process has some of them, one after the other; everything that a pass leaves is the same
 * on all processes, and does not depend on how many there are. */
#include <string.h>

#include "base/mem.h"
#include "engine/engine_state.h"

enum { N_RESULTS = 3 }; /* numbers per image */

/* ---- room ---- */

void pada__shards_free(pada_engine *e)
{
    engine_shards *s = &e->shards;

    if (s->grads) e->backend->release(e->device, s->grads);
    pada_free(s->sums);
    pada_free(s->numbers);
    pada_free(s->ranges);
    *s = (engine_shards){.last = -1};
}

static pada_status check_number(const pada_team *team, int n)
{
    const int size = pada_team_size(team);

    if (n > PADA_MAX_SHARDS || (n & (n - 1)) != 0)
        return PADA_FAIL(PADA_EINVAL, "%d shards: a batch is cut into 2, 4, 8, 16, 32 or %d", n,
                         PADA_MAX_SHARDS);
    if (n % size != 0)
        return PADA_FAIL(PADA_EINVAL, "--shards %d: %d processes cannot have equally many", n,
                         size);
    return PADA_OK;
}

static pada_status make_room(pada_engine *e, int own)
{
    const int64_t statistics = pada_params_elements(e->statistics_map);
    const int64_t results = (N_RESULTS + 2) * (int64_t)e->batch_size;
    engine_shards *s = &e->shards;
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)(results > statistics ? results : statistics),
                         sizeof *s->numbers));
    s->numbers = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)pada_params_count(e->params), sizeof *s->ranges));
    s->ranges = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)(own + 1), (size_t)e->buffer_bytes));
    s->sums = memory;
    return e->backend->alloc(e->device, &s->grads, e->buffer_bytes);
}

pada_status pada__shards_begin(pada_engine *e, pada_team *team, int n)
{
    engine_shards *s = &e->shards;

    pada__shards_free(e);
    if (n == 0) return PADA_OK;
    PADA_TRY(check_number(team, n));
    if (n == 1) return PADA_OK;
    if (e->gate)
        return PADA_FAIL(PADA_EUNSUPPORTED,
                         "--norm local: the gate of blocks learns from norms of the whole batch");
    const int own = n / pada_team_size(team);
    const pada_status st = make_room(e, own);
    if (st != PADA_OK) {
        pada__shards_free(e);
        return st;
    }
    s->team = team;
    s->n = n;
    s->first = pada_team_rank(team) * own;
    s->end = s->first + own;
    return PADA_OK;
}

/* ---- who has what ---- */

/* The first image of shard k of a batch of n, whose end is the first one of shard k + 1. Of a small batch some shards are
 * empty, but not the first one. */
static int first_image(const pada_engine *e, int n, int k)
{
    return (int)(((int64_t)n * k + e->shards.n - 1) / e->shards.n);
}

void pada__shards_share(const pada_engine *e, int n, int *first, int *end)
{
    *first = first_image(e, n, e->shards.first);
    *end = first_image(e, n, e->shards.end);
}

/* The gradients that a path has, neighbours as one range. */
static void list_ranges(pada_engine *e, const pada_path *path)
{
    engine_shards *s = &e->shards;

    s->n_ranges = 0;
    s->n_sums = 0;
    for (int i = 0; i < e->n_groups; i++) {
        const param_group *g = &e->groups[i];
        pada_range *last = s->n_ranges > 0 ? &s->ranges[s->n_ranges - 1] : NULL;
        if (g->site != PADA_SHARED && !pada_path_uses(&e->space, path, g->site, g->choice))
            continue;
        s->n_sums += g->range.count;
        if (last && last->first + last->count == g->range.first)
            last->count += g->range.count;
        else
            s->ranges[s->n_ranges++] = g->range;
    }
}

/* ---- gradients ---- */

static bool is_float(const pada_engine *e)
{
    return e->backend->dtype == PADA_F32;
}

/* The gradient of own shard k, or (k: how many there are) room for what others send. */
static void *sums_of(const pada_engine *e, int k)
{
    return (char *)e->shards.sums +
           k * e->shards.n_sums * (int64_t)pada_dtype_bytes(e->backend->dtype);
}

static void add(const pada_engine *e, void *to, const void *from)
{
    for (int64_t i = 0; i < e->shards.n_sums; i++)
        if (is_float(e))
            ((float *)to)[i] += ((const float *)from)[i];
        else
            ((double *)to)[i] += ((const double *)from)[i];
}

static void clear_sums(const pada_engine *e, int k)
{
    memset(sums_of(e, k), 0,
           (size_t)e->shards.n_sums * (size_t)pada_dtype_bytes(e->backend->dtype));
}

/* The backward pass of the shard whose forward pass was the last one. */
static void end_shard(pada_engine *e)
{
    engine_shards *s = &e->shards;
    const pada_program *program = pada__program(e);

    if (s->last < 0) return;
    e->backend->fill_zero(e->device, s->grads, s->ranges, s->n_ranges);
    e->backend->run(e->device, program, &s->bindings, program->n_forward,
                    program->n_stages - program->n_forward);
    e->backend->read_raw(e->device, s->grads, s->ranges, s->n_ranges,
                         sums_of(e, s->last - s->first));
    s->last = -1;
}

void pada__shards_backward(pada_engine *e)
{
    engine_shards *s = &e->shards;
    const int own = s->end - s->first;

    end_shard(e);
    for (int step = 1; step < own; step *= 2)
        for (int k = 0; k < own; k += 2 * step)
            add(e, sums_of(e, k), sums_of(e, k + step));
    /* After a failure, which stays with the team, the sums mean nothing. */
    if (is_float(e))
        (void)pada_team_add_floats(s->team, 1, s->sums, sums_of(e, own), s->n_sums);
    else
        (void)pada_team_add_doubles(s->team, 1, s->sums, sums_of(e, own), s->n_sums);
    e->backend->write_raw(e->device, s->grads, s->ranges, s->n_ranges, s->sums);
    e->backend->axpy(e->device, e->grads, 1, s->grads, s->ranges, s->n_ranges);
}

/* ---- what else a pass leaves ---- */

static void read_results(pada_engine *e, const pada_results *from, pada_range range, double *packed,
                         double *scratch)
{
    int32_t *ranks = (int32_t *)scratch;

    for (int which = 0; which < 2; which++) {
        e->backend->read(e->device, which == 0 ? from->loss : from->norm, range, scratch);
        for (int64_t i = 0; i < range.count; i++)
            packed[i * N_RESULTS + which] = scratch[i];
    }
    e->backend->read_i32(e->device, from->rank, range, ranks);
    for (int64_t i = 0; i < range.count; i++)
        packed[i * N_RESULTS + 2] = ranks[i];
}

static void write_results(pada_engine *e, const pada_results *to, pada_range range,
                          const double *packed, double *scratch)
{
    int32_t *ranks = (int32_t *)scratch;

    for (int which = 0; which < 2; which++) {
        for (int64_t i = 0; i < range.count; i++)
            scratch[i] = packed[i * N_RESULTS + which];
        e->backend->write(e->device, which == 0 ? to->loss : to->norm, range, scratch);
    }
    for (int64_t i = 0; i < range.count; i++)
        ranks[i] = (int32_t)packed[i * N_RESULTS + 2];
    e->backend->write_i32(e->device, to->rank, range, ranks);
}

/* Everybody gets what the images of everybody have given. */
static pada_status gather_results(pada_engine *e, const pada_results *results, int n)
{
    const engine_shards *s = &e->shards;
    const int size = pada_team_size(s->team);
    double *packed = s->numbers, *scratch = packed + N_RESULTS * (int64_t)n;
    size_t first[PADA_MAX_SHARDS + 1];
    int own_first, own_end;

    for (int k = 0; k <= size; k++)
        first[k] = (size_t)first_image(e, n, s->n / size * k) * N_RESULTS * sizeof *packed;
    pada__shards_share(e, n, &own_first, &own_end);
    read_results(e, results, (pada_range){own_first, own_end - own_first},
                 packed + N_RESULTS * (int64_t)own_first, scratch);
    PADA_TRY(pada_team_fill(s->team, packed, first));
    write_results(e, results, (pada_range){0, n}, packed, scratch);
    return PADA_OK;
}

/* Running statistics are those of the first shard, which process 0 has. */
static pada_status spread_statistics(pada_engine *e)
{
    const engine_shards *s = &e->shards;
    const pada_range all = {0, pada_params_elements(e->statistics_map)};

    if (e->statistics != PADA_STATISTICS_RUNNING) return PADA_OK;
    if (pada_team_rank(s->team) == 0)
        e->backend->read(e->device, e->statistics_buffer, all, s->numbers);
    PADA_TRY(pada_team_broadcast(s->team, s->numbers, (size_t)all.count * sizeof *s->numbers, 0));
    if (pada_team_rank(s->team) > 0)
        e->backend->write(e->device, e->statistics_buffer, all, s->numbers);
    return PADA_OK;
}

/* ---- the forward pass ---- */

/* The part of a batch that is shard k. */
static pada_batch cut(const pada_engine *e, const pada_batch *batch, int k)
{
    const int first = first_image(e, batch->n, k), end = first_image(e, batch->n, k + 1);
    const int64_t side = e->space.config.image_size;
    pada_batch part = *batch;

    part.n = end - first;
    if (part.images) part.images += first * PADA_IMAGE_CHANNELS * side * side;
    if (part.picks) part.picks += first;
    if (part.weights) part.weights += first;
    part.labels += first;
    part.grad_scale = (batch->grad_scale != 0 ? batch->grad_scale : 1) * part.n / batch->n;
    return part;
}

/* Images of the largest shard of a batch of n. */
static int most_images(const pada_engine *e, int n)
{
    return (n + e->shards.n - 1) / e->shards.n;
}

static pada_status begin_shard(pada_engine *e, const pada_path *path, const pada_batch *batch,
                               const forward_options *options, const pada_results *results, int k)
{
    const pada_batch part = cut(e, batch, k);
    const pada_results to = pada__results_from(e, results, first_image(e, batch->n, k));
    engine_shards *s = &e->shards;

    PADA_TRY(pada__bind_pass(e, path, &part, PADA_TRAIN, options, &to));
    s->bindings = e->bindings;
    s->bindings.grads = s->grads;
    if (k > 0) s->bindings.statistics = NULL;
    s->bindings.drops.batch = e->drops.batch * (uint32_t)s->n + (uint32_t)k;
    e->backend->run(e->device, pada__program(e), &s->bindings, 0, pada__program(e)->n_forward);
    s->last = k;
    return PADA_OK;
}

pada_status pada__shards_forward(pada_engine *e, const pada_path *path, const pada_batch *batch,
                                 const forward_options *options, const pada_results *results)
{
    engine_shards *s = &e->shards;

    s->last = -1;
    list_ranges(e, path);
    /* The work of a pass is counted by what was planned last, also where there are no images. */
    PADA_TRY(pada__plan_path(e, path, most_images(e, batch->n), PADA_TRAIN, options));
    for (int k = s->first; k < s->end; k++) {
        end_shard(e);
        clear_sums(e, k - s->first);
        if (first_image(e, batch->n, k) < first_image(e, batch->n, k + 1))
            PADA_TRY(begin_shard(e, path, batch, options, results, k));
    }
    e->bindings.results = *results;
    if (pada_team_size(s->team) == 1) return PADA_OK;
    PADA_TRY(gather_results(e, results, batch->n));
    return spread_statistics(e);
}
