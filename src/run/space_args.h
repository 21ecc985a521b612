/* space_args.h - the options that choose a search space and the sizes of its network. */
#ifndef PADA_RUN_SPACE_ARGS_H
#define PADA_RUN_SPACE_ARGS_H

#include "base/option.h"
#include "data/dataset.h"
#include "space/space.h"

typedef struct pada_space_args {
    const char *space;
    int64_t classes, image_size;  /* 0: the default of the space */
    const pada_space_ops *ops;    /* whose options are bound */
    pada_space_settings settings; /* their values */
} pada_space_args;

/* Finds the space of a command line before its options are bound, which depend on it: that of --space, of the file of
 * --config, or of the first word that is a run folder, else the usual one. */
pada_status pada_space_args_prepare(pada_space_args *args, int argc, const char *const *argv);
/* --space --classes --image-size, and those of the space. */
pada_status pada_space_args_bind(pada_space_args *args, pada_options *options);

pada_status pada_space_from_args(pada_space *space, const pada_space_args *args);

/* What no flag gave becomes what the other ones, which have the options of the same space, say. */
void pada_space_args_merge(pada_space_args *args, const pada_options *options,
                           const pada_space_args *other);
/* The same with the config.yaml of a run folder. *config owns the strings, also after a failure. */
pada_status pada_space_args_from_run(pada_space_args *args, const pada_options *options,
                                     const char *run, pada_options **config);

/* pada_space_from_args for a network that reads a data set: classes and image size become those of the data; a
 * number of classes that was given and is another is PADA_EINVAL. */
pada_status pada_space_for_data(pada_space *space, pada_space_args *args, const pada_dataset *data);

#endif
