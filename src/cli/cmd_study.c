/* cmd_study.c - `pada study`: many runs of a file, one table. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/job_team.h"
#include "cli/stop_signal.h"
#include "cli/study_print.h"
#include "cli/study_process.h"
#include "cli/study_results.h"
#include "cli/study_run.h"
#include "cli/study_same.h"
#include "run/training_host.h"
#include "train/run_config.h"

typedef struct study {
    const char *data, *out, *only, *seeds, *last_set;
    pada_truth_args truth;
    pada_engine_args engine;
    int64_t jobs;
    double max_seconds;
    bool dry_run, quiet, json;

    pada_study_set *sets; /* all of --set, owned */
    int n_sets, cap_sets;
    pada_study_plan plan;
    bool *is_chosen;
    pada_text folder;
    pada_study_request request;
    pada_study_jobs all;
    pada_study_results results;
    pada_run_lock lock;
} study;

static const pada_opt options_table[] = {
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(study, data),
     .meta = "DIR|builtin",
     .help = "data set of the runs; of those that name one, the folder that has it"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(study, out),
     .meta = "DIR",
     .help = "folder for everything (default: runs/NAME); the same command resumes it"},
    {.name = "jobs",
     .type = PADA_OPT_INT,
     .offset = offsetof(study, jobs),
     .default_value = "1",
     .min = 0,
     .max = 256,
     .meta = "N",
     .help = "runs at once, which share the threads; 0: only the table of what is there"},
    {.name = "only",
     .type = PADA_OPT_STRING,
     .offset = offsetof(study, only),
     .meta = "RUN,RUN,..",
     .help = "only these runs, and those that they rank together"},
    {.name = "seeds",
     .type = PADA_OPT_STRING,
     .offset = offsetof(study, seeds),
     .meta = "N-N,N,..",
     .help = "these seeds for all runs"},
    {.name = "set",
     .type = PADA_OPT_STRING,
     .offset = offsetof(study, last_set),
     .meta = "KEY=VALUE",
     .help = "another value of an option in all runs that have it, rank.KEY=VALUE of a stage; may "
             "be repeated"},
    {.name = "max-seconds",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(study, max_seconds),
     .min = 0,
     .max = 1e9,
     .meta = "S",
     .help = "stop after S seconds with exit code 75; the same command resumes it"},
    {.name = "dry-run",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(study, dry_run),
     .help = "only print the commands, and which are done"},
    {.name = "quiet",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(study, quiet),
     .help = "no progress, only messages and the table"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(study, json),
     .help = "the table as one JSON object per line: runs with seeds, means, differences"},
    {.name = NULL},
};

/* ---- options ---- */

static pada_status add_set(study *s, const char *text)
{
    const char *equals = strchr(text, '=');
    void *sets = s->sets;

    if (!equals || equals == text)
        return PADA_FAIL(PADA_EINVAL, "--set: '%.100s' is not KEY=VALUE", text);
    PADA_TRY(pada_grow(&sets, &s->cap_sets, s->n_sets + 1, sizeof *s->sets));
    s->sets = sets;
    pada_study_set *set = &s->sets[s->n_sets];
    *set = (pada_study_set){.value = equals + 1};
    PADA_TRY(pada_strdup(&set->key, text));
    set->key[equals - text] = '\0';
    for (char *p = set->key; *p; p++)
        if (*p == '_') *p = '-';
    s->n_sets++;
    return PADA_OK;
}

/* Of a flag that is repeated the options keep the last one only. */
static pada_status prepare(void *self, int argc, const char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--set=", 6) == 0) PADA_TRY(add_set(self, argv[i] + 6));
        if (strcmp(argv[i], "--set") == 0 && i + 1 < argc) PADA_TRY(add_set(self, argv[++i]));
    }
    return PADA_OK;
}

static pada_status bind(void *self, pada_options *options)
{
    study *s = self;

    PADA_TRY(pada_options_bind(options, options_table, s));
    PADA_TRY(pada_options_bind(options, pada_truth_options, &s->truth));
    return pada_options_bind(options, pada_engine_options, &s->engine);
}

/* ---- what is asked for ---- */

/* Names the runs of --only; all of them without it. */
static pada_status choose_runs(study *s)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)s->plan.n_runs, sizeof *s->is_chosen));
    s->is_chosen = memory;
    for (int i = 0; i < s->plan.n_runs; i++)
        s->is_chosen[i] = !s->only;
    for (const char *at = s->only; at && *at;) {
        const size_t n = strcspn(at, ",");
        pada_text name = {0};
        int run = 0;
        pada_text_add_bytes(&name, at, n);
        pada_status st = name.status;
        if (st == PADA_OK) st = pada_study_plan_find(&s->plan, pada_text_str(&name), &run);
        pada_text_deinit(&name);
        if (st == PADA_EINVAL) return PADA_FAIL(st, "--only: %s", pada_message());
        PADA_TRY(st);
        s->is_chosen[run] = true;
        for (int i = 0; i < s->plan.runs[run].n_members; i++)
            s->is_chosen[s->plan.runs[run].members[i]] = true;
        at += n + (at[n] == ',');
    }
    return PADA_OK;
}

static pada_status open_plan(study *s, const pada_options *options)
{
    if (pada_options_n_words(options) != 1)
        return PADA_FAIL(PADA_EINVAL, "give one study, FILE.yaml; see `pada help study`");
    PADA_TRY(pada_study_plan_open(&s->plan, pada_options_word(options, 0)));
    for (int i = 0; i < s->n_sets; i++)
        PADA_TRY(pada_study_plan_set(&s->plan, s->sets[i].key, s->sets[i].value));
    if (s->seeds) PADA_TRY(pada_study_plan_set(&s->plan, "seeds", s->seeds));
    return choose_runs(s);
}

/* The threads of a run: an equal part of those of this process. */
static pada_status share_threads(study *s)
{
    int64_t *threads = &s->request.engine.threads;

    if (*threads > 0) return PADA_OK;
    PADA_TRY(pada_host_threads(&(pada_training_host){.team = pada_job_team()}, &s->request.engine));
    if (s->jobs < 2) return PADA_OK;
    *threads = (*threads > 0 ? *threads : pada_threads_default()) / s->jobs;
    if (*threads == 0) *threads = 1;
    return PADA_OK;
}

static pada_status make_jobs(study *s)
{
    if (s->out)
        pada_text_add(&s->folder, "%s", s->out);
    else
        pada_text_add(&s->folder, "runs/%s", s->plan.name);
    PADA_TRY(s->folder.status);
    s->request = (pada_study_request){.plan = &s->plan,
                                      .out = s->folder.data,
                                      .data = s->data,
                                      .truth = s->truth,
                                      .engine = s->engine,
                                      .is_chosen = s->is_chosen,
                                      .sets = s->sets,
                                      .n_sets = s->n_sets};
    PADA_TRY(share_threads(s));
    return pada_study_jobs_init(&s->all, &s->request);
}

static pada_status print_jobs(const study *s, pada_text *out)
{
    for (int i = 0; i < s->all.n; i++) {
        const pada_study_job *job = &s->all.of[i];
        pada_command_line_print(&job->line, out);
        pada_text_add(out, "  # %s%s\n", pada_study_state_name(job->state),
                      job->stage == PADA_STUDY_RANDOM && job->state == PADA_STUDY_TO_DO
                          ? ", with --arch of a random network"
                          : "");
    }
    return out->status;
}

/* ---- the end ---- */

/* Runs the command that makes the page, in a process of its own like the others. */
static pada_status run_report(const study *s, const pada_command_line *line)
{
    pada_text log = {0}, reason = {0};
    int code = 0;
    pid_t process;

    pada_text_add(&log, "%s/report.log", s->folder.data);
    pada_status st = log.status;
    if (st == PADA_OK) st = pada_process_start(&process, line, log.data, &s->lock);
    if (st == PADA_OK) st = pada_process_wait(process, &code);
    if (st == PADA_OK && code != 0) st = pada_last_line(log.data, &reason);
    if (st == PADA_OK && code != 0) fprintf(stderr, "pada: no page: %s\n", pada_text_str(&reason));
    pada_text_deinit(&log);
    pada_text_deinit(&reason);
    return st;
}

static pada_status write_page(const study *s)
{
    pada_command_line line = {0};
    bool found;

    pada_status st = pada_study_report_command(&s->results, &s->all, &line, &found);
    if (st == PADA_OK && found) st = run_report(s, &line);
    pada_command_line_deinit(&line);
    return st;
}

static pada_status report(study *s, pada_text *out)
{
    pada_text shown = {0};

    PADA_TRY(pada_study_results_read(&s->results, &s->all));
    const pada_study_table table = {&s->plan, s->results.rows, s->results.n};
    pada_add_study(&shown, &table);
    pada_status st = shown.status;
    if (st == PADA_OK) st = pada_study_results_write(&s->results, &s->all, shown.data);
    if (st == PADA_OK) st = write_page(s);
    if (s->json)
        pada_add_study_json(out, &table);
    else
        pada_text_add(out, "%s", pada_text_str(&shown));
    pada_text_deinit(&shown);
    return st == PADA_OK ? out->status : st;
}

/* Names what failed; the others have their place in the table. */
static pada_status check_failures(const study *s)
{
    int n = 0, last = -1;

    for (int i = 0; i < s->all.n; i++) {
        const pada_study_job *job = &s->all.of[i];
        if (job->state != PADA_STUDY_FAILED) continue;
        fprintf(stderr, "pada: %s: %s failed: %s\n", job->name.data,
                pada_study_stage_name(job->stage), pada_text_str(&job->message));
        n += job->chain != last;
        last = job->chain;
    }
    if (n == 0) return PADA_OK;
    return PADA_FAIL(PADA_EIO, "%d of %d runs failed; their logs are in %s", n, s->all.n_chains,
                     s->folder.data);
}

/* Process 0 has the folder. */
static pada_status take_folder(study *s, const volatile sig_atomic_t *stop)
{
    if (!pada_job_leads()) return PADA_OK;
    return pada_run_lock_await(&s->lock, s->folder.data, PADA_STUDY_PATIENCE, stop);
}

static pada_status run_jobs(study *s, const pada_options *options)
{
    const volatile sig_atomic_t *stop = pada_stop_signal();
    pada_team *team = pada_job_team();
    pada_status st = PADA_OK;

    PADA_TRY(pada_team_agree(team, take_folder(s, stop)));
    if (s->jobs > 0) {
        PADA_TRY(pada_study_check_same(team, options, &s->all));
        st = pada_study_jobs_run(&s->all, &(pada_study_running){.team = team,
                                                                .n_at_once = (int)s->jobs,
                                                                .max_seconds = s->max_seconds,
                                                                .quiet = s->quiet,
                                                                .stop = stop,
                                                                .lock = &s->lock});
    }
    pada_stop_signal_end(); /* nobody asks for requests any more */
    return st;
}

static pada_status do_study(study *s, const pada_options *options)
{
    pada_text out = {0};

    PADA_TRY(open_plan(s, options));
    PADA_TRY(make_jobs(s));
    pada_status st = s->dry_run ? print_jobs(s, &out) : run_jobs(s, options);
    if (!pada_job_leads()) goto out;
    if (st == PADA_OK && !s->dry_run) st = report(s, &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    if (st == PADA_OK) st = check_failures(s);
out:
    pada_text_deinit(&out);
    return st;
}

static pada_status run(void *self, const pada_options *options)
{
    study *s = self;
    const pada_status st = do_study(s, options);

    pada_study_results_deinit(&s->results);
    pada_study_jobs_deinit(&s->all);
    pada_text_deinit(&s->folder);
    pada_free(s->is_chosen);
    pada_study_plan_deinit(&s->plan);
    pada_run_lock_release(&s->lock);
    return st;
}

static void deinit(void *self)
{
    study *s = self;

    for (int i = 0; i < s->n_sets; i++)
        pada_free(s->sets[i].key);
    pada_free(s->sets);
}

const pada_command pada_command_study = {
    .name = "study",
    .summary = "many runs with several seeds from one file, and one table of them",
    .details =
        "Does what a file asks for: trains each run with each of its seeds, and ranks, searches and "
        "retrains where the file says so. Every stage is a command of pada, printed before it "
        "runs, in a process of its own with a log. What is done is not done again, so that the "
        "same command resumes a study that was stopped or killed; a stage that was done with other "
        "options is refused. A run that fails is named at the end and does not stop the others. "
        "Then DIR has study.csv (a line for each run and seed), summary.csv (means and deviations "
        "over seeds), differences.csv (of pairs of runs, seed by seed) and report.html. With "
        "`mpirun -n K` processes on one or many machines share the runs.",
    .usage = "pada study FILE.yaml [--data DIR] [--truth FILE.csv] [--out DIR] [options]",
    .words = "FILE.yaml",
    .examples =
        "pada study recipes/studies/table1.yaml --data cifar-10-batches-bin --truth truth.csv\n"
        "pada study recipes/studies/table1.yaml --dry-run\n"
        "pada study my.yaml --out runs/my --jobs 4 --only spos,pada --seeds 0-9\n"
        "pada study recipes/studies/table1.yaml --set channels=4 --set cells=1 --set epochs=2 "
        "--set rank.networks=20 --out runs/tiny",
    .state_bytes = sizeof(study),
    .prepare = prepare,
    .bind = bind,
    .stoppable = true,
    .in_team = true,
    .run = run,
    .deinit = deinit,
};
