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

/* What no flag gave becomes what the other ones say. */
void pada_space_args_merge(pada_space_args *args, const pada_options *options,
                           const pada_space_args *other);
/* The same with the config.yaml of a run folder. *config owns the strings, also after a failure. */
pada_status pada_space_args_from_run(pada_space_args *args, const pada_options *options,
                                     const char *run, pada_options **config);

/* pada_space_from_args for a network that reads a data set: classes and image size become those of the data; a
 * number of classes that was given and is another is PADA_EINVAL. */
pada_status pada_space_for_data(pada_space *space, pada_space_args *args, const pada_dataset *data);

#endif
