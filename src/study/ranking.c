/* ranking.c - the accuracy of many networks with inherited weights, as a CSV file. */
#include "study/ranking.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "space/path_index.h"
#include "study/ranking_partial.h"

typedef struct result {
    bool done;
    int correct;
    double loss;
} result;

typedef struct ranking {
    const pada_ranking_desc *desc;
    const pada_space *space;
    pada_path_index *forms; /* canonical ones */
    result *results;        /* [forms] */
    int n_done;
    char *partial_name;
    pada__partial *partial;
} ranking;

/* ---- what there is to do ---- */

static pada_status find_forms(ranking *r)
{
    pada_path form;
    void *mem;

    PADA_TRY(pada_path_index_create(&r->forms, r->space, r->desc->n_paths));
    for (int i = 0; i < r->desc->n_paths; i++) {
        r->space->ops->canonical(r->space, &r->desc->paths[i], &form);
        (void)pada_path_index_add(r->forms, &form);
    }
    PADA_TRY(pada_calloc(&mem, (size_t)pada_path_index_count(r->forms), sizeof *r->results));
    r->results = mem;
    return PADA_OK;
}

static void take_result(void *user, const pada__partial_entry *entry)
{
    ranking *r = user;
    const int i = pada_path_index_find(r->forms, &entry->path);

    if (i < 0 || r->results[i].done) return; /* of a longer list */
    r->results[i] = (result){true, entry->correct, entry->loss};
    r->n_done++;
}

/* What the results belong to, as the first line of the partial file. */
static void write_header(const ranking *r, pada_text *out)
{
    const pada_space_config *sizes = &r->space->config;

    pada_text_add(out, "# pada ranking 1: %s channels %d cells %d classes %d image size %d, ",
                  r->space->ops->name, sizes->channels, sizes->cells, sizes->classes,
                  sizes->image_size);
    pada_text_add(out, "weights %016" PRIx64 ", ", pada_engine_weights_hash(r->desc->engine));
    pada_evaluator_describe(r->desc->evaluator, out);
}

static void note_found(const ranking *r, pada__partial_found found)
{
    char text[512];

    if (!r->desc->note || found == PADA__PARTIAL_NONE) return;
    if (found == PADA__PARTIAL_RESULTS)
        snprintf(text, sizeof text, "%.400s: going on after %d of %d evaluations", r->partial_name,
                 r->n_done, pada_path_index_count(r->forms));
    else
        snprintf(text, sizeof text, "%.400s: of other weights, images or sizes; starting anew",
                 r->partial_name);
    r->desc->note(r->desc->user, text);
}

/* Takes over what an earlier run has left. */
static pada_status open_partial(ranking *r)
{
    pada_text name = {0}, header = {0};
    pada__partial_found found;
    pada_status st;

    pada_text_add(&name, "%s.partial", r->desc->out);
    if ((st = name.status) != PADA_OK) return st;
    r->partial_name = name.data; /* ownership moves */
    write_header(r, &header);
    if ((st = header.status) == PADA_OK)
        st = pada__partial_open(&r->partial,
                                &(pada__partial_desc){.path = r->partial_name,
                                                      .header = header.data,
                                                      .space = r->space,
                                                      .take = take_result,
                                                      .user = r},
                                &found);
    pada_text_deinit(&header);
    if (st == PADA_OK) note_found(r, found);
    return st;
}

/* ---- doing it ---- */

static double macs_of(const ranking *r, int form)
{
    pada_cost cost;

    r->space->ops->cost(r->space, pada_path_index_get(r->forms, form), &cost);
    return (double)cost.macs;
}

static pada_status evaluate(ranking *r, int form)
{
    const pada_path *path = pada_path_index_get(r->forms, form);
    pada_evaluation found;

    PADA_TRY(pada_evaluator_run(r->desc->evaluator, r->desc->engine, path, NULL, &found));
    r->results[form] = (result){true, found.top1, found.loss};
    r->n_done++;
    return pada__partial_append(
        r->partial,
        &(pada__partial_entry){.path = *path, .correct = found.top1, .loss = found.loss});
}

static pada_status evaluate_all(ranking *r)
{
    const pada_ranking_desc *desc = r->desc;
    const int n = pada_path_index_count(r->forms);
    const double start = pada_clock_seconds();
    double macs_left = 0, macs_done = 0;

    for (int i = 0; i < n; i++)
        if (!r->results[i].done) macs_left += macs_of(r, i);
    for (int i = 0; i < n; i++) {
        if (r->results[i].done) continue;
        if (desc->stop && desc->stop(desc->user))
            return PADA_FAIL(PADA_ESTOPPED,
                             "stopped after %d of %d evaluations; the same command goes on",
                             r->n_done, n);
        PADA_TRY(evaluate(r, i));
        macs_done += macs_of(r, i);
        macs_left -= macs_of(r, i);
        const double seconds = pada_clock_seconds() - start;
        if (desc->progress)
            desc->progress(desc->user, &(pada_ranking_progress){
                                           .n_done = r->n_done,
                                           .n_total = n,
                                           .seconds = seconds,
                                           .seconds_left = seconds * macs_left / macs_done});
    }
    return PADA_OK;
}

/* The fewest digits that read back as the same number. */
static void add_number(pada_text *out, double x)
{
    char digits[40];

    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, x);
        if (strtod(digits, NULL) == x) break;
    }
    pada_text_add(out, ",%s", digits);
}

static pada_status write_rows(const ranking *r, pada_text *out)
{
    const pada_space_ops *ops = r->space->ops;
    const int n_images = pada_evaluator_n_images(r->desc->evaluator);
    pada_path form;

    pada_text_add(out, "arch,score,correct,images,loss\n");
    for (int i = 0; i < r->desc->n_paths; i++) {
        const pada_path *path = &r->desc->paths[i];

        ops->canonical(r->space, path, &form);
        const result *found = &r->results[pada_path_index_find(r->forms, &form)];
        PADA_TRY(ops->format(r->space, path, ops->dialects[0], out));
        add_number(out, 100.0 * found->correct / n_images);
        pada_text_add(out, ",%d,%d", found->correct, n_images);
        add_number(out, found->loss);
        pada_text_add(out, "\n");
    }
    return out->status;
}

static pada_status write_csv(const ranking *r)
{
    pada_text out = {0};
    pada_status st = write_rows(r, &out);

    if (st == PADA_OK) st = pada_file_replace(r->desc->out, out.data, out.length);
    pada_text_deinit(&out);
    return st;
}

pada_status pada_ranking_run(const pada_ranking_desc *desc)
{
    ranking r = {.desc = desc, .space = pada_engine_space(desc->engine)};
    pada_writer *writer;
    pada_status st;

    /* Found out now, not after the work. */
    PADA_TRY(pada_writer_begin(&writer, desc->out));
    pada_writer_abort(writer);
    if ((st = find_forms(&r)) != PADA_OK) goto out;
    if ((st = open_partial(&r)) != PADA_OK) goto out;
    if ((st = evaluate_all(&r)) != PADA_OK) goto out;
    if ((st = write_csv(&r)) != PADA_OK) goto out;
    unlink(r.partial_name);
out:
    pada__partial_close(r.partial);
    pada_free(r.partial_name);
    pada_free(r.results);
    pada_path_index_destroy(r.forms);
    return st;
}
