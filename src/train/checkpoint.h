/* checkpoint.h - the checkpoints of a run: RUN/ckpt/NNNNNNNN.safetensors, by number of steps.
 *
 * A new one is written beside the others before any is removed; the newest two are kept, and those after multiples of
 * some number of steps, if the run wants that. One that
 * turns out to be damaged is renamed to *.damaged and the one before it takes its place. */
#ifndef PADA_TRAIN_CHECKPOINT_H
#define PADA_TRAIN_CHECKPOINT_H

#include "base/text.h"
#include "tensor/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the state as the checkpoint after `step` steps and removes all but the newest two and those after
 * multiples of `kept_steps`; 0: there are none. */
pada_status pada_checkpoint_save(const char *run, int64_t step, int64_t kept_steps,
                                 const pada_state *state);

/* The newest checkpoint that is whole, opened for loading. *state is NULL and the status PADA_OK if
 * the run has none. What was damaged is renamed and told in `notes`, a line each. */
pada_status pada_checkpoint_open(pada_state **state, const char *run, pada_text *notes);

/* The file of the newest checkpoint that is whole, for reading only: nothing is renamed; what was
 * damaged is told in `notes`, a line each; NULL: not. None is PADA_ENOENT. */
pada_status pada_checkpoint_newest(const char *run, pada_text *path, pada_text *notes);

/* How many bytes of room a run of last_step steps needs for its checkpoints, those it has left out: the ones that are kept
 * and the one that is being written, each as large as `state`. */
pada_status pada_checkpoint_room(const char *run, int64_t kept_steps, int64_t last_step,
                                 const pada_state *state, int64_t *bytes);

typedef struct pada_checkpoint_file {
    int64_t step;
    pada_text path;
} pada_checkpoint_file;

/* All checkpoints of a run, oldest first, looked at no further; a run may have none. */
pada_status pada_checkpoint_list(const char *run, pada_checkpoint_file **out, int *n);
void pada_checkpoint_list_free(pada_checkpoint_file *list, int n); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
