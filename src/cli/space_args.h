/* space_args.h - the options that choose a search space and the sizes of its network. */
#ifndef PADA_CLI_SPACE_ARGS_H
#define PADA_CLI_SPACE_ARGS_H

#include "base/option.h"
#include "data/dataset.h"
#include "space/space.h"

typedef struct pada_space_args {
    const char *space;
    int64_t channels, cells, classes, image_size; /* 0: the default of the space */
    int64_t blocks;
} pada_space_args;

extern const pada_opt pada_space_options[]; /* --space --channels --cells --classes .. */

pada_status pada_space_from_args(pada_space *space, const pada_space_args *args);

/* The same for a network that reads a data set: classes and image size become those of the data; a
 * number of classes that was given and is another is PADA_EINVAL. */
pada_status pada_space_for_data(pada_space *space, pada_space_args *args, const pada_dataset *data);

#endif
