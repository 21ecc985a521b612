/* data_args.c - the options that say how the images of a data set are read, and opening it by them. */
#include "cli/data_args.h"

#include "cli/progress.h"

const pada_opt pada_image_options[] = {
    {.name = "resize",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_data_args, resize),
     .default_value = "crop",
     .choices = PADA_RESIZE_NAMES,
     .help = "pictures that are no squares: cut off, squash, or pad with black"},
    {.name = NULL},
};

static void show_progress(void *context, int n_done, int n_total)
{
    pada_meter_show(context, false, "%d of %d images decoded", n_done, n_total);
}

pada_status pada_data_open(pada_dataset **out, const pada_data_args *args,
                           const pada_dataset_desc *desc)
{
    pada_dataset_desc full = *desc;
    pada_meter meter;

    pada_meter_init(&meter, args->is_quiet, false);
    full.resize = (pada_resize)args->resize;
    full.listener = (pada_open_listener){.context = &meter, .progress = show_progress};
    const pada_status st = pada_dataset_open(out, &full);
    pada_meter_end(&meter);
    return st;
}
