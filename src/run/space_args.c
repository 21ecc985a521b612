/* space_args.c - the options that choose a search space and the sizes of its network. */
#include "run/space_args.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "run/names.h"

#define USUAL_SPACE "nb201"

/* Ranges only keep the values inside an int; pada_space_init_settings has the real ones. */
#define SIZE_OPTION(option_name, field, text)                                                  \
    {                                                                                          \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(pada_space_args, field), \
        .min = 1, .max = 1000000, .meta = "N", .help = text                                    \
    }

static const pada_opt options_table[] = {
    {.name = "space",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_space_args, space),
     .default_value = USUAL_SPACE,
     .meta = "NAME",
     .names = pada_name_of_space,
     .help = "search space; it has further options"},
    SIZE_OPTION("classes", classes, "classes (default: the space's own)"),
    SIZE_OPTION("image-size", image_size,
                "rows and columns of an image (default: the space's own)"),
    {.name = NULL},
};

/* ---- finding the space ---- */

/* The space that a configuration file names, or the usual one. A file that cannot be read is left to whoever takes
 * the other options from it. */
static pada_status find_in_file(const pada_space_ops **out, const char *file)
{
    static const pada_opt only_space[] = {
        {.name = "space", .type = PADA_OPT_STRING, .default_value = USUAL_SPACE},
        {.name = NULL},
    };
    pada_options *options;
    const char *name;
    pada_status st;

    PADA_TRY(pada_options_create(&options));
    st = pada_options_bind(options, only_space, &name);
    if (st == PADA_OK && file) (void)pada_options_load_known(options, file);
    if (st == PADA_OK) st = pada_space_find(out, name);
    pada_options_destroy(options);
    return st;
}

/* Looks into the first word that is a folder with a configuration. */
static pada_status find_in_words(const pada_space_ops **out, int argc, const char *const *argv)
{
    pada_text file = {0};
    pada_status st = PADA_OK;
    bool found = false;

    for (int i = 0; i < argc && !found && st == PADA_OK; i++) {
        if (strncmp(argv[i], "--", 2) == 0 || !pada_path_is_dir(argv[i])) continue;
        pada_text_deinit(&file);
        pada_text_add(&file, "%s/config.yaml", argv[i]);
        st = file.status;
        found = st == PADA_OK && pada_path_exists(file.data);
    }
    if (st == PADA_OK) st = find_in_file(out, found ? file.data : NULL);
    pada_text_deinit(&file);
    return st;
}

pada_status pada_space_args_prepare(pada_space_args *args, int argc, const char *const *argv)
{
    const char *space = pada_options_peek(argc, argv, "space");
    const char *config = pada_options_peek(argc, argv, "config");

    if (space) return pada_space_find(&args->ops, space);
    return config ? find_in_file(&args->ops, config) : find_in_words(&args->ops, argc, argv);
}

pada_status pada_space_args_bind(pada_space_args *args, pada_options *options)
{
    PADA_TRY(pada_options_bind(options, options_table, args));
    return args->ops->options ? pada_options_bind(options, args->ops->options, &args->settings)
                              : PADA_OK;
}

pada_status pada_space_from_args(pada_space *space, const pada_space_args *args)
{
    const pada_space_ops *ops;

    PADA_TRY(pada_space_find(&ops, args->space));
    if (ops != args->ops)
        return PADA_FAIL(PADA_EINVAL, "the options are those of space %s: give --space %s",
                         args->ops->name, ops->name);
    return pada_space_init_settings(space, ops, (int)args->classes, (int)args->image_size,
                                    &args->settings);
}

/* ---- other sources ---- */

static size_t field_bytes(pada_opt_type type)
{
    switch (type) {
    case PADA_OPT_BOOL: return sizeof(bool);
    case PADA_OPT_CHOICE: return sizeof(int);
    case PADA_OPT_INTS: return sizeof(pada_int_list);
    default: return sizeof(int64_t); /* no strings among the options of a space */
    }
}

void pada_space_args_merge(pada_space_args *args, const pada_options *options,
                           const pada_space_args *other)
{
    if (!pada_options_given(options, "space")) args->space = other->space;
    if (!pada_options_given(options, "classes")) args->classes = other->classes;
    if (!pada_options_given(options, "image-size")) args->image_size = other->image_size;
    for (const pada_opt *opt = args->ops->options; opt && opt->name; opt++)
        if (!pada_options_given(options, opt->name))
            memcpy(args->settings.bytes + opt->offset, other->settings.bytes + opt->offset,
                   field_bytes(opt->type));
}

pada_status pada_space_args_from_run(pada_space_args *args, const pada_options *options,
                                     const char *run, pada_options **config)
{
    pada_space_args other = {.ops = args->ops};
    pada_text path = {0};
    pada_status st;

    PADA_TRY(pada_options_create(config));
    PADA_TRY(pada_space_args_bind(&other, *config));
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
