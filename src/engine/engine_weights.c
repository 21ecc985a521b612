/* engine_weights.c - the weights of an engine: fresh ones, files, hashes, single parameters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "engine/engine_state.h"
#include "tensor/safetensors.h"

static pada_range range_of(const pada_param *p)
{
    return (pada_range){p->offset, p->count};
}

/* For new weights: states of the optimiser, the record of sampled parameters and unfinished differences start
 * anew. */
static void start_anew(pada_engine *e)
{
    if (e->mode == PADA_TRAIN) pada_engine_reset_states(e);
    pada__weights_changed(e);
    pada__snapshot_forget(e);
    pada__statistics_reset(e);
    pada__ema_restart(e);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].sampled = false;
}

pada_status pada_engine_init_weights(pada_engine *e, uint64_t seed)
{
    for (int i = 0; i < pada_params_count(e->params); i++) {
        pada_params_draw(e->params, i, seed, e->staging);
        e->backend->write(e->device, e->weights, range_of(pada_params_get(e->params, i)),
                          e->staging);
    }
    start_anew(e);
    return PADA_OK;
}

/* Whether a tensor of a file fits a parameter: type, shape, finite numbers. */
static pada_status check_tensor(const char *path, const pada_st_tensor *t, const pada_param *p)
{
    int same = t->n_dims == p->n_dims;
    const int is_f32 = strcmp(t->dtype, "F32") == 0;

    if (!is_f32 && strcmp(t->dtype, "F64") != 0)
        return PADA_FAIL(PADA_EDATA, "%s: %s has type %s, not F32 or F64", path, p->name, t->dtype);
    for (int i = 0; same && i < p->n_dims; i++)
        same = t->dims[i] == p->dims[i];
    if (!same) {
        pada_text have = {0}, want = {0};
        for (int i = 0; i < t->n_dims; i++)
            pada_text_add(&have, "%s%lld", i ? "x" : "", (long long)t->dims[i]);
        for (int i = 0; i < p->n_dims; i++)
            pada_text_add(&want, "%s%d", i ? "x" : "", p->dims[i]);
        const pada_status st = PADA_FAIL(PADA_EDATA, "%s: %s has shape %s, not %s", path, p->name,
                                         pada_text_str(&have), pada_text_str(&want));
        pada_text_deinit(&have);
        pada_text_deinit(&want);
        return st;
    }
    return PADA_OK;
}

static pada_status read_tensor(const char *path, const pada_st_tensor *t, const pada_param *p,
                               double *to)
{
    const int is_f32 = strcmp(t->dtype, "F32") == 0;

    for (int64_t i = 0; i < p->count; i++) {
        float f;
        if (is_f32) {
            memcpy(&f, (const char *)t->data + i * 4, 4);
            to[i] = f;
        } else {
            memcpy(&to[i], (const char *)t->data + i * 8, 8);
        }
        if (!isfinite(to[i]))
            return PADA_FAIL(PADA_EDATA, "%s: %s has the value %g at element %lld", path, p->name,
                             to[i], (long long)i);
    }
    return PADA_OK;
}

/* The tensor of a parameter or statistic; in a checkpoint with an average of the weights, that. */
static const pada_st_tensor *find_weight(const pada_safetensors *st, const pada_param *p)
{
    char name[sizeof p->name + sizeof PADA_EMA_PREFIX];

    snprintf(name, sizeof name, "%s%s", PADA_EMA_PREFIX, p->name);
    const pada_st_tensor *average = pada_safetensors_find(st, name);
    return average ? average : pada_safetensors_find(st, p->name);
}

/* A file that weights are loaded from. */
typedef struct source {
    const char *path; /* for messages */
    const pada_safetensors *file;
    const pada_path *only; /* tensors that this path does not use may be missing; NULL: none */
} source;

static bool may_lack(const pada_engine *e, const source *from, const pada_param *p)
{
    return from->only && p->site != PADA_SHARED &&
           !pada_path_uses(&e->space, from->only, p->site, p->choice);
}

/* Whether a file has all tensors of a map. */
static pada_status check_tensors(const pada_engine *e, const source *from, const pada_params *map)
{
    const char *path = from->path;

    for (int i = 0; i < pada_params_count(map); i++) {
        const pada_param *p = pada_params_get(map, i);
        const pada_st_tensor *t = find_weight(from->file, p);
        if (!t && may_lack(e, from, p)) continue;
        if (!t) return PADA_FAIL(PADA_EDATA, "%s: tensor %s is missing", path, p->name);
        PADA_TRY(check_tensor(path, t, p));
        PADA_TRY(read_tensor(path, t, p, e->staging));
    }
    return PADA_OK;
}

/* Takes tensors that were checked. */
static pada_status take_tensors(pada_engine *e, const source *from, const pada_params *map,
                                void *buffer)
{
    for (int i = 0; i < pada_params_count(map); i++) {
        const pada_param *p = pada_params_get(map, i);
        const pada_st_tensor *t = find_weight(from->file, p);
        if (!t) continue;
        PADA_TRY(read_tensor(from->path, t, p, e->staging));
        e->backend->write(e->device, buffer, range_of(p), e->staging);
    }
    return PADA_OK;
}

/* Whether weights come with running statistics, all of which have to be there then. */
static bool has_statistics(const pada_engine *e, const pada_safetensors *st)
{
    for (int i = 0; i < pada_params_count(e->statistics_map); i++)
        if (pada_safetensors_find(st, pada_params_get(e->statistics_map, i)->name)) return true;
    return false;
}

static pada_status load_tensors(pada_engine *e, const source *from)
{
    const pada_safetensors *st = from->file;
    const bool is_running =
        e->wanted_statistics == PADA_STATISTICS_RUNNING && has_statistics(e, st);

    /* Everything is checked before anything is written. */
    PADA_TRY(check_tensors(e, from, e->params));
    if (is_running) PADA_TRY(check_tensors(e, from, e->statistics_map));
    for (int i = 0; i < pada_safetensors_count(st); i++) {
        const char *name = pada_safetensors_get(st, i)->name;
        if (strncmp(name, PADA_STATE_PREFIX, strlen(PADA_STATE_PREFIX)) == 0) continue;
        if (pada_params_find(e->params, name) < 0 && !pada__statistics_have(e, name))
            return PADA_FAIL(PADA_EDATA, "%s: tensor %s is not a parameter of this network",
                             from->path, name);
    }
    PADA_TRY(pada_state_verify(st, from->path));
    PADA_TRY(take_tensors(e, from, e->params, e->weights));
    start_anew(e);
    if (e->wanted_statistics == PADA_STATISTICS_RUNNING)
        e->statistics = is_running ? PADA_STATISTICS_RUNNING : PADA_STATISTICS_BATCH;
    if (is_running) PADA_TRY(take_tensors(e, from, e->statistics_map, e->statistics_buffer));
    pada__ema_restart(e); /* once more, with the statistics of the file */
    return PADA_OK;
}

static pada_status load_file(pada_engine *e, const char *path, const pada_path *only)
{
    pada_safetensors *st;

    PADA_TRY(pada_safetensors_open(&st, path));
    const pada_status status = load_tensors(e, &(source){.path = path, .file = st, .only = only});
    pada_safetensors_close(st);
    return status;
}

pada_status pada_engine_load_weights(pada_engine *e, const char *path)
{
    return load_file(e, path, NULL);
}

pada_status pada_engine_load_path(pada_engine *e, const pada_path *path, const char *file)
{
    return load_file(e, file, path);
}

/* Adds all tensors of a buffer as float32; `floats` is room for the largest. */
static void add_tensors(const pada_engine *e, const pada_params *map, const void *buffer,
                        float *floats, pada_state *state)
{
    for (int i = 0; i < pada_params_count(map); i++) {
        const pada_param *p = pada_params_get(map, i);
        e->backend->read(e->device, buffer, range_of(p), e->staging);
        for (int64_t k = 0; k < p->count; k++)
            floats[k] = (float)e->staging[k];
        pada_state_tensor(state, p->name, PADA_STATE_F32, p->dims, p->n_dims, floats);
    }
}

pada_status pada_engine_export_weights(const pada_engine *e, pada_state *state)
{
    void *floats;

    PADA_TRY(pada_calloc(
        &floats,
        (size_t)(pada_params_elements(e->params) + pada_params_elements(e->statistics_map)),
        sizeof(float)));
    pada_state_note(state, "format", "pt");
    pada_state_note(state, "space", e->space.ops->name);
    add_tensors(e, e->params, e->weights, floats, state);
    if (e->statistics == PADA_STATISTICS_RUNNING)
        add_tensors(e, e->statistics_map, e->statistics_buffer, floats, state);
    pada_free(floats);
    return pada_backend_finish(e->backend, e->device);
}

pada_status pada_engine_save_weights(const pada_engine *e, const char *path)
{
    pada_state *state;
    pada_status st;

    PADA_TRY(pada_state_create(&state));
    st = pada_engine_export_weights(e, state);
    if (st == PADA_OK) st = pada_state_write(state, path);
    pada_state_destroy(state);
    return st;
}

uint64_t pada__hash_buffer(const pada_engine *e, const void *buffer, const pada_params *map)
{
    uint64_t hash = 0;

    for (int i = 0; i < pada_params_count(map); i++) {
        const pada_param *p = pada_params_get(map, i);
        e->backend->read(e->device, buffer, range_of(p), e->staging);
        float *floats = (float *)e->staging; /* shrinks in place, front to back */
        for (int64_t k = 0; k < p->count; k++) {
            const float f = (float)e->staging[k];
            memcpy(&floats[k], &f, sizeof f);
        }
        hash = pada_hash(floats, (size_t)p->count * sizeof(float), hash);
    }
    return hash;
}

uint64_t pada_engine_weights_hash(const pada_engine *e)
{
    return pada__hash_buffer(e, e->weights, e->params);
}

void pada_engine_read_weight(const pada_engine *e, int param, double *to)
{
    e->backend->read(e->device, e->weights, range_of(pada_params_get(e->params, param)), to);
}

void pada_engine_write_weight(pada_engine *e, int param, const double *from)
{
    e->backend->write(e->device, e->weights, range_of(pada_params_get(e->params, param)), from);
    pada__weights_changed(e);
}
