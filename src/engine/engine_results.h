/* engine_results.h - what forward passes say about their images: the last one, or many
 * evaluations at once. */
#ifndef PADA_ENGINE_ENGINE_RESULTS_H
#define PADA_ENGINE_ENGINE_RESULTS_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over images. */
typedef struct pada_results_view {
    int n;
    double loss; /* mean over the batch */
    int top1, top5;
} pada_results_view;

/* Of the last forward pass. A loss that is not finite is PADA_ENUMERIC. */
pada_status pada_engine_results(const pada_engine *e, pada_results_view *view);
void pada_engine_logits(const pada_engine *e, double *logits); /* [n, classes] */

/* The sums over several passes of mode PADA_EVAL: between begin, which makes room for so many images (more are an
 * assert), and end, which is where the host waits. */
pada_status pada_engine_tally_begin(pada_engine *e, int n_images);
pada_status pada_engine_tally_end(pada_engine *e, pada_results_view *view);

#ifdef __cplusplus
}
#endif
#endif
