/* data_open.c - opening a data set by options, with a cache and a line of progress. */
#include "cli/data_open.h"

#include <stdlib.h>

#include "cli/progress.h"

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
    pada_data_describe(&full, args);
    full.listener =
        (pada_open_listener){.context = &meter, .progress = show_progress, .remark = show_remark};
    full.cache = cache.length > 0 ? cache.data : NULL;
    const pada_status st = cache.status != PADA_OK ? cache.status : pada_dataset_open(out, &full);
    pada_meter_end(&meter);
    pada_text_deinit(&cache);
    return st;
}
