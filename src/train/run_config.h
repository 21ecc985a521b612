/* run_config.h - the configuration of a run folder, and who may work in it. */
#ifndef PADA_TRAIN_RUN_CONFIG_H
#define PADA_TRAIN_RUN_CONFIG_H

#include "base/status.h"

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
void pada_run_lock_release(pada_run_lock *lock);

/* Stores the configuration (lines `key: value`, as pada_options_dump writes them) as
 * RUN/config.yaml, or compares it with the one that is there: PADA_EINVAL naming the keys that
 * differ. */
pada_status pada_run_check_config(const char *run, const char *config);

/* The same, and `env` becomes RUN/env.json. Either may be NULL. The folder is made. */
pada_status pada_run_store(const char *run, const char *config, const char *env);

#ifdef __cplusplus
}
#endif
#endif
