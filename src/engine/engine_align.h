/* engine_align.h - a path that is pulled towards another one.
 *
 * The loss of an image gets
 *
 *   factor * mean over taps and elements of (value - kept value)^2
 *
 * where taps are values that the space marks, such as the outputs of cells, and those kept are
 * constants.
 *
 *   pada_engine_keep_taps(e, anchor, batch);
 *   pada_engine_forward_aligned(e, path, batch, factor);
 *   pada_engine_backward(e); */
#ifndef PADA_ENGINE_ENGINE_ALIGN_H
#define PADA_ENGINE_ENGINE_ALIGN_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A forward pass in mode PADA_EVAL that keeps the values of its taps until the next one. The first
 * call makes room. */
pada_status pada_engine_keep_taps(pada_engine *e, const pada_path *path, const pada_batch *batch);
/* pada_engine_forward in mode PADA_TRAIN, on as many images as were kept. Results and log have the
 * loss without the distance. */
pada_status pada_engine_forward_aligned(pada_engine *e, const pada_path *path,
                                        const pada_batch *batch, double factor);

#ifdef __cplusplus
}
#endif
#endif
