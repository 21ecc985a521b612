/* data_args.c - the options that say how the images of a data set are read. */
#include "run/data_args.h"

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

void pada_data_describe(pada_dataset_desc *desc, const pada_data_args *args)
{
    desc->resize = (pada_resize)args->resize;
    desc->crops = (pada_crops)args->crops;
    desc->eval_crop = args->eval_crop;
}
