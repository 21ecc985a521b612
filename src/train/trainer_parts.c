/* trainer_parts.c - the last supernets of a run with several, each trained by one process of the team.
 *
 * A final supernet needs the weights of its parent and what the strategy has learned until then, nothing else, and nobody
 * needs it before the run is over. Process 0 hands them out (dist/farm.h). Each is trained as a part of the run, with the
 * epochs and steps that it has there, in a folder of its own:
 *
 *   RUN/parts/NNNN/ckpt/, metrics.csv
 *
 * When all are done, process 0 puts the rows behind those of the run, ends with the checkpoint of the last part, and the
 * parts are removed: the folder is as by one process that has trained one after the other. Until then the checkpoint of
 * the run is that in front of the parts. A run that was stopped among them goes on with them, also by one process. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "dist/farm.h"
#include "train/trainer_state.h"

#define FOLDER "parts"

/* A task is the number of a supernet. */
typedef struct sharing {
    trainer *t;
    const pada_train_desc *desc; /* of the run */
    pada_farm *farm;
    pada_train_desc part; /* of a part */
    int first, n, next;   /* supernets to share, by number; all before `next` are taken */
    bool *is_taken;       /* [n] of process 0, owned */
    int n_done;
    bool has_begun;
} sharing;

static pada_status folder_of(const char *home, int phase, pada_text *out)
{
    pada_text_add(out, "%s/" FOLDER "/%04d", home, phase);
    return out->status;
}

static bool is_begun(const char *home)
{
    pada_text folder = {0};

    pada_text_add(&folder, "%s/" FOLDER, home);
    const bool found = folder.status == PADA_OK && pada_path_is_dir(folder.data);
    pada_text_deinit(&folder);
    return found;
}

bool pada__trainer_has_parts(const trainer *t)
{
    const pada_timetable_entry *now = &t->now;

    if (t->table.n_phases == 1 || t->desc->shards > 0) return false;
    return now->first && t->position[1] == 0 && now->what.final &&
           (t->desc->team || is_begun(t->home));
}

/* ---- one part ---- */

/* The epochs of a supernet: [first, end). */
static void find_epochs(const trainer *t, int phase, int *first, int *end)
{
    pada_timetable_entry entry;

    *first = (int)t->position[0];
    do
        pada_timetable_find(&t->table, (*first)++, &entry);
    while (entry.phase < phase);
    --*first;
    for (*end = *first; *end < t->table.n_epochs; ++*end) {
        pada_timetable_find(&t->table, *end, &entry);
        if (entry.phase > phase) return;
    }
}

static pada_status run_part(trainer *t)
{
    int n_missing;

    PADA_TRY(pada_make_dirs(t->desc->run));
    PADA_TRY(pada__trainer_go_on(t));
    PADA_TRY(pada_epoch_metrics_rewind(t->desc->run, (int)t->position[0], &n_missing));
    while (!is_done(t))
        PADA_TRY(pada__trainer_run_epoch(t));
    return PADA_OK;
}

/* Trains a supernet to its end, from where its folder is; the trainer is then where it was before. */
static pada_status train_part(sharing *s, int phase)
{
    const int64_t position[] = {s->t->position[0], s->t->position[1]};
    trainer *t = s->t;
    pada_text folder = {0};
    int first;

    pada_status st = folder_of(t->home, phase, &folder);
    if (st == PADA_OK) {
        find_epochs(t, phase, &first, &t->end);
        t->position[0] = first;
        locate(t);
        s->part.run = folder.data;
        t->desc = &s->part;
        st = run_part(t);
    }
    t->desc = s->desc;
    t->position[0] = position[0];
    t->position[1] = position[1];
    t->end = t->table.n_epochs;
    locate(t);
    pada_text_deinit(&folder);
    return st;
}

static pada_status work(sharing *s)
{
    const bool nothing = false;
    int phase;

    while (pada_farm_take(s->farm, &phase)) {
        const pada_status st = train_part(s, phase);
        if (st == PADA_ESTOPPED) {
            pada_farm_put_back(s->farm, &phase);
            return st;
        }
        if (st != PADA_OK) return pada_farm_fail(s->farm, st);
        PADA_TRY(pada_farm_keep(s->farm, &phase, &nothing));
    }
    return PADA_OK;
}

/* ---- what there is to do, on process 0 ---- */

/* For those who follow the run; the trainer itself may be in a part. */
static void hear(void *user, int kind, const char *text)
{
    const pada_train_listener *listener = &((const sharing *)user)->desc->listener;

    (void)kind;
    if (listener->message) listener->message(listener->context, text);
}

static bool is_late(const sharing *s)
{
    const double limit = s->desc->max_seconds;

    return limit > 0 && pada_clock_seconds() - s->t->started >= limit;
}

static bool take(void *user, void *task)
{
    sharing *s = user;

    while (s->next < s->n && s->is_taken[s->next])
        s->next++;
    if (s->next == s->n || (s->has_begun && is_late(s))) return false;
    s->is_taken[s->next] = s->has_begun = true;
    *(int *)task = s->first + s->next;
    return true;
}

static void put_back(void *user, const void *task)
{
    sharing *s = user;

    s->is_taken[*(const int *)task - s->first] = false;
    s->next = 0;
}

static pada_status keep(void *user, const void *task, const void *result)
{
    sharing *s = user;
    const int phase = *(const int *)task;
    char text[80];

    (void)result;
    s->n_done++;
    snprintf(text, sizeof text, "supernet %d is trained, %d of the %d that are shared", phase + 1,
             s->n_done, s->n);
    if (s->desc->tells_traffic) hear(s, 0, text);
    return PADA_OK;
}

/* ---- the end ---- */

static pada_status add_row(void *user, const pada_epoch_metrics *m)
{
    const trainer *t = user;
    const pada_progress progress = {.epoch = (int)pada_epoch_metrics_get(m, "epoch"),
                                    .n_epochs = t->table.n_epochs,
                                    .phase = (int)pada_epoch_metrics_get(m, "supernet"),
                                    .n_phases = t->table.n_phases,
                                    .seconds = pada_epoch_metrics_get(m, "seconds"),
                                    .seconds_left = NAN,
                                    .images = (int64_t)pada_epoch_metrics_get(m, "images")};

    if (t->desc->listener.epoch) t->desc->listener.epoch(t->desc->listener.context, &progress, m);
    return pada_epoch_metrics_append(t->home, m);
}

static pada_status add_rows(const sharing *s)
{
    pada_status st = PADA_OK;

    for (int i = 0; i < s->n && st == PADA_OK; i++) {
        pada_text folder = {0};
        st = folder_of(s->t->home, s->first + i, &folder);
        if (st == PADA_OK) st = pada_epoch_metrics_each(folder.data, s->t, add_row);
        pada_text_deinit(&folder);
    }
    return st;
}

/* Takes the trainer to the end of the last part, which is that of the run. */
static pada_status finish_last(sharing *s)
{
    trainer *t = s->t;
    pada_text folder = {0};

    pada_status st = folder_of(t->home, s->first + s->n - 1, &folder);
    if (st == PADA_OK) {
        s->part.run = folder.data;
        t->desc = &s->part;
        st = pada__trainer_go_on(t);
        t->desc = s->desc;
    }
    pada_text_deinit(&folder);
    if (st == PADA_OK && !is_done(t))
        st = PADA_FAIL(PADA_EDATA, "%s: the checkpoint of the last supernet is lost", t->home);
    return st;
}

static pada_status put_together(sharing *s)
{
    PADA_TRY(add_rows(s));
    PADA_TRY(finish_last(s));
    return pada__trainer_save(s->t);
}

pada_status pada__trainer_drop_parts(const trainer *t)
{
    pada_text folder = {0};

    pada_text_add(&folder, "%s/" FOLDER, t->home);
    pada_status st = folder.status;
    if (st == PADA_OK) st = pada_remove_tree(folder.data);
    pada_text_deinit(&folder);
    return st;
}

static pada_status hand_out(sharing *s)
{
    const pada_farm_source source = {.user = s, .take = take, .put_back = put_back, .keep = keep};
    void *taken;

    PADA_TRY(pada_calloc(&taken, (size_t)s->n, sizeof *s->is_taken));
    s->is_taken = taken;
    pada_farm_begin(s->farm, &source);
    const pada_status own = work(s), all = pada_farm_end(s->farm);
    pada_free(s->is_taken);
    if (all != PADA_OK) return all;
    if (own != PADA_OK && own != PADA_ESTOPPED) return own;
    if (s->n_done == s->n) return put_together(s);
    return PADA_FAIL(PADA_ESTOPPED,
                     "stopped with %d of the last %d supernets trained; the same command resumes "
                     "from there",
                     s->n_done, s->n);
}

/* The others end where the run does; a request to stop is reported by process 0. */
static pada_status help(sharing *s)
{
    const pada_status st = work(s);

    s->t->position[0] = s->t->table.n_epochs;
    locate(s->t);
    return st == PADA_ESTOPPED ? PADA_OK : st;
}

/* What a part says goes to process 0, which hears itself, too. */
static void say(void *context, const char *text)
{
    const sharing *s = context;

    pada_farm_say(s->farm, 0, text);
}

/* Where a part goes on is nobody's business. */
static void say_nothing(void *context, const char *text)
{
    (void)context, (void)text;
}

pada_status pada__trainer_run_parts(trainer *t)
{
    const pada_train_desc *desc = t->desc;
    sharing s = {.t = t,
                 .desc = desc,
                 .part = *desc,
                 .first = t->now.phase,
                 .n = t->table.n_phases - t->now.phase};

    PADA_TRY(pada__trainer_save(t));
    PADA_TRY(pada_team_barrier(desc->team));
    PADA_TRY(pada_engine_divide(desc->engine, NULL, 0));
    PADA_TRY(pada_farm_open(&s.farm, &(pada_farm_desc){.team = desc->team,
                                                       .task_bytes = sizeof(int),
                                                       .result_bytes = sizeof(bool),
                                                       .stop = desc->stop,
                                                       .user = &s,
                                                       .hear = hear}));
    s.part.team = NULL;
    s.part.lock = NULL;
    s.part.stop = pada_farm_stop(s.farm);
    s.part.listener = (pada_train_listener){.context = &s, .message = say, .resumed = say_nothing};
    pada_status st = pada_farm_leads(s.farm) ? hand_out(&s) : help(&s);
    const pada_status others = pada_farm_close(s.farm);
    return st == PADA_OK ? others : st;
}
