/* study_run.c - runs the stages of a study: process 0 hands out the runs, each process does the stages of those it has, one
 * child process after the other. */
#include "cli/study_run.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/progress.h"
#include "cli/study_process.h"
#include "dist/farm.h"

enum { PAUSE_NS = 20 * 1000 * 1000 };

/* What became of a run: its first stages are done, and this is what the next one came to. A task is the number of a run, its
 * chain. */
typedef struct outcome {
    int n_done;             /* those of earlier starts among them */
    pada_study_state state; /* of the next stage, if there is one */
    char message[PADA_MESSAGE_BYTES];
} outcome;

typedef struct runner {
    pada_study_jobs *jobs;
    const pada_study_running *how;
    pada_farm *farm;
    double start;
    atomic_bool has_failed; /* this process, not one of its runs */
    bool *is_taken;         /* [n_chains] of process 0, owned */
    int next;               /* there is nothing to do in the chains before it */
} runner;

static void say(const runner *r, const char *format, ...) PADA_PRINTF(2, 3);
static void say(const runner *r, const char *format, ...)
{
    va_list args;

    if (r->how->quiet) return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

static bool must_stop(const runner *r)
{
    const double limit = r->how->max_seconds;

    return *pada_farm_stop(r->farm) || r->has_failed ||
           (limit > 0 && pada_clock_seconds() - r->start >= limit);
}

/* The first job of a chain. */
static pada_study_job *first_of(const pada_study_jobs *jobs, int chain)
{
    pada_study_job *job = jobs->of;

    while (job->chain != chain)
        job++;
    return job;
}

static pada_study_job *next_of(const pada_study_jobs *jobs, pada_study_job *job)
{
    pada_study_job *next = job + 1;

    return next < jobs->of + jobs->n && next->chain == job->chain ? next : NULL;
}

/* ---- one stage ---- */

/* The stage failed, for a reason that is its own or that of its child process. */
static void give_up(const runner *r, const pada_study_job *job, const char *why, outcome *out)
{
    out->state = PADA_STUDY_FAILED;
    (void)strncat(out->message, why, sizeof out->message - 1);
    say(r, "%s: %s failed: %s\n", job->name.data, pada_study_stage_name(job->stage), out->message);
}

/* Waits for a child process, which is told to stop when this one is. */
static pada_status await(const runner *r, pid_t process, int *code, bool *was_stopped)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    bool ended = false;

    *was_stopped = false;
    for (;;) {
        PADA_TRY(pada_process_ended(process, &ended, code));
        if (ended) return PADA_OK;
        if (!*was_stopped && must_stop(r)) {
            *was_stopped = true;
            (void)kill(process, SIGTERM);
        }
        (void)nanosleep(&pause, NULL);
    }
}

/* A device that one of several machines lacks would fail the runs of all others as fast as that one takes them. */
static pada_status check_device(const runner *r, const pada_study_job *job, int code,
                                const char *why)
{
    if (pada_team_size(r->how->team) == 1 || code != pada_status_exit_code(PADA_EDEVICE))
        return PADA_OK;
    return PADA_FAIL(PADA_EDEVICE, "%s: %s failed: %s", job->name.data,
                     pada_study_stage_name(job->stage), why);
}

static pada_status judge_stage(const runner *r, const pada_study_job *job, int code,
                               const char *log, outcome *out)
{
    pada_text why = {0};

    pada_status st = pada_last_line(log, &why);
    if (st == PADA_OK && why.length == 0) pada_text_add(&why, "exit code %d", code);
    if (st == PADA_OK) st = check_device(r, job, code, pada_text_str(&why));
    if (st == PADA_OK) give_up(r, job, pada_text_str(&why), out);
    pada_text_deinit(&why);
    return st;
}

static pada_status run_command(const runner *r, const pada_study_job *job, const char *log,
                               outcome *out)
{
    const double start = pada_clock_seconds();
    char took[PADA_DURATION];
    pada_text shown = {0};
    bool was_stopped;
    pid_t process;
    int code;

    pada_command_line_print(&job->line, &shown);
    pada_status st = shown.status;
    if (st == PADA_OK) say(r, "$ %s\n", shown.data);
    pada_text_deinit(&shown);
    if (st == PADA_OK) st = pada_process_start(&process, &job->line, log, r->how->lock);
    if (st == PADA_OK) st = await(r, process, &code, &was_stopped);
    if (st != PADA_OK) return st;
    if (code == 0) {
        out->state = PADA_STUDY_DONE;
        say(r, "%s: %s done in %s\n", job->name.data, pada_study_stage_name(job->stage),
            pada_duration(pada_clock_seconds() - start, took));
        return pada_study_job_record(job);
    }
    if (!was_stopped && code != pada_status_exit_code(PADA_ESTOPPED))
        return judge_stage(r, job, code, log, out);
    out->state = PADA_STUDY_STOPPED;
    return PADA_OK;
}

/* A child process of a study that was killed may still be writing there, on this machine or another one. */
static pada_status wait_for_folder(const runner *r, const pada_study_job *job)
{
    pada_run_lock lock = {0};

    if (!pada_path_is_dir(job->folder.data)) return PADA_OK;
    const pada_status st =
        pada_run_lock_await(&lock, job->folder.data, PADA_STUDY_PATIENCE, pada_farm_stop(r->farm));
    pada_run_lock_release(&lock);
    return st;
}

static pada_status run_stage(const runner *r, pada_study_job *job, outcome *out)
{
    pada_text log = {0};
    pada_status st = wait_for_folder(r, job);

    if (st == PADA_OK) st = pada_study_job_choose(r->jobs, job);
    if (st != PADA_OK && st != PADA_ENOMEM) {
        give_up(r, job, pada_message(), out);
        return PADA_OK;
    }
    if (st == PADA_OK) pada_text_add(&log, "%s/%s.log", r->jobs->request->out, job->name.data);
    if (st == PADA_OK) st = log.status;
    if (st == PADA_OK) st = run_command(r, job, log.data, out);
    pada_text_deinit(&log);
    return st;
}

/* ---- one run ---- */

static pada_status run_chain(const runner *r, int chain, outcome *out)
{
    *out = (outcome){.state = PADA_STUDY_DONE};
    for (pada_study_job *job = first_of(r->jobs, chain); job; job = next_of(r->jobs, job)) {
        if (!pada_study_job_is_done(job)) {
            out->state = PADA_STUDY_TO_DO;
            if (must_stop(r)) return PADA_OK;
            PADA_TRY(run_stage(r, job, out));
            if (out->state != PADA_STUDY_DONE) return PADA_OK;
        }
        out->n_done++;
    }
    return PADA_OK;
}

/* Does run after run until none is left. */
static pada_status work(void *context, int worker, int thread)
{
    runner *r = context;
    outcome found;
    int chain;

    (void)worker;
    (void)thread;
    while (pada_farm_take(r->farm, &chain)) {
        const pada_status st = run_chain(r, chain, &found);
        if (st != PADA_OK) {
            r->has_failed = true;
            return pada_farm_fail(r->farm, st);
        }
        PADA_TRY(pada_farm_keep(r->farm, &chain, &found));
    }
    return PADA_OK;
}

/* ---- all, on process 0 ---- */

static bool ranks_others(const runner *r, int chain)
{
    return r->jobs->request->plan->runs[first_of(r->jobs, chain)->run].n_members > 0;
}

static bool is_to_do(const runner *r, int chain)
{
    pada_study_job *job = first_of(r->jobs, chain);

    while (job && pada_study_job_is_done(job))
        job = next_of(r->jobs, job);
    return job && !r->is_taken[chain] && !ranks_others(r, chain);
}

static bool take_chain(void *user, void *task)
{
    runner *r = user;

    if (must_stop(r)) return false;
    while (r->next < r->jobs->n_chains && !is_to_do(r, r->next))
        r->next++;
    if (r->next == r->jobs->n_chains) return false;
    r->is_taken[r->next] = true;
    *(int *)task = r->next++;
    return true;
}

static void put_chain_back(void *user, const void *task)
{
    runner *r = user;

    r->is_taken[*(const int *)task] = false;
    r->next = 0;
}

static pada_status keep_chain(void *user, const void *task, const void *result)
{
    const runner *r = user;
    const outcome *found = result;
    pada_study_job *job = first_of(r->jobs, *(const int *)task);

    for (int i = 0; i < found->n_done && job; i++, job = next_of(r->jobs, job))
        if (!pada_study_job_is_done(job)) job->state = PADA_STUDY_DONE;
    if (!job) return PADA_OK;
    job->state = found->state;
    pada_text_add(&job->message, "%s", found->message);
    return job->message.status;
}

/* A ranking of several runs, once all of them are done. */
static pada_status rank_others(const runner *r, int chain)
{
    pada_study_job *job = first_of(r->jobs, chain);
    const pada_study_job *missing = pada_study_job_missing(r->jobs, job);
    outcome found;

    if (pada_study_job_is_done(job) || must_stop(r)) return PADA_OK;
    if (missing) {
        found = (outcome){.state = PADA_STUDY_FAILED};
        snprintf(found.message, sizeof found.message, "%s is not there", missing->name.data);
    } else {
        PADA_TRY(run_chain(r, chain, &found));
    }
    return keep_chain((void *)r, &chain, &found);
}

/* One after the other: they work in the folders of the same runs. */
static pada_status rank_together(const runner *r)
{
    for (int chain = 0; chain < r->jobs->n_chains; chain++)
        if (ranks_others(r, chain)) PADA_TRY(rank_others(r, chain));
    return PADA_OK;
}

/* What is left belongs to runs that were stopped, unless they failed. */
static pada_status judge(const runner *r)
{
    int n_done = 0, n_left = 0, failed = -1;

    for (int i = 0; i < r->jobs->n; i++) {
        const pada_study_job *job = &r->jobs->of[i];
        if (job->state == PADA_STUDY_FAILED) failed = job->chain;
        n_done += pada_study_job_is_done(job);
        n_left += !pada_study_job_is_done(job) && job->chain != failed;
    }
    if (n_left == 0) return PADA_OK;
    return PADA_FAIL(PADA_ESTOPPED,
                     "stopped with %d of %d stages done; the same command resumes it", n_done,
                     r->jobs->n);
}

static pada_status work_in_threads(runner *r)
{
    const int n = r->how->n_at_once < r->jobs->n_chains ? r->how->n_at_once : r->jobs->n_chains;
    pada_pool *pool;

    if (n == 0) return PADA_OK;
    PADA_TRY(pada_pool_create(&pool, n));
    const pada_status st = pada_pool_try(pool, n, work, r);
    pada_pool_destroy(pool);
    return st;
}

static pada_status lead(runner *r)
{
    const pada_farm_source source = {
        .user = r, .take = take_chain, .put_back = put_chain_back, .keep = keep_chain};
    void *taken;

    PADA_TRY(pada_calloc(&taken, (size_t)r->jobs->n_chains, sizeof *r->is_taken));
    r->is_taken = taken;
    pada_farm_begin(r->farm, &source);
    const pada_status own = work_in_threads(r), all = pada_farm_end(r->farm);
    pada_free(r->is_taken);
    if (all != PADA_OK) return all;
    PADA_TRY(own);
    PADA_TRY(rank_together(r));
    return judge(r);
}

pada_status pada_study_jobs_run(pada_study_jobs *jobs, const pada_study_running *how)
{
    runner r = {.jobs = jobs, .how = how, .start = pada_clock_seconds()};

    PADA_TRY(pada_farm_open(&r.farm, &(pada_farm_desc){.team = how->team,
                                                       .task_bytes = sizeof(int),
                                                       .result_bytes = sizeof(outcome),
                                                       .stop = how->stop}));
    const pada_status st = pada_farm_leads(r.farm) ? lead(&r) : work_in_threads(&r);
    const pada_status others = pada_farm_close(r.farm);
    return st == PADA_OK ? others : st;
}
