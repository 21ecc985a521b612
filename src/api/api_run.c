/* api_run.c - trainings in run folders of include/pada.h: the commands' options, given as flags. */
#include <math.h>
#include <string.h>

#include "api/api_parts.h"
#include "base/mem.h"
#include "run/retraining.h"
#include "run/training.h"

enum { MAX_FLAGS = 10000 };

#define STEP_SECONDS 0.1 /* between two calls of an observer */

/* ---- who follows it ---- */

typedef struct follower {
    const pada_observer *observer; /* or NULL */
    volatile sig_atomic_t stop;
} follower;

static void show_step(void *context, const pada_progress *p)
{
    follower *f = context;
    const pada_standing standing = {.n_done = p->step,
                                    .n_total = p->n_steps,
                                    .epoch = p->epoch,
                                    .n_epochs = p->n_epochs,
                                    .top1 = p->top1,
                                    .loss = p->loss,
                                    .seconds = p->seconds,
                                    .seconds_left = p->seconds_left};

    if (f->observer->progress(f->observer->user, &standing) != 0) f->stop = 1;
}

static void show_epoch(void *context, const pada_progress *p, const pada_epoch_metrics *metrics)
{
    (void)metrics;
    show_step(context, p);
}

static void show_message(void *context, const char *text)
{
    const follower *f = context;

    f->observer->message(f->observer->user, text);
}

static pada_training_host host_of(follower *f)
{
    const bool sees = f->observer && f->observer->progress;
    const bool hears = f->observer && f->observer->message;

    return (pada_training_host){.stop = &f->stop,
                                .listener = {.context = f,
                                             .step_seconds = STEP_SECONDS,
                                             .step = sees ? show_step : NULL,
                                             .epoch = sees ? show_epoch : NULL,
                                             .message = hears ? show_message : NULL}};
}

/* ---- options ---- */

/* Flags, and --out behind them, which therefore wins. */
typedef struct words {
    const char **items; /* [n], owned; the strings are borrowed */
    int n;
    pada_text out;      /* "--out=RUN" */
    const char *config; /* of --config */
} words;

static const pada_opt config_table[] = {
    {.name = "config",
     .type = PADA_OPT_STRING,
     .offset = offsetof(words, config),
     .meta = "FILE.yaml",
     .session = true},
    {.name = NULL},
};

static pada_status collect_words(words *w, const char *run, const char *const *flags)
{
    int n = 0;
    void *memory;

    while (flags && flags[n])
        if (n++ == MAX_FLAGS)
            return PADA_FAIL(PADA_EINVAL, "more than %d flags; is there a NULL behind the last?",
                             (int)MAX_FLAGS);
    pada_text_add(&w->out, "--out=%s", run);
    PADA_TRY(w->out.status);
    PADA_TRY(pada_calloc(&memory, (size_t)n + 1, sizeof *w->items));
    w->items = memory;
    for (int i = 0; i < n; i++)
        w->items[i] = flags[i];
    w->items[n] = w->out.data;
    w->n = n + 1;
    return PADA_OK;
}

static void words_deinit(words *w)
{
    pada_free((void *)w->items);
    pada_text_deinit(&w->out);
}

/* Gives the values to bound options. */
static pada_status take_words(words *w, pada_options *options)
{
    PADA_TRY(pada_options_bind(options, config_table, w));
    PADA_TRY(pada_options_parse(options, w->n, w->items));
    if (pada_options_n_words(options) > 0)
        return PADA_FAIL(PADA_EINVAL, "'%s' is no flag", pada_options_word(options, 0));
    return w->config ? pada_options_load(options, w->config) : PADA_OK;
}

/* ---- the two ---- */

static pada_status train(pada_training *t, words *w, pada_options *options, follower *f)
{
    const pada_training_host host = host_of(f);

    PADA_TRY(pada_space_args_prepare(&t->space_args, w->n, w->items));
    PADA_TRY(pada_training_prepare(t, w->n, w->items));
    PADA_TRY(pada_training_bind(t, options));
    PADA_TRY(take_words(w, options));
    return pada_training_run(t, options, &host);
}

pada_status pada_run_train(const char *run, const char *const *flags, const pada_observer *observer)
{
    follower f = {.observer = observer};
    pada_options *options = NULL;
    pada_training t = {0};
    words w = {0};

    if (!run) return pada__fail_null(__func__);
    pada_status st = collect_words(&w, run, flags);
    if (st == PADA_OK) st = pada_options_create(&options);
    if (st == PADA_OK) st = train(&t, &w, options, &f);
    pada_training_close(&t);
    pada_options_destroy(options);
    pada_training_deinit(&t);
    words_deinit(&w);
    return st;
}

static pada_status retrain(pada_retraining *r, words *w, pada_options *options, follower *f)
{
    const pada_training_host host = host_of(f);
    pada_retrain_results results = {0};

    PADA_TRY(pada_space_args_prepare(&r->space_args, w->n, w->items));
    PADA_TRY(pada_retraining_prepare(r, w->n, w->items));
    PADA_TRY(pada_retraining_bind(r, options));
    PADA_TRY(take_words(w, options));
    const pada_status st = pada_retraining_run(r, options, &host, &results);
    pada_retrain_results_deinit(&results);
    return st;
}

pada_status pada_run_retrain(const char *run, const char *const *flags,
                             const pada_observer *observer)
{
    follower f = {.observer = observer};
    pada_options *options = NULL;
    pada_retraining r = {0};
    words w = {0};

    if (!run) return pada__fail_null(__func__);
    pada_status st = collect_words(&w, run, flags);
    if (st == PADA_OK) st = pada_options_create(&options);
    if (st == PADA_OK) st = retrain(&r, &w, options, &f);
    pada_retraining_close(&r);
    pada_options_destroy(options);
    pada_retraining_deinit(&r);
    words_deinit(&w);
    return st;
}
