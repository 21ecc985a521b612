/* cost_args.c - whose costs count: those of networks for other images than a supernet is trained on. */
#include "run/cost_args.h"

const pada_opt pada_cost_options[] = {
    {.name = "cost-size",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_cost_args, image_size),
     .min = 1,
     .max = 1000000,
     .meta = "N",
     .help = "costs and latencies are those for images of so many rows and columns (default: the "
             "run's)"},
    {.name = "cost-classes",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_cost_args, classes),
     .min = 1,
     .max = 1000000,
     .meta = "N",
     .help = "and for so many classes (default: the run's)"},
    {.name = NULL},
};

pada_status pada_space_of_costs(pada_space *out, const pada_space *space,
                                const pada_cost_args *args)
{
    const int classes = args->classes > 0 ? (int)args->classes : space->config.classes;
    const int size = args->image_size > 0 ? (int)args->image_size : space->config.image_size;

    PADA_ASSERT(!space->is_final);
    return pada_space_init_settings(out, space->ops, classes, size, &space->settings);
}
