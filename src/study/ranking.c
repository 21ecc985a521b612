/* ranking.c - the accuracy of many networks with inherited weights, as a CSV file. */
#include "study/ranking.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/text.h"
#include "space/path_index.h"
#include "study/ranking_partial.h"

/* What is evaluated once: the networks of a supernet that have the same canonical form there. */
typedef struct job {
    pada_path form;
    pada_path network; /* one of them, which says what supernet it is */
    bool done;
    int correct;
    double loss;
} job;

typedef struct ranking {
    const pada_ranking_desc *desc;
    const pada_space *space;
    int n_supernets;
    pada_path_index **forms; /* [n_supernets] of the networks that each of them judges */
    int *first;              /* [n_supernets + 1] where the jobs of each begin */
    job *jobs;
    int n_done;
    int *entered; /* [n_workers] supernet whose weights the engine has, or -1 */
    char *partial_name;
    pada__partial *partial;

    /* While the workers run. The lock is of jobs, n_done and partial, too. */
    pthread_mutex_t lock;
    int next; /* all jobs before it are done or somebody's */
    double start, macs_left, macs_done;
    bool is_stopped, has_failed;
} ranking;

/* ---- what there is to do ---- */

static pada_status find_supernet(const ranking *r, const pada_path *path, int *supernet)
{
    *supernet = 0;
    return r->desc->family ? pada_family_find(r->desc->family, path, supernet) : PADA_OK;
}

/* The job of a network, NULL if there is none. */
static job *find_job(const ranking *r, int supernet, const pada_path *path)
{
    pada_path form;

    r->space->ops->canonical(r->space, path, &form);
    const int i = pada_path_index_find(r->forms[supernet], &form);
    return i < 0 ? NULL : &r->jobs[r->first[supernet] + i];
}

/* The networks of each supernet, counted. */
static pada_status count_networks(const ranking *r, int *counts)
{
    int supernet;

    for (int i = 0; i < r->desc->n_paths; i++) {
        PADA_TRY(find_supernet(r, &r->desc->paths[i], &supernet));
        counts[supernet]++;
    }
    return PADA_OK;
}

static pada_status find_forms(ranking *r)
{
    const pada_ranking_desc *desc = r->desc;
    int supernet = 0;
    pada_path form;

    PADA_TRY(count_networks(r, r->first));
    for (int s = 0; s < r->n_supernets; s++)
        PADA_TRY(pada_path_index_create(&r->forms[s], r->space, r->first[s]));
    for (int i = 0; i < desc->n_paths; i++) {
        PADA_TRY(find_supernet(r, &desc->paths[i], &supernet));
        r->space->ops->canonical(r->space, &desc->paths[i], &form);
        (void)pada_path_index_add(r->forms[supernet], &form);
    }
    r->first[0] = 0;
    for (int s = 0; s < r->n_supernets; s++)
        r->first[s + 1] = r->first[s] + pada_path_index_count(r->forms[s]);
    return PADA_OK;
}

static int n_jobs(const ranking *r)
{
    return r->first[r->n_supernets];
}

static pada_status make_jobs(ranking *r)
{
    const pada_ranking_desc *desc = r->desc;
    int supernet = 0;
    void *mem;

    r->n_supernets = desc->family ? pada_family_count(desc->family) : 1;
    PADA_TRY(pada_calloc(&mem, (size_t)desc->n_workers, sizeof *r->entered));
    r->entered = mem;
    for (int w = 0; desc->family && w < desc->n_workers; w++)
        r->entered[w] = -1;
    PADA_TRY(pada_calloc(&mem, (size_t)r->n_supernets + 1, sizeof *r->first));
    r->first = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)r->n_supernets, sizeof *r->forms));
    r->forms = mem;
    PADA_TRY(find_forms(r));
    PADA_TRY(pada_calloc(&mem, (size_t)n_jobs(r), sizeof *r->jobs));
    r->jobs = mem;
    for (int i = desc->n_paths - 1; i >= 0; i--) { /* the first network of a form stays */
        PADA_TRY(find_supernet(r, &desc->paths[i], &supernet));
        job *j = find_job(r, supernet, &desc->paths[i]);
        j->network = desc->paths[i];
        r->space->ops->canonical(r->space, &j->network, &j->form);
    }
    return PADA_OK;
}

static void take_result(void *user, const pada__partial_entry *entry)
{
    ranking *r = user;
    int supernet;

    if (find_supernet(r, &entry->path, &supernet) != PADA_OK) return;
    job *j = find_job(r, supernet, &entry->path);
    if (!j || j->done) return; /* of a longer list */
    j->done = true;
    j->correct = entry->correct;
    j->loss = entry->loss;
    r->n_done++;
}

/* What the results belong to, as the first line of the partial file. */
static void write_header(const ranking *r, pada_text *out)
{
    const pada_space_config *sizes = &r->space->config;

    pada_text_add(out, "# pada ranking 1: %s channels %d cells %d classes %d image size %d, ",
                  r->space->ops->name, sizes->channels, sizes->cells, sizes->classes,
                  sizes->image_size);
    if (r->desc->family) pada_text_add(out, "supernets %d ", r->n_supernets);
    pada_text_add(out, "weights %016" PRIx64 ", ",
                  r->desc->family ? pada_family_hash(r->desc->family)
                                  : pada_engine_weights_hash(r->desc->workers[0].engine));
    pada_evaluator_describe(r->desc->workers[0].evaluator, out);
}

static void note_found(const ranking *r, pada__partial_found found)
{
    char text[512];

    if (!r->desc->note || found == PADA__PARTIAL_NONE) return;
    if (found == PADA__PARTIAL_RESULTS)
        snprintf(text, sizeof text, "%.400s: going on after %d of %d evaluations", r->partial_name,
                 r->n_done, n_jobs(r));
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

static double macs_of(const ranking *r, const job *j)
{
    pada_cost cost;

    r->space->ops->cost(r->space, &j->form, &cost);
    return (double)cost.macs;
}

static pada_status enter_supernet(ranking *r, int worker, const job *j)
{
    int supernet = 0;

    while (j - r->jobs >= r->first[supernet + 1])
        supernet++;
    if (supernet == r->entered[worker]) return PADA_OK;
    r->entered[worker] = -1;
    PADA_TRY(pada_family_enter(r->desc->family, supernet, r->desc->workers[worker].engine));
    r->entered[worker] = supernet;
    return PADA_OK;
}

/* The part that workers do at the same time. */
static pada_status evaluate(ranking *r, int worker, const job *j, pada_evaluation *found)
{
    const pada_ranking_worker *w = &r->desc->workers[worker];

    PADA_TRY(enter_supernet(r, worker, j));
    return pada_evaluator_run(w->evaluator, w->engine, &j->form, NULL, found);
}

/* What is to be evaluated next; NULL when all is done or somebody's, or nothing more shall be begun. */
static job *take_job(ranking *r)
{
    const pada_ranking_desc *desc = r->desc;

    while (r->next < n_jobs(r) && r->jobs[r->next].done)
        r->next++;
    if (r->is_stopped || r->has_failed || r->next == n_jobs(r)) return NULL;
    r->is_stopped = desc->stop && desc->stop(desc->user);
    return r->is_stopped ? NULL : &r->jobs[r->next++];
}

static pada_status record(ranking *r, job *j, const pada_evaluation *found)
{
    const pada_ranking_desc *desc = r->desc;

    PADA_TRY(pada__partial_append(
        r->partial,
        &(pada__partial_entry){.path = j->network, .correct = found->top1, .loss = found->loss}));
    j->done = true;
    j->correct = found->top1;
    j->loss = found->loss;
    r->n_done++;
    r->macs_done += macs_of(r, j);
    r->macs_left -= macs_of(r, j);
    const double seconds = pada_clock_seconds() - r->start;
    if (desc->progress)
        desc->progress(desc->user, &(pada_ranking_progress){.n_done = r->n_done,
                                                            .n_total = n_jobs(r),
                                                            .seconds = seconds,
                                                            .seconds_left = seconds * r->macs_left /
                                                                            r->macs_done});
    return PADA_OK;
}

/* Evaluates networks until none is left for this worker. */
static pada_status work(void *context, int worker, int thread)
{
    ranking *r = context;
    pada_status st = PADA_OK;
    pada_evaluation found;
    job *j;

    (void)thread;
    pthread_mutex_lock(&r->lock);
    while ((j = take_job(r))) {
        pthread_mutex_unlock(&r->lock);
        st = evaluate(r, worker, j, &found);
        pthread_mutex_lock(&r->lock);
        if (r->has_failed) break; /* nothing is appended to what may be half a line */
        if (st == PADA_OK) st = record(r, j, &found);
        r->has_failed = st != PADA_OK;
    }
    pthread_mutex_unlock(&r->lock);
    return st;
}

static pada_status evaluate_all(ranking *r)
{
    const int n_workers = r->desc->n_workers;
    pada_pool *pool;

    PADA_TRY(pada_pool_create(&pool, n_workers));
    for (int i = 0; i < n_jobs(r); i++)
        if (!r->jobs[i].done) r->macs_left += macs_of(r, &r->jobs[i]);
    r->start = pada_clock_seconds();
    pthread_mutex_init(&r->lock, NULL);
    const pada_status st = pada_pool_try(pool, n_workers, work, r);
    pthread_mutex_destroy(&r->lock);
    pada_pool_destroy(pool);
    if (st == PADA_OK && r->is_stopped)
        return PADA_FAIL(PADA_ESTOPPED,
                         "stopped after %d of %d evaluations; the same command goes on", r->n_done,
                         n_jobs(r));
    return st;
}

static pada_status write_rows(const ranking *r, pada_text *out)
{
    const pada_space_ops *ops = r->space->ops;
    const int n_images = pada_evaluator_n_images(r->desc->workers[0].evaluator);
    int supernet = 0;

    pada_text_add(out, "arch,score,correct,images,loss%s\n", r->desc->family ? ",supernet" : "");
    for (int i = 0; i < r->desc->n_paths; i++) {
        const pada_path *path = &r->desc->paths[i];

        PADA_TRY(find_supernet(r, path, &supernet));
        const job *found = find_job(r, supernet, path);
        PADA_TRY(ops->format(r->space, path, ops->dialects[0], out));
        pada_text_add(out, ",");
        pada_text_add_double(out, 100.0 * found->correct / n_images);
        pada_text_add(out, ",%d,%d,", found->correct, n_images);
        pada_text_add_double(out, found->loss);
        if (r->desc->family)
            pada_text_add(out, ",%d", pada_family_number(r->desc->family, supernet));
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
    ranking r = {.desc = desc, .space = pada_engine_space(desc->workers[0].engine)};
    pada_writer *writer;
    pada_status st;

    PADA_ASSERT(desc->n_workers >= 1);
    /* Found out now, not after the work. */
    PADA_TRY(pada_writer_begin(&writer, desc->out));
    pada_writer_abort(writer);
    if ((st = make_jobs(&r)) != PADA_OK) goto out;
    if ((st = open_partial(&r)) != PADA_OK) goto out;
    if ((st = evaluate_all(&r)) != PADA_OK) goto out;
    if ((st = write_csv(&r)) != PADA_OK) goto out;
    unlink(r.partial_name);
out:
    pada__partial_close(r.partial);
    pada_free(r.partial_name);
    pada_free(r.entered);
    pada_free(r.jobs);
    for (int i = 0; r.forms && i < r.n_supernets; i++)
        pada_path_index_destroy(r.forms[i]);
    pada_free(r.forms);
    pada_free(r.first);
    return st;
}
