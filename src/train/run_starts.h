/* run_starts.h - RUN/env.json: what each start of a run was made with.
 *
 *   {"format": 1, "starts": [{"started": "2026-..", "pada": "0.2", "backend": "cpu", ..}, {..}]}
 *
 * A start is a JSON object of any keys; only `backend` is looked at. Runs of pada 0.1 have the object
 * of their newest start alone, whose `backend` is read as what is now `device`. */
#ifndef PADA_TRAIN_RUN_STARTS_H
#define PADA_TRAIN_RUN_STARTS_H

#include "base/json.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_RUN_STARTS_FILE "env.json"

/* Whether a run resumes with the bits it began with: the backends of all starts are the same, or
 * instruction sets of the cpu backend, which agree. Else PADA_EINVAL. A file of a newer pada, or none
 * of pada, is PADA_EDATA. *known: earlier starts have said their backend. `start` is a JSON text. */
pada_status pada_run_starts_check(const char *run, const char *start, bool *known);

/* Adds a start. */
pada_status pada_run_starts_add(const char *run, const char *start);

/* The starts of a file, oldest first, owned by the caller. No such file is PADA_ENOENT. */
pada_status pada_run_starts_open(json_t **starts, const char *path);

#ifdef __cplusplus
}
#endif
#endif
