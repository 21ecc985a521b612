/* trainer_checkpoint.c - what a run leaves in its folder to go on from. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "train/checkpoint.h"
#include "train/family.h"
#include "train/run_config.h"
#include "train/trainer_state.h"

/* Everything that the rest of the run depends on. The order of an epoch is drawn again. */
static void visit(trainer *t, pada_state *state)
{
    const pada_train_desc *desc = t->desc;

    pada_state_note(state, "format", "pt");
    pada_state_note(state, "space", t->env.space->ops->name);
    pada_state_note(state, "method", desc->strategy->name);
    pada_state_array(state, "position", PADA_STATE_I64, t->position, 2);
    pada_engine_visit(desc->engine, state);
    if (desc->strategy->visit) desc->strategy->visit(t->strategy, state);
}

pada_status pada__trainer_save(trainer *t)
{
    pada_state *state;
    pada_status st;

    if (!t->desc->run) return PADA_OK;
    PADA_TRY(pada_state_create(&state));
    visit(t, state);
    st = pada_state_finish(state);
    /* First: no checkpoint is on the disk before the rows of the epochs that it is behind. */
    if (st == PADA_OK) st = pada_epoch_metrics_sync(t->desc->run);
    if (st == PADA_OK) st = pada_checkpoint_save(t->desc->run, steps_done(t), state);
    pada_state_destroy(state);
    t->saved = pada_clock_seconds();
    return st;
}

/* Whether a log can be that of position[1] steps of the epoch. */
static bool is_log_of_now(const trainer *t, const pada_log *log)
{
    const int64_t steps = t->position[1];

    if (log->n_steps != (t->now.probes ? 0 : steps)) return false;
    return log->n_passes >= steps &&
           log->n_passes <= steps * (t->now.probes ? t->n_probe_passes : t->n_passes);
}

static pada_status load(trainer *t, pada_state *state)
{
    pada_log log;

    visit(t, state);
    PADA_TRY(pada_state_finish(state));
    PADA_TRY(pada_engine_log_read(t->desc->engine, &log));
    if (t->position[0] >= 0 && t->position[0] <= t->table.n_epochs) locate(t);
    if (t->position[0] < 0 || t->position[0] > t->table.n_epochs || t->position[1] < 0 ||
        t->position[1] >= t->now.n_steps || (is_done(t) && t->position[1] > 0))
        return PADA_FAIL(PADA_EDATA, "a checkpoint at step %" PRId64 " of epoch %" PRId64,
                         t->position[1], t->position[0]);
    /* Only the last batch of an epoch may be smaller, and a checkpoint never ends with it. */
    if (!is_log_of_now(t, &log) || log.n_images != (int64_t)log.n_passes * t->env.batch_size)
        return PADA_FAIL(PADA_EDATA,
                         "a checkpoint at step %" PRId64
                         " of an epoch with a log of %d steps, %d passes, %d images",
                         t->position[1], log.n_steps, log.n_passes, log.n_images);
    t->images = -log.n_images;
    return PADA_OK;
}

static void tell_resumed(const trainer *t, const char *text)
{
    const pada_train_listener *listener = &t->desc->listener;

    if (listener->resumed)
        listener->resumed(listener->context, text);
    else
        tell(t, text);
}

/* Tells the lines of a text one by one. */
static void tell_lines(const trainer *t, char *lines)
{
    for (char *line = lines, *newline; (newline = strchr(line, '\n')); line = newline + 1) {
        *newline = '\0';
        tell(t, line);
    }
}

/* Drops the rows of epochs that will be run again, and says which are lost. */
static pada_status rewind_metrics(trainer *t)
{
    const int n_done = (int)t->position[0];
    int n_missing;
    char text[120];

    PADA_TRY(pada_epoch_metrics_rewind(t->desc->run, n_done, &n_missing));
    if (n_missing > 0) {
        snprintf(text, sizeof text,
                 "metrics.csv lacks %d of the %d epochs that are done; they stay missing",
                 n_missing, n_done);
        tell(t, text);
    }
    return PADA_OK;
}

pada_status pada__trainer_resume(trainer *t)
{
    pada_text notes = {0};
    pada_state *state = NULL;
    pada_status st;

    if (!t->desc->run) return PADA_OK;
    PADA_TRY(pada_run_store(t->desc->run, t->desc->config, t->desc->env));
    if (t->table.n_phases > 1) PADA_TRY(pada_family_begin(t->desc->run));
    st = pada_checkpoint_open(&state, t->desc->run, &notes);
    if (notes.data) tell_lines(t, notes.data);
    if (st == PADA_OK && state) st = load(t, state);
    if (st == PADA_OK && state && !is_done(t)) {
        char text[120];
        snprintf(text, sizeof text, "going on at epoch %" PRId64 ", step %" PRId64,
                 t->position[0] + 1, t->position[1] + 1);
        tell_resumed(t, text);
    }
    t->first_step = steps_done(t);
    pada_state_destroy(state);
    pada_text_deinit(&notes);
    return st == PADA_OK ? rewind_metrics(t) : st;
}
