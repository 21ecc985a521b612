/* step_time.c - how long training steps take here. */
#include "cli/step_time.h"

#include <math.h>

#include "base/clock.h"
#include "cli/bench_images.h"
#include "engine/engine_log.h"
#include "engine/engine_weights.h"

enum { REPEATS = 4 }; /* the first one warms up */

pada_status pada_step_time(pada_engine *e, const pada_path *path, const pada_batch *batch,
                           int burst, double *ms)
{
    const pada_optim optim = {
        .lr = 0.05, .momentum = 0.9, .weight_decay = 2.5e-4, .clip = 5, .mode = PADA_OPTIM_SKIP};
    pada_step_stats stats;

    /* as in training, so that a device keeps its norms until they are read */
    PADA_TRY(pada_engine_log_begin(e, burst, burst, burst * batch->n));
    const double start = pada_clock_seconds();
    for (int i = 0; i < burst; i++) {
        pada_engine_zero_grad(e);
        PADA_TRY(pada_engine_forward(e, path, batch, PADA_TRAIN));
        pada_engine_backward(e);
        PADA_TRY(pada_engine_step(e, &optim, &stats));
    }
    PADA_TRY(pada_engine_finish(e));
    *ms = 1e3 * (pada_clock_seconds() - start) / burst;
    return PADA_OK;
}

static pada_status time_paths(pada_engine *e, const pada_batch *batch, const pada_path *paths,
                              int n, double *ms)
{
    *ms = 0;
    for (int i = 0; i < n; i++) {
        double best = INFINITY, one;
        for (int k = 0; k < REPEATS; k++) {
            PADA_TRY(pada_step_time(e, &paths[i], batch, 1, &one));
            if (one < best) best = one;
        }
        *ms += best / n;
    }
    return PADA_OK;
}

pada_status pada_step_time_mean(const pada_engine_desc *desc, const pada_path *paths, int n,
                                uint64_t seed, double *ms)
{
    const int batch_size = desc->batch_size;
    pada_bench_images images = {0};
    pada_engine *e;

    PADA_TRY(pada_engine_create(&e, desc));
    pada_status st = pada_engine_init_weights(e, seed);
    if (st == PADA_OK) st = pada_bench_images_init(&images, e, batch_size, batch_size, seed);
    if (st == PADA_OK) st = time_paths(e, &images.batch, paths, n, ms);
    pada_engine_destroy(e);
    pada_bench_images_deinit(&images);
    return st;
}
