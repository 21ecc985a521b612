/* family.h - the supernets of a run that trains several: RUN/supernets/NNNN.safetensors.
 *
 * One file for each that is done: its weights, its sub-space, and whether it is a final one. A
 * network is judged with the weights of the final supernet whose sub-space has it. A run with one
 * supernet has no such folder: its weights are in its checkpoints. */
#ifndef PADA_TRAIN_FAMILY_H
#define PADA_TRAIN_FAMILY_H

#include "engine/engine.h"
#include "space/subspace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- while it is trained ---- */

/* Makes the folder. From here on the run is one with several supernets. */
pada_status pada_family_begin(const char *run);
/* Keeps the weights of the engine as those of supernet `number`. */
pada_status pada_family_keep(const char *run, int number, bool final, const pada_subspace *part,
                             const pada_engine *e);
/* Gives the engine the weights of supernet `number`; its momentum starts anew. */
pada_status pada_family_inherit(const char *run, int number, pada_engine *e);

/* ---- its final supernets, for reading ---- */

typedef struct pada_family pada_family;

/* Whether a run trains several supernets. */
bool pada_family_is_there(const char *run);
/* *out is NULL and the status PADA_OK if the run has only one supernet. Files that are damaged, and
 * sub-spaces that overlap or are none, are PADA_EDATA. Those that are not done yet are missing. */
pada_status pada_family_open(pada_family **out, const char *run, const pada_space *space);
void pada_family_close(pada_family *family); /* NULL is fine */

int pada_family_count(const pada_family *family);
/* That of the file and in metrics.csv. */
int pada_family_number(const pada_family *family, int member);
/* The member, 0 to count - 1, whose sub-space has the path. None, since the run is not over, is
 * PADA_ENOENT. */
pada_status pada_family_find(const pada_family *family, const pada_path *path, int *member);
/* Gives its weights to an engine. */
pada_status pada_family_enter(const pada_family *family, int member, pada_engine *e);
/* The same for the same weights and sub-spaces. */
uint64_t pada_family_hash(const pada_family *family);

#ifdef __cplusplus
}
#endif
#endif
