/* moment.c - a run as it was at one of its checkpoints. */
#include "train/moment.h"

#include "train/trainer_state.h"

static pada_status visit(trainer *t, const char *checkpoint,
                         pada_status (*use)(void *user, const pada_moment *moment), void *user)
{
    const pada_strategy_ops *strategy = t->desc->strategy;

    PADA_TRY(pada__trainer_begin(t));
    PADA_TRY(pada__trainer_load(t, checkpoint));
    const pada_epoch epoch = pada__trainer_epoch(t);
    pada_moment moment = {.desc = t->desc,
                          .env = &t->env,
                          .engine = t->desc->engine,
                          .loader = t->loader,
                          .epoch = epoch.index,
                          .step = steps_done(t)};
    /* Some strategies know only then what the epoch draws from. */
    PADA_TRY(pada_strategy_begin_epoch(strategy, t->strategy, &t->env, &epoch, t->order));
    strategy->distributions(t->strategy, &epoch, &moment.drawn_from);
    pada_engine_zero_grad(moment.engine);
    return use(user, &moment);
}

pada_status pada_moment_visit(const pada_train_desc *desc, const char *checkpoint,
                              pada_status (*use)(void *user, const pada_moment *moment), void *user)
{
    pada_train_desc alone = *desc;
    trainer t = {.desc = &alone};

    if (desc->strategy->phases)
        return PADA_FAIL(PADA_EINVAL,
                         "method %s trains several supernets, whose gradients are not looked at",
                         desc->strategy->name);
    alone.run = NULL;
    const pada_status st = visit(&t, checkpoint, use, user);
    pada__trainer_end(&t);
    return st;
}
