/* train_events.c - what a training tells TensorBoard. */
#include "report/train_events.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "base/mem.h"
#include "report/draw.h"

enum { DRAWING_EPOCHS = 10 }; /* between two drawings */

/* The subject of a metric, by how its name begins; the first that fits. */
static const struct {
    const char *beginning, *subject;
} subjects[] = {
    {"loss", "training"},  {"supernet", "training"}, {"top", "training"},    {"lr", "training"},
    {"grad_", "training"}, {"clipped", "training"},  {"val_", "validation"}, {"p_", "paths"},
    {"path_", "paths"},    {"updates_", "paths"},    {"dead", "paths"},      {"data_", "images"},
    {"class_", "images"},  {"gv_", "variance"},      {"", "cost"},
};

static const char *subject_of(const char *name)
{
    size_t i = 0;

    while (strncmp(name, subjects[i].beginning, strlen(subjects[i].beginning)) != 0)
        i++;
    return subjects[i].subject;
}

/* The likeliest choice of every slot; false if all of them are equally likely everywhere. */
static bool find_likeliest(const pada_path_sampler *sampler, pada_path *path)
{
    const pada_space *space = sampler->space;
    bool is_uniform = true;

    *path = (pada_path){0};
    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        const double *p = sampler->p[slot];
        for (int c = 1; c < space->ops->n_choices(space, slot); c++) {
            is_uniform = is_uniform && p[c] == p[0];
            if (p[c] > p[path->choice[slot]]) path->choice[slot] = (uint8_t)c;
        }
    }
    return !is_uniform;
}

/* As text: a picture is no business of a process that trains. */
static void add_likeliest(pada_train_events *events)
{
    pada_sketch sketch;
    pada_text markdown = {0};

    if (!events->space || !events->space->ops->sketch) return;
    events->space->ops->sketch(events->space, &events->likeliest, &sketch);
    pada_text_add(&markdown, "```\n");
    (void)pada_draw_text(&sketch, &markdown); /* its failures stick to the text */
    pada_text_add(&markdown, "```\n");
    pada_summary_text(&events->summary, "paths/likeliest", pada_text_str(&markdown));
    if (markdown.status != PADA_OK) events->summary.status = markdown.status;
    pada_text_deinit(&markdown);
}

void pada_train_events_distributions(pada_train_events *events,
                                     const pada_distributions *drawn_from, int n_images)
{
    const pada_path_sampler *paths = drawn_from->paths;
    const pada_space *space = paths->space;
    double p[PADA_MAX_SLOTS * PADA_MAX_CHOICES];
    int n = 0;
    void *mem;

    for (int slot = 0; slot < space->ops->n_slots; slot++)
        for (int c = 0; c < space->ops->n_choices(space, slot); c++)
            p[n++] = paths->p[slot][c];
    pada_summary_histogram(&events->summary, "paths/probability", p, n);
    events->space = find_likeliest(paths, &events->likeliest) ? space : NULL;
    if (!drawn_from->images) return;
    const pada_status st = pada_calloc(&mem, (size_t)n_images, sizeof(double));
    if (st != PADA_OK) {
        events->summary.status = st;
        return;
    }
    for (int i = 0; i < n_images; i++)
        ((double *)mem)[i] = drawn_from->images[i] * n_images;
    pada_summary_histogram(&events->summary, "images/weight", mem, n_images);
    pada_free(mem);
}

static pada_status write_epoch(pada_train_events *events, const char *run,
                               const pada_epoch_metrics *metrics)
{
    const int64_t step = (int64_t)pada_epoch_metrics_get(metrics, "epoch") + 1;
    struct timeval now;

    for (int i = 0; i < metrics->n; i++) {
        const pada_epoch_metric *item = &metrics->items[i];
        char tag[80];
        if (!isfinite(item->value) || strcmp(item->name, "epoch") == 0) continue;
        snprintf(tag, sizeof tag, "%s/%s", subject_of(item->name), item->name);
        pada_summary_scalar(&events->summary, tag, item->value);
    }
    if (step % DRAWING_EPOCHS == 0) add_likeliest(events);
    if (!events->file) PADA_TRY(pada_event_file_open(&events->file, run));
    gettimeofday(&now, NULL);
    return pada_event_file_append(
        events->file, (int64_t)pada_epoch_metrics_get(metrics, "epoch") + 1,
        (double)now.tv_sec + 1e-6 * (double)now.tv_usec, &events->summary);
}

pada_status pada_train_events_epoch(pada_train_events *events, const char *run,
                                    const pada_epoch_metrics *metrics)
{
    const pada_status st = write_epoch(events, run, metrics);

    pada_text_deinit(&events->summary);
    return st;
}

void pada_train_events_deinit(pada_train_events *events)
{
    pada_event_file_close(events->file);
    pada_text_deinit(&events->summary);
    *events = (pada_train_events){0};
}
