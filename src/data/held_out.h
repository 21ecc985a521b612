/* held_out.h - the training images that a run held out, as images to choose networks on. */
#ifndef PADA_DATA_HELD_OUT_H
#define PADA_DATA_HELD_OUT_H

#include "data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Puts in the place of an open data set, whose train images are all kept, the same one with those that a training with
 * `--hold-out share` never steps on as its val, in their order, and the others as its train. A data set that has val open
 * is asserted not to be one. On failure *ds stays as it is. */
pada_status pada_dataset_hold_out(pada_dataset **ds, double share);

#ifdef __cplusplus
}
#endif
#endif
