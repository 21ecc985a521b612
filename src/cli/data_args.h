/* data_args.h - the options that say how the images of a data set are read, and opening it by them. */
#ifndef PADA_CLI_DATA_ARGS_H
#define PADA_CLI_DATA_ARGS_H

#include "base/option.h"
#include "data/dataset.h"

typedef struct pada_data_args {
    int resize; /* pada_resize */
    int crops;  /* pada_crops */
    double eval_crop;
    bool cache;    /* keep decoded images, and use those that were kept */
    bool is_quiet; /* no option: whether progress is shown is for the command to say */
} pada_data_args;

extern const pada_opt pada_image_options[]; /* --resize --crops --eval-crop --cache */

/* Opens a data set as described, read as the options say, with a line of progress on a terminal. The
 * cache is $XDG_CACHE_HOME/pada or ~/.cache/pada; PADA_CACHE_SIZE is the bytes it may take, e.g. 40G. */
pada_status pada_data_open(pada_dataset **out, const pada_data_args *args,
                           const pada_dataset_desc *desc);

#endif
