/* cmd_train.c - `pada train`: a supernet from a data set, in a run folder. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/data_open.h"
#include "cli/job_team.h"
#include "cli/stop_signal.h"
#include "cli/train_view.h"
#include "engine/engine_weights.h"
#include "run/training.h"

typedef struct train {
    pada_training training;
    pada_train_view view;
} train;

static pada_status prepare(void *self, int argc, const char *const *argv)
{
    return pada_training_prepare(&((train *)self)->training, argc, argv);
}

static pada_status bind(void *self, pada_options *options)
{
    train *t = self;

    PADA_TRY(pada_training_bind(&t->training, options));
    return pada_options_bind(options, pada_train_view_options, &t->view);
}

static pada_status train_supernet(train *t, const pada_options *options)
{
    if (pada_options_n_words(options) > 0)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help train`",
                         pada_options_word(options, 0));
    return pada_training_run(
        &t->training, options,
        &(pada_training_host){.open_data = pada_data_open,
                              .is_quiet = t->training.train_args.quiet || t->view.json,
                              .stop = pada_stop_signal(),
                              .team = pada_job_team(),
                              .listener = pada_train_view_listener(&t->view)});
}

static pada_status run(void *self, const pada_options *options)
{
    train *t = self;
    const pada_training *training = &t->training;

    pada_train_view_init(&t->view, training->train_args.quiet, training->out, &training->space);
    const pada_status st = train_supernet(t, options);
    pada_meter_end(&t->view.meter);
    if (st == PADA_OK && !t->view.json)
        printf("%s: %s, %" PRId64 " epochs, weights %016" PRIx64 "\n", training->out,
               training->strategy->name, training->recipe.epochs,
               pada_engine_weights_hash(training->engine));
    pada_train_view_deinit(&t->view);
    pada_training_close(&t->training);
    return st;
}

static void deinit(void *self)
{
    pada_training_deinit(&((train *)self)->training);
}

const pada_command pada_command_train = {
    .name = "train",
    .summary = "train a supernet, in a run folder that can be continued",
    .details =
        "Makes a run folder, or resumes one: the same command after a signal, a time "
        "limit or a power failure ends with the same bits. A folder that was begun with other "
        "options is refused. Which further options there are depends on --method. Progress "
        "goes to standard error; metrics.csv has a row per epoch.",
    .usage = "pada train --out RUN [--method NAME] [--data DIR] [options]",
    .varies_with = "method",
    .examples =
        "pada train --data cifar-10-batches-bin --out runs/pada\n"
        "pada train --method spos --data my/images --image-size 32 --epochs 50 --out runs/b\n"
        "pada train --method pada --help",
    .state_bytes = sizeof(train),
    PADA_SPACE_ARGS(train, training.space_args),
    .prepare = prepare,
    .bind = bind,
    .stoppable = true,
    .in_team = true,
    .run = run,
    .deinit = deinit,
};
