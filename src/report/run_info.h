/* run_info.h - what a run folder says about itself: config.yaml and env.json. */
#ifndef PADA_REPORT_RUN_INFO_H
#define PADA_REPORT_RUN_INFO_H

#include "base/option.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every string is NULL where the folder does not say. Zero-initialise; deinit accepts that. */
typedef struct pada_run_info {
    const char *method, *data, *space, *classes, *image_size, *resize, *epochs, *batch_size, *lr,
        *lr_schedule, *seed;
    const char *arch; /* of one network that is trained alone */
    const char *form; /* "final": by `pada retrain` */
    /* of the newest start; `started` is the first one */
    const char *backend, *version, *commit, *data_name, *started;
    pada_text config;      /* the file as it is */
    pada_options *options; /* bound to the first strings, which it owns */
    void *env;             /* json_t, owns the others */
} pada_run_info;

/* What is not there or not readable is told in `notes`, a line each. Only failures of this process
 * are failures. */
pada_status pada_run_info_read(pada_run_info *info, const char *run, pada_text *notes);
void pada_run_info_deinit(pada_run_info *info);

#ifdef __cplusplus
}
#endif
#endif
