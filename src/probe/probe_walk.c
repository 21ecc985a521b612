/* probe_walk.c - the kinds of measurements, and the walk over the checkpoints of a run. */
#include "probe/probe.h"

#include <string.h>

#include "probe/probe_file.h"
#include "tensor/state.h"
#include "train/checkpoint.h"

#define PADA_PROBE(file) extern const pada_probe_kind pada_probe_##file;
#include "probe/probes.def"
#undef PADA_PROBE

static const pada_probe_kind *const registry[] = {
#define PADA_PROBE(file) &pada_probe_##file,
#include "probe/probes.def"
#undef PADA_PROBE
};

enum { N_KINDS = sizeof registry / sizeof registry[0] };

#define COUNT_OPTION(option_name, field, fallback, least, most, text)                              \
    {                                                                                              \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(pada_probe_settings, field), \
        .default_value = fallback, .min = least, .max = most, .meta = "N", .help = text            \
    }

const pada_opt pada_probe_options[] = {
    COUNT_OPTION("draws", draws, "256", 16, 1000000,
                 "variance: gradients of each sampler; a multiple of 8 of them"),
    COUNT_OPTION("exact", exact, "32", 2, 4096,
                 "variance: paths of a set over which expectations are exact"),
    COUNT_OPTION("paths", paths, "20", 1, 10000, "bounds, trainability: paths of each sampler"),
    {.name = "images",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_probe_settings, images),
     .min = 2,
     .max = 4096,
     .meta = "N",
     .help = "bounds, trainability: images of the batch (default: 72, or the batch size of RUN)"},
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(pada_probe_settings, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of the paths and images"},
    {.name = NULL},
};

const pada_probe_kind *pada_probe_get(int i)
{
    return i >= 0 && i < N_KINDS ? registry[i] : NULL;
}

pada_status pada_probe_find(const pada_probe_kind **out, const char *name)
{
    const char *names[N_KINDS];

    *out = NULL;
    for (int i = 0; i < N_KINDS; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = registry[i];
            return PADA_OK;
        }
    }
    return pada_fail_unknown(PADA_EINVAL, "unknown kind of probe", name, names, N_KINDS);
}

/* ---- the walk ---- */

typedef struct walk {
    const pada_probe_desc *desc;
    pada__probe_file *file;
    uint64_t hash; /* of the checkpoint that is looked at */
} walk;

static pada_status measure(void *user, const pada_moment *moment)
{
    const walk *w = user;
    const pada_probe_desc *desc = w->desc;
    double values[PADA_MAX_PROBE_COLUMNS];

    if (moment->env->space->config.blocks > 0)
        return PADA_FAIL(PADA_EINVAL,
                         "%s: weights of blocks belong to no slot; their gradients are not probed",
                         desc->run);
    PADA_TRY(desc->kind->measure(moment, desc->settings, values));
    PADA_TRY(pada__probe_file_append(
        w->file,
        &(pada__probe_key){.step = moment->step, .epoch = moment->epoch, .checkpoint = w->hash},
        values));
    desc->row(desc->user,
              &(pada_probe_row){.step = moment->step, .epoch = moment->epoch, .values = values});
    return PADA_OK;
}

static pada_status read_hash(const char *path, uint64_t *hash)
{
    pada_state *state;

    PADA_TRY(pada_state_open(&state, path));
    *hash = pada_state_hash(state);
    pada_state_destroy(state);
    return PADA_OK;
}

static pada_status look_at(walk *w, const pada_checkpoint_file *checkpoint)
{
    const pada_probe_desc *desc = w->desc;
    double values[PADA_MAX_PROBE_COLUMNS];
    pada__probe_key key = {.step = checkpoint->step};

    if (desc->stop && *desc->stop)
        return PADA_FAIL(PADA_ESTOPPED, "stopped before step %lld; the same command resumes there",
                         (long long)checkpoint->step);
    PADA_TRY(read_hash(pada_text_str(&checkpoint->path), &w->hash));
    key.checkpoint = w->hash;
    if (!pada__probe_file_find(w->file, &key, values))
        return pada_moment_visit(desc->training, pada_text_str(&checkpoint->path), measure, w);
    desc->row(desc->user,
              &(pada_probe_row){
                  .step = key.step, .epoch = key.epoch, .is_known = true, .values = values});
    return PADA_OK;
}

pada_status pada_probe_run(const pada_probe_desc *desc)
{
    walk w = {.desc = desc};
    pada_checkpoint_file *list;
    int n;

    PADA_TRY(pada_checkpoint_list(desc->run, &list, &n));
    pada_status st = n > 0 ? pada__probe_file_open(&w.file, desc->run, desc->kind, desc->settings)
                           : PADA_FAIL(PADA_ENOENT, "%s: no checkpoint in this folder", desc->run);
    for (int i = desc->newest ? n - 1 : 0; i < n && st == PADA_OK; i++)
        st = look_at(&w, &list[i]);
    pada__probe_file_close(w.file);
    pada_checkpoint_list_free(list, n);
    return st;
}
