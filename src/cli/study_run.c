/* study_run.c - runs the stages of a study, several at once. */
#include "cli/study_run.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/progress.h"
#include "cli/study_process.h"

enum { PAUSE_NS = 20 * 1000 * 1000 };

/* A process that works on a job. */
typedef struct worker {
    pada_study_job *job; /* NULL: it has nothing to do */
    pid_t process;
    double start; /* clock */
    pada_text log;
} worker;

typedef struct runner {
    pada_study_jobs *jobs;
    const pada_study_running *how;
    worker *workers; /* [how->n_at_once], owned */
    double start;
    bool is_stopping;
} runner;

static void say(const runner *r, const char *format, ...) PADA_PRINTF(2, 3);
static void say(const runner *r, const char *format, ...)
{
    va_list args;

    if (r->how->quiet) return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ---- choosing ---- */

/* The first job of the chain that is not done; NULL: there is nothing to do in it, or one is on its way or has failed. */
static pada_study_job *next_of_chain(const pada_study_jobs *jobs, int *at)
{
    const int chain = jobs->of[*at].chain;
    pada_study_job *next = NULL;

    for (; *at < jobs->n && jobs->of[*at].chain == chain; ++*at) {
        pada_study_job *job = &jobs->of[*at];
        if (!next && job->state != PADA_STUDY_THERE && job->state != PADA_STUDY_DONE) next = job;
    }
    return next && next->state == PADA_STUDY_TO_DO ? next : NULL;
}

static pada_study_job *next_job(const pada_study_jobs *jobs)
{
    for (int at = 0; at < jobs->n;) {
        pada_study_job *job = next_of_chain(jobs, &at);
        if (job) return job;
    }
    return NULL;
}

/* ---- one job ---- */

/* The job failed for a reason that this process knows. */
static pada_status give_up(const runner *r, pada_study_job *job, const char *why)
{
    job->state = PADA_STUDY_FAILED;
    pada_text_add(&job->message, "%s", why);
    say(r, "%s: %s failed: %s", job->name.data, pada_study_stage_name(job->stage), why);
    return job->message.status;
}

static pada_status begin(const runner *r, worker *w, pada_study_job *job)
{
    pada_text shown = {0};
    pada_status st = pada_study_job_choose(r->jobs, job);

    if (st != PADA_OK) return st == PADA_ENOMEM ? st : give_up(r, job, pada_message());
    w->log.length = 0;
    pada_text_add(&w->log, "%s/%s.log", r->jobs->request->out, job->name.data);
    pada_command_line_print(&job->line, &shown);
    st = w->log.status != PADA_OK ? w->log.status : shown.status;
    if (st == PADA_OK) say(r, "$ %s", shown.data);
    pada_text_deinit(&shown);
    if (st == PADA_OK) st = pada_process_start(&w->process, &job->line, w->log.data, r->how->lock);
    if (st != PADA_OK) return st;
    w->job = job;
    w->start = pada_clock_seconds();
    job->state = PADA_STUDY_RUNNING;
    return PADA_OK;
}

static pada_status finish(const runner *r, worker *w, int code)
{
    pada_study_job *job = w->job;
    char took[PADA_DURATION];
    pada_text line = {0};
    pada_status st = PADA_OK;

    w->job = NULL;
    if (code == 0) {
        job->state = PADA_STUDY_DONE;
        say(r, "%s: %s done in %s", job->name.data, pada_study_stage_name(job->stage),
            pada_duration(pada_clock_seconds() - w->start, took));
        return pada_study_job_record(job);
    }
    if (code == pada_status_exit_code(PADA_ESTOPPED) || r->is_stopping) {
        job->state = PADA_STUDY_STOPPED;
        return PADA_OK;
    }
    st = pada_last_line(w->log.data, &line);
    if (st == PADA_OK && line.length == 0) pada_text_add(&line, "exit code %d", code);
    if (st == PADA_OK) st = give_up(r, job, pada_text_str(&line));
    pada_text_deinit(&line);
    return st;
}

/* ---- all ---- */

static void stop_workers(runner *r)
{
    r->is_stopping = true;
    for (int i = 0; i < r->how->n_at_once; i++)
        if (r->workers[i].job) (void)kill(r->workers[i].process, SIGTERM);
}

/* Whether it is time to stop; the first time the processes are told. */
static void look_at_clock(runner *r)
{
    const double limit = r->how->max_seconds;

    if (r->is_stopping) return;
    if (*r->how->stop || (limit > 0 && pada_clock_seconds() - r->start >= limit)) stop_workers(r);
}

static pada_status look_at_worker(runner *r, worker *w)
{
    bool ended;
    int code;

    if (w->job) {
        PADA_TRY(pada_process_ended(w->process, &ended, &code));
        if (ended) PADA_TRY(finish(r, w, code));
    }
    if (w->job || r->is_stopping) return PADA_OK;
    pada_study_job *job = next_job(r->jobs);
    return job ? begin(r, w, job) : PADA_OK;
}

static bool is_busy(const runner *r)
{
    for (int i = 0; i < r->how->n_at_once; i++)
        if (r->workers[i].job) return true;
    return !r->is_stopping && next_job(r->jobs);
}

static pada_status work(runner *r)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    while (is_busy(r)) {
        look_at_clock(r);
        for (int i = 0; i < r->how->n_at_once; i++)
            PADA_TRY(look_at_worker(r, &r->workers[i]));
        (void)nanosleep(&pause, NULL);
    }
    return PADA_OK;
}

/* After a failure of this process: nobody is left behind. */
static void wait_for_all(runner *r)
{
    int code;

    stop_workers(r);
    for (int i = 0; i < r->how->n_at_once; i++)
        if (r->workers[i].job) (void)pada_process_wait(r->workers[i].process, &code);
}

static pada_status judge(const runner *r)
{
    int n_done = 0, n_stopped = 0;

    for (int i = 0; i < r->jobs->n; i++) {
        const pada_study_state state = r->jobs->of[i].state;
        n_done += state == PADA_STUDY_THERE || state == PADA_STUDY_DONE;
        n_stopped += state == PADA_STUDY_STOPPED;
    }
    if (!r->is_stopping && n_stopped == 0) return PADA_OK;
    return PADA_FAIL(PADA_ESTOPPED,
                     "stopped with %d of %d stages done; the same command resumes it", n_done,
                     r->jobs->n);
}

pada_status pada_study_jobs_run(pada_study_jobs *jobs, const pada_study_running *how)
{
    runner r = {.jobs = jobs, .how = how, .start = pada_clock_seconds()};
    char message[PADA_MESSAGE_BYTES];
    void *workers;

    PADA_TRY(pada_calloc(&workers, (size_t)how->n_at_once, sizeof *r.workers));
    r.workers = workers;
    pada_status st = work(&r);
    if (st != PADA_OK) {
        snprintf(message, sizeof message, "%s", pada_message());
        wait_for_all(&r);
        st = PADA_FAIL(st, "%s", message);
    }
    for (int i = 0; i < how->n_at_once; i++)
        pada_text_deinit(&r.workers[i].log);
    pada_free(workers);
    return st == PADA_OK ? judge(&r) : st;
}
