/* space_args.c - the options that choose a search space and the sizes of its network. */
#include "cli/space_args.h"

#include <inttypes.h>

#include "cli/names.h"

/* Ranges only keep the values inside an int; pada_space_init has the real ones. */
#define SIZE_OPTION(option_name, field, text)                                                  \
    {                                                                                          \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(pada_space_args, field), \
        .min = 1, .max = 1000000, .meta = "N", .help = text                                    \
    }

const pada_opt pada_space_options[] = {
    {.name = "space",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_space_args, space),
     .default_value = "nb201",
     .meta = "NAME",
     .names = pada_name_of_space,
     .help = "search space"},
    SIZE_OPTION("channels", channels, "channels of the first stage (default: the space's own)"),
    SIZE_OPTION("cells", cells, "searched cells per stage (default: the space's own)"),
    SIZE_OPTION("classes", classes, "classes (default: the space's own)"),
    SIZE_OPTION("image-size", image_size,
                "rows and columns of an image (default: the space's own)"),
    {.name = "blocks",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_space_args, blocks),
     .default_value = "0",
     .min = 0,
     .max = PADA_MAX_BLOCKS,
     .meta = "N",
     .help = "sets of weights that the slots of a cell share (method close); 0: each has its own"},
    {.name = NULL},
};

pada_status pada_space_from_args(pada_space *space, const pada_space_args *args)
{
    const pada_space_ops *ops;
    const pada_space_config config = {.channels = (int)args->channels,
                                      .cells = (int)args->cells,
                                      .classes = (int)args->classes,
                                      .image_size = (int)args->image_size,
                                      .blocks = (int)args->blocks};

    PADA_TRY(pada_space_find(&ops, args->space));
    return pada_space_init(space, ops, &config);
}

void pada_space_args_merge(pada_space_args *args, const pada_options *options,
                           const pada_space_args *other)
{
    if (!pada_options_given(options, "space")) args->space = other->space;
    if (!pada_options_given(options, "channels")) args->channels = other->channels;
    if (!pada_options_given(options, "cells")) args->cells = other->cells;
    if (!pada_options_given(options, "classes")) args->classes = other->classes;
    if (!pada_options_given(options, "image-size")) args->image_size = other->image_size;
    if (!pada_options_given(options, "blocks")) args->blocks = other->blocks;
}

pada_status pada_space_args_from_run(pada_space_args *args, const pada_options *options,
                                     const char *run, pada_options **config)
{
    pada_space_args other = {0};
    pada_text path = {0};
    pada_status st;

    PADA_TRY(pada_options_create(config));
    PADA_TRY(pada_options_bind(*config, pada_space_options, &other));
    pada_text_add(&path, "%s/config.yaml", run);
    if ((st = path.status) == PADA_OK) st = pada_options_load_known(*config, path.data);
    if (st == PADA_OK) pada_space_args_merge(args, options, &other);
    pada_text_deinit(&path);
    return st;
}

pada_status pada_space_for_data(pada_space *space, pada_space_args *args, const pada_dataset *data)
{
    if (args->classes != 0 && args->classes != data->n_classes)
        return PADA_FAIL(PADA_EINVAL,
                         "--classes %" PRId64 " does not fit the data set %s, which has %d",
                         args->classes, data->name, data->n_classes);
    args->classes = data->n_classes;
    args->image_size = data->shape.h; /* a size that was given went into the open */
    return pada_space_from_args(space, args);
}
