/* cmd_retrain.c - `pada retrain`: one network alone, in its final form and size. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/data_open.h"
#include "cli/job_team.h"
#include "cli/stop_signal.h"
#include "cli/train_view.h"
#include "run/retraining.h"

typedef struct retrain {
    pada_retraining retraining;
    pada_train_view view;
} retrain;

static pada_status prepare(void *self, int argc, const char *const *argv)
{
    return pada_retraining_prepare(&((retrain *)self)->retraining, argc, argv);
}

static pada_status bind(void *self, pada_options *options)
{
    retrain *r = self;

    PADA_TRY(pada_retraining_bind(&r->retraining, options));
    return pada_options_bind(options, pada_train_view_options, &r->view);
}

static pada_status train_network(retrain *r, const pada_options *options,
                                 pada_retrain_results *results)
{
    if (pada_options_n_words(options) > 0)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help retrain`",
                         pada_options_word(options, 0));
    const pada_status st = pada_retraining_run(
        &r->retraining, options,
        &(pada_training_host){.open_data = pada_data_open,
                              .is_quiet = r->retraining.train_args.quiet || r->view.json,
                              .stop = pada_stop_signal(),
                              .team = pada_job_team(),
                              .listener = pada_train_view_listener(&r->view)},
        results);
    pada_meter_end(&r->view.meter);
    return st;
}

static pada_status print_results(const retrain *r, const pada_retrain_results *results)
{
    const pada_retraining *what = &r->retraining;
    pada_text text = {0};

    if (!r->view.json)
        pada_text_add(&text, "%s: %s, %" PRId64 " epochs, weights %016" PRIx64 "\n", what->out,
                      what->arch, what->recipe.epochs, what->weights_hash);
    pada_retrain_results_print(results, r->view.json, &text);
    const pada_status st = text.status;
    if (st == PADA_OK) fputs(text.data, stdout);
    pada_text_deinit(&text);
    return st;
}

static pada_status run(void *self, const pada_options *options)
{
    retrain *r = self;
    pada_retrain_results results = {0};

    pada_train_view_init(&r->view, r->retraining.train_args.quiet, r->retraining.out,
                         &r->retraining.about.space);
    pada_status st = train_network(r, options, &results);
    if (st == PADA_OK && results.n > 0) st = print_results(r, &results);
    pada_retrain_results_deinit(&results);
    pada_train_view_deinit(&r->view);
    pada_retraining_close(&r->retraining);
    return st;
}

static void deinit(void *self)
{
    pada_retraining_deinit(&((retrain *)self)->retraining);
}

const pada_command pada_command_retrain = {
    .name = "retrain",
    .summary = "train one network alone, in its final form and size",
    .details =
        "Trains a network by itself, by a recipe: the numbers that the literature of its space "
        "uses, each of which is an option. The network is --arch, or the best one of a supernet "
        "(--from). Makes a run folder, or resumes one as `pada train` does. At the end " PADA_LAST_FILE
        " and " PADA_BEST_FILE
        " are models, files that say all about themselves, and " PADA_TEST_FILE
        " has the accuracy on the test images, also class by class, " PADA_CONFUSION_FILE
        " what was taken for what. The best weights are those that did best on val; "
        "chosen on test (--keep-best test), their accuracy there is optimistic.",
    .usage = "pada retrain --arch ARCH|--from RUN --out RUN [--recipe NAME] [--data DIR] [options]",
    .examples =
        "pada retrain --from runs/a --out runs/a-final\n"
        "pada retrain --space darts --arch 'Genotype(..)' --data cifar-10-batches-bin --out runs/d\n"
        "pada retrain --arch '|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|nor_conv_3x3~2|' "
        "--epochs 12 --out runs/c",
    .state_bytes = sizeof(retrain),
    PADA_SPACE_ARGS(retrain, retraining.space_args),
    .prepare = prepare,
    .bind = bind,
    .stoppable = true,
    .in_team = true,
    .run = run,
    .deinit = deinit,
};
