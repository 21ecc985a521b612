/* api_rank.c - evaluations of many networks, of include/pada.h. */
#include <math.h>
#include <stdlib.h>

#include "api/api_parts.h"
#include "base/clock.h"
#include "base/mem.h"
#include "space/path_index.h"

/* ---- one after the other, followed by somebody ---- */

pada_status pada__scoring_begin(pada__scoring *s, pada_net *net, const pada_images *images,
                                int limit, const pada_observer *observer)
{
    PADA_TRY(pada_evaluator_create(&s->evaluator,
                                   &(pada_evaluator_desc){.data = images->data,
                                                          .split = images->split,
                                                          .limit = limit,
                                                          .batch_size = net->batch_size}));
    s->observer = observer;
    s->start = pada_clock_seconds();
    pada__lock_take(net->lock);
    s->engine = net->engine;
    return PADA_OK;
}

pada_status pada__scoring_end(pada__scoring *s, pada_net *net, pada_status st)
{
    pada_evaluator_destroy(s->evaluator);
    return s->engine ? pada__lock_give_back(net->lock, st) : st;
}

static bool is_better(const pada_evaluation *a, const pada_evaluation *b)
{
    return a->top1 != b->top1 ? a->top1 > b->top1 : a->loss < b->loss;
}

static pada_status observe(const pada__scoring *s)
{
    const double seconds = pada_clock_seconds() - s->start;
    const pada_standing standing = {.n_done = s->n_done,
                                    .n_total = s->n_total,
                                    .top1 = 100.0 * s->best.top1 / s->best.n_images,
                                    .loss = s->best.loss,
                                    .seconds = seconds,
                                    .seconds_left = seconds / (double)s->n_done *
                                                    (double)(s->n_total - s->n_done)};

    if (!s->observer || !s->observer->progress ||
        s->observer->progress(s->observer->user, &standing) == 0)
        return PADA_OK;
    return PADA_FAIL(PADA_ESTOPPED, "stopped after %lld of %lld evaluations", (long long)s->n_done,
                     (long long)s->n_total);
}

pada_status pada__score(pada__scoring *s, const pada_path *path, pada_evaluation *out)
{
    PADA_TRY(pada_evaluator_run(s->evaluator, s->engine, path, NULL, out));
    if (s->n_done++ == 0 || is_better(out, &s->best)) s->best = *out;
    return observe(s);
}

/* ---- ranking ---- */

typedef struct ranked {
    int number;           /* of the path */
    int form;             /* number of its canonical form */
    pada_evaluation what; /* of the form */
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (is_better(&x->what, &y->what)) return -1;
    if (is_better(&y->what, &x->what)) return 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Gives every row its path's number and form. */
static pada_status find_forms(const pada_space *space, const pada_path *paths, int n,
                              pada_path_index *forms, ranked *rows)
{
    for (int i = 0; i < n; i++) {
        pada_path form = {{0}};
        PADA_TRY(pada__check_path(space, &paths[i]));
        space->ops->canonical(space, &paths[i], &form);
        rows[i] = (ranked){.number = i, .form = pada_path_index_add(forms, &form)};
    }
    return PADA_OK;
}

/* Evaluates the forms, in the order in which they come, and gives the results to the rows. */
static pada_status score_rows(pada__scoring *s, const pada_path_index *forms, ranked *rows, int n)
{
    pada_evaluation *found;
    void *memory;
    pada_status st = PADA_OK;

    s->n_total = pada_path_index_count(forms);
    PADA_TRY(pada_calloc(&memory, (size_t)s->n_total, sizeof *found));
    found = memory;
    for (int i = 0; i < s->n_total && st == PADA_OK; i++)
        st = pada__score(s, pada_path_index_get(forms, i), &found[i]);
    for (int i = 0; i < n; i++)
        rows[i].what = found[rows[i].form];
    pada_free(found);
    return st;
}

static pada_status rank(pada__scoring *s, const pada_space *space, const pada_path *paths, int n,
                        ranked *rows)
{
    pada_path_index *forms;

    PADA_TRY(pada_path_index_create(&forms, space, n));
    pada_status st = find_forms(space, paths, n, forms, rows);
    if (st == PADA_OK) st = score_rows(s, forms, rows, n);
    pada_path_index_destroy(forms);
    return st;
}

pada_status pada_net_rank(pada_net *net, const pada_path *paths, int n, const pada_images *images,
                          int limit, const pada_observer *observer, pada_evaluation *out,
                          int *order)
{
    enum { MAX_PATHS = INT32_MAX / 4 };
    pada__scoring scoring = {0};
    ranked *rows;
    void *memory;

    if (!net || !paths || !images || !out) return pada__fail_null(__func__);
    if (n < 1 || n > MAX_PATHS)
        return PADA_FAIL(PADA_EINVAL, "%d networks are not in 1 to %d", n, (int)MAX_PATHS);
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof *rows));
    rows = memory;
    pada_status st = pada__scoring_begin(&scoring, net, images, limit, observer);
    if (st == PADA_OK) st = rank(&scoring, pada_engine_space(net->engine), paths, n, rows);
    st = pada__scoring_end(&scoring, net, st);
    for (int i = 0; i < n && st == PADA_OK; i++)
        out[i] = rows[i].what;
    if (st == PADA_OK && order) {
        qsort(rows, (size_t)n, sizeof *rows, compare);
        for (int i = 0; i < n; i++)
            order[i] = rows[i].number;
    }
    pada_free(rows);
    return st;
}
