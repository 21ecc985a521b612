/* engine_log.h - what the training passes and steps of an epoch leave behind.
 *
 * Strategies and metrics read the log when an epoch is over, so that a device need not be waited for
 * at every step. */
#ifndef PADA_ENGINE_ENGINE_LOG_H
#define PADA_ENGINE_ENGINE_LOG_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Since pada_engine_log_begin. */
typedef struct pada_log {
    int n_images, n_passes, n_steps, n_sites; /* images: of all passes together */
    const double *losses, *norms;             /* [n_images] of the training passes, in order */
    const int32_t *ranks;                     /* [n_images] 0: the label has the highest score */
    const pada_path *paths;                   /* [n_passes] */
    const double *grad_norms, *clip_factors;  /* [n_steps] */
    /* [n_steps, n_sites] L2 norms of the gradients at each site, of all choices that the passes of
     * the step had there, before clipping; 0 where none has parameters. By tensor: see below */
    const double *site_norms;
    double macs; /* multiply-adds of all forward passes so far, those of evaluations too */
} pada_log;

/* Empties the log and makes room for so many steps, training passes in them and images through
 * those passes; more are an assert. Without a call nothing is logged. */
pada_status pada_engine_log_begin(pada_engine *e, int n_steps, int n_passes, int n_images);
/* From now on the norm of a choice with several weight tensors (convolutions; not biases) is the sum of their L2 norms
 * instead of the one of all its gradients together. A log that was begun otherwise is lost. */
void pada_engine_log_by_tensor(pada_engine *e, bool by_tensor);
/* Borrowed until the next step. On a backend that has clip_update this is where the host learns what
 * happened: a gradient in it that was not finite is PADA_ENUMERIC. */
pada_status pada_engine_log_read(pada_engine *e, pada_log *log);

#ifdef __cplusplus
}
#endif
#endif
