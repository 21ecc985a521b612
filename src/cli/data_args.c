/* data_args.c - the options that say how the images of a data set are read, and opening it by them. */
#include "cli/data_args.h"

#include <stdlib.h>

#include "cli/progress.h"

const pada_opt pada_image_options[] = {
    {.name = "resize",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_data_args, resize),
     .default_value = "crop",
     .choices = PADA_RESIZE_NAMES,
     .help = "pictures that are no squares: cut off, squash, or pad with black"},
    {.name = "crops",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_data_args, crops),
     .default_value = "auto",
     .choices = PADA_CROPS_NAMES,
     .help = "of training images: moved in a black border, or parts of photographs; auto: by size",
     .before = "auto"},
    {.name = "eval-crop",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_data_args, eval_crop),
     .default_value = "0.875",
     .min = 0.01,
     .max = 1,
     .meta = "X",
     .help = "with resized crops: share of the shorter side of a picture that evaluation sees",
     .before = "0.875"},
    {.name = "cache",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_data_args, cache),
     .default_value = "true",
     .help = "keep decoded images of folders in ~/.cache/pada, and use those there",
     .session = true},
    {.name = NULL},
};

#define CACHE_BYTES 20e9 /* unless the environment says otherwise */

/* Where decoded images are kept; an empty text: there is no place. */
static void find_cache(pada_text *folder)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && cache[0] == '/') /* others are to be ignored, says the specification */
        pada_text_add(folder, "%s/pada", cache);
    else if (home && home[0])
        pada_text_add(folder, "%s/.cache/pada", home);
}

static pada_status read_cache_size(int64_t *bytes)
{
    const char *text = getenv("PADA_CACHE_SIZE");

    *bytes = (int64_t)CACHE_BYTES;
    if (!text || !text[0]) return PADA_OK;
    return pada_parse_int(text, "PADA_CACHE_SIZE", 0, INT64_MAX, bytes);
}

static void show_progress(void *context, int n_done, int n_total)
{
    pada_meter_show(context, false, "%d of %d images decoded", n_done, n_total);
}

static void show_remark(void *context, const char *text)
{
    if (((const pada_meter *)context)->mode != PADA_METER_QUIET) pada_meter_say(context, text);
}

pada_status pada_data_open(pada_dataset **out, const pada_data_args *args,
                           const pada_dataset_desc *desc)
{
    pada_dataset_desc full = *desc;
    pada_text cache = {0};
    pada_meter meter;

    PADA_TRY(read_cache_size(&full.cache_bytes));
    if (args->cache && full.cache_bytes > 0) find_cache(&cache);
    pada_meter_init(&meter, args->is_quiet, false);
    full.resize = (pada_resize)args->resize;
    full.crops = (pada_crops)args->crops;
    full.eval_crop = args->eval_crop;
    full.listener =
        (pada_open_listener){.context = &meter, .progress = show_progress, .remark = show_remark};
    full.cache = cache.length > 0 ? cache.data : NULL;
    const pada_status st = cache.status != PADA_OK ? cache.status : pada_dataset_open(out, &full);
    pada_meter_end(&meter);
    pada_text_deinit(&cache);
    return st;
}
