/* nb201_scores.h - what can be said about cells of NAS-Bench-201 without training. */
#ifndef PADA_SPACE_NB201_SCORES_H
#define PADA_SPACE_NB201_SCORES_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* macs, params         of the stand-alone network, dead edges included
 * live_macs            multiply-adds without the dead edges: those of the canonical form
 * conv_depth           convolutions on the longest way from input to output; -1: there is no way
 * op_sum               none 0, skip 1, conv1x1 2, conv3x3 3, pool 0, summed over the edges */
extern const pada_space_score pada_nb201_scores[]; /* ends with a NULL name */

#ifdef __cplusplus
}
#endif
#endif
