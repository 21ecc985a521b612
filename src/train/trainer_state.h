/* trainer_state.h - a run in progress; shared by the trainer and its checkpoints only. */
#ifndef PADA_TRAIN_TRAINER_STATE_H
#define PADA_TRAIN_TRAINER_STATE_H

#include "base/room.h"
#include "data/data_card.h"
#include "space/subspace.h"
#include "train/timetable.h"
#include "train/trainer.h"
#include "train/validation.h"

typedef struct trainer {
    const pada_train_desc *desc;
    const char *
        home; /* the run folder, where supernets that are done go; desc->run is another one in a part of it */
    pada_strategy_env env;
    void *strategy; /* state_bytes of the strategy */
    pada_timetable table;
    pada_timetable_entry now; /* the epoch of position[0], or the last one when all is done */
    pada_subspace within;     /* of the supernet that is being trained */
    pada_loader *loader;
    pada_validation validation;
    pada_keeper keeper;
    int32_t *images_of;           /* [n_images + n_held_out] the image that a number means */
    int32_t *labels;              /* [n_images] */
    int32_t *order;               /* [n_images] of the epoch */
    int32_t *counts;              /* [n_images] scratch */
    int64_t *classes;             /* [2 * n_classes] scratch */
    int n_passes, n_probe_passes; /* per batch, at most */
    int64_t position[2];          /* the next step: epoch, step of the epoch */
    int end;                      /* the epoch behind the last one */
    double started, epoch_started, saved, told; /* clock */
    int64_t images;     /* in the epochs of this process that have ended, less what was loaded */
    int64_t first_step; /* of this process */
    bool must_stop;     /* after this step */
    double loss_sum;    /* of the first n_summed draws of the epoch */
    int n_summed, n_right;
    pada_data_card card; /* of the images; in runs with a folder */
    pada_text card_note; /* of the checkpoints */
    pada_room room;      /* for the next checkpoints */
    char warned[sizeof((pada_epoch_metrics *)NULL)->warnings]; /* words told so far */
} trainer;

/* Finds out what epoch position[0] is. */
static inline void locate(trainer *t)
{
    const int last = t->table.n_epochs - 1;

    pada_timetable_find(&t->table, t->position[0] < last ? (int)t->position[0] : last, &t->now);
}

static inline bool is_done(const trainer *t)
{
    return t->position[0] == t->end;
}

/* Of the whole run, probes included. */
static inline int64_t steps_done(const trainer *t)
{
    return t->position[0] == t->table.n_epochs ? t->table.n_steps
                                               : t->now.first_step + t->position[1];
}

/* Batches of a step of the epoch; a probe has one. */
static inline int batches_of_now(const trainer *t)
{
    return t->now.probes ? 1 : pada_strategy_batches(&t->env);
}

/* Whether this process writes the folder of the run. */
static inline bool is_writer(const trainer *t)
{
    return t->desc->run && pada_team_rank(t->desc->team) == 0;
}

static inline void tell(const trainer *t, const char *text)
{
    const pada_train_listener *listener = &t->desc->listener;

    if (listener->message) listener->message(listener->context, text);
}

/* trainer.c: everything that a run has before its first step, and its end, which takes half-made ones; and the epoch that
 * comes next. */
pada_status pada__trainer_begin(trainer *t);
void pada__trainer_end(trainer *t);
pada_epoch pada__trainer_epoch(const trainer *t);
/* trainer.c: the rest of the epoch that comes next. */
pada_status pada__trainer_run_epoch(trainer *t);

/* trainer_parts.c: whether the supernets from here on are shared by the processes of the team; trains them. */
bool pada__trainer_has_parts(const trainer *t);
pada_status pada__trainer_run_parts(trainer *t);
/* Removes what is left of parts when the run is over. */
pada_status pada__trainer_drop_parts(const trainer *t);

/* trainer_checkpoint.c: a checkpoint of now, if there is a run folder; and the newest one, if there
 * is any, from which the run resumes. */
pada_status pada__trainer_save(trainer *t);
pada_status pada__trainer_resume(trainer *t);
/* Goes to the newest checkpoint of desc->run, if there is any. */
pada_status pada__trainer_go_on(trainer *t);
/* Goes to where the run was at a checkpoint. */
pada_status pada__trainer_load(trainer *t, const char *checkpoint);

/* trainer_team.c: whether all processes train the same; whether they have resumed at the same step with the same
 * weights; whether these are still the same. PADA_EDATA names the first process that differs. */
pada_status pada__trainer_check_same(const trainer *t);
pada_status pada__trainer_check_resumed(const trainer *t);
pada_status pada__trainer_check_weights(const trainer *t, uint64_t hash);

#endif
