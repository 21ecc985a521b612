/* ranking_fixture.h - a small supernet, nine networks, and rankings of them that can be watched and
 * stopped. PADA_TEST_BACKEND=NAME: on that backend instead of cpu. */
#ifndef PADA_TESTS_STUDY_RANKING_FIXTURE_H
#define PADA_TESTS_STUDY_RANKING_FIXTURE_H

#include "base/scratch.h"

#include "engine/engine_weights.h"
#include "space/nb201_cells.h"
#include "study/ranking.h"

enum { N_PATHS = 9, N_FORMS = 6, N_IMAGES = 12, BATCH = 4, MAX_WORKERS = 3 };

typedef struct fixture {
    pada_space space;
    pada_dataset *data;
    pada_eval_worker workers[MAX_WORKERS]; /* with the same weights */
    int n_workers;                         /* that rank; 1 at first */
    const pada_family *family;             /* NULL: one supernet */
    const char *scores;                    /* folder that keeps them, or NULL */
} fixture;

/* Six different forms: 1 and 2 are the same without dead edges, and so are 3, 4 and 5. */
static const pada_path paths[N_PATHS] = {
    {{3, 1, 2, 4, 3, 1}}, {{0, 0, 0, 3, 0, 0}}, {{3, 0, 0, 3, 0, 0}},
    {{0, 0, 0, 0, 0, 0}}, {{3, 3, 3, 0, 0, 0}}, {{0, 0, 1, 0, 2, 3}},
    {{1, 1, 1, 1, 1, 1}}, {{2, 0, 3, 0, 0, 2}}, {{4, 4, 0, 1, 2, 0}},
};

/* What the callbacks saw and shall do. */
typedef struct watch {
    int n_evaluated, stop_after; /* -1: never */
    int last_done, last_total;
    bool is_wrong; /* progress that cannot be; not asserted in the thread of a worker */
    char note[512];
} watch;

static bool stop(void *user)
{
    const watch *w = user;

    return w->stop_after >= 0 && w->n_evaluated >= w->stop_after;
}

static void progress(void *user, const pada_ranking_progress *p)
{
    watch *w = user;

    w->is_wrong = w->is_wrong || !(p->seconds >= 0 && p->seconds_left >= 0) ||
                  (w->n_evaluated > 0 && p->n_done != w->last_done + 1);
    w->n_evaluated++;
    w->last_done = p->n_done;
    w->last_total = p->n_total;
}

static void note(void *user, const char *text)
{
    snprintf(((watch *)user)->note, sizeof((watch *)user)->note, "%s", text);
}

static int setup_ranking(void **state)
{
    const pada_space_config config = {.channels = 4, .cells = 1, .classes = 10, .image_size = 16};
    const char *backend = getenv("PADA_TEST_BACKEND");
    pada_engine_desc desc = {.n_threads = 1, .batch_size = BATCH, .mode = PADA_EVAL};
    static fixture f = {.n_workers = 1};
    pada_evaluation found;

    f.space = nb201_space(&config);
    desc.space = &f.space;
    assert_ok(pada_dataset_open(
        &f.data,
        &(pada_dataset_desc){.where = "builtin", .splits = PADA_SPLIT_BIT(PADA_SPLIT_TEST)}));
    assert_ok(pada_backend_find(&desc.backend, backend ? backend : "cpu"));
    for (int i = 0; i < MAX_WORKERS; i++) {
        assert_ok(pada_engine_create(&f.workers[i].engine, &desc));
        assert_ok(pada_engine_init_weights(f.workers[i].engine, 7));
        assert_ok(pada_evaluator_create(
            &f.workers[i].evaluator,
            &(pada_evaluator_desc){
                .data = f.data, .split = PADA_SPLIT_TEST, .limit = N_IMAGES, .batch_size = BATCH}));
        /* Backends get memory with the first network, which a test that counts it must not see. */
        assert_ok(pada_evaluator_run(f.workers[i].evaluator, f.workers[i].engine, &paths[0], NULL,
                                     &found));
    }
    *state = &f;
    return scratch_setup(state);
}

static int teardown_ranking(void **state)
{
    fixture *f = *state;

    for (int i = 0; i < MAX_WORKERS; i++) {
        pada_evaluator_destroy(f->workers[i].evaluator);
        pada_engine_destroy(f->workers[i].engine);
    }
    pada_dataset_close(f->data);
    return scratch_teardown(state);
}

/* Ranks the first n of a list. With a folder of scores, `out` gets all that is in it. */
static pada_status rank_some(const fixture *f, const pada_path *list, int n, const char *out,
                             watch *w)
{
    const int stop_after = w->stop_after;

    *w = (watch){.stop_after = stop_after};
    const pada_status st = pada_ranking_run(&(pada_ranking_desc){.workers = f->workers,
                                                                 .n_workers = f->n_workers,
                                                                 .family = f->family,
                                                                 .paths = list,
                                                                 .n_paths = n,
                                                                 .out = out,
                                                                 .scores = f->scores,
                                                                 .writes_all = f->scores != NULL,
                                                                 .user = w,
                                                                 .stop = stop,
                                                                 .progress = progress,
                                                                 .note = note},
                                            NULL);
    assert_false(w->is_wrong);
    return st;
}

static pada_status rank(const fixture *f, const char *out, watch *w)
{
    return rank_some(f, paths, N_PATHS, out, w);
}

static void assert_same_file(const char *path, const char *expected)
{
    pada_file file;

    assert_ok(pada_file_open(&file, expected));
    assert_file_holds(path, file.data, file.bytes);
    pada_file_close(&file);
}

/* ---- several supernets ---- */

/* Supernet `number` of a run: fresh weights of a seed for those with these choices in slot 0. */
static void keep_supernet(const fixture *f, const char *run, int number, uint32_t choices,
                          uint64_t seed)
{
    pada_subspace part;

    pada_subspace_init(&part, &f->space);
    part.allowed[0] = choices;
    assert_ok(pada_engine_init_weights(f->workers[0].engine, seed));
    assert_ok(pada_family_keep(run, number, true, &part, f->workers[0].engine));
}

/* Slot 0 with choices 0 and 1 belongs to weights 21, with 2, 3, 4 to weights 22. */
static pada_family *make_family(const fixture *f)
{
    char run[1300];
    pada_family *family;

    snprintf(run, sizeof run, "%s", scratch_path("run"));
    assert_ok(pada_family_begin(run));
    keep_supernet(f, run, 1, 3, 21);
    keep_supernet(f, run, 2, 28, 22);
    assert_ok(pada_family_open(&family, run, &f->space));
    return family;
}

#endif
