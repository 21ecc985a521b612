/* cmd_probe.c - `pada probe`: what theory says of a run, measured at its checkpoints. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/data_open.h"
#include "cli/print_metrics.h"
#include "cli/stop_signal.h"
#include "probe/probe.h"
#include "run/training.h"

typedef struct probe {
    pada_probe_settings settings;
    pada_engine_args engine_args;
    const char *data;
    bool newest, json;

    const pada_probe_kind *kind;
    const char *run;
    pada_training training; /* of the run */
} probe;

static const pada_opt options_table[] = {
    {.name = "newest",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(probe, newest),
     .help = "only the newest checkpoint"},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(probe, data),
     .meta = "DIR|builtin",
     .help = "the images of the training, where they are elsewhere now"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(probe, json),
     .help = "one JSON object per checkpoint, with all columns"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    probe *p = self;

    PADA_TRY(pada_options_bind(options, options_table, p));
    PADA_TRY(pada_options_bind(options, pada_probe_options, &p->settings));
    return pada_options_bind(options, pada_engine_options, &p->engine_args);
}

/* ---- rows ---- */

static void print_header(const probe *p)
{
    printf("%6s %8s", "epoch", "step");
    for (const pada_probe_column *c = p->kind->columns; c->name; c++)
        if (c->heading) printf(" %10s", c->heading);
    printf("\n");
}

static void print_row(const probe *p, const pada_probe_row *row)
{
    printf("%6d %8" PRId64, row->epoch, row->step);
    for (int i = 0; p->kind->columns[i].name; i++) {
        if (!p->kind->columns[i].heading) continue;
        if (isfinite(row->values[i]))
            printf(" %10.4g", row->values[i]);
        else
            printf(" %10s", "-");
    }
    printf("\n");
}

static void print_object(const probe *p, const pada_probe_row *row)
{
    json_t *object = json_object();
    pada_text out = {0};

    pada_json_set(&out, object, "kind", json_string(p->kind->name));
    pada_json_set(&out, object, "epoch", json_integer(row->epoch));
    pada_json_set(&out, object, "step", json_integer(row->step));
    for (int i = 0; p->kind->columns[i].name; i++)
        pada_json_set_number(&out, object, p->kind->columns[i].name, row->values[i]);
    pada_json_line(&out, object);
    fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
}

static void show_row(void *user, const pada_probe_row *row)
{
    const probe *p = user;

    (p->json ? print_object : print_row)(p, row);
    fflush(stdout); /* the next one may take minutes */
}

/* ---- the command ---- */

static pada_status measure(probe *p, pada_options **config, const volatile sig_atomic_t *stop)
{
    const pada_training_host host = {.open_data = pada_data_open, .is_quiet = p->json};

    PADA_TRY(pada_training_reopen(&p->training, config, p->run, &p->engine_args, p->data, &host));
    const pada_train_desc desc = pada_training_describe(&p->training);
    if (!p->json) print_header(p);
    return pada_probe_run(&(pada_probe_desc){.kind = p->kind,
                                             .settings = &p->settings,
                                             .training = &desc,
                                             .run = p->run,
                                             .newest = p->newest,
                                             .stop = stop,
                                             .user = p,
                                             .row = show_row});
}

static pada_status run(void *self, const pada_options *options)
{
    probe *p = self;
    pada_options *config = NULL;

    if (pada_options_n_words(options) != 2)
        return PADA_FAIL(PADA_EINVAL, "give a kind and a run folder; see `pada help probe`");
    PADA_TRY(pada_probe_find(&p->kind, pada_options_word(options, 0)));
    p->run = pada_options_word(options, 1);
    const pada_status st = measure(p, &config, pada_stop_signal());
    pada_training_close(&p->training);
    pada_options_destroy(config);
    pada_training_deinit(&p->training);
    return st;
}

const pada_command pada_command_probe = {
    .name = "probe",
    .summary = "measure gradients at the checkpoints of a run, against what theory says of them",
    .details =
        "variance: how much the gradient of a step varies, and what its mean is off by, with paths and images drawn "
        "uniformly or as the run draws them, with and without the weights that undo it. bounds: whether the norm of "
        "the last layer stands for the gradient norm of an image. trainability: the condition number of the tangent "
        "kernel (log10; less is easier to train). A row per checkpoint, all numbers in RUN/probes/KIND.csv; rows that "
        "are there are not measured again. A training with --checkpoint-epochs keeps more than its newest two.",
    .usage = "pada probe KIND RUN [options]",
    .words = "variance|bounds|trainability RUN",
    .examples = "pada train --checkpoint-epochs 10 --epochs 50 --out runs/a\n"
                "pada probe variance runs/a\n"
                "pada probe trainability runs/a --newest --paths 50",
    .state_bytes = sizeof(probe),
    .bind = bind,
    .stoppable = true,
    .run = run,
};
