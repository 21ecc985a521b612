/* checkpoint.h - the checkpoints of a run: RUN/ckpt/NNNNNNNN.safetensors, by number of steps.
 *
 * A new one is written beside the others before any is removed; the newest two are kept. One that
 * turns out to be damaged is renamed to *.damaged and the one before it takes its place. */
#ifndef PADA_TRAIN_CHECKPOINT_H
#define PADA_TRAIN_CHECKPOINT_H

#include "base/text.h"
#include "tensor/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the state as the checkpoint after `step` steps and removes all but the newest two. */
pada_status pada_checkpoint_save(const char *run, int64_t step, const pada_state *state);

/* The newest checkpoint that is whole, opened for loading. *state is NULL and the status PADA_OK if
 * the run has none. What was damaged is renamed and told in `notes`, a line each. */
pada_status pada_checkpoint_open(pada_state **state, const char *run, pada_text *notes);

/* The file of the newest checkpoint that is whole, for reading only: nothing is renamed; what was
 * damaged is told in `notes`, a line each; NULL: not. None is PADA_ENOENT. */
pada_status pada_checkpoint_newest(const char *run, pada_text *path, pada_text *notes);

/* How many bytes of room a run needs for its checkpoints, those it has left out: the ones that are kept
 * and the one that is being written, each as large as `state`. */
pada_status pada_checkpoint_room(const char *run, const pada_state *state, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
