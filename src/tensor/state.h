/* state.h - what a run must remember: named arrays in one safetensors file.
 *
 * An object lists its fields once, in a function that serves saving and loading alike,
 *
 *   static void visit(thing *t, pada_state *s)
 *   {
 *       pada_state_array(s, "thing/norms", PADA_STATE_F64, t->norms, t->n);
 *   }
 *
 * so that what is saved is what is loaded. The first failure sticks: later calls do nothing, and
 * whoever made the state asks once. The file carries a hash of its contents, so that a damaged one
 * is noticed before anything is taken from it. */
#ifndef PADA_TENSOR_STATE_H
#define PADA_TENSOR_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_state_type {
    PADA_STATE_F32,
    PADA_STATE_F64,
    PADA_STATE_I32,
    PADA_STATE_I64,
    PADA_STATE_U8
} pada_state_type;

/* Names of arrays that are not weights start with this in the file. */
#define PADA_STATE_PREFIX "pada/"

typedef struct pada_state pada_state;

/* An empty state, to be filled by visits and written. */
pada_status pada_state_create(pada_state **out);
/* A state to load from. A file that is no safetensors file, or whose hash is missing or wrong, is
 * PADA_EDATA; a missing one is PADA_ENOENT. */
pada_status pada_state_open(pada_state **out, const char *path);
void pada_state_destroy(pada_state *state); /* NULL is fine */

/* Whether an open file has the contents it was written with: one whose hash is wrong is PADA_EDATA. Files
 * of other programs have none and are taken as they are. */
pada_status pada_state_verify(const pada_safetensors *file, const char *path);

bool pada_state_loading(const pada_state *state);

/* An array of the run: stored as PADA_STATE_PREFIX name. Saving copies `data`; loading fills it,
 * and a missing array, another type or another count is PADA_EDATA. */
void pada_state_array(pada_state *state, const char *name, pada_state_type type, void *data,
                      int64_t count);
/* How many elements the array has in the file that is being loaded; 0 if it is not there. */
int64_t pada_state_count(const pada_state *state, const char *name);
/* A tensor with a shape, under exactly this name. */
void pada_state_tensor(pada_state *state, const char *name, pada_state_type type, const int *dims,
                       int n_dims, void *data);
/* A short text in the metadata. Saving stores `value`; loading ignores it. */
void pada_state_note(pada_state *state, const char *key, const char *value);
const char *pada_state_get_note(const pada_state *state, const char *key); /* NULL: none */

/* A failure found by the visited object, for states that load: it sticks like the others. */
void pada_state_reject(pada_state *state, pada_status status);
/* The first failure; after loading also PADA_EDATA if the file holds an array nobody asked for. */
pada_status pada_state_finish(const pada_state *state);
/* The first failure so far, for those who take only a part of a file. */
pada_status pada_state_status(const pada_state *state);
/* The hash of a file that is being loaded: of its tensors, in any order. */
uint64_t pada_state_hash(const pada_state *state);
/* Bytes of the file that would be written, or a little more. */
int64_t pada_state_bytes(const pada_state *state);
/* Writes what was visited, atomically. */
pada_status pada_state_write(const pada_state *state, const char *path);

#ifdef __cplusplus
}
#endif
#endif
