/* free_scores.c - scores without training of many networks, several at a time, kept in a file. */
#include "study/free_scores.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/threads.h"
#include "data/batch_maker.h"
#include "space/path_index.h"
#include "study/free_results.h"

typedef struct measuring {
    const pada_free_scores_desc *desc;
    pada_free_scores *out;
    const pada_backend *backend;
    pada_batch_maker maker;
    pada_batch batch; /* of the score, or of no images */
    pada_path_index *paths;
    pada__free_results *results; /* NULL: nothing is kept */
    int *left;                   /* [n_left] networks without values */
    int n_left, n_threads;
    pada_trial **trials; /* [n_threads] */
    pada_pool *pool;

    pthread_mutex_t lock; /* for what follows, and for the results and the functions of the desc */
    int n_done;
    double seconds;
    bool is_stopped;
} measuring;

/* ---- what is known already ---- */

static void write_header(const measuring *m, pada_text *out)
{
    const pada_free_scores_desc *desc = m->desc;
    const pada_free_score *score = desc->score;

    pada_text_add(out, "# pada free scores 1: %s %d, ", score->name, score->version);
    pada_space_describe(desc->space, out);
    if (score->n_images > 0)
        pada_text_add(out, ", %s train, first %d images, hash %016" PRIx64, desc->data->name,
                      m->batch.n,
                      pada_hash(desc->data->levels, sizeof desc->data->levels,
                                pada_dataset_hash(desc->data, PADA_SPLIT_TRAIN)));
    pada_text_add(out, ", seed %" PRIu64 ", backend %s %s", desc->seed, m->backend->name,
                  pada_backend_precision(m->backend));
}

static pada_status take_result(void *user, const pada_path *path, const double *values)
{
    const measuring *m = user;
    const int i = pada_path_index_find(m->paths, path);

    for (int k = 0; i >= 0 && k < m->desc->score->n_values; k++)
        m->out->values[(size_t)k * (size_t)m->out->n + (size_t)i] = values[k];
    if (i >= 0) m->left[i] = -1; /* until the list is made */
    return PADA_OK;
}

static pada_status open_results(measuring *m)
{
    const pada_free_scores_desc *desc = m->desc;
    pada_text header = {0}, file = {0};

    if (!desc->folder) return PADA_OK;
    PADA_TRY(pada_make_dirs(desc->folder));
    write_header(m, &header);
    pada_text_add(&file, "%s/%016" PRIx64 ".csv", desc->folder,
                  pada_hash(header.data, header.length, 0));
    pada_status st = header.status != PADA_OK ? header.status : file.status;
    if (st == PADA_OK)
        st = pada__free_results_open(&m->results,
                                     &(pada__free_results_desc){.path = file.data,
                                                                .header = header.data,
                                                                .space = desc->space,
                                                                .n_values = desc->score->n_values,
                                                                .take = take_result,
                                                                .user = m});
    pada_text_deinit(&file);
    pada_text_deinit(&header);
    return st;
}

/* Networks that have no values yet. */
static pada_status list_left(measuring *m)
{
    void *mem;

    PADA_TRY(pada_path_index_create(&m->paths, m->desc->space, m->desc->n));
    for (int i = 0; i < m->desc->n; i++)
        (void)pada_path_index_add(m->paths, &m->desc->paths[i]);
    PADA_TRY(pada_calloc(&mem, (size_t)m->desc->n, sizeof *m->left));
    m->left = mem;
    PADA_TRY(open_results(m));
    for (int i = 0; i < m->desc->n; i++)
        if (m->left[i] == 0) m->left[m->n_left++] = i;
    m->n_done = m->desc->n - m->n_left;
    return PADA_OK;
}

/* ---- measuring ---- */

static pada_status make_batch(measuring *m)
{
    const pada_dataset *data = m->desc->data;
    int n = m->desc->score->n_images;

    if (n == 0) return PADA_OK;
    if (n > data->n_images[PADA_SPLIT_TRAIN]) n = data->n_images[PADA_SPLIT_TRAIN];
    PADA_TRY(pada_batch_maker_init(&m->maker, data, PADA_SPLIT_TRAIN, false, n));
    for (int i = 0; i < n; i++)
        PADA_TRY(pada_batch_maker_put(&m->maker, i, i, NULL));
    m->batch = pada_batch_maker_batch(&m->maker, n);
    return PADA_OK;
}

static pada_status make_trials(measuring *m)
{
    const int wanted = m->desc->n_threads > 0 ? m->desc->n_threads : pada_threads_default();
    void *mem;

    m->n_threads = wanted < m->n_left ? wanted : m->n_left;
    PADA_TRY(pada_calloc(&mem, (size_t)m->n_threads, sizeof(pada_trial *)));
    m->trials = mem;
    for (int i = 0; i < m->n_threads; i++)
        PADA_TRY(pada_trial_create(&m->trials[i], m->backend, 1));
    return pada_pool_create(&m->pool, m->n_threads);
}

static bool is_to_stop(measuring *m)
{
    const pada_free_scores_desc *desc = m->desc;

    pthread_mutex_lock(&m->lock);
    m->is_stopped = m->is_stopped || (desc->stop && desc->stop(desc->user));
    const bool is_stopped = m->is_stopped;
    pthread_mutex_unlock(&m->lock);
    return is_stopped;
}

static pada_status keep(measuring *m, int i, const double *values, double seconds)
{
    const pada_free_scores_desc *desc = m->desc;
    pada_status st = PADA_OK;

    pthread_mutex_lock(&m->lock);
    for (int k = 0; k < desc->score->n_values; k++)
        m->out->values[(size_t)k * (size_t)desc->n + (size_t)i] = values[k];
    m->n_done++;
    m->seconds += seconds;
    if (m->results) st = pada__free_results_append(m->results, &desc->paths[i], values);
    if (desc->progress) desc->progress(desc->user, m->n_done, desc->n);
    pthread_mutex_unlock(&m->lock);
    return st;
}

static pada_status measure_one(void *context, int item, int thread)
{
    measuring *m = context;
    const pada_free_scores_desc *desc = m->desc;
    const int i = m->left[item];
    double values[PADA_MAX_FREE_VALUES] = {0};
    pada_space alone;

    if (is_to_stop(m)) return PADA_OK;
    const double start = pada_clock_seconds();
    pada_space_finalise(&alone, desc->space, &desc->paths[i]);
    PADA_TRY(pada_trial_take(m->trials[thread], &alone));
    const pada_status st = desc->score->measure(m->trials[thread], &m->batch, desc->seed, values);
    if (st == PADA_EUNSUPPORTED)
        return PADA_FAIL(st, "%s, space %s: %s", desc->score->name, desc->space->ops->name,
                         pada_message());
    PADA_TRY(st);
    return keep(m, i, values, pada_clock_seconds() - start);
}

static pada_status measure_left(measuring *m)
{
    const int n_before = m->n_done;

    if (m->n_left == 0) return PADA_OK;
    PADA_TRY(make_trials(m));
    PADA_TRY(pada_pool_try(m->pool, m->n_left, measure_one, m));
    m->out->n_measured = m->n_done - n_before;
    if (m->out->n_measured > 0) m->out->seconds = m->seconds / m->out->n_measured;
    if (m->results) PADA_TRY(pada__free_results_sync(m->results));
    if (m->is_stopped)
        return PADA_FAIL(PADA_ESTOPPED,
                         "stopped after %d of %d networks; the same command resumes it", m->n_done,
                         m->desc->n);
    return PADA_OK;
}

/* ---- a run ---- */

static pada_status measure_all(measuring *m)
{
    const pada_free_scores_desc *desc = m->desc;
    void *mem;

    m->out->n = desc->n;
    PADA_TRY(pada_calloc(&mem, (size_t)desc->score->n_values * (size_t)desc->n, sizeof(double)));
    m->out->values = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)desc->n, sizeof(double)));
    m->out->scores = mem;
    PADA_TRY(pada_backend_find(&m->backend, desc->score->in_double ? "ref" : "cpu"));
    PADA_TRY(make_batch(m));
    PADA_TRY(list_left(m));
    PADA_TRY(measure_left(m));
    return pada_free_score_combine(desc->score, m->out->values, desc->n, m->out->scores);
}

pada_status pada_free_scores_run(const pada_free_scores_desc *desc, pada_free_scores *out)
{
    measuring m = {.desc = desc, .out = out};

    *out = (pada_free_scores){0};
    pthread_mutex_init(&m.lock, NULL); /* fails for attributes only */
    const pada_status st = measure_all(&m);
    pada_pool_destroy(m.pool);
    for (int i = 0; m.trials && i < m.n_threads; i++)
        pada_trial_destroy(m.trials[i]);
    pada_free(m.trials);
    pada__free_results_close(m.results);
    pada_path_index_destroy(m.paths);
    pada_free(m.left);
    pada_batch_maker_deinit(&m.maker);
    pthread_mutex_destroy(&m.lock);
    return st;
}

void pada_free_scores_deinit(pada_free_scores *s)
{
    pada_free(s->values);
    pada_free(s->scores);
    *s = (pada_free_scores){0};
}
