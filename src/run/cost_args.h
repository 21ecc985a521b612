/* cost_args.h - whose costs count: those of networks for other images than a supernet is trained on. */
#ifndef PADA_RUN_COST_ARGS_H
#define PADA_RUN_COST_ARGS_H

#include "base/option.h"
#include "space/space.h"

typedef struct pada_cost_args {
    int64_t image_size, classes; /* 0: those of the space */
} pada_cost_args;

extern const pada_opt pada_cost_options[]; /* --cost-size --cost-classes */

/* The same networks for such images: paths mean the same, costs do not. Sizes that the space cannot have are PADA_EINVAL. */
pada_status pada_space_of_costs(pada_space *out, const pada_space *space,
                                const pada_cost_args *args);

#endif
