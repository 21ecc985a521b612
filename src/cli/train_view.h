/* train_view.h - what people see of a training: a line per epoch, JSON, event files for TensorBoard. */
#ifndef PADA_CLI_TRAIN_VIEW_H
#define PADA_CLI_TRAIN_VIEW_H

#include "cli/progress.h"
#include "report/train_events.h"
#include "train/trainer.h"

/* Zero-initialise, then bind the options, then init. */
typedef struct pada_train_view {
    bool events, json;
    const char *run;         /* folder of the events; borrowed */
    const pada_space *space; /* borrowed */
    pada_meter meter;
    pada_train_events tensorboard;
} pada_train_view;

extern const pada_opt pada_train_view_options[]; /* --events --json */

void pada_train_view_init(pada_train_view *view, bool quiet, const char *run,
                          const pada_space *space);
void pada_train_view_deinit(pada_train_view *view); /* zeros are fine */

/* The view as a listener; borrowed. */
pada_train_listener pada_train_view_listener(pada_train_view *view);

#endif
