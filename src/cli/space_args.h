/* space_args.h - the options that choose a search space and the sizes of its network. */
#ifndef PADA_CLI_SPACE_ARGS_H
#define PADA_CLI_SPACE_ARGS_H

#include "base/option.h"
#include "space/space.h"

typedef struct pada_space_args {
    const char *space;
    int64_t channels, cells, classes, image_size; /* 0: the default of the space */
} pada_space_args;

extern const pada_opt pada_space_options[]; /* --space --channels --cells --classes --image-size */

pada_status pada_space_from_args(pada_space *space, const pada_space_args *args);

#endif
