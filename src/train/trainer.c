/* trainer.c - the loop: epochs, batches, checkpoints, metrics. */
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "train/checkpoint.h"
#include "train/observatory.h"
#include "train/run_config.h"

typedef struct trainer {
    const pada_train_desc *desc;
    pada_strategy_env env;
    void *strategy; /* state_bytes of the strategy */
    pada_loader *loader, *validation;
    int32_t *labels;     /* [n_images] */
    int32_t *order;      /* [n_images] of the epoch */
    int32_t *counts;     /* [n_images] scratch */
    int64_t *classes;    /* [2 * n_classes] scratch */
    int32_t *test_order; /* [n_test] the images of validation */
    int n_test;
    int n_steps;                                /* per epoch */
    int n_passes;                               /* per step, at most */
    int64_t position[2];                        /* the next step: epoch, step of the epoch */
    double started, epoch_started, saved, told; /* clock */
    int64_t images;     /* in the epochs of this process that have ended, less what was loaded */
    int64_t first_step; /* of this process */
    double loss_sum;    /* of the first n_summed draws of the epoch */
    int n_summed, n_right;
    char warned[sizeof((pada_epoch_metrics *)NULL)->warnings]; /* words told so far */
} trainer;

/* ---- making and giving back ---- */

static pada_status make_room(trainer *t)
{
    const pada_dataset *data = t->desc->data;
    const size_t n = (size_t)t->env.n_images;
    void *memory;

    PADA_TRY(pada_calloc(&memory, n, sizeof *t->labels));
    t->labels = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *t->order));
    t->order = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *t->counts));
    t->counts = memory;
    PADA_TRY(pada_calloc(&memory, 2 * (size_t)t->env.n_classes, sizeof *t->classes));
    t->classes = memory;
    PADA_TRY(pada_calloc(&memory, 1, t->desc->strategy->state_bytes));
    t->strategy = memory;
    for (int i = 0; i < t->env.n_images; i++)
        t->labels[i] = data->ops->label(data, PADA_SPLIT_TRAIN, i);
    t->env.labels = t->labels;
    return PADA_OK;
}

static pada_status make_loaders(trainer *t)
{
    const pada_recipe *recipe = t->desc->recipe;
    const pada_dataset *data = t->desc->data;
    pada_loader_desc desc = {.data = data,
                             .split = PADA_SPLIT_TRAIN,
                             .batch_size = (int)recipe->batch_size,
                             .seed = recipe->seed,
                             .augment = recipe->augment};
    void *memory;

    PADA_TRY(pada_engine_hold(t->desc->engine, data, desc.split));
    t->env.on_device = desc.held = pada_engine_holds(t->desc->engine, data, desc.split);
    PADA_TRY(pada_loader_create(&t->loader, &desc));
    if (recipe->validate == 0) return PADA_OK;
    const int available = data->n_images[PADA_SPLIT_TEST];
    t->n_test = recipe->validate < available ? (int)recipe->validate : available;
    desc.split = PADA_SPLIT_TEST;
    desc.augment = false;
    PADA_TRY(pada_engine_hold(t->desc->engine, data, desc.split));
    if (desc.batch_size > available) desc.batch_size = available;
    PADA_TRY(pada_loader_create(&t->validation, &desc));
    PADA_TRY(pada_calloc(&memory, (size_t)t->n_test, sizeof *t->test_order));
    t->test_order = memory;
    for (int i = 0; i < t->n_test; i++)
        t->test_order[i] = i;
    return PADA_OK;
}

static pada_status begin_log(trainer *t)
{
    return pada_engine_log_begin(t->desc->engine, t->n_steps, t->n_steps * t->n_passes,
                                 t->env.n_images * t->n_passes);
}

static pada_status begin(trainer *t)
{
    const pada_train_desc *desc = t->desc;
    const pada_recipe *recipe = desc->recipe;

    const int n_train = desc->data->n_images[PADA_SPLIT_TRAIN];
    const int n_held_out = (int)lround(recipe->hold_out * n_train);

    PADA_TRY(pada_engine_check_data(desc->engine, desc->data));
    t->env = (pada_strategy_env){.space = pada_engine_space(desc->engine),
                                 .params = pada_engine_params(desc->engine),
                                 .data = desc->data,
                                 .n_images = n_train - n_held_out,
                                 .n_held_out = n_held_out,
                                 .n_classes = desc->data->n_classes,
                                 .n_epochs = (int)recipe->epochs,
                                 .batch_size = (int)recipe->batch_size,
                                 .seed = recipe->seed};
    if (t->env.batch_size > t->env.n_images)
        return PADA_FAIL(PADA_EINVAL, "batches of %d images; there are %d to train on",
                         t->env.batch_size, t->env.n_images);
    PADA_TRY(make_loaders(t));
    PADA_TRY(make_room(t));
    t->n_steps = (t->env.n_images + t->env.batch_size - 1) / t->env.batch_size;
    t->started = t->saved = t->epoch_started = pada_clock_seconds();
    PADA_TRY(desc->strategy->init(t->strategy, &t->env, desc->settings));
    t->n_passes = desc->strategy->passes ? desc->strategy->passes(t->strategy) : 1;
    PADA_TRY(pada_engine_init_weights(desc->engine, recipe->seed));
    PADA_TRY(begin_log(t));
    if (recipe->variance) PADA_TRY(pada_engine_variance_begin(desc->engine));
    return PADA_OK;
}

static void end(trainer *t)
{
    if (t->strategy && t->desc->strategy->deinit) t->desc->strategy->deinit(t->strategy);
    pada_loader_destroy(t->loader);
    pada_loader_destroy(t->validation);
    pada_free(t->strategy);
    pada_free(t->labels);
    pada_free(t->order);
    pada_free(t->counts);
    pada_free(t->classes);
    pada_free(t->test_order);
}

static void tell(const trainer *t, const char *text)
{
    const pada_train_listener *listener = &t->desc->listener;

    if (listener->message) listener->message(listener->context, text);
}

/* ---- checkpoints ---- */

static int64_t steps_done(const trainer *t)
{
    return t->position[0] * t->n_steps + t->position[1];
}

/* Everything that the rest of the run depends on. The order of an epoch is drawn again. */
static void visit(trainer *t, pada_state *state)
{
    const pada_train_desc *desc = t->desc;

    pada_state_note(state, "format", "pt");
    pada_state_note(state, "space", t->env.space->ops->name);
    pada_state_note(state, "method", desc->strategy->name);
    pada_state_array(state, "position", PADA_STATE_I64, t->position, 2);
    pada_engine_visit(desc->engine, state);
    if (desc->strategy->visit) desc->strategy->visit(t->strategy, state);
}

static pada_status save(trainer *t)
{
    pada_state *state;
    pada_status st;

    if (!t->desc->run) return PADA_OK;
    PADA_TRY(pada_state_create(&state));
    visit(t, state);
    st = pada_state_finish(state);
    if (st == PADA_OK) st = pada_checkpoint_save(t->desc->run, steps_done(t), state);
    pada_state_destroy(state);
    t->saved = pada_clock_seconds();
    return st;
}

static pada_status load(trainer *t, pada_state *state)
{
    pada_log log;

    visit(t, state);
    PADA_TRY(pada_state_finish(state));
    PADA_TRY(pada_engine_log_read(t->desc->engine, &log));
    if (t->position[0] < 0 || t->position[0] > t->env.n_epochs || t->position[1] < 0 ||
        t->position[1] >= t->n_steps)
        return PADA_FAIL(PADA_EDATA, "a checkpoint at step %" PRId64 " of epoch %" PRId64,
                         t->position[1], t->position[0]);
    /* Only the last batch of an epoch may be smaller, and a checkpoint never ends with it. */
    if (log.n_steps != t->position[1] || log.n_passes < log.n_steps ||
        log.n_passes > (int64_t)log.n_steps * t->n_passes ||
        log.n_images != (int64_t)log.n_passes * t->env.batch_size)
        return PADA_FAIL(PADA_EDATA,
                         "a checkpoint at step %" PRId64
                         " of an epoch with a log of %d steps, %d passes, %d images",
                         t->position[1], log.n_steps, log.n_passes, log.n_images);
    t->images = -log.n_images;
    return PADA_OK;
}

/* Tells the lines of a text one by one. */
static void tell_lines(const trainer *t, char *lines)
{
    for (char *line = lines, *newline; (newline = strchr(line, '\n')); line = newline + 1) {
        *newline = '\0';
        tell(t, line);
    }
}

/* Goes on from the newest checkpoint, if there is one. */
static pada_status resume(trainer *t)
{
    pada_text notes = {0};
    pada_state *state = NULL;
    pada_status st;

    if (!t->desc->run) return PADA_OK;
    PADA_TRY(pada_run_store(t->desc->run, t->desc->config, t->desc->env));
    st = pada_checkpoint_open(&state, t->desc->run, &notes);
    if (notes.data) tell_lines(t, notes.data);
    if (st == PADA_OK && state) st = load(t, state);
    if (st == PADA_OK && state && steps_done(t) < t->env.n_epochs * (int64_t)t->n_steps) {
        char text[120];
        snprintf(text, sizeof text, "going on at epoch %" PRId64 ", step %" PRId64,
                 t->position[0] + 1, t->position[1] + 1);
        tell(t, text);
    }
    t->first_step = steps_done(t);
    pada_state_destroy(state);
    pada_text_deinit(&notes);
    if (st == PADA_OK) st = pada_epoch_metrics_rewind(t->desc->run, (int)t->position[0]);
    return st;
}

/* ---- epochs ---- */

static void report_progress(trainer *t, pada_progress *out)
{
    pada_log log;

    (void)pada_engine_log_read(t->desc->engine,
                               &log); /* a failure stands in the log for the next reader */
    for (; t->n_summed < log.n_images; t->n_summed++) {
        t->loss_sum += log.losses[t->n_summed];
        t->n_right += log.ranks[t->n_summed] < 1;
    }
    const double seconds = pada_clock_seconds() - t->started;
    const int64_t n_done = steps_done(t) - t->first_step,
                  n_left = t->env.n_epochs * (int64_t)t->n_steps - steps_done(t);
    *out = (pada_progress){.epoch = (int)t->position[0],
                           .n_epochs = t->env.n_epochs,
                           .step = (int)t->position[1],
                           .n_steps = t->n_steps,
                           .loss = t->n_summed > 0 ? t->loss_sum / t->n_summed : NAN,
                           .top1 = t->n_summed > 0 ? 100.0 * t->n_right / t->n_summed : NAN,
                           .seconds = seconds,
                           .seconds_left =
                               n_done > 0 ? seconds / (double)n_done * (double)n_left : NAN,
                           .images = t->images + log.n_images};
}

/* Whether somebody or the clock wants the run to stop now. */
static bool must_stop(const trainer *t)
{
    const pada_train_desc *desc = t->desc;

    if (desc->stop && *desc->stop) return true;
    return desc->max_seconds > 0 && pada_clock_seconds() - t->started >= desc->max_seconds;
}

static pada_status after_step(trainer *t)
{
    const pada_train_desc *desc = t->desc;
    const bool last = steps_done(t) == t->env.n_epochs * (int64_t)t->n_steps;

    if (must_stop(t) && !last) {
        PADA_TRY(save(t));
        return PADA_FAIL(PADA_ESTOPPED,
                         "stopped after step %" PRId64 " of %" PRId64
                         "; the same command goes on from there",
                         steps_done(t), t->env.n_epochs * (int64_t)t->n_steps);
    }
    if ((desc->checkpoint_steps > 0 && steps_done(t) % desc->checkpoint_steps == 0) ||
        (desc->checkpoint_seconds > 0 &&
         pada_clock_seconds() - t->saved >= desc->checkpoint_seconds) ||
        last)
        return save(t);
    return PADA_OK;
}

/* The test images, each batch on a uniformly random path, as the official code logs it: a number
 * to watch, which nothing depends on. */
static pada_status validate(trainer *t, pada_epoch_metrics *metrics)
{
    const int n = t->n_test;
    pada_path_sampler uniform;
    double loss = 0;
    int64_t top1 = 0;
    pada_draws draws;

    pada_path_sampler_init(&uniform, t->env.space);
    PADA_TRY(pada_loader_begin(t->validation, 0, t->test_order, n, 0));
    for (pada_loader_next(t->validation, &draws); draws.batch.n > 0;
         pada_loader_next(t->validation, &draws)) {
        pada_results_view view;
        pada_path path;
        pada_path_sampler_draw(&uniform, ~t->env.seed, t->position[0] * n + draws.first, true,
                               &path);
        PADA_TRY(pada_engine_forward(t->desc->engine, &path, &draws.batch, PADA_EVAL));
        PADA_TRY(pada_engine_results(t->desc->engine, &view));
        loss += view.loss * view.n;
        top1 += view.top1;
    }
    pada_epoch_metrics_add(metrics, loss / n, "val_loss");
    pada_epoch_metrics_add(metrics, 100.0 * (double)top1 / n, "val_top1");
    return PADA_OK;
}

/* Tells each warning once per process. */
static void warn(trainer *t, const pada_epoch_metrics *metrics)
{
    for (const char *word = metrics->warnings; *word;) {
        const size_t n = strcspn(word, ";");
        char one[40];
        snprintf(one, sizeof one, "%.*s", (int)n, word);
        if (!strstr(t->warned, one)) {
            char text[160];
            snprintf(text, sizeof text, "warning: epoch %" PRId64 ": %s", t->position[0] + 1,
                     pada_warning_text(one));
            tell(t, text);
            snprintf(t->warned + strlen(t->warned), sizeof t->warned - strlen(t->warned), "%s;",
                     one);
        }
        word += n + (word[n] == ';');
    }
}

static pada_status measure(trainer *t, const pada_epoch *epoch, pada_epoch_metrics *metrics)
{
    const pada_train_desc *desc = t->desc;
    pada_distributions drawn_from;
    pada_log log;

    PADA_TRY(pada_engine_log_read(desc->engine, &log));
    desc->strategy->distributions(t->strategy, epoch, &drawn_from);
    if (desc->listener.distributions)
        desc->listener.distributions(desc->listener.context, &drawn_from, t->env.n_images);
    *metrics = (pada_epoch_metrics){0};
    pada_epoch_metrics_add(metrics, epoch->index, "epoch");
    pada_epoch_metrics_add(metrics, (double)(epoch->first_step + t->n_steps), "steps");
    pada_epoch_metrics_add(metrics, log.n_passes, "passes");
    pada_epoch_metrics_add(metrics, log.n_images, "images");
    pada_epoch_metrics_add(metrics, epoch->sgd.lr, "lr");
    pada_observe(&(pada_observation){.env = &t->env,
                                     .log = &log,
                                     .drawn_from = &drawn_from,
                                     .order = t->order,
                                     .counts = t->counts,
                                     .classes = t->classes},
                 metrics);
    if (desc->recipe->variance) {
        pada_variance variance;
        pada_engine_variance_read(desc->engine, &variance);
        pada_epoch_metrics_add(metrics, variance.candidates, "gv_candidates");
        pada_epoch_metrics_add(metrics, variance.all, "gv_all");
    }
    if (desc->recipe->validate > 0) PADA_TRY(validate(t, metrics));
    pada_epoch_metrics_add(metrics, pada_clock_seconds() - t->epoch_started, "seconds");
    metrics->weights_hash = pada_engine_weights_hash(desc->engine);
    return PADA_OK;
}

static pada_status finish_epoch(trainer *t, const pada_epoch *epoch)
{
    const pada_train_desc *desc = t->desc;
    pada_epoch_metrics metrics;
    pada_progress progress;
    pada_log log;

    PADA_TRY(measure(t, epoch, &metrics));
    PADA_TRY(pada_engine_log_read(desc->engine, &log));
    if (desc->strategy->end_epoch)
        PADA_TRY(desc->strategy->end_epoch(t->strategy, &log, epoch, t->order));
    report_progress(t, &progress);
    warn(t, &metrics);
    if (desc->listener.epoch) desc->listener.epoch(desc->listener.context, &progress, &metrics);
    if (desc->run) PADA_TRY(pada_epoch_metrics_append(desc->run, &metrics));
    t->position[0]++;
    t->position[1] = 0;
    t->images = progress.images;
    t->loss_sum = 0;
    t->n_summed = t->n_right = 0;
    PADA_TRY(begin_log(t));
    if (desc->recipe->variance) PADA_TRY(pada_engine_variance_begin(desc->engine));
    t->epoch_started = pada_clock_seconds();
    return PADA_OK;
}

static pada_status run_epoch(trainer *t)
{
    const pada_train_desc *desc = t->desc;
    const int index = (int)t->position[0];
    const int start =
        desc->strategy->schedule_start ? desc->strategy->schedule_start(t->strategy, index) : 0;
    const pada_epoch epoch = {.index = index,
                              .first_step = t->position[0] * t->n_steps,
                              .sgd = pada_recipe_sgd(desc->recipe, start, index)};
    pada_progress progress;
    pada_draws draws;

    PADA_TRY(desc->strategy->begin_epoch(t->strategy, &epoch, t->order));
    PADA_TRY(pada_loader_begin(t->loader, epoch.index, t->order, t->env.n_images,
                               (int)t->position[1] * t->env.batch_size));
    for (;;) {
        pada_loader_next(t->loader, &draws);
        PADA_ASSERT(draws.batch.n > 0);
        PADA_TRY(desc->strategy->step(t->strategy, desc->engine, &draws, &epoch, steps_done(t)));
        t->position[1]++;
        if (t->position[1] == t->n_steps) break;
        if (desc->listener.step && pada_clock_seconds() - t->told >= desc->listener.step_seconds) {
            report_progress(t, &progress);
            desc->listener.step(desc->listener.context, &progress);
            t->told = pada_clock_seconds();
        }
        PADA_TRY(after_step(t));
    }
    PADA_TRY(finish_epoch(t, &epoch));
    return after_step(t);
}

pada_status pada_train(const pada_train_desc *desc)
{
    trainer t = {.desc = desc};
    pada_status st;

    st = begin(&t);
    if (st == PADA_OK) st = resume(&t);
    while (st == PADA_OK && t.position[0] < t.env.n_epochs)
        st = run_epoch(&t);
    end(&t);
    return st;
}
