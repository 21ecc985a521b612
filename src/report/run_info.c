/* run_info.c - what a run folder says about itself: config.yaml and env.json. */
#include "report/run_info.h"

#include "base/file.h"
#include "train/run_starts.h"

/* Shown as they stand in the file, so all are strings. */
#define FACT(key, field)                                                                 \
    {                                                                                    \
        .name = (key), .type = PADA_OPT_STRING, .offset = offsetof(pada_run_info, field) \
    }
static const pada_opt config_table[] = {
    FACT("method", method),
    FACT("data", data),
    FACT("space", space),
    FACT("classes", classes),
    FACT("image-size", image_size),
    FACT("resize", resize),
    FACT("epochs", epochs),
    FACT("batch-size", batch_size),
    FACT("lr", lr),
    FACT("lr-schedule", lr_schedule),
    FACT("seed", seed),
    FACT("arch", arch),
    FACT("form", form),
    {.name = NULL},
};

static pada_status read_config(pada_run_info *info, const char *path)
{
    pada_file file = {0};
    const pada_status st = pada_file_open(&file, path);

    if (st == PADA_OK)
        pada_text_add_bytes(&info->config, file.data ? (const void *)file.data : "", file.bytes);
    pada_file_close(&file);
    PADA_TRY(st);
    PADA_TRY(info->config.status);
    PADA_TRY(pada_options_create(&info->options));
    PADA_TRY(pada_options_bind(info->options, config_table, info));
    return pada_options_load_known(info->options, path);
}

static pada_status read_env(pada_run_info *info, const char *path)
{
    json_t *starts;

    PADA_TRY(pada_run_starts_open(&starts, path));
    const json_t *first = json_array_get(starts, 0),
                 *last = json_array_get(starts, json_array_size(starts) - 1);
    info->env = starts;
    info->backend = json_string_value(json_object_get(last, "device"));
    info->version = json_string_value(json_object_get(last, "pada"));
    info->commit = json_string_value(json_object_get(last, "commit"));
    info->data_name = json_string_value(json_object_get(last, "data"));
    info->started = json_string_value(json_object_get(first, "started"));
    return PADA_OK;
}

static pada_status read_part(pada_run_info *info, const char *run, const char *name,
                             pada_status (*read)(pada_run_info *, const char *), pada_text *notes)
{
    pada_text path = {0};
    pada_status st;

    pada_text_add(&path, "%s/%s", run, name);
    if ((st = path.status) == PADA_OK) st = read(info, path.data);
    pada_text_deinit(&path);
    if (st != PADA_ENOENT && st != PADA_EDATA && st != PADA_EINVAL) return st;
    pada_text_add(notes, "%s\n", pada_message());
    return notes->status;
}

pada_status pada_run_info_read(pada_run_info *info, const char *run, pada_text *notes)
{
    *info = (pada_run_info){0};
    PADA_TRY(read_part(info, run, "config.yaml", read_config, notes));
    return read_part(info, run, "env.json", read_env, notes);
}

void pada_run_info_deinit(pada_run_info *info)
{
    pada_options_destroy(info->options);
    pada_text_deinit(&info->config);
    json_decref(info->env);
    *info = (pada_run_info){0};
}
