/* test_eval_queue.c - every job once, whoever evaluates it; a failure ends the queue. */
#include <string.h>

#include "engine/engine_weights.h"
#include "study/eval_queue.h"
#include "train/tiny_engine.h"

enum { N_JOBS = 12, N_WORKERS = 3 };

static tiny_data data;
static pada_eval_worker workers[N_WORKERS];

/* Jobs and what happened to them; only the farm makes sure that threads do not meet here. */
typedef struct job_log {
    pada_path paths[N_JOBS];
    int n_taken, n_kept, kept[N_JOBS], entered[N_JOBS];
    int fails_at; /* of the kept ones; -1: never */
    double loss[N_JOBS];
} job_log;

static bool take(void *user, void *task)
{
    job_log *l = user;

    if (l->n_taken == N_JOBS) return false;
    *(pada_eval_task *)task =
        (pada_eval_task){.number = l->n_taken, .supernet = 5, .path = l->paths[l->n_taken]};
    l->n_taken++;
    return true;
}

static pada_status enter(void *user, const pada_eval_task *task, int worker, pada_engine *engine)
{
    job_log *l = user;

    assert_ptr_equal(engine, workers[worker].engine);
    assert_int_equal(task->supernet, 5);
    l->entered[task->number]++; /* of this job alone */
    return PADA_OK;
}

static pada_status keep(void *user, const void *task, const void *result)
{
    const pada_eval_result *found = result;
    const int job = ((const pada_eval_task *)task)->number;
    job_log *l = user;

    if (l->n_kept++ == l->fails_at) return PADA_FAIL(PADA_EIO, "no room for job %d", job);
    l->kept[job]++;
    l->loss[job] = found->loss;
    return PADA_OK;
}

static pada_status run(job_log *l, int n_workers, int fails_at)
{
    const pada_farm_source source = {.user = l, .take = take, .keep = keep};
    pada_eval_queue_desc desc = {
        .workers = workers, .n_workers = n_workers, .user = l, .enter = enter};
    pada_eval_queue *queue;
    pada_rng rng;

    *l = (job_log){.fails_at = fails_at};
    pada_rng_init(&rng, 1, "jobs", 0);
    for (int i = 0; i < N_JOBS; i++)
        pada_path_random(pada_engine_space(workers[0].engine), &rng, &l->paths[i]);
    CHECK_OK(pada_eval_farm_open(&desc.farm, NULL, n_workers, NULL));
    CHECK_OK(pada_eval_queue_create(&queue, &desc));
    pada_farm_begin(desc.farm, &source);
    const pada_status st = pada_eval_queue_run(queue);
    assert_int_equal(pada_farm_end(desc.farm), st);
    assert_int_equal(pada_farm_close(desc.farm), st);
    pada_eval_queue_destroy(queue);
    return st;
}

static void every_job_is_kept_once(void **state)
{
    static job_log one, all;

    (void)state;
    CHECK_OK(run(&one, 1, -1));
    CHECK_OK(run(&all, N_WORKERS, -1));
    for (int i = 0; i < N_JOBS; i++) {
        assert_int_equal(all.kept[i], 1);
        assert_int_equal(all.entered[i], 1);
        CHECK_CLOSE(all.loss[i], one.loss[i], 0);
        for (int k = 0; k < i; k++)
            assert_true(one.loss[i] != one.loss[k]);
    }
}

static void a_failure_ends_it(void **state)
{
    static job_log l;

    (void)state;
    assert_int_equal(run(&l, N_WORKERS, 2), PADA_EIO);
    assert_int_equal(l.n_kept, 3);                  /* nothing behind it */
    assert_true(l.n_taken <= l.n_kept + N_WORKERS); /* but what was under way */
}

static void workers_fill_the_backend(void **state)
{
    const pada_backend three = {.in_flight = 3}, one = {.in_flight = 0};

    (void)state;
    assert_int_equal(pada_eval_in_flight(&three, 0, 100), 3);
    assert_int_equal(pada_eval_in_flight(&one, 0, 100), 1);
    assert_int_equal(pada_eval_in_flight(&three, 5, 100), 5);
    assert_int_equal(pada_eval_in_flight(&three, 5, 2), 2);
    pada_eval_queue_destroy(NULL);
}

static int open_all(void **state)
{
    const pada_backend *cpu;
    pada_space space;

    (void)state;
    tiny_data_init(&data);
    CHECK_OK(pada_backend_find(&cpu, "cpu"));
    for (int i = 0; i < N_WORKERS; i++) {
        workers[i].engine = tiny_engine(&space, cpu, 1, TINY_TEST);
        CHECK_OK(pada_engine_init_weights(workers[i].engine, 3));
        CHECK_OK(pada_evaluator_create(&workers[i].evaluator,
                                       &(pada_evaluator_desc){.data = &data.base,
                                                              .split = PADA_SPLIT_TEST,
                                                              .batch_size = TINY_TEST}));
    }
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int i = 0; i < N_WORKERS; i++) {
        pada_engine_destroy(workers[i].engine);
        pada_evaluator_destroy(workers[i].evaluator);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_kept_once),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(workers_fill_the_backend),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
