/* anchor.c - MAGIC-A: steps that pull a path towards the features of an anchor. */
#include "strategy/anchor.h"

#include "engine/engine_align.h"
#include "engine/engine_results.h"

#define MAX_TRIES 1000 /* a space may have next to no live path */

const pada_opt pada_anchor_options[] = {
    {.name = "align",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_anchor_settings, align),
     .default_value = "0.5",
     .min = 0,
     .max = 1e6,
     .meta = "X",
     .help = "weight of the distance from the anchor's features in the loss; 0: no anchor"},
    {.name = "anchor-images",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_anchor_settings, images),
     .default_value = "256",
     .min = 1,
     .max = 65536,
     .meta = "N",
     .help = "held-out images that decide who is the anchor; at most a batch"},
    {.name = "anchor-every",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_anchor_settings, every),
     .default_value = "1",
     .min = 1,
     .max = 1e9,
     .meta = "N",
     .help = "steps from one such comparison to the next"},
    {.name = NULL},
};

const pada_strategy_default pada_anchor_defaults[] = {{"hold-out", "0.1"}, {NULL, NULL}};

/* Comparisons that are made before step `number`: at steps 0, every, 2 every, .. */
static int64_t comparisons_before(const pada_anchor *anchor, int64_t number)
{
    return (number + anchor->settings.every - 1) / anchor->settings.every;
}

static void draw_first(const pada_strategy_env *env, pada_path *path)
{
    pada_rng rng;

    pada_rng_init(&rng, env->seed, "anchor", 0);
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        pada_path_random(env->space, &rng, path);
        if (!env->space->ops->dead || !env->space->ops->dead(env->space, path)) break;
    }
}

pada_status pada_anchor_init(pada_anchor *anchor, const pada_strategy_env *env,
                             const pada_anchor_settings *settings)
{
    anchor->env = env;
    anchor->settings = *settings;
    if (settings->align == 0) return PADA_OK;
    if (env->is_cut)
        return PADA_FAIL(PADA_EUNSUPPORTED,
                         "--norm local: features of an anchor are those of a whole batch");
    draw_first(env, &anchor->path);
    /* an epoch may begin anywhere between two comparisons */
    const int64_t most = (pada_strategy_steps(env) + settings->every - 1) / settings->every + 1;
    return pada_held_batches_init(&anchor->held, env, settings->images, (int)most);
}

void pada_anchor_deinit(pada_anchor *anchor)
{
    pada_held_batches_deinit(&anchor->held);
}

static pada_status count_right(pada_engine *e, const pada_path *path, const pada_batch *batch,
                               int *right)
{
    pada_results_view view;

    PADA_TRY(pada_engine_forward(e, path, batch, PADA_EVAL));
    PADA_TRY(pada_engine_results(e, &view));
    *right = view.top1;
    return PADA_OK;
}

static pada_status compare(pada_anchor *anchor, pada_engine *e, const pada_path *path,
                           const pada_epoch *epoch, int64_t number)
{
    const int64_t first = comparisons_before(anchor, epoch->first_step);
    const int64_t end =
        comparisons_before(anchor, epoch->first_step + pada_strategy_steps(anchor->env));
    int of_path, of_anchor;
    pada_batch batch;

    if (number % anchor->settings.every != 0) return PADA_OK;
    PADA_TRY(pada_held_batches_next(&anchor->held, epoch, first, end,
                                    number / anchor->settings.every, &batch));
    if (pada_path_equal(anchor->env->space, path, &anchor->path)) return PADA_OK;
    PADA_TRY(count_right(e, path, &batch, &of_path));
    PADA_TRY(count_right(e, &anchor->path, &batch, &of_anchor));
    if (of_path > of_anchor) anchor->path = *path;
    return PADA_OK;
}

pada_status pada_anchor_step(pada_anchor *anchor, pada_engine *e, const pada_path *path,
                             const pada_draws *draws, const pada_epoch *epoch, int64_t number)
{
    if (anchor->settings.align == 0)
        return pada_strategy_single_path(e, path, draws, NULL, 1, &epoch->optim);
    PADA_TRY(pada_engine_keep_taps(e, &anchor->path, &draws->batch));
    pada_strategy_begin_step(e, draws);
    PADA_TRY(pada_engine_forward_aligned(e, path, &draws->batch, anchor->settings.align));
    pada_engine_backward(e);
    PADA_TRY(pada_strategy_end_step(e, draws, &epoch->optim));
    return draws->more ? PADA_OK : compare(anchor, e, path, epoch, number);
}

void pada_anchor_visit(pada_anchor *anchor, pada_state *state)
{
    if (anchor->settings.align > 0)
        pada_strategy_visit_path(anchor->env->space, "magic/anchor", &anchor->path, state);
}
