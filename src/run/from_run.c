/* from_run.c - what later commands take from the papers of a run. */
#include "run/from_run.h"

#include "base/file.h"

static const pada_opt config_table[] = {
    {.name = "data", .type = PADA_OPT_STRING, .offset = offsetof(pada_run_config, data)},
    {.name = "form",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_run_config, form),
     .default_value = "search",
     .choices = "search|final"},
    {.name = "arch", .type = PADA_OPT_STRING, .offset = offsetof(pada_run_config, arch)},
    {.name = "ops", .type = PADA_OPT_STRING, .offset = offsetof(pada_run_config, ops)},
    {.name = "hold-out",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_run_config, hold_out),
     .default_value = "0",
     .min = 0,
     .max = 0.9},
    {.name = NULL},
};

void pada_run_config_merge(const pada_run_config *config, const pada_options *options,
                           pada_space_args *space, pada_data_args *images, const char **data)
{
    pada_space_args_merge(space, options, &config->space);
    if (!pada_options_given(options, "resize")) images->resize = config->images.resize;
    if (!pada_options_given(options, "crops")) images->crops = config->images.crops;
    if (!pada_options_given(options, "eval-crop")) images->eval_crop = config->images.eval_crop;
    if (!pada_options_given(options, "data") && config->data) *data = config->data;
}

pada_status pada_run_config_read(pada_run_config *config, pada_options **owner,
                                 const pada_space_ops *ops, const char *run)
{
    pada_text path = {0};
    pada_status st;

    PADA_TRY(pada_options_create(owner));
    config->space.ops = ops;
    PADA_TRY(pada_space_args_bind(&config->space, *owner));
    PADA_TRY(pada_options_bind(*owner, pada_image_options, &config->images));
    PADA_TRY(pada_options_bind(*owner, config_table, config));
    pada_text_add(&path, "%s/config.yaml", run);
    if ((st = path.status) == PADA_OK) st = pada_options_load_known(*owner, path.data);
    pada_text_deinit(&path);
    return st;
}

pada_status pada_space_of_run(pada_space *space, const char *run)
{
    pada_options *options = NULL;
    pada_run_config config = {0};

    PADA_TRY(pada_space_args_prepare(&config.space, 1, &run));
    pada_status st = pada_run_config_read(&config, &options, config.space.ops, run);
    if (st == PADA_OK) st = pada_space_from_args(space, &config.space);
    pada_options_destroy(options);
    return st;
}

pada_status pada_part_of_run(pada_subspace *part, bool *is_narrow, const pada_space *space,
                             const char *run)
{
    pada_options *options = NULL;
    pada_run_config config = {0};

    *is_narrow = false;
    PADA_TRY(pada_space_args_prepare(&config.space, 1, &run));
    pada_status st = pada_run_config_read(&config, &options, config.space.ops, run);
    if (st == PADA_OK && config.ops) {
        *is_narrow = true;
        st = pada_subspace_parse(part, space, config.ops, "config.yaml");
    }
    pada_options_destroy(options);
    return st;
}

/* Whether something of this name may be opened. */
static bool is_there(const char *data)
{
    return data[0] != '/' || pada_path_exists(data);
}

pada_status pada_run_find_data(const pada_data_card *card, const char *run, const char **data)
{
    if (!card->where) return PADA_OK;
    if (is_there(card->where)) {
        *data = card->where;
        return PADA_OK;
    }
    if (pada_path_exists(*data)) return PADA_OK;
    return PADA_FAIL(PADA_ENOENT, "%s: not there; give --data, the folder of the images of %s",
                     card->where, run);
}
