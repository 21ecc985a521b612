/* train_events.h - what a training tells TensorBoard: every epoch as one step of an event file. */
#ifndef PADA_REPORT_TRAIN_EVENTS_H
#define PADA_REPORT_TRAIN_EVENTS_H

#include "report/event_file.h"
#include "strategy/strategy.h"
#include "train/epoch_metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; deinit accepts that. */
typedef struct pada_train_events {
    pada_event_file *file;
    pada_text summary;       /* of the epoch that is being told */
    const pada_space *space; /* of it; NULL: all its paths were equally likely */
    pada_path likeliest;
} pada_train_events;

/* Adds histograms of the probabilities of all choices and, if images are weighted, of the weights of
 * the images (1: like every other). */
void pada_train_events_distributions(pada_train_events *events,
                                     const pada_distributions *drawn_from, int n_images);
/* Adds every metric that is a finite number as a scalar, under a tag by its subject
 * ("training/loss"), in every tenth epoch the likeliest path as formulas, if there is one, and writes
 * the epoch as step `epoch` + 1. */
pada_status pada_train_events_epoch(pada_train_events *events, const char *run,
                                    const pada_epoch_metrics *metrics);
void pada_train_events_deinit(pada_train_events *events);

#ifdef __cplusplus
}
#endif
#endif
