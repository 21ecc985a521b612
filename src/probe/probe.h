/* probe.h - measurements at the checkpoints of a run: what the theory of a method says, held against its gradients.
 *
 * A kind of measurement is one file (probe_variance.c, ...) and one line in probes.def. It sees a run as it was at a
 * checkpoint (train/moment.h) and makes a row of numbers, which is a function of the checkpoint and the settings. Rows go
 * to RUN/probes/KIND.csv; one that is there is not measured again. */
#ifndef PADA_PROBE_PROBE_H
#define PADA_PROBE_PROBE_H

#include "train/moment.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_MAX_PROBE_COLUMNS 40

/* Not every kind looks at everything. */
typedef struct pada_probe_settings {
    int64_t draws; /* gradients of each sampler */
    int64_t paths; /* that are looked at one by one */
    int64_t
        images; /* of a batch that is looked at image by image; 0: 72, or the batch size of the run if that is less */
    int64_t exact; /* paths of a set that is small enough for expectations */
    uint64_t seed;
} pada_probe_settings;

extern const pada_opt pada_probe_options[];

typedef struct pada_probe_column {
    const char *name; /* in the file */
    const char
        *heading; /* of the table for people, at most 10 characters; NULL: it is not in there */
} pada_probe_column;

typedef struct pada_probe_kind {
    const char *name, *summary;
    const pada_probe_column *columns; /* name NULL ends them */
    /* Fills values[columns]; NaN: there is no such number. Uses what the moment lends as it likes. */
    pada_status (*measure)(const pada_moment *moment, const pada_probe_settings *settings,
                           double *values);
} pada_probe_kind;

/* Finds a kind by name; an unknown one is PADA_EINVAL and offers the nearest name. */
pada_status pada_probe_find(const pada_probe_kind **out, const char *name);
const pada_probe_kind *pada_probe_get(int i); /* NULL after the last */

/* What a checkpoint gave. */
typedef struct pada_probe_row {
    int64_t step;
    int epoch;     /* epochs that were done; -1 in a row of the file that was not measured again */
    bool is_known; /* from the file */
    const double *values;
} pada_probe_row;

typedef struct pada_probe_desc {
    const pada_probe_kind *kind;
    const pada_probe_settings *settings;
    const pada_train_desc *training; /* of the run, without its folder */
    const char *run;
    bool newest;                       /* of the checkpoints only */
    const volatile sig_atomic_t *stop; /* between two checkpoints: PADA_ESTOPPED; may be NULL */
    void *user;
    void (*row)(void *user, const pada_probe_row *row); /* of every checkpoint, oldest first */
} pada_probe_desc;

/* Measures at all checkpoints. A run without one is PADA_ENOENT; a file of rows that is no such file PADA_EDATA. */
pada_status pada_probe_run(const pada_probe_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
