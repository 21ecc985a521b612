/* engine.c - the verbs on one supernet. */
#include "engine/engine.h"

#include <math.h>

#include "base/mem.h"
#include "engine/engine_state.h"

/* ---- creating ---- */

static pada_status make_groups(pada_engine *e)
{
    const pada_space_ops *ops = e->space.ops;
    const int n_sites = ops->n_sites(&e->space), n_params = pada_params_count(e->params);
    int64_t largest = e->batch_size;
    void *mem;

    for (int slot = 0; slot < ops->n_slots; slot++) {
        const int n = ops->n_choices(&e->space, slot);
        if (n > e->most_choices) e->most_choices = n;
    }
    PADA_TRY(pada_calloc(&mem, (size_t)n_params, sizeof *e->groups));
    e->groups = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n_sites * (size_t)e->most_choices, sizeof *e->group_of));
    e->group_of = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n_params, sizeof *e->active));
    e->active = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n_params, sizeof *e->moved));
    e->moved = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n_params, sizeof *e->moves));
    e->moves = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n_params, sizeof *e->sums));
    e->sums = mem;
    for (int i = 0; i < n_sites * e->most_choices; i++)
        e->group_of[i] = -1;
    for (int i = 0; i < n_params; i++) {
        const pada_param *p = pada_params_get(e->params, i);
        if (p->count > largest) largest = p->count;
        if (p->site == PADA_SHARED) {
            e->groups[e->n_groups++] = (param_group){.range = {p->offset, p->count},
                                                     .site = PADA_SHARED,
                                                     .first_param = i,
                                                     .n_params = 1};
            continue;
        }
        int *group = &e->group_of[p->site * e->most_choices + p->choice];
        if (*group < 0) {
            *group = e->n_groups;
            e->groups[e->n_groups++] =
                (param_group){.range = pada_params_range(e->params, p->site, p->choice),
                              .site = p->site,
                              .choice = p->choice,
                              .first_param = i};
        }
        e->groups[*group].n_params++;
        e->groups[*group].n_weights += p->n_dims > 1;
    }
    for (int i = 0; i < pada_params_count(e->statistics_map); i++)
        if (pada_params_get(e->statistics_map, i)->count > largest)
            largest = pada_params_get(e->statistics_map, i)->count;
    PADA_TRY(pada_calloc(&mem, (size_t)largest, sizeof *e->staging));
    e->staging = mem;
    return PADA_OK;
}

static pada_status make_buffers(pada_engine *e)
{
    const int size = pada_dtype_bytes(e->backend->dtype);

    e->buffer_bytes = pada_params_elements(e->params) * size;
    PADA_TRY(e->backend->alloc(e->device, &e->weights, e->buffer_bytes));
    if (e->mode == PADA_TRAIN) {
        PADA_TRY(e->backend->alloc(e->device, &e->grads, e->buffer_bytes));
        PADA_TRY(pada__states_alloc(e, &e->states));
    }
    return pada__results_alloc(e, &e->results, e->batch_size);
}

static pada_status build_engine(pada_engine *e)
{
    pada_net_room room;
    pada_path path;
    /* passes that collect statistics need more than those that read them */
    const bool is_recalibrated = e->wanted_statistics == PADA_STATISTICS_RECALIBRATED;

    PADA_TRY(pada_space_measure(&e->space, &room));
    PADA_TRY(e->backend->open(&e->device, e->n_threads));
    PADA_TRY(pada_params_create(&e->params));
    PADA_TRY(pada_space_declare(&e->space, e->params));
    PADA_TRY(pada__statistics_create(e));
    PADA_TRY(make_groups(e));
    PADA_TRY(pada__plans_create(e, room.nodes, room.terms));
    PADA_TRY(make_buffers(e));
    PADA_TRY(pada__route_create(e));
    for (int i = 0; pada_space_extreme(&e->space, i, &path); i++)
        PADA_TRY(pada__plan_path(e, &path, e->batch_size, e->mode,
                                 &(forward_options){.share = is_recalibrated}));
    return PADA_OK;
}

pada_status pada_engine_create(pada_engine **out, const pada_engine_desc *desc)
{
    void *mem;
    pada_status st;

    *out = NULL;
    if (desc->batch_size < 1)
        return PADA_FAIL(PADA_EINVAL, "batch size %d is not positive", desc->batch_size);
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_engine *e = mem;
    e->space = *desc->space;
    e->backend = desc->backend;
    e->batch_size = desc->batch_size;
    e->n_threads = desc->n_threads;
    e->mode = desc->mode;
    e->optimizer = desc->optimizer ? desc->optimizer : &pada_optimizers[0];
    e->wanted_statistics = e->statistics = desc->statistics;
    if ((st = build_engine(e)) != PADA_OK) {
        pada_engine_destroy(e);
        return st;
    }
    *out = e;
    return PADA_OK;
}

void pada_engine_destroy(pada_engine *e)
{
    if (!e) return;
    if (e->device) {
        void *buffers[] = {e->weights,        e->grads,        e->work,         e->saved_weights,
                           e->results.loss,   e->results.norm, e->results.rank, e->ema.average,
                           e->ema.statistics, e->differences,  e->taps,         e->results.align};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
            e->backend->release(e->device, buffers[i]);
        for (int split = 0; split < PADA_N_SPLITS; split++)
            e->backend->release(e->device, e->held[split]);
        pada__states_release(e, &e->states);
        pada__states_release(e, &e->saved_states);
        pada__states_release(e, &e->other_states);
        pada__log_free(e);
        pada__tally_free(e);
        pada__kept_grads_free(e);
        pada__shards_free(e);
        pada__statistics_free(e);
    }
    pada__plans_free(e);
    pada_params_destroy(e->params);
    pada_params_destroy(e->statistics_map);
    pada_free(e->groups);
    pada_free(e->group_of);
    pada_free(e->active);
    pada_free(e->moved);
    pada_free(e->moves);
    pada_free(e->sums);
    pada_free(e->staging);
    pada__variance_free(e);
    pada__route_free(e);
    if (e->device) e->backend->close(e->device);
    pada_free(e);
}

const pada_params *pada_engine_params(const pada_engine *e)
{
    return e->params;
}

const pada_space *pada_engine_space(const pada_engine *e)
{
    return &e->space;
}

const pada_backend *pada_engine_backend(const pada_engine *e)
{
    return e->backend;
}

const char *pada_engine_describe(const pada_engine *e)
{
    return e->backend->describe(e->device);
}

int pada_engine_threads(const pada_engine *e)
{
    return e->n_threads;
}

int64_t pada_engine_memory_bytes(const pada_engine *e)
{
    const int n_buffers = 1 + (e->grads != NULL) + (e->saved_weights != NULL) +
                          (e->differences != NULL) + (e->ema.average != NULL) +
                          (e->shards.grads != NULL) + pada__states_count(e, &e->states) +
                          pada__states_count(e, &e->saved_states) +
                          pada__states_count(e, &e->other_states) + pada__kept_grads_count(e);
    const int64_t statistics = e->statistics_buffer ? pada_params_elements(e->statistics_map) : 0;

    return e->work_bytes + e->taps_bytes + n_buffers * e->buffer_bytes +
           statistics * pada_dtype_bytes(e->backend->dtype);
}

/* ---- steps ---- */

static pada_status check_batch(const pada_engine *e, const pada_batch *batch)
{
    if (batch->n < 1 || batch->n > e->batch_size)
        return PADA_FAIL(PADA_EINVAL, "batch of %d images; the engine takes 1 to %d", batch->n,
                         e->batch_size);
    for (int i = 0; i < batch->n; i++)
        if (batch->labels[i] < 0 || batch->labels[i] >= e->space.config.classes)
            return PADA_FAIL(PADA_EDATA, "label %d of image %d is outside 0 to %d",
                             batch->labels[i], i, e->space.config.classes - 1);
    return PADA_OK;
}

/* The images of one split. */
typedef struct split_images {
    const pada_dataset *data;
    pada_split split;
} split_images;

static const uint8_t *image_of(const void *owner, int i)
{
    const split_images *from = owner;

    return from->data->ops->image(from->data, from->split, i);
}

bool pada_engine_holds(const pada_engine *e, const pada_dataset *data, pada_split split)
{
    return e->held[split] && e->held_data[split] == data;
}

pada_status pada_engine_hold(pada_engine *e, const pada_dataset *data, pada_split split)
{
    const split_images from = {data, split};
    const pada_image_set set = {.n = data->n_images[split],
                                .shape = data->shape,
                                .levels = data->levels[0],
                                .image = image_of,
                                .owner = &from};
    void *held;

    if (!e->backend->hold || pada_engine_holds(e, data, split)) return PADA_OK;
    if (data->n_on_demand[split] > 0) return PADA_OK; /* they are never the same */
    PADA_TRY(e->backend->hold(e->device, &held, &set));
    e->backend->release(e->device, e->held[split]);
    e->held[split] = held;
    e->held_data[split] = data;
    return PADA_OK;
}

pada_status pada_engine_divide(pada_engine *e, pada_team *team, int shards)
{
    PADA_TRY(pada__shards_begin(e, team, shards));
    if (shards > 0 || !team) {
        if (!e->is_divided) return PADA_OK;
        team = NULL;
    }
    if (!e->backend->divide)
        return PADA_FAIL(PADA_EUNSUPPORTED,
                         "the %s backend does not divide batches among processes; --norm local and "
                         "--backend cpu do",
                         e->backend->name);
    e->is_prepared = false; /* there is more to make room for */
    e->is_divided = team != NULL;
    return e->backend->divide(e->device, team);
}

void pada_engine_eval_share(const void *engine, int n, int *first, int *end)
{
    const pada_engine *e = engine;

    *first = 0;
    *end = n;
    if (e->is_divided) e->backend->share(e->device, n, first, end);
}

void pada_engine_train_share(const void *engine, int n, int *first, int *end)
{
    const pada_engine *e = engine;

    if (e->shards.n > 0)
        pada__shards_share(e, n, first, end);
    else
        pada_engine_eval_share(e, n, first, end);
}

pada_status pada_engine_check_data(const pada_engine *e, const pada_dataset *data)
{
    const pada_space_sizes *net = &e->space.config;

    if (net->classes != data->n_classes)
        return PADA_FAIL(PADA_EINVAL, "the network has %d classes, %s has %d", net->classes,
                         data->name, data->n_classes);
    if (net->image_size != data->shape.h || net->image_size != data->shape.w)
        return PADA_FAIL(PADA_EINVAL, "the network reads images of %dx%d, those of %s are %dx%d",
                         net->image_size, net->image_size, data->name, data->shape.h,
                         data->shape.w);
    return PADA_OK;
}

static void mark_active(pada_engine *e, const pada_path *path)
{
    for (int i = 0; i < e->n_groups; i++) {
        param_group *g = &e->groups[i];
        if (g->site != PADA_SHARED && !pada_path_uses(&e->space, path, g->site, g->choice))
            continue;
        g->active = g->sampled = true;
    }
}

pada_status pada__bind_pass(pada_engine *e, const pada_path *path, const pada_batch *batch,
                            pada_mode mode, const forward_options *options,
                            const pada_results *results)
{
    PADA_TRY(pada__plan_path(e, path, batch->n, mode, options));
    e->bindings = (pada_bindings){
        .params = e->weights,
        .grads = e->grads,
        .work = e->work,
        .images = batch->images,
        .held = batch->images ? NULL : e->held[batch->split],
        .picks = batch->picks,
        .labels = batch->labels,
        .weights = batch->weights,
        .grad_scale = batch->grad_scale != 0 ? batch->grad_scale : 1,
        .drops = e->drops,
        .taps = e->taps,
        .align = options->align,
        .results = *results,
    };
    pada__statistics_bind(e, mode, options, &e->bindings);
    return PADA_OK;
}

pada_status pada__forward(pada_engine *e, const pada_path *path, const pada_batch *batch,
                          pada_mode mode, const forward_options *options)
{
    pada_path routed = *path;

    PADA_ASSERT(mode == PADA_EVAL || e->mode == PADA_TRAIN);
    PADA_ASSERT(batch->images || (batch->picks && e->held[batch->split]));
    PADA_TRY(check_batch(e, batch));
    if (!options->routed) pada__route(e, path, &routed);
    const pada_results results =
        mode == PADA_TRAIN ? pada__log_results(e, batch->n) : pada__tally_results(e, batch->n);
    if (mode == PADA_TRAIN && e->shards.n > 0) {
        PADA_TRY(pada__shards_forward(e, &routed, batch, options, &results));
    } else {
        PADA_TRY(pada__bind_pass(e, &routed, batch, mode, options, &results));
        e->backend->run(e->device, pada__program(e), &e->bindings, 0, pada__program(e)->n_forward);
    }
    e->last_mode = mode;
    e->last_n = batch->n;
    e->last_path = routed;
    if (mode == PADA_TRAIN) mark_active(e, &routed);
    pada__log_work(e);
    if (mode == PADA_TRAIN) pada__log_pass(e);
    return PADA_OK;
}

pada_status pada_engine_forward(pada_engine *e, const pada_path *path, const pada_batch *batch,
                                pada_mode mode)
{
    return pada__forward(e, path, batch, mode, &(forward_options){.taps = false});
}

void pada_engine_backward(pada_engine *e)
{
    const pada_program *program = pada__program(e);

    PADA_ASSERT(e->last_mode == PADA_TRAIN && e->last_n > 0);
    if (e->shards.n > 0)
        pada__shards_backward(e);
    else
        e->backend->run(e->device, program, &e->bindings, program->n_forward,
                        program->n_stages - program->n_forward);
}

/* The groups that have a gradient, into e->active. */
static int list_active(pada_engine *e)
{
    int n = 0;

    for (int i = 0; i < e->n_groups; i++)
        if (e->groups[i].active) e->active[n++] = e->groups[i].range;
    return n;
}

void pada_engine_zero_grad(pada_engine *e)
{
    const int n = list_active(e);

    e->backend->fill_zero(e->device, e->grads, e->active, n);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].active = false;
}

/* What the norms of a step are taken of: the groups that have a gradient, some of them tensor by tensor. */
static int list_measured(const pada_engine *e, pada_range *ranges)
{
    int n = 0;

    for (int i = 0; i < e->n_groups; i++) {
        const param_group *g = &e->groups[i];
        if (!g->active) continue;
        if (!pada__log_splits(e, g)) ranges[n++] = g->range;
        for (int k = 0; k < g->n_params && pada__log_splits(e, g); k++) {
            const pada_param *p = pada_params_get(e->params, g->first_param + k);
            ranges[n++] = (pada_range){p->offset, p->count};
        }
    }
    return n;
}

/* Adds to what moves the tensors of a group that are vectors, or those that are none. */
static int list_tensors(pada_engine *e, const param_group *g, bool vectors, int n)
{
    for (int k = 0; k < g->n_params; k++) {
        const pada_param *p = pada_params_get(e->params, g->first_param + k);
        if ((p->n_dims == 1) != vectors) continue;
        e->moved[n] = (pada_range){p->offset, p->count};
        e->moves[n++] = g->moves;
    }
    return n;
}

/* What a step moves, into e->moved, and how often that has been moved, into e->moves: groups as a whole, or tensor by
 * tensor with the vectors last. */
static pada_update_ranges list_moved(pada_engine *e, bool sampled, bool spares_vectors)
{
    pada_update_ranges out = {.at = e->moved, .counts = e->optimizer->counts ? e->moves : NULL};

    for (int i = 0; i < e->n_groups; i++) {
        param_group *g = &e->groups[i];
        if (!(sampled ? g->sampled : g->active)) continue;
        g->moves++;
        if (spares_vectors) {
            out.n = list_tensors(e, g, false, out.n);
            continue;
        }
        e->moved[out.n] = g->range;
        e->moves[out.n++] = g->moves;
    }
    const int n_decayed = out.n;
    for (int i = 0; i < e->n_groups && spares_vectors; i++) {
        const param_group *g = &e->groups[i];
        if (sampled ? g->sampled : g->active) out.n = list_tensors(e, g, true, out.n);
    }
    out.n_spared = out.n - n_decayed;
    return out;
}

/* Moves the weights by the gradients of n_active ranges, those of e->active. With `record` the work is queued and what it
 * found out stays on the device. */
static pada_status move(pada_engine *e, const pada_optim *optim, int n_active, void *record,
                        pada_step_stats *stats)
{
    const bool dense = optim->mode == PADA_OPTIM_DENSE;
    pada_update_buffers buffers = {.weights = e->weights, .grads = e->grads};
    const pada_optim_ranges ranges = {.active = e->active,
                                      .n_active = n_active,
                                      .moved = list_moved(e, dense, optim->spares_vectors),
                                      .sums = e->sums};

    for (int i = 0; i < e->optimizer->n_states; i++)
        buffers.states[i] = e->states.at[i];
    pada__weights_changed(e);
    if (!record)
        return pada_optim_run(e->optimizer, optim, e->backend, e->device, &buffers, &ranges,
                              &stats->grad_norm, &stats->clip_factor);
    pada_optim_queue(e->optimizer, optim, e->backend, e->device, &buffers, &ranges, record);
    *stats = (pada_step_stats){NAN, NAN};
    return PADA_OK;
}

pada_status pada_engine_step(pada_engine *e, const pada_optim *optim, pada_step_stats *stats)
{
    const int n_active = list_active(e);

    pada__variance_add(e, n_active);
    PADA_TRY(move(e, optim, list_measured(e, e->active), pada__log_record(e), stats));
    pada__ema_add(e);
    pada__log_step(e, stats);
    return PADA_OK;
}

pada_status pada_engine_inner_step(pada_engine *e, const pada_optim *optim, pada_step_stats *stats)
{
    return move(e, optim, list_active(e), NULL, stats);
}

pada_status pada__finish(pada_engine *e)
{
    PADA_TRY(pada_backend_finish(e->backend, e->device));
    return pada_team_failure(e->shards.team);
}

pada_status pada_engine_finish(pada_engine *e)
{
    return pada__finish(e);
}

pada_status pada_engine_adopt(pada_engine *e)
{
    return e->backend->adopt ? e->backend->adopt(e->device) : PADA_OK;
}
