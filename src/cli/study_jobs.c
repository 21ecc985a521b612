/* study_jobs.c - a study as commands of pada: which there are, and which are done. */
#include "cli/study_jobs.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/study_command.h"
#include "run/cost_args.h"
#include "run/from_run.h"
#include "study/best_network.h"
#include "study/random_twin.h"
#include "train/run_config.h"

#define SAME_COST 0.05 /* multiply-adds of the random network may differ by so much */

enum { MAX_JOBS = 20000 };

const char *pada_study_state_name(pada_study_state state)
{
    static const char *const names[] = {"to do", "there", "done", "stopped", "failed"};

    return names[state];
}

/* ---- the list ---- */

void pada_study_job_add_folder(const pada_study_request *request, const pada_study_job *job,
                               int member, pada_text *out)
{
    const pada_study_run *run = &request->plan->runs[job->run];

    if (run->n_members > 0) run = &request->plan->runs[run->members[member]];
    pada_text_add(out, "%s/%s-s%" PRIu64, request->out, run->name, job->seed);
}

/* The training of a member of a run; NULL: it has no such seed. */
static const pada_study_job *find_training(const pada_study_jobs *jobs, int run, uint64_t seed)
{
    for (int i = 0; i < jobs->n; i++)
        if (jobs->of[i].run == run && jobs->of[i].seed == seed &&
            jobs->of[i].stage == PADA_STUDY_TRAIN)
            return &jobs->of[i];
    return NULL;
}

/* A ranking of several runs needs a training of each with its seed; their space is its own. */
static pada_status find_members(const pada_study_jobs *jobs, pada_study_job *job)
{
    const pada_study_plan *plan = jobs->request->plan;
    const pada_study_run *run = &plan->runs[job->run];

    for (int i = 0; i < run->n_members; i++) {
        const pada_study_job *training = find_training(jobs, run->members[i], job->seed);
        if (!training)
            return PADA_FAIL(PADA_EINVAL, "%s:%d: run '%s' has seed %" PRIu64 ", but '%s' has not",
                             plan->file, run->line, run->name, job->seed,
                             plan->runs[run->members[i]].name);
        if (i == 0) job->space = training->space;
    }
    return PADA_OK;
}

static void name_job(const pada_study_request *request, pada_study_job *job)
{
    pada_study_job_add_folder(request, job, 0, &job->run_folder);
    pada_text_add(&job->name, "%s-s%" PRIu64, request->plan->runs[job->run].name, job->seed);
    if (job->stage > PADA_STUDY_SEARCH)
        pada_text_add(&job->name, "-%s-s%" PRIu64,
                      job->stage == PADA_STUDY_RETRAIN ? "best" : "random", job->again);
    pada_text_add(&job->folder, "%s/%s", request->out, pada_text_str(&job->name));
    pada_text_add(&job->record_file, "%s/study/%s.yaml", pada_text_str(&job->folder),
                  pada_study_stage_name(job->stage));
}

/* Folders of different runs may meet: "a" with seed 0 has "a-s0-best-s0", and so has "a-s0-best". */
static pada_status check_folder(const pada_study_jobs *jobs, const pada_study_job *job)
{
    for (int i = 0; i < jobs->n; i++) {
        const pada_study_job *other = &jobs->of[i];
        if (other->run != job->run && strcmp(other->folder.data, job->folder.data) == 0)
            return PADA_FAIL(PADA_EINVAL, "%s: runs '%s' and '%s' have the same folder %s",
                             jobs->request->plan->file, jobs->request->plan->runs[other->run].name,
                             jobs->request->plan->runs[job->run].name, job->folder.data);
    }
    return PADA_OK;
}

static pada_status add_job(pada_study_jobs *jobs, const pada_study_job *what)
{
    void *of = jobs->of;

    if (jobs->n == MAX_JOBS)
        return PADA_FAIL(PADA_EINVAL, "%s: more than %d stages", jobs->request->plan->file,
                         MAX_JOBS);
    PADA_TRY(pada_grow(&of, &jobs->cap, jobs->n + 1, sizeof *jobs->of));
    jobs->of = of;
    pada_study_job *job = &jobs->of[jobs->n];
    *job = *what;
    jobs->n++; /* from here on it is freed */
    if (jobs->n > 1 && job[-1].chain == job->chain) job->space = job[-1].space;
    PADA_TRY(find_members(jobs, job));
    name_job(jobs->request, job);
    PADA_TRY(job->run_folder.status);
    PADA_TRY(job->name.status);
    PADA_TRY(job->folder.status);
    PADA_TRY(job->record_file.status);
    PADA_TRY(check_folder(jobs, job));
    return pada_study_command_make(jobs->request, job);
}

static pada_status add_stage(pada_study_jobs *jobs, pada_study_job *job)
{
    const pada_study_part *part = &jobs->request->plan->runs[job->run].parts[job->stage];

    if (!part->is_wanted) return PADA_OK;
    if (job->stage < PADA_STUDY_RETRAIN) return add_job(jobs, job);
    for (int i = 0; i < part->seeds.n; i++) {
        job->again = part->seeds.of[i];
        PADA_TRY(add_job(jobs, job));
    }
    return PADA_OK;
}

static pada_status add_run(pada_study_jobs *jobs, int run)
{
    const pada_study_seeds *seeds = &jobs->request->plan->runs[run].parts[PADA_STUDY_TRAIN].seeds;

    for (int i = 0; i < seeds->n; i++) {
        for (int stage = 0; stage < PADA_STUDY_STAGES; stage++)
            PADA_TRY(add_stage(jobs, &(pada_study_job){.run = run,
                                                       .seed = seeds->of[i],
                                                       .chain = jobs->n_chains,
                                                       .stage = (pada_study_stage)stage}));
        jobs->n_chains++;
    }
    return PADA_OK;
}

/* ---- what is done ---- */

bool pada_study_job_is_done(const pada_study_job *job)
{
    return job->state == PADA_STUDY_THERE || job->state == PADA_STUDY_DONE;
}

const pada_study_job *pada_study_job_missing(const pada_study_jobs *jobs, const pada_study_job *job)
{
    for (int i = 0; i < jobs->n; i++) {
        const pada_study_job *other = &jobs->of[i];
        if (other->chain != job->chain && other->seed == job->seed &&
            pada_study_run_has(jobs->request->plan, job->run, other->run) &&
            !pada_study_job_is_done(other))
            return other;
    }
    return NULL;
}

/* ---- what is there ---- */

static const char *result_of(const pada_study_jobs *jobs, const pada_study_job *job)
{
    static const char *const results[] = {"metrics.csv", "ranking.csv", "search/best.csv",
                                          "test.json", "test.json"};
    const bool is_alone = jobs->request->plan->runs[job->run].is_alone;

    return is_alone ? "test.json" : results[job->stage];
}

static pada_status look(const pada_study_jobs *jobs, pada_study_job *job)
{
    pada_text result = {0};

    pada_text_add(&result, "%s/%s", job->folder.data, result_of(jobs, job));
    pada_status st = result.status;
    const bool is_there =
        st == PADA_OK && pada_path_exists(result.data) && pada_path_exists(job->record_file.data);
    pada_text_deinit(&result);
    if (!is_there) return st;
    job->state = PADA_STUDY_THERE;
    return pada_config_check(job->record_file.data, pada_text_str(&job->record), NULL);
}

static pada_status check_sets(const pada_study_request *request)
{
    for (int i = 0; i < request->n_sets; i++) {
        const char *seeds = strstr(request->sets[i].key, "seeds");
        if (!request->sets[i].is_known && !(seeds && strcmp(seeds, "seeds") == 0))
            return PADA_FAIL(PADA_EINVAL, "--set %s: no run has such an option",
                             request->sets[i].key);
    }
    return PADA_OK;
}

pada_status pada_study_jobs_init(pada_study_jobs *jobs, const pada_study_request *request)
{
    *jobs = (pada_study_jobs){.request = request};
    for (int run = 0; run < request->plan->n_runs; run++)
        if (request->is_chosen[run]) PADA_TRY(add_run(jobs, run));
    PADA_TRY(check_sets(request));
    for (int i = 0; i < jobs->n; i++)
        PADA_TRY(look(jobs, &jobs->of[i]));
    return PADA_OK;
}

void pada_study_jobs_deinit(pada_study_jobs *jobs)
{
    for (int i = 0; i < jobs->n; i++) {
        pada_study_job *job = &jobs->of[i];
        pada_text_deinit(&job->name);
        pada_text_deinit(&job->run_folder);
        pada_text_deinit(&job->folder);
        pada_command_line_deinit(&job->line);
        pada_text_deinit(&job->record);
        pada_text_deinit(&job->record_file);
        pada_text_deinit(&job->message);
    }
    pada_free(jobs->of);
    *jobs = (pada_study_jobs){0};
}

pada_status pada_study_job_record(const pada_study_job *job)
{
    pada_text folder = {0};

    pada_text_add(&folder, "%s/study", job->folder.data);
    pada_status st = folder.status;
    if (st == PADA_OK) st = pada_make_dirs(folder.data);
    if (st == PADA_OK)
        st = pada_file_replace(job->record_file.data, pada_text_str(&job->record),
                               job->record.length);
    pada_text_deinit(&folder);
    return st;
}

/* ---- the random network ---- */

/* A number that its search was given; 0: none. */
static pada_status limit_of(const pada_study_part *search, const char *key, int64_t *out)
{
    const pada_study_option *option = pada_study_part_find(search, key);

    *out = 0;
    return option ? pada_parse_int(option->value, key, 0, INT64_MAX, out) : PADA_OK;
}

static pada_status set_limit(pada_cost_limit *limit, const pada_space *space, pada_counted what,
                             const pada_study_part *search, const char *min, const char *max)
{
    limit->is_known = true;
    PADA_TRY(limit_of(search, min, &limit->min));
    PADA_TRY(limit_of(search, max, &limit->max));
    return pada_slot_costs_count(&limit->costs, space, what, false);
}

static pada_status draw(const pada_study_job *job, const pada_study_part *search,
                        const pada_space *space, pada_path *out)
{
    pada_cost_limit limits[PADA_COST_KINDS] = {0};
    pada_cost_args cost_args;
    pada_space cost_space;
    const char *file;
    pada_path best;
    bool found;

    PADA_TRY(limit_of(search, "cost-size", &cost_args.image_size));
    PADA_TRY(limit_of(search, "cost-classes", &cost_args.classes));
    PADA_TRY(pada_space_of_costs(&cost_space, space, &cost_args));
    PADA_TRY(set_limit(&limits[PADA_COST_MACS], &cost_space, PADA_COUNTED_MACS, search, "min-macs",
                       "max-macs"));
    PADA_TRY(set_limit(&limits[PADA_COST_PARAMS], &cost_space, PADA_COUNTED_PARAMS, search,
                       "min-params", "max-params"));
    PADA_TRY(pada_best_network(job->run_folder.data, space, &best, &file));
    PADA_TRY(pada_random_twin(space, limits, &best, SAME_COST, job->seed, &found, out));
    if (found) return PADA_OK;
    return PADA_FAIL(PADA_EDATA, "%s: there is no other network of the cost of the best one",
                     job->run_folder.data);
}

static pada_status add_random(pada_study_job *job, const pada_study_part *search,
                              const pada_space *space)
{
    pada_text arch = {0};
    pada_path path;

    PADA_TRY(draw(job, search, space, &path));
    pada_status st = space->ops->format(space, &path, NULL, &arch);
    if (st == PADA_OK && (st = arch.status) == PADA_OK) {
        pada_text_add(pada_command_line_begin(&job->line), "--arch=%s", arch.data);
        st = job->line.text.status;
    }
    pada_text_deinit(&arch);
    return st;
}

pada_status pada_study_job_choose(const pada_study_jobs *jobs, pada_study_job *job)
{
    const pada_study_part *search = &jobs->request->plan->runs[job->run].parts[PADA_STUDY_SEARCH];
    pada_space space;

    if (job->stage != PADA_STUDY_RANDOM) return PADA_OK;
    PADA_TRY(pada_space_of_run(&space, job->run_folder.data));
    return add_random(job, search, &space);
}
