/* data_args.h - the options that say how the images of a data set are read, and opening it by them. */
#ifndef PADA_CLI_DATA_ARGS_H
#define PADA_CLI_DATA_ARGS_H

#include "base/option.h"
#include "data/dataset.h"

typedef struct pada_data_args {
    int resize;    /* pada_resize */
    bool is_quiet; /* no option: whether progress is shown is for the command to say */
} pada_data_args;

extern const pada_opt pada_image_options[]; /* --resize */

/* Opens a data set as described, read as the options say, with a line of progress on a terminal. */
pada_status pada_data_open(pada_dataset **out, const pada_data_args *args,
                           const pada_dataset_desc *desc);

#endif
