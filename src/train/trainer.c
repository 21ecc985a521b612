/* trainer.c - the loop: epochs, batches, checkpoints, metrics. */
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "data/image_order.h"
#include "engine/engine_ema.h"
#include "engine/engine_log.h"
#include "engine/engine_regularize.h"
#include "engine/engine_variance.h"
#include "engine/engine_weights.h"
#include "train/family.h"
#include "train/observatory.h"
#include "train/trainer_state.h"

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
        t->labels[i] = data->ops->label(data, PADA_SPLIT_TRAIN, t->images_of[i]);
    t->env.labels = t->labels;
    return PADA_OK;
}

static pada_status make_loaders(trainer *t)
{
    const pada_recipe *recipe = t->desc->recipe;
    const pada_dataset *data = t->desc->data;
    pada_loader_desc desc = {.data = data,
                             .split = PADA_SPLIT_TRAIN,
                             .images = t->images_of,
                             .batch_size = (int)recipe->batch_size,
                             .seed = recipe->seed,
                             .augment = recipe->augment,
                             .share = pada_engine_train_share,
                             .reader = t->desc->engine,
                             .n_threads = t->env.n_threads};

    PADA_TRY(pada_recipe_changes(recipe, &desc.changes));
    if (pada_changes_fit_picks(&desc.changes)) {
        PADA_TRY(pada_engine_hold(t->desc->engine, data, desc.split));
        t->env.on_device = desc.held = pada_engine_holds(t->desc->engine, data, desc.split);
    }
    PADA_TRY(pada_loader_create(&t->loader, &desc));
    if (recipe->validate == 0) return PADA_OK;
    return pada_validation_init(&t->validation, t->desc->engine, data, recipe->validate,
                                desc.batch_size, recipe->seed);
}

/* Room for any epoch of the run: the one to go on from is not known before the log is loaded. */
static pada_status begin_log(trainer *t)
{
    const pada_timetable *table = &t->table;
    const int batches = (t->env.n_images + t->env.batch_size - 1) / t->env.batch_size;
    const int passes[] = {batches * t->n_passes, table->probe_steps * t->n_probe_passes};
    const int images[] = {t->env.n_images * t->n_passes, passes[1] * t->env.batch_size};

    return pada_engine_log_begin(t->desc->engine, table->train_steps,
                                 passes[0] > passes[1] ? passes[0] : passes[1],
                                 images[0] > images[1] ? images[0] : images[1]);
}

static pada_status plan_phases(trainer *t)
{
    const pada_strategy_ops *ops = t->desc->strategy;
    const pada_phase_ops *phases = ops->phases;

    PADA_TRY(pada_timetable_init(&t->table, ops, t->strategy, &t->env));
    t->end = t->table.n_epochs;
    t->home = t->desc->run;
    if (t->table.n_phases > 1 && !t->desc->run)
        return PADA_FAIL(PADA_EINVAL, "method %s trains several supernets: it needs a run folder",
                         ops->name);
    t->n_passes = ops->passes ? ops->passes(t->strategy) : 1;
    if (phases && phases->probe_passes) t->n_probe_passes = phases->probe_passes(t->strategy);
    if (t->table.n_phases > 1 && t->desc->checkpoint_epochs > 0)
        return PADA_FAIL(PADA_EINVAL,
                         "--checkpoint-epochs: method %s trains several supernets, and keeps them",
                         ops->name);
    locate(t);
    return PADA_OK;
}

/* Rates of what the network does not have would be a promise that nobody keeps. */
static pada_status check_drops(const trainer *t)
{
    const pada_recipe *recipe = t->desc->recipe;
    pada_net_room room;

    PADA_TRY(pada_space_measure(t->env.space, &room));
    const bool has_dropout = pada_set_has(room.drops, PADA_DROP_ELEMENTS),
               has_drop_path = pada_set_has(room.drops, PADA_DROP_IMAGES);
    if ((recipe->dropout == 0 || has_dropout) && (recipe->drop_path == 0 || has_drop_path))
        return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "--%s: the network of space %s has nothing to drop there",
                     recipe->dropout == 0 || has_dropout ? "drop-path" : "dropout",
                     t->env.space->ops->name);
}

/* Which images are trained on, and which are held out. */
static pada_status choose_images(trainer *t)
{
    const pada_dataset *data = t->desc->data;
    const int n = data->n_images[PADA_SPLIT_TRAIN];
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof *t->images_of));
    t->images_of = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof(int32_t)));
    int32_t *labels = memory;
    for (int i = 0; i < n; i++)
        labels[i] = data->ops->label(data, PADA_SPLIT_TRAIN, i);
    const pada_status st = pada_hold_out(t->images_of, &t->env.n_images, labels, n, data->n_classes,
                                         t->desc->recipe->hold_out);
    pada_free(labels);
    t->env.images = t->images_of;
    t->env.n_held_out = n - t->env.n_images;
    return st;
}

pada_status pada__trainer_begin(trainer *t)
{
    const pada_train_desc *desc = t->desc;
    const pada_recipe *recipe = desc->recipe;

    PADA_TRY(pada_engine_check_data(desc->engine, desc->data));
    PADA_TRY(pada_engine_divide(desc->engine, desc->team, desc->shards));
    t->env = (pada_strategy_env){.space = pada_engine_space(desc->engine),
                                 .within = desc->within,
                                 .params = pada_engine_params(desc->engine),
                                 .data = desc->data,
                                 .n_classes = desc->data->n_classes,
                                 .n_epochs = (int)recipe->epochs,
                                 .batch_size = (int)recipe->batch_size,
                                 .accumulate = (int)recipe->accumulate,
                                 .is_cut = desc->shards > 1,
                                 .n_threads = pada_engine_threads(desc->engine),
                                 .seed = recipe->seed};
    PADA_TRY(choose_images(t));
    if (t->env.batch_size > t->env.n_images)
        return PADA_FAIL(PADA_EINVAL, "batches of %d images; there are %d to train on",
                         t->env.batch_size, t->env.n_images);
    if (pada_strategy_batches(&t->env) > t->env.n_images / t->env.batch_size)
        return PADA_FAIL(PADA_EINVAL,
                         "--accumulate %d: steps of so many batches of %d images; there are %d to "
                         "train on",
                         t->env.accumulate, t->env.batch_size, t->env.n_images);
    PADA_TRY(check_drops(t));
    if (desc->within && !desc->strategy->narrows)
        return PADA_FAIL(PADA_EINVAL, "method %s trains all choices of a space; leave --ops out",
                         desc->strategy->name);
    PADA_TRY(make_loaders(t));
    PADA_TRY(make_room(t));
    t->started = t->saved = t->epoch_started = pada_clock_seconds();
    PADA_TRY(desc->strategy->init(t->strategy, &t->env, desc->settings));
    if (desc->strategy->network) t->validation.network = desc->strategy->network(t->strategy);
    PADA_TRY(plan_phases(t));
    PADA_TRY(pada_engine_init_weights(desc->engine, recipe->seed));
    if (desc->weights) PADA_TRY(pada_engine_load_weights(desc->engine, desc->weights));
    pada_engine_smooth_labels(desc->engine, recipe->label_smoothing);
    if (recipe->ema > 0) PADA_TRY(pada_engine_ema_begin(desc->engine, recipe->ema));
    pada_engine_log_by_tensor(desc->engine,
                              desc->strategy->by_tensor && desc->strategy->by_tensor(t->strategy));
    PADA_TRY(begin_log(t));
    if (recipe->variance) PADA_TRY(pada_engine_variance_begin(desc->engine));
    return PADA_OK;
}

void pada__trainer_end(trainer *t)
{
    if (t->strategy && t->desc->strategy->deinit) t->desc->strategy->deinit(t->strategy);
    pada_loader_destroy(t->loader);
    pada_validation_deinit(&t->validation);
    (void)pada_engine_divide(t->desc->engine, NULL, 0);
    pada_free(t->strategy);
    pada_free(t->images_of);
    pada_free(t->labels);
    pada_free(t->order);
    pada_free(t->counts);
    pada_free(t->classes);
    pada_room_release(&t->room);
    pada_text_deinit(&t->card_note);
    pada_data_card_deinit(&t->card);
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
    const int64_t n_done = steps_done(t) - t->first_step, n_left = t->table.n_steps - steps_done(t);
    *out = (pada_progress){.epoch = (int)t->position[0],
                           .n_epochs = t->table.n_epochs,
                           .phase = t->now.phase,
                           .n_phases = t->table.n_phases,
                           .step = (int)t->position[1],
                           .n_steps = t->now.n_steps,
                           .loss = t->n_summed > 0 ? t->loss_sum / t->n_summed : NAN,
                           .top1 = t->n_summed > 0 ? 100.0 * t->n_right / t->n_summed : NAN,
                           .seconds = seconds,
                           .seconds_left =
                               n_done > 0 ? seconds / (double)n_done * (double)n_left : NAN,
                           .images = t->images + log.n_images};
}

/* Whether somebody or the clock wants the run to stop now, here or in another process of the team. After every step: what
 * a failure of the team has left is not to be written. */
static pada_status ask_to_stop(trainer *t)
{
    const pada_train_desc *desc = t->desc;
    const bool mine =
        (desc->stop && *desc->stop) ||
        (desc->max_seconds > 0 && pada_clock_seconds() - t->started >= desc->max_seconds);

    return pada_team_any(desc->team, mine, &t->must_stop);
}

static pada_status after_step(trainer *t)
{
    const pada_train_desc *desc = t->desc;

    if (t->must_stop && !is_done(t)) {
        PADA_TRY(pada__trainer_save(t));
        return PADA_FAIL(PADA_ESTOPPED,
                         "stopped after step %" PRId64 " of %" PRId64
                         "; the same command resumes from there",
                         steps_done(t), t->table.n_steps);
    }
    if ((desc->checkpoint_steps > 0 && steps_done(t) % desc->checkpoint_steps == 0) ||
        (t->position[1] == 0 && desc->checkpoint_epochs > 0 &&
         t->position[0] % desc->checkpoint_epochs == 0) ||
        (desc->checkpoint_seconds > 0 &&
         pada_clock_seconds() - t->saved >= desc->checkpoint_seconds) ||
        is_done(t))
        return pada__trainer_save(t);
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

/* Whether an epoch is one of those that are validated. */
static bool is_validated(const trainer *t, const pada_epoch *epoch)
{
    const int64_t every = t->desc->recipe->validate_every;

    return every <= 1 || (epoch->index + 1) % every == 0 || epoch->last;
}

/* Validates the weights that will be evaluated, and keeps them if they are the best. */
static pada_status validate(trainer *t, const pada_epoch *epoch, pada_epoch_metrics *metrics)
{
    const pada_train_desc *desc = t->desc;

    if (!is_validated(t, epoch)) {
        pada_validation_skip(metrics);
        return PADA_OK;
    }
    pada_engine_ema_swap(desc->engine);
    pada_status st =
        pada_validate(&t->validation, desc->engine, &t->within, epoch->index, epoch->last, metrics);
    if (st == PADA_OK && desc->best && is_writer(t))
        st = pada_keeper_offer(&t->keeper, desc->run, desc->best, desc->engine,
                               pada_epoch_metrics_get(metrics, "val_top1"));
    pada_engine_ema_swap(desc->engine);
    return st;
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
    pada_epoch_metrics_add(metrics, epoch->phase, "supernet");
    pada_epoch_metrics_add(metrics, (double)t->now.train_steps, "steps");
    pada_epoch_metrics_add(metrics, log.n_passes, "passes");
    pada_epoch_metrics_add(metrics, log.n_images, "images");
    pada_epoch_metrics_add(metrics, epoch->probes ? NAN : epoch->optim.lr, "lr");
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
    if (t->validation.loader) PADA_TRY(validate(t, epoch, metrics));
    pada_epoch_metrics_add(metrics, pada_clock_seconds() - t->epoch_started, "seconds");
    metrics->weights_hash = pada_engine_weights_hash(desc->engine);
    return pada__trainer_check_weights(t, metrics->weights_hash);
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
    if (is_writer(t)) PADA_TRY(pada_epoch_metrics_append(desc->run, &metrics));
    if (is_writer(t) && t->now.last && t->table.n_phases > 1)
        PADA_TRY(
            pada_family_keep(t->home, epoch->phase, t->now.what.final, &t->within, desc->engine));
    t->position[0]++;
    t->position[1] = 0;
    locate(t);
    t->images = progress.images;
    t->loss_sum = 0;
    t->n_summed = t->n_right = 0;
    PADA_TRY(begin_log(t));
    if (desc->recipe->variance) PADA_TRY(pada_engine_variance_begin(desc->engine));
    t->epoch_started = pada_clock_seconds();
    return PADA_OK;
}

/* Gives the engine the first weights of a phase, unless they are in it or loaded already. */
static pada_status enter_phase(trainer *t)
{
    const pada_train_desc *desc = t->desc;
    const pada_phase_ops *phases = desc->strategy->phases;
    pada_progress progress;

    if (!phases && t->env.within)
        t->within = *t->env.within;
    else if (!phases)
        pada_subspace_init(&t->within, t->env.space);
    else
        PADA_TRY(phases->subspace(t->strategy, t->now.phase, &t->within));
    if (!t->now.first || t->position[1] > 0) return PADA_OK;
    if (t->now.phase > 0)
        PADA_TRY(t->now.what.parent == PADA_FRESH
                     ? pada_engine_init_weights(desc->engine, t->env.seed)
                     : pada_family_inherit(t->home, t->now.what.parent, desc->engine));
    if (desc->listener.phase && t->table.n_phases > 1) {
        report_progress(t, &progress);
        desc->listener.phase(desc->listener.context, &progress, &t->within);
    }
    return PADA_OK;
}

pada_epoch pada__trainer_epoch(const trainer *t)
{
    const pada_timetable_entry *now = &t->now;
    const pada_strategy_ops *strategy = t->desc->strategy;
    const int start =
        strategy->schedule_start ? strategy->schedule_start(t->strategy, now->epoch) : 0;
    pada_epoch epoch = {.index = (int)t->position[0],
                        .first_step = now->first_step,
                        .phase = now->phase,
                        .probes = now->probes,
                        .last = now->last};

    if (!now->probes)
        epoch.optim = pada_recipe_optim(t->desc->recipe, now->what.lr_first + now->epoch - start,
                                        now->what.lr_epochs - start);
    return epoch;
}

/* What batch number `batch` of the next step drops. */
static void set_drops(trainer *t, int batch)
{
    const pada_recipe *recipe = t->desc->recipe;

    pada_engine_set_drops(t->desc->engine,
                          &(pada_drop_step){.seed = recipe->seed,
                                            .step = steps_done(t),
                                            .batch = batch,
                                            .dropout = recipe->dropout,
                                            .drop_path = pada_recipe_drop_path(
                                                recipe, t->now.epoch, t->now.what.n_epochs)});
}

/* The batches of the next step, of n_images that the epoch has left: the gradient is the mean over all images. */
static pada_status run_step(trainer *t, const pada_epoch *epoch, int n_images)
{
    const pada_strategy_ops *strategy = t->desc->strategy;
    const int most = batches_of_now(t) * t->env.batch_size;
    int left = n_images < most ? n_images : most;
    const int whole = left;
    pada_draws draws;

    for (int batch = 0; left > 0; batch++) {
        set_drops(t, batch);
        PADA_TRY(pada_loader_next(t->loader, &draws));
        PADA_ASSERT(draws.batch.n > 0 && draws.batch.n <= left);
        draws.joins = left < whole;
        left -= draws.batch.n;
        draws.more = left > 0;
        if (draws.joins || draws.more) draws.batch.grad_scale = (double)draws.batch.n / whole;
        PADA_TRY((epoch->probes ? strategy->phases->probe : strategy->step)(
            t->strategy, t->desc->engine, &draws, epoch, steps_done(t)));
    }
    return PADA_OK;
}

pada_status pada__trainer_run_epoch(trainer *t)
{
    const pada_train_desc *desc = t->desc;
    const pada_strategy_ops *strategy = desc->strategy;
    const pada_epoch epoch = pada__trainer_epoch(t);
    const int n_images = epoch.probes ? t->now.n_steps * t->env.batch_size : t->env.n_images;
    const int step_images = batches_of_now(t) * t->env.batch_size;
    pada_progress progress;

    PADA_TRY(enter_phase(t));
    PADA_TRY(pada_strategy_begin_epoch(strategy, t->strategy, &t->env, &epoch, t->order));
    PADA_TRY(pada_loader_begin(t->loader, epoch.index, t->order, n_images,
                               (int)t->position[1] * step_images));
    for (;;) {
        PADA_TRY(run_step(t, &epoch, n_images - (int)t->position[1] * step_images));
        t->position[1]++;
        if (t->position[1] == t->now.n_steps) break;
        if (desc->listener.step && pada_clock_seconds() - t->told >= desc->listener.step_seconds) {
            report_progress(t, &progress);
            desc->listener.step(desc->listener.context, &progress);
            t->told = pada_clock_seconds();
        }
        PADA_TRY(ask_to_stop(t));
        PADA_TRY(after_step(t));
    }
    PADA_TRY(ask_to_stop(t)); /* a failure of the team is heard before anything is written, .. */
    PADA_TRY(finish_epoch(t, &epoch));
    PADA_TRY(ask_to_stop(t)); /* .. and what the writer has written is there for all */
    return after_step(t);
}

/* What training together has cost, by step of this process. */
static void tell_traffic(const trainer *t)
{
    const pada_team_traffic sent = pada_team_sent(t->desc->team);
    const double steps = (double)(steps_done(t) - t->first_step);
    char text[120];

    if (!t->desc->team || !t->desc->tells_traffic || steps <= 0) return;
    snprintf(text, sizeof text, "%d processes: each sent %.1f messages and %.1f kB per step",
             pada_team_size(t->desc->team), (double)sent.messages / steps,
             (double)sent.bytes / steps / 1e3);
    tell(t, text);
}

pada_status pada_train_check(const pada_train_desc *desc)
{
    trainer t = {.desc = desc};
    const pada_status st = pada__trainer_begin(&t);

    pada__trainer_end(&t);
    return st;
}

pada_status pada_train(const pada_train_desc *desc)
{
    trainer t = {.desc = desc};
    pada_status st;

    st = pada__trainer_begin(&t);
    if (st == PADA_OK && is_writer(&t) && desc->lock)
        st = pada_run_lock_take(desc->lock, desc->run);
    if (st == PADA_OK) st = pada__trainer_resume(&t);
    while (st == PADA_OK && !is_done(&t))
        st =
            pada__trainer_has_parts(&t) ? pada__trainer_run_parts(&t) : pada__trainer_run_epoch(&t);
    if (st == PADA_OK && is_writer(&t) && t.table.n_phases > 1) st = pada__trainer_drop_parts(&t);
    tell_traffic(&t);
    pada__trainer_end(&t);
    return st;
}
