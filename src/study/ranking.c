/* ranking.c - the accuracy of many networks with inherited weights, as a CSV file. */
#include "study/ranking.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"
#include "space/path_index.h"
#include "study/eval_queue.h"
#include "study/ranking_scores.h"

/* What is evaluated once: the networks of a supernet that have the same canonical form there. */
typedef struct job {
    pada_path form;
    pada_path network; /* one of them, which says what supernet it is */
    int supernet;
    bool asked; /* else it is an earlier one, and done */
    bool taken; /* somebody evaluates it, or has done so */
    bool done;
    pada_eval_result result; /* of one that is done */
} job;

typedef struct ranking {
    const pada_ranking_desc *desc;
    const pada_space *space;
    int n_images;
    char *scores_path;
    pada__scores *scores;
    pada_path_index *networks; /* first those of desc->paths, then further ones that have scores */
    bool *is_kept;             /* [networks] whether the file of scores has it */
    int n_supernets;
    pada_path_index **forms; /* [n_supernets] of the networks that each of them judges */
    int *first;              /* [n_supernets + 1] where the jobs of each begin */
    job *jobs;
    int n_asked, n_done; /* jobs that were asked for, and are done */

    /* While networks are evaluated. */
    int next; /* all jobs before it are taken */
    double start, macs_left, macs_done;
    bool is_stopped;
} ranking;

static int n_networks(const ranking *r)
{
    return pada_path_index_count(r->networks);
}

static const pada_path *network(const ranking *r, int i)
{
    return pada_path_index_get(r->networks, i);
}

static bool has_margins(const ranking *r)
{
    return pada_evaluator_has_margins(r->desc->workers[0].evaluator);
}

/* ---- what is known already ---- */

/* What the results belong to, as the first line of their file. */
static void write_header(const ranking *r, pada_text *out)
{
    const pada_eval_worker *worker = &r->desc->workers[0];
    const pada_backend *backend = pada_engine_backend(worker->engine);

    pada_text_add(out, "# pada scores 2: ");
    pada_space_describe(r->space, out);
    pada_text_add(out, ", ");
    if (r->desc->family) pada_text_add(out, "supernets %d ", r->n_supernets);
    pada_text_add(out, "weights %016" PRIx64 ", ",
                  r->desc->family ? pada_family_hash(r->desc->family)
                                  : pada_engine_weights_hash(worker->engine));
    pada_evaluator_describe(worker->evaluator, out);
    pada_evaluator_describe_statistics(worker->evaluator, worker->engine, out);
    pada_text_add(out, ", backend %s %s", backend->name, pada_backend_precision(backend));
}

static pada_status name_scores(ranking *r, const pada_text *header)
{
    const pada_ranking_desc *desc = r->desc;
    pada_text path = {0};

    if (desc->scores) {
        PADA_TRY(pada_make_dirs(desc->scores));
        pada_text_add(&path, "%s/%016" PRIx64 ".csv", desc->scores,
                      pada_hash(header->data, header->length, 0));
    } else {
        pada_text_add(&path, "%s.partial", desc->out);
    }
    r->scores_path = path.data; /* ownership moves */
    return path.status;
}

static pada_status open_scores(ranking *r, pada__results_found *found)
{
    pada_text header = {0};
    pada_status st;

    write_header(r, &header);
    if ((st = header.status) == PADA_OK) st = name_scores(r, &header);
    if (st == PADA_OK)
        st = pada__scores_open(&r->scores,
                               &(pada__scores_desc){.path = r->scores_path,
                                                    .header = header.data,
                                                    .space = r->space,
                                                    .n_images = r->n_images,
                                                    .has_margins = has_margins(r),
                                                    .replaces_others = !r->desc->scores},
                               found);
    pada_text_deinit(&header);
    return st;
}

/* Those that are asked for and those that have scores, each once. */
static pada_status list_networks(ranking *r)
{
    const int n_paths = r->desc->n_paths, n_kept = pada__scores_count(r->scores);
    void *mem;

    if (n_kept > INT32_MAX / 4 - n_paths)
        return PADA_FAIL(PADA_EDATA, "%s: %d results are more than can be counted", r->scores_path,
                         n_kept);
    PADA_TRY(pada_path_index_create(&r->networks, r->space, n_paths + n_kept));
    PADA_TRY(pada_calloc(&mem, (size_t)(n_paths + n_kept), sizeof *r->is_kept));
    r->is_kept = mem;
    for (int i = 0; i < n_paths; i++)
        (void)pada_path_index_add(r->networks, &r->desc->paths[i]);
    for (int i = 0; i < n_kept; i++)
        r->is_kept[pada_path_index_add(r->networks, &pada__scores_get(r->scores, i)->network)] =
            true;
    return PADA_OK;
}

/* ---- what there is to do ---- */

static pada_status find_supernet(const ranking *r, const pada_path *path, int *supernet)
{
    *supernet = 0;
    return r->desc->family ? pada_family_find(r->desc->family, path, supernet) : PADA_OK;
}

/* Whether somebody can judge all that is asked for; found out before anything is written. */
static pada_status check_paths(const ranking *r)
{
    int supernet;

    for (int i = 0; i < r->desc->n_paths; i++)
        PADA_TRY(find_supernet(r, &r->desc->paths[i], &supernet));
    return PADA_OK;
}

/* The job of a network, which has one. */
static pada_status find_job(const ranking *r, const pada_path *path, job **out)
{
    pada_path form;
    int supernet;

    PADA_TRY(find_supernet(r, path, &supernet));
    r->space->ops->canonical(r->space, path, &form);
    const int i = pada_path_index_find(r->forms[supernet], &form);
    PADA_ASSERT(i >= 0);
    *out = &r->jobs[r->first[supernet] + i];
    return PADA_OK;
}

/* The networks of each supernet, counted. */
static pada_status count_networks(const ranking *r, int *counts)
{
    int supernet;

    for (int i = 0; i < n_networks(r); i++) {
        PADA_TRY(find_supernet(r, network(r, i), &supernet));
        counts[supernet]++;
    }
    return PADA_OK;
}

static pada_status find_forms(ranking *r)
{
    int supernet = 0;
    pada_path form;

    PADA_TRY(count_networks(r, r->first));
    for (int s = 0; s < r->n_supernets; s++)
        PADA_TRY(pada_path_index_create(&r->forms[s], r->space, r->first[s]));
    for (int i = 0; i < n_networks(r); i++) {
        PADA_TRY(find_supernet(r, network(r, i), &supernet));
        r->space->ops->canonical(r->space, network(r, i), &form);
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

static pada_status allocate_jobs(ranking *r)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)r->n_supernets + 1, sizeof *r->first));
    r->first = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)r->n_supernets, sizeof *r->forms));
    r->forms = mem;
    PADA_TRY(find_forms(r));
    PADA_TRY(pada_calloc(&mem, (size_t)n_jobs(r), sizeof *r->jobs));
    r->jobs = mem;
    return PADA_OK;
}

/* Gives the results of the file to their jobs. */
static pada_status take_scores(ranking *r)
{
    enum { FIRST_LINE = 2 };
    job *j;

    for (int i = 0; i < pada__scores_count(r->scores); i++) {
        const pada__score *score = pada__scores_get(r->scores, i);

        PADA_TRY(find_job(r, &score->network, &j));
        const pada_eval_result result = {
            .top1 = score->correct, .loss = score->loss, .margin = score->margin};
        if (j->done && (j->result.top1 != result.top1 || j->result.loss != result.loss ||
                        j->result.margin != result.margin))
            return PADA_FAIL(PADA_EDATA, "%s:%d: another result of the same network is above",
                             r->scores_path, i + FIRST_LINE);
        j->taken = j->done = true;
        j->result = result;
    }
    return PADA_OK;
}

static pada_status make_jobs(ranking *r)
{
    job *j;

    PADA_TRY(allocate_jobs(r));
    for (int i = n_networks(r) - 1; i >= 0; i--) { /* the first network of a form stays */
        PADA_TRY(find_job(r, network(r, i), &j));
        j->network = *network(r, i);
        j->asked = i < r->desc->n_paths;
        PADA_TRY(find_supernet(r, &j->network, &j->supernet));
        r->space->ops->canonical(r->space, &j->network, &j->form);
    }
    PADA_TRY(take_scores(r));
    for (int i = 0; i < n_jobs(r); i++) {
        r->n_asked += r->jobs[i].asked;
        r->n_done += r->jobs[i].asked && r->jobs[i].done;
    }
    return PADA_OK;
}

static void note_found(const ranking *r, pada__results_found found)
{
    char text[512];

    if (!r->desc->note) return;
    if (found == PADA__RESULTS_OTHER)
        snprintf(
            text, sizeof text,
            "%.400s: of other weights, images, sizes, statistics or another backend; starting anew",
            r->scores_path);
    else if (r->n_done == 0)
        return;
    else if (r->n_done < r->n_asked)
        snprintf(text, sizeof text, "%.400s: resuming after %d of %d evaluations", r->scores_path,
                 r->n_done, r->n_asked);
    else
        snprintf(text, sizeof text, "%.400s: all %d evaluations are there already", r->scores_path,
                 r->n_asked);
    r->desc->note(r->desc->user, text);
}

/* ---- doing it ---- */

/* Which supernet of a family the engines have. */
typedef struct family_entries {
    const pada_family *family;
    int *entered; /* [n_workers], -1: none */
} family_entries;

static pada_status enter_supernet(void *user, const pada_eval_task *task, int worker,
                                  pada_engine *engine)
{
    family_entries *e = user;

    if (task->supernet == e->entered[worker]) return PADA_OK;
    e->entered[worker] = -1;
    PADA_TRY(pada_family_enter(e->family, task->supernet, engine));
    e->entered[worker] = task->supernet;
    return PADA_OK;
}

/* What the farm hands out to this process. */
static pada_status evaluate_tasks(const pada_ranking_desc *desc, pada_farm *farm)
{
    family_entries e = {.family = desc->family};
    pada_eval_queue *queue;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)desc->n_workers, sizeof *e.entered));
    e.entered = mem;
    for (int w = 0; w < desc->n_workers; w++)
        e.entered[w] = -1;
    pada_status st = pada_eval_queue_create(
        &queue, &(pada_eval_queue_desc){.workers = desc->workers,
                                        .n_workers = desc->n_workers,
                                        .farm = farm,
                                        .user = &e,
                                        .enter = desc->family ? enter_supernet : NULL});
    if (st == PADA_OK)
        st = pada_eval_queue_run(queue);
    else
        (void)pada_farm_fail(farm, st);
    pada_eval_queue_destroy(queue);
    pada_free(mem);
    return st;
}

static double macs_of(const ranking *r, const job *j)
{
    pada_cost cost;

    pada_space_search_cost(r->space, &j->form, &cost);
    return (double)cost.macs;
}

/* What is to be evaluated next; false when all is taken, or nothing more shall be begun. */
static bool take_job(void *user, void *task)
{
    ranking *r = user;
    const pada_ranking_desc *desc = r->desc;

    while (r->next < n_jobs(r) && r->jobs[r->next].taken)
        r->next++;
    if (r->is_stopped || r->next == n_jobs(r)) return false;
    r->is_stopped = desc->stop && desc->stop(desc->user);
    if (r->is_stopped) return false;
    job *j = &r->jobs[r->next];
    j->taken = true;
    *(pada_eval_task *)task =
        (pada_eval_task){.number = r->next++, .supernet = j->supernet, .path = j->form};
    return true;
}

static void put_job_back(void *user, const void *task)
{
    ranking *r = user;
    const int number = ((const pada_eval_task *)task)->number;

    r->jobs[number].taken = false;
    if (number < r->next) r->next = number;
}

/* As the file keeps it. */
static pada__score score_of(const pada_path *path, const pada_eval_result *result)
{
    return (pada__score){
        .network = *path, .correct = result->top1, .loss = result->loss, .margin = result->margin};
}

static pada_status keep_result(void *user, const void *task, const void *result)
{
    ranking *r = user;
    job *j = &r->jobs[((const pada_eval_task *)task)->number];
    const pada_eval_result *found = result;
    const pada_ranking_desc *desc = r->desc;
    const pada__score score = score_of(&j->network, found);
    PADA_TRY(pada__scores_append(r->scores, &score, 1));
    r->is_kept[pada_path_index_find(r->networks, &j->network)] = true;
    j->done = true;
    j->result = *found;
    r->n_done++;
    r->macs_done += macs_of(r, j);
    r->macs_left -= macs_of(r, j);
    const double seconds = pada_clock_seconds() - r->start;
    if (desc->progress)
        desc->progress(desc->user, &(pada_ranking_progress){.n_done = r->n_done,
                                                            .n_total = r->n_asked,
                                                            .seconds = seconds,
                                                            .seconds_left = seconds * r->macs_left /
                                                                            r->macs_done});
    return PADA_OK;
}

/* The farm of this process alone, where the caller has none for several. */
static pada_status evaluate_in(ranking *r, pada_farm *farm)
{
    const pada_farm_source source = {
        .user = r, .take = take_job, .put_back = put_job_back, .keep = keep_result};

    pada_farm_begin(farm, &source);
    const pada_status own = evaluate_tasks(r->desc, farm), all = pada_farm_end(farm);
    return own != PADA_OK ? own : all;
}

static pada_status evaluate_all(ranking *r)
{
    pada_farm *farm = r->desc->farm, *own = NULL;

    if (!farm) PADA_TRY(pada_eval_farm_open(&own, NULL, r->desc->n_workers, NULL));
    for (int i = 0; i < n_jobs(r); i++)
        if (!r->jobs[i].done) r->macs_left += macs_of(r, &r->jobs[i]);
    r->start = pada_clock_seconds();
    const pada_status st = evaluate_in(r, farm ? farm : own);
    (void)pada_farm_close(own); /* its failure is `st` */
    if (st == PADA_OK && r->n_done < r->n_asked)
        return PADA_FAIL(PADA_ESTOPPED,
                         "stopped after %d of %d evaluations; the same command resumes it",
                         r->n_done, r->n_asked);
    return st;
}

/* ---- the result ---- */

/* Gives the networks whose form was evaluated for another one a line of their own. */
static pada_status keep_copies(ranking *r)
{
    pada_status st = PADA_OK;
    void *mem;
    int n = 0;
    job *j;

    PADA_TRY(pada_calloc(&mem, (size_t)r->desc->n_paths, sizeof(pada__score)));
    pada__score *list = mem;
    for (int i = 0; i < r->desc->n_paths && st == PADA_OK; i++) {
        if (r->is_kept[i]) continue;
        if ((st = find_job(r, network(r, i), &j)) != PADA_OK) break;
        list[n++] = score_of(network(r, i), &j->result);
    }
    if (st == PADA_OK && n > 0) st = pada__scores_append(r->scores, list, n);
    if (st == PADA_OK) st = pada__scores_sync(r->scores);
    pada_free(mem);
    return st;
}

static pada_ranking_entry make_entry(const ranking *r, const pada_path *path, const job *j)
{
    const pada_family *family = r->desc->family;

    return (pada_ranking_entry){.path = *path,
                                .correct = j->result.top1,
                                .loss = j->result.loss,
                                .margin = j->result.margin,
                                .supernet = family ? pada_family_number(family, j->supernet) : 0};
}

/* Whether the canonical form of a job is a network of its supernet that is not among the first n. */
static bool is_form_missing(const ranking *r, const job *j, int n)
{
    const int i = pada_path_index_find(r->networks, &j->form);
    int supernet;

    if (i >= 0 && i < n) return false;
    return find_supernet(r, &j->form, &supernet) == PADA_OK && supernet == j->supernet;
}

/* Of the first n networks, and the canonical forms of those that are copies. */
static pada_status make_table(const ranking *r, int n, pada_ranking_table *table)
{
    const pada_space *space = r->desc->cost_space ? r->desc->cost_space : r->space;
    int n_entries = 0;
    void *mem;
    job *j;

    PADA_TRY(pada_calloc(&mem, (size_t)n + (size_t)n_jobs(r), sizeof(pada_ranking_entry)));
    pada_ranking_entry *entries = mem;
    pada_status st = PADA_OK;
    for (int i = 0; i < n && (st = find_job(r, network(r, i), &j)) == PADA_OK; i++)
        entries[n_entries++] = make_entry(r, network(r, i), j);
    for (int i = 0; i < n_jobs(r) && st == PADA_OK; i++) {
        j = &r->jobs[i];
        if ((!j->asked && n == r->desc->n_paths) || !is_form_missing(r, j, n)) continue;
        entries[n_entries] = make_entry(r, &j->form, j);
        entries[n_entries++].extra = true;
    }
    if (st == PADA_OK) st = pada_ranking_table_init(table, space, entries, n_entries, r->n_images);
    pada_free(mem);
    return st;
}

static pada_status write_table(const ranking *r, const pada_ranking_table *table)
{
    const pada_statistics statistics = pada_engine_statistics(r->desc->workers[0].engine);
    const pada_ranking_extras extras = {
        .supernets = r->desc->family != NULL,
        .statistics = statistics != PADA_STATISTICS_BATCH ? pada_statistics_name(statistics) : NULL,
        .views = pada_evaluator_views(r->desc->workers[0].evaluator)};
    pada_text out = {0};
    pada_status st = pada_ranking_table_write(table, &extras, &out);

    if (st == PADA_OK) st = pada_file_replace(r->desc->out, out.data, out.length);
    pada_text_deinit(&out);
    return st;
}

static pada_status write_all(const ranking *r)
{
    pada_ranking_table table = {0};
    pada_status st = make_table(r, r->desc->writes_all ? n_networks(r) : r->desc->n_paths, &table);

    if (st == PADA_OK) st = write_table(r, &table);
    pada_ranking_table_deinit(&table);
    return st;
}

/* Whether it can be written: found out now, not after the work. */
static pada_status check_out(const char *out)
{
    pada_writer *writer;

    if (!out) return PADA_OK;
    PADA_TRY(pada_writer_begin(&writer, out));
    pada_writer_abort(writer);
    return PADA_OK;
}

pada_status pada_ranking_run(const pada_ranking_desc *desc, pada_ranking_table *asked)
{
    ranking r = {.desc = desc,
                 .space = pada_engine_space(desc->workers[0].engine),
                 .n_images = pada_evaluator_n_images(desc->workers[0].evaluator),
                 .n_supernets = desc->family ? pada_family_count(desc->family) : 1};
    pada__results_found found;
    pada_status st;

    PADA_ASSERT(desc->n_workers >= 1 && (desc->out || desc->scores));
    if (asked) *asked = (pada_ranking_table){0};
    PADA_TRY(check_out(desc->out));
    PADA_TRY(check_paths(&r));
    if ((st = open_scores(&r, &found)) != PADA_OK) goto out;
    if ((st = list_networks(&r)) != PADA_OK) goto out;
    if ((st = make_jobs(&r)) != PADA_OK) goto out;
    note_found(&r, found);
    if ((st = evaluate_all(&r)) != PADA_OK) goto out;
    if (desc->scores && (st = keep_copies(&r)) != PADA_OK) goto out;
    if (desc->out && (st = write_all(&r)) != PADA_OK) goto out;
    if (asked) st = make_table(&r, desc->n_paths, asked);
    if (!desc->scores) unlink(r.scores_path);
out:
    pada__scores_close(r.scores);
    pada_free(r.scores_path);
    pada_free(r.jobs);
    for (int i = 0; r.forms && i < r.n_supernets; i++)
        pada_path_index_destroy(r.forms[i]);
    pada_free(r.forms);
    pada_free(r.first);
    pada_path_index_destroy(r.networks);
    pada_free(r.is_kept);
    return st;
}

pada_status pada_ranking_help(const pada_ranking_desc *desc)
{
    return evaluate_tasks(desc, desc->farm);
}
