/* trainer_checkpoint.c - what a run leaves in its folder to go on from. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "engine/engine_log.h"
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
    if (t->card_note.data) pada_state_note(state, PADA_DATA_CARD_KEY, t->card_note.data);
    pada_state_array(state, "position", PADA_STATE_I64, t->position, 2);
    pada_engine_visit(desc->engine, state);
    if (desc->best) pada_keeper_visit(&t->keeper, state);
    if (desc->strategy->visit) desc->strategy->visit(t->strategy, state);
}

/* Checkpoints after so many steps stay; 0: none does. Where they do, all epochs have equally many. */
static int64_t kept_steps(const trainer *t)
{
    return t->desc->checkpoint_epochs * t->table.train_steps;
}

/* Holds the room that the checkpoints of the run still need. */
static pada_status hold_room(trainer *t, const pada_state *state)
{
    pada_text folder = {0};
    int64_t bytes;
    pada_status st;

    PADA_TRY(pada_checkpoint_room(t->desc->run, kept_steps(t), t->table.n_steps, state, &bytes));
    pada_text_add(&folder, "%s/ckpt", t->desc->run);
    if ((st = folder.status) == PADA_OK) st = pada_make_dirs(folder.data);
    if (st == PADA_OK) st = pada_room_hold(&t->room, folder.data, bytes);
    pada_text_deinit(&folder);
    return st;
}

static pada_status save(trainer *t, const pada_state *state)
{
    /* First: no checkpoint is on the disk before the rows of the epochs that it is behind. */
    PADA_TRY(pada_epoch_metrics_sync(t->desc->run));
    pada_room_release(&t->room); /* the checkpoint takes it */
    PADA_TRY(pada_checkpoint_save(t->desc->run, steps_done(t), kept_steps(t), state));
    if (is_done(t)) return PADA_OK;
    /* Whoever has filled the disk meanwhile may clear it before the next checkpoint. */
    const pada_status st = hold_room(t, state);
    return st == PADA_EIO ? PADA_OK : st;
}

/* Visits the state of now for writing and gives it to `use`. */
static pada_status with_state(trainer *t, pada_status (*use)(trainer *t, const pada_state *state))
{
    pada_state *state;
    pada_status st;

    PADA_TRY(pada_state_create(&state));
    visit(t, state);
    st = pada_state_finish(state);
    if (st == PADA_OK) st = use(t, state);
    pada_state_destroy(state);
    return st;
}

pada_status pada__trainer_save(trainer *t)
{
    const pada_status st = is_writer(t) ? with_state(t, save) : PADA_OK;
    t->saved = pada_clock_seconds();
    return st;
}

/* Whether a log can be that of position[1] steps of the epoch. */
static bool is_log_of_now(const trainer *t, const pada_log *log)
{
    const int64_t steps = t->position[1];

    if (log->n_steps != (t->now.probes ? 0 : steps)) return false;
    const int64_t batches = steps * batches_of_now(t);
    return log->n_passes >= batches &&
           log->n_passes <= batches * (t->now.probes ? t->n_probe_passes : t->n_passes);
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

pada_status pada__trainer_load(trainer *t, const char *checkpoint)
{
    pada_state *state;

    PADA_TRY(pada_state_open(&state, checkpoint));
    const pada_status st = load(t, state);
    pada_state_destroy(state);
    return st;
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

/* The papers of the run: its own card of the images, and what the caller gave. */
static pada_status store_papers(trainer *t)
{
    const pada_train_desc *desc = t->desc;

    PADA_TRY(pada_data_card_init(&t->card, desc->data));
    PADA_TRY(pada_data_card_print(&t->card, false, &t->card_note));
    PADA_TRY(pada__trainer_check_same(t));
    if (!is_writer(t)) return PADA_OK;
    return pada_run_store(
        desc->run,
        &(pada_run_papers){.config = desc->config, .start = desc->start, .card = &t->card});
}

/* Removes what earlier starts that were killed while they wrote have left. */
static pada_status tidy(const char *run)
{
    static const char *const folders[] = {"", "/ckpt", "/supernets"};

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        pada_text folder = {0};
        pada_text_add(&folder, "%s%s", run, folders[i]);
        PADA_TRY(folder.status);
        pada_remove_orphans(folder.data);
        pada_text_deinit(&folder);
    }
    return PADA_OK;
}

/* What the first process has to have done before the others look into the folder. */
static pada_status make_folder(trainer *t)
{
    if (!is_writer(t)) return PADA_OK;
    PADA_TRY(tidy(t->desc->run));
    return t->table.n_phases > 1 ? pada_family_begin(t->desc->run) : PADA_OK;
}

pada_status pada__trainer_go_on(trainer *t)
{
    pada_text notes = {0};
    pada_state *state = NULL;
    pada_status st;

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
    return st;
}

pada_status pada__trainer_resume(trainer *t)
{
    if (!t->desc->run) return PADA_OK;
    PADA_TRY(store_papers(t));
    PADA_TRY(make_folder(t));
    PADA_TRY(pada_team_barrier(t->desc->team));
    PADA_TRY(pada__trainer_go_on(t));
    PADA_TRY(pada__trainer_check_resumed(t)); /* nobody reads checkpoints any more */
    if (!is_writer(t)) return PADA_OK;
    if (!is_done(t)) PADA_TRY(with_state(t, hold_room));
    return rewind_metrics(t);
}
