/* test_ranking_workers.c - rankings with several networks side by side against one after the other.
 * PADA_TEST_BACKEND=NAME: on that backend instead of cpu. */
#include "engine/engine_weights.h"
#include "study/ranking_fixture.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

enum { PATIENCE_SECONDS = 60 };

/* Of the scratch folder. */
static char whole[1300], out[1300], partial[1300];

static int setup(void **state)
{
    const int failed = setup_ranking(state);

    snprintf(whole, sizeof whole, "%s", scratch_path("whole.csv"));
    snprintf(out, sizeof out, "%s", scratch_path("ranking.csv"));
    snprintf(partial, sizeof partial, "%s", scratch_path("ranking.csv.partial"));
    return failed;
}

/* Before each test: `whole` is the ranking of one worker, and nothing else is there. */
static int rank_alone(void **state)
{
    watch w = {.stop_after = -1};

    return scratch_clear(state) == 0 && rank(*state, whole, &w) == PADA_OK ? 0 : -1;
}

/* ---- with images that nobody gets before so many threads have asked for some ---- */

typedef struct gate {
    pada_dataset base;
    const pada_dataset *data; /* the images */
    pthread_mutex_t lock;
    pthread_cond_t came;
    pthread_t threads[MAX_WORKERS]; /* that have asked */
    int n_threads, n_wanted;
    int n_begun;  /* evaluations */
    bool is_shut; /* before that the images are only hashed */
    bool is_late;
} gate;

static const uint8_t *gate_image(const pada_dataset *base, pada_split split, int i)
{
    const gate *g = (const gate *)base;

    return g->data->ops->image(g->data, split, i);
}

static void come(gate *g)
{
    int i = 0;

    while (i < g->n_threads && !pthread_equal(g->threads[i], pthread_self()))
        i++;
    if (i == MAX_WORKERS || i < g->n_threads) return;
    g->threads[g->n_threads++] = pthread_self();
    pthread_cond_broadcast(&g->came);
}

static int gate_label(const pada_dataset *base, pada_split split, int i)
{
    gate *g = (gate *)base;
    struct timespec until;

    if (!g->is_shut) { /* one thread; an evaluation never gets to the last image */
        g->is_shut = i == g->base.n_images[split] - 1;
        return g->data->ops->label(g->data, split, i);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    pthread_mutex_lock(&g->lock);
    come(g);
    g->n_begun += i == 0;
    while (g->n_threads < g->n_wanted && !g->is_late)
        g->is_late = pthread_cond_timedwait(&g->came, &g->lock, &until) == ETIMEDOUT;
    pthread_mutex_unlock(&g->lock);
    return g->data->ops->label(g->data, split, i);
}

static const pada_dataset_ops gate_ops = {.image = gate_image, .label = gate_label};

/* Gives the workers of the fixture evaluators with these images. */
static void gate_begin(gate *g, fixture *f, int n_wanted)
{
    *g = (gate){.base = *f->data, .data = f->data, .n_wanted = n_wanted};
    g->base.ops = &gate_ops;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->came, NULL);
    f->n_workers = n_wanted;
    for (int i = 0; i < n_wanted; i++)
        assert_ok(pada_evaluator_create(&f->workers[i].evaluator,
                                        &(pada_evaluator_desc){.data = &g->base,
                                                               .split = PADA_SPLIT_TEST,
                                                               .limit = N_IMAGES,
                                                               .batch_size = BATCH}));
}

static void gate_end(gate *g, fixture *f)
{
    for (int i = 0; i < g->n_wanted; i++)
        pada_evaluator_destroy(f->workers[i].evaluator);
    pthread_cond_destroy(&g->came);
    pthread_mutex_destroy(&g->lock);
}

/* ---- the same results ---- */

/* The ranking with these workers, of which so much is left to do, becomes the same as `whole`. */
static void check_same(const fixture *f, int n_workers, int n_left)
{
    fixture some = *f;
    watch w = {.stop_after = -1};

    some.n_workers = n_workers;
    assert_ok(rank(&some, out, &w));
    assert_int_equal(w.n_evaluated, n_left);
    assert_int_equal(w.last_done, w.last_total);
    assert_same_file(out, whole);
    assert_false(pada_path_exists(partial));
    unlink(out);
}

/* A CPU is full with one network, a device is not. */
static void test_default(void **state)
{
    const char *name = getenv("PADA_TEST_BACKEND");
    const pada_backend *backend;

    (void)state;
    assert_ok(pada_backend_find(&backend, name ? name : "cpu"));
    assert_int_equal(pada_backend_in_flight(backend), name ? 3 : 1);
}

static void test_same_bytes(void **state)
{
    for (int n = 2; n <= MAX_WORKERS; n++)
        check_same(*state, n, N_FORMS);
}

/* Stopped after k networks: those that are under way are ended and kept, nothing else is begun. */
static void check_goes_on(const fixture *f, int n_jobs)
{
    for (int k = 0; k < n_jobs; k++) {
        fixture three = *f;
        watch w = {.stop_after = k};
        gate g;

        gate_begin(&g, &three, MAX_WORKERS);
        const pada_status st = rank(&three, out, &w);
        const int n_done = w.n_evaluated;
        assert_int_equal(n_done, g.n_begun);
        assert_in_range(n_done, k, k == 0 ? 0 : k + MAX_WORKERS - 1);
        assert_int_equal(st, n_done < n_jobs ? PADA_ESTOPPED : PADA_OK);
        if (st == PADA_ESTOPPED) {
            char text[64];
            snprintf(text, sizeof text, "stopped after %d of %d evaluations;", n_done, n_jobs);
            assert_non_null(strstr(pada_message(), text));
            assert_false(pada_path_exists(out));
            check_same(f, MAX_WORKERS, n_jobs - n_done);
        } else {
            assert_same_file(out, whole);
            unlink(out);
        }
        gate_end(&g, &three);
    }
}

static void test_goes_on(void **state)
{
    check_goes_on(*state, N_FORMS);
}

/* Every worker enters the supernet of its network, whatever the others are at. */
static void test_family(void **state)
{
    fixture f = *(const fixture *)*state;
    pada_family *family = make_family(&f);
    watch w = {.stop_after = -1};

    f.family = family;
    assert_ok(rank(&f, whole, &w));
    for (int n = 2; n <= MAX_WORKERS; n++)
        check_same(&f, n, N_FORMS + 2);
    check_goes_on(&f, N_FORMS + 2); /* each worker gets some */
    pada_family_close(family);
    for (int i = 0; i < MAX_WORKERS; i++)
        assert_ok(pada_engine_init_weights(f.workers[i].engine, 7));
}

/* All workers evaluate at the same time; a single one does so in the thread of the caller. */
static void test_side_by_side(void **state)
{
    for (int n = 1; n <= MAX_WORKERS; n++) {
        fixture f = *(const fixture *)*state;
        watch w = {.stop_after = -1};
        gate g;

        gate_begin(&g, &f, n);
        assert_ok(rank(&f, out, &w));
        assert_false(g.is_late);
        assert_int_equal(g.n_begun, N_FORMS);
        if (n == 1) assert_true(pthread_equal(g.threads[0], pthread_self()));
        assert_same_file(out, whole);
        gate_end(&g, &f);
    }
}

/* ---- failures ---- */

/* One of the workers has batches that its engine does not take. */
static void test_one_fails(void **state)
{
    for (int bad = 0; bad < MAX_WORKERS; bad++) {
        fixture f = *(const fixture *)*state;
        watch w = {.stop_after = -1};
        gate g;

        gate_begin(&g, &f, MAX_WORKERS);
        pada_evaluator_destroy(f.workers[bad].evaluator);
        assert_ok(pada_evaluator_create(&f.workers[bad].evaluator,
                                        &(pada_evaluator_desc){.data = &g.base,
                                                               .split = PADA_SPLIT_TEST,
                                                               .limit = N_IMAGES,
                                                               .batch_size = BATCH + 1}));
        assert_fails(rank(&f, out, &w), PADA_EINVAL, "batch of 5 images; the engine takes 1 to 4");
        assert_false(g.is_late);
        assert_true(w.n_evaluated < N_FORMS);
        assert_false(pada_path_exists(out));
        gate_end(&g, &f);
        /* The first one has said what the partial file is of. */
        check_same(*state, MAX_WORKERS, bad == 0 ? N_FORMS : N_FORMS - w.n_evaluated);
    }
}

/* No room for the first result: what was under way is all that was evaluated. */
static void test_stops_after_a_failure(void **state)
{
    fixture f = *(const fixture *)*state;
    struct rlimit before, small;
    watch w = {.stop_after = 0};
    pada_file file;
    gate g;

    gate_begin(&g, &f, MAX_WORKERS);
    assert_int_equal(rank(&f, out, &w), PADA_ESTOPPED);
    assert_ok(pada_file_open(&file, partial)); /* the header only */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = file.bytes;
    pada_file_close(&file);
    w.stop_after = -1;
    signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const pada_status st = rank(&f, out, &w);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(st, PADA_EIO);
    assert_non_null(strstr(pada_message(), "ranking.csv.partial: "));
    assert_non_null(strstr(pada_message(), strerror(EFBIG)));
    assert_false(g.is_late);
    assert_int_equal(g.n_begun, MAX_WORKERS);
    assert_int_equal(w.n_evaluated, 0);
    assert_false(pada_path_exists(out));
    gate_end(&g, &f);
    check_same(*state, MAX_WORKERS, N_FORMS);
}

static pada_status rank_afresh(const fixture *f)
{
    watch w = {.stop_after = -1};

    unlink(partial);
    return rank(f, out, &w);
}

static void test_oom(void **state)
{
    fixture f = *(const fixture *)*state;

    if (getenv("PADA_TEST_BACKEND")) skip(); /* many rankings, the same on every backend */
    f.n_workers = MAX_WORKERS;
    assert_survives_oom(rank_afresh(&f), (void)0);
    assert_same_file(out, whole);
}

/* Evaluators of all workers that judge two views by their margins, or as the fixture has them. */
static void change_evaluators(fixture *f, bool judge)
{
    for (int i = 0; i < MAX_WORKERS; i++) {
        pada_evaluator_destroy(f->workers[i].evaluator);
        assert_ok(pada_evaluator_create(&f->workers[i].evaluator,
                                        &(pada_evaluator_desc){.data = f->data,
                                                               .split = PADA_SPLIT_TEST,
                                                               .limit = N_IMAGES,
                                                               .batch_size = BATCH,
                                                               .views = judge ? 2 : 1,
                                                               .margins = judge}));
    }
}

/* Margins of mirrored images, too, are the same by any number of workers, and kept. */
static void test_margins(void **state)
{
    fixture *f = *state;
    pada_ranking_table tables[2];
    watch w = {.stop_after = -1};

    change_evaluators(f, true);
    for (int k = 0; k < 2; k++) {
        const char *folder = scratch_path(k == 0 ? "by-one" : "by-three");
        f->n_workers = k == 0 ? 1 : MAX_WORKERS;
        for (int again = 0; again < 2; again++) {
            w = (watch){.stop_after = -1};
            assert_ok(pada_ranking_run(&(pada_ranking_desc){.workers = f->workers,
                                                            .n_workers = f->n_workers,
                                                            .paths = paths,
                                                            .n_paths = N_PATHS,
                                                            .scores = folder,
                                                            .user = &w,
                                                            .progress = progress},
                                       &tables[k]));
            assert_int_equal(w.n_evaluated, again ? 0 : N_FORMS);
            if (!again) pada_ranking_table_deinit(&tables[k]);
        }
    }
    assert_int_equal(tables[0].n, tables[1].n);
    for (int i = 0; i < tables[0].n; i++) {
        assert_true(tables[0].rows[i].margin == tables[1].rows[i].margin);
        assert_true(tables[0].rows[i].margin != 0);
        assert_true(fabs(tables[0].rows[i].margin) < 1);
    }
    pada_ranking_table_deinit(&tables[0]);
    pada_ranking_table_deinit(&tables[1]);
    f->n_workers = 1;
    change_evaluators(f, false);
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup(f, rank_alone)
    const struct CMUnitTest tests[] = {
        unit(test_default),
        unit(test_same_bytes),
        unit(test_goes_on),
        unit(test_family),
        unit(test_side_by_side),
        unit(test_one_fails),
        unit(test_stops_after_a_failure),
        unit(test_oom),
        unit(test_margins), /* last: evaluators are new after it */
    };
    return cmocka_run_group_tests(tests, setup, teardown_ranking);
}
