/* api_net.c - supernets of include/pada.h. */
#include "api/api_parts.h"
#include "base/mem.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "study/evaluate.h"

enum { DEFAULT_BATCH = 512 };

pada_status pada_net_create(pada_net **out, const pada_space *space, const pada_net_config *config)
{
    pada_engine_desc desc = {.space = space, .batch_size = DEFAULT_BATCH, .mode = PADA_EVAL};
    pada_engine_args args;
    pada_net *net;
    void *memory;
    pada_status st;

    if (!out) return pada__fail_null(__func__);
    *out = NULL;
    if (!space) return pada__fail_null(__func__);
    PADA_TRY(pada__read_config(config, &args, &desc.batch_size));
    PADA_TRY(pada_engine_desc_from_args(&desc, &args));
    if (space->config.blocks == 0) desc.statistics = PADA_STATISTICS_RUNNING;
    PADA_TRY(pada_calloc(&memory, 1, sizeof *net));
    net = memory;
    net->batch_size = desc.batch_size;
    st = pada__lock_create(&net->lock);
    if (st == PADA_OK) st = pada_engine_create(&net->engine, &desc);
    if (st == PADA_OK) st = pada_engine_init_weights(net->engine, 0);
    if (st != PADA_OK) {
        pada_net_destroy(net);
        return st;
    }
    *out = net;
    return PADA_OK;
}

void pada_net_destroy(pada_net *net)
{
    if (!net) return;
    pada_engine_destroy(net->engine);
    pada__lock_destroy(net->lock);
    pada_free(net);
}

/* The engine, for this thread alone until it is given back; others wait. */
static pada_engine *take_engine(const pada_net *net)
{
    pada__lock_take(net->lock);
    return net->engine;
}

static pada_status give_back(const pada_net *net, pada_status st)
{
    return pada__lock_give_back(net->lock, st);
}

pada_status pada_net_init(pada_net *net, uint64_t seed)
{
    if (!net) return pada__fail_null(__func__);
    return give_back(net, pada_engine_init_weights(take_engine(net), seed));
}

pada_status pada_net_load(pada_net *net, const char *path)
{
    if (!net || !path) return pada__fail_null(__func__);
    return give_back(net, pada_engine_load_weights(take_engine(net), path));
}

pada_status pada_net_save(const pada_net *net, const char *path)
{
    if (!net || !path) return pada__fail_null(__func__);
    return give_back(net, pada_engine_save_weights(take_engine(net), path));
}

pada_status pada_net_evaluate(pada_net *net, const pada_path *path, const pada_images *images,
                              int limit, pada_evaluation *out)
{
    pada_evaluator *evaluator;
    pada_evaluation result;

    if (!net || !path || !images || !out) return pada__fail_null(__func__);
    PADA_TRY(pada__check_path(pada_engine_space(net->engine), path));
    PADA_TRY(pada_evaluator_create(&evaluator, &(pada_evaluator_desc){
                                                   .data = images->data,
                                                   .split = images->split,
                                                   .limit = limit,
                                                   .batch_size = net->batch_size,
                                               }));
    const pada_status st =
        give_back(net, pada_evaluator_run(evaluator, take_engine(net), path, NULL, &result));
    pada_evaluator_destroy(evaluator);
    if (st == PADA_OK) *out = result;
    return st;
}

static pada_status predict(pada_engine *engine, const pada_path *path, const pada_batch *batch,
                           double *scores)
{
    PADA_TRY(pada_engine_forward(engine, path, batch, PADA_EVAL));
    PADA_TRY(pada_engine_finish(engine));
    pada_engine_logits(engine, scores);
    return PADA_OK;
}

pada_status pada_net_predict(pada_net *net, const pada_path *path, const float *pixels, int n,
                             float *logits)
{
    void *labels = NULL, *scores = NULL;
    pada_status st;

    if (!net || !path || !pixels || !logits) return pada__fail_null(__func__);
    const pada_space *space = pada_engine_space(net->engine);
    const int classes = space->config.classes;
    PADA_TRY(pada__check_path(space, path));
    if (n < 1 || n > net->batch_size)
        return PADA_FAIL(PADA_EINVAL, "%d images are not in 1 to %d, the batch size", n,
                         net->batch_size);
    /* Of no class in particular: only the loss depends on labels, and nobody asks for it. */
    if ((st = pada_calloc(&labels, (size_t)n, sizeof(int32_t))) != PADA_OK) goto out;
    if ((st = pada_calloc(&scores, (size_t)n, (size_t)classes * sizeof(double))) != PADA_OK)
        goto out;
    const pada_batch batch = {.n = n, .images = pixels, .labels = labels};
    if ((st = give_back(net, predict(take_engine(net), path, &batch, scores))) != PADA_OK) goto out;
    for (int64_t i = 0; i < (int64_t)n * classes; i++)
        logits[i] = (float)((const double *)scores)[i];
out:
    pada_free(labels);
    pada_free(scores);
    return st;
}
