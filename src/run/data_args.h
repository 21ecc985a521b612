/* data_args.h - the options that say how the images of a data set are read. */
#ifndef PADA_RUN_DATA_ARGS_H
#define PADA_RUN_DATA_ARGS_H

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

/* Fills in how images are read, and nothing else. */
void pada_data_describe(pada_dataset_desc *desc, const pada_data_args *args);

#endif
