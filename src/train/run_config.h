/* run_config.h - the papers of a run folder, and who may work in it. */
#ifndef PADA_TRAIN_RUN_CONFIG_H
#define PADA_TRAIN_RUN_CONFIG_H

#include <signal.h>

#include "data/data_card.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Holds a run folder for this process. Zero-initialise. */
typedef struct pada_run_lock {
    int fd; /* plus one; 0: not held */
} pada_run_lock;

/* Makes the folder and takes it; one that another process holds is PADA_EINVAL. The lock goes with
 * the process, however that ends. */
pada_status pada_run_lock_take(pada_run_lock *lock, const char *run);
/* The same for a folder that may be in use by processes that are about to end: waits for so many seconds at most, and not
 * longer than until *stop is not 0. */
pada_status pada_run_lock_await(pada_run_lock *lock, const char *run, double seconds,
                                const volatile sig_atomic_t *stop);
void pada_run_lock_release(pada_run_lock *lock);

/* Whether a run may be begun or continued in the folder: one that is not there, has nothing in it
 * (names that begin with a dot do not count) or is a run already. Another one is PADA_EINVAL naming
 * something that is in it. So is one among the classes of the image folder `data` (NULL: not known, or no folder). Nothing is
 * written. */
pada_status pada_run_check_folder(const char *run, const char *data);

/* Compares a configuration (lines `key: value`, as pada_options_dump writes them) with
 * RUN/config.yaml, if that is there: PADA_EINVAL naming the keys that differ. `except` ends with NULL:
 * keys that are compared otherwise; NULL: none. */
pada_status pada_run_check_config(const char *run, const char *config, const char *const *except);

/* The same with a file of such lines that is there. */
pada_status pada_config_check(const char *path, const char *config, const char *const *except);

/* What a start says about itself; each may be NULL. */
typedef struct pada_run_papers {
    const char *config;         /* RUN/config.yaml */
    const char *start;          /* JSON of this start, for RUN/env.json (run_starts.h) */
    const pada_data_card *card; /* RUN/data.json */
} pada_run_papers;

/* Makes the folder, compares the papers with those that are there, and only then writes: what is
 * missing, where the images are now, and one more start. Another configuration or backend is
 * PADA_EINVAL, other images are PADA_EDATA. Where a run has a card, the path of its images may differ;
 * where it has starts, they are what a backend is compared with. */
pada_status pada_run_store(const char *run, const pada_run_papers *papers);

#ifdef __cplusplus
}
#endif
#endif
