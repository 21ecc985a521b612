/* train_view.c - what people see of a training: a line per epoch, JSON, event files for TensorBoard. */
#include "cli/train_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/job_team.h"
#include "cli/print.h"

const pada_opt pada_train_view_options[] = {
    {.name = "events",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_train_view, events),
     .default_value = "true",
     .help = "write an event file for TensorBoard into the run folder",
     .session = true},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_train_view, json),
     .help = "one JSON object per epoch: the columns of metrics.csv",
     .session = true},
    {.name = NULL},
};

static void show_step(void *context, const pada_progress *p)
{
    pada_train_view *view = context;
    char left[PADA_DURATION];

    pada_meter_show(&view->meter, false,
                    "epoch %d/%d  step %d/%d  loss %.4f  top-1 %.2f %%  %.0f images/s  %s left",
                    p->epoch + 1, p->n_epochs, p->step, p->n_steps, p->loss, p->top1,
                    (double)p->images / p->seconds, pada_duration(p->seconds_left, left));
}

static void print_json(const pada_epoch_metrics *m)
{
    pada_text text = {0};
    json_t *object = json_object();
    char hash[17];

    for (int i = 0; i < m->n; i++)
        pada_json_set(&text, object, m->items[i].name,
                      isfinite(m->items[i].value) ? json_real(m->items[i].value) : json_null());
    snprintf(hash, sizeof hash, "%016" PRIx64, m->weights_hash);
    pada_json_set(&text, object, "weights_hash", json_string(hash));
    pada_json_set(&text, object, "warnings", json_string(m->warnings));
    pada_json_line(&text, object);
    fputs(pada_text_str(&text), stdout);
    fflush(stdout);
    pada_text_deinit(&text);
}

static void keep_distributions(void *context, const pada_distributions *drawn_from, int n_images)
{
    pada_train_view *view = context;

    if (view->events) pada_train_events_distributions(&view->tensorboard, drawn_from, n_images);
}

static void show_phase(void *context, const pada_progress *p, const pada_subspace *part)
{
    pada_train_view *view = context;
    pada_text text = {0};

    pada_subspace_describe(part, view->space, &text);
    pada_meter_show(&view->meter, true, "supernet %d/%d  %s", p->phase + 1, p->n_phases,
                    pada_text_str(&text));
    pada_meter_end(&view->meter); /* it stays */
    pada_text_deinit(&text);
}

/* A training goes on without events. */
static void write_events(pada_train_view *view, const pada_epoch_metrics *m)
{
    if (!view->events || pada_train_events_epoch(&view->tensorboard, view->run, m) == PADA_OK)
        return;
    pada_text text = {0};
    pada_text_add(&text, "warning: %s; no more events are written", pada_message());
    pada_meter_say(&view->meter, pada_text_str(&text));
    pada_text_deinit(&text);
    view->events = false;
}

/* A supernet is not one network: its number is a mean over random ones. */
static void write_validation(const pada_epoch_metrics *m, double val, char *text, size_t bytes)
{
    const int n = (int)pada_epoch_metrics_get(m, "val_networks");

    if (n == 1)
        snprintf(text, bytes, "  val %.2f %%", val);
    else
        snprintf(text, bytes, "  val %.2f %% (%d random networks)", val, n);
}

static void show_epoch(void *context, const pada_progress *p, const pada_epoch_metrics *m)
{
    const double val = pada_epoch_metrics_get(m, "val_top1"), lr = pada_epoch_metrics_get(m, "lr");
    pada_train_view *view = context;
    char val_text[60] = "", lr_text[40] = "  probes", left[PADA_DURATION];

    write_events(view, m);
    if (view->json) print_json(m);
    if (isfinite(val)) write_validation(m, val, val_text, sizeof val_text);
    if (isfinite(lr)) snprintf(lr_text, sizeof lr_text, "  lr %.4g", lr);
    pada_meter_show(&view->meter, true,
                    "epoch %d/%d  loss %.4f  top-1 %.2f %%%s%s  %.0f images/s  %s left",
                    p->epoch + 1, p->n_epochs, pada_epoch_metrics_get(m, "loss"),
                    pada_epoch_metrics_get(m, "top1"), val_text, lr_text,
                    (double)p->images / p->seconds, pada_duration(p->seconds_left, left));
}

static void show_message(void *context, const char *text)
{
    pada_train_view *view = context;

    pada_meter_say(&view->meter, text);
}

void pada_train_view_init(pada_train_view *view, bool quiet, const char *run,
                          const pada_space *space)
{
    pada_meter_init(&view->meter, quiet || pada_team_rank(pada_job_team()) > 0, view->json);
    view->run = run;
    view->space = space;
}

void pada_train_view_deinit(pada_train_view *view)
{
    pada_train_events_deinit(&view->tensorboard);
}

pada_train_listener pada_train_view_listener(pada_train_view *view)
{
    if (pada_team_rank(pada_job_team()) > 0) return (pada_train_listener){0};
    return (pada_train_listener){.context = view,
                                 .step_seconds = 0.1,
                                 .step = view->meter.mode == PADA_METER_LIVE ? show_step : NULL,
                                 .distributions = keep_distributions,
                                 .epoch = show_epoch,
                                 .phase = show_phase,
                                 .message = show_message};
}
