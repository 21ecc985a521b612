/* study_results.c - what a study found: its rows, its files, its page. */
#include "cli/study_results.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/study_command.h"
#include "run/from_run.h"

/* ---- rows ---- */

/* Whether `pada rank` was to use the truth and could not. */
static bool failed_to_rank(const pada_study_jobs *jobs, const pada_study_job *job)
{
    const pada_study_job *next = job + 1;

    return next < jobs->of + jobs->n && next->chain == job->chain &&
           next->stage == PADA_STUDY_RANK && !pada_study_job_is_done(next);
}

/* The column of accuracies that a run is held against. */
static pada_status open_truth(const pada_study_jobs *jobs, const pada_study_job *job,
                              const pada_space *space, pada_truth_column_view *out)
{
    const pada_study_request *request = jobs->request;
    const pada_study_option *own =
        pada_study_part_find(&request->plan->runs[job->run].parts[PADA_STUDY_RANK], "truth-column");
    pada_truth_args args = request->truth;
    pada_data_card card = {0};

    *out = (pada_truth_column_view){0};
    if (!args.file || failed_to_rank(jobs, job)) return PADA_OK;
    if (!args.column && own) args.column = own->value;
    PADA_TRY(pada_data_card_read(&card, job->run_folder.data));
    const pada_status st = pada_truth_from_args(out, &args, space, card.json ? card.name : NULL);
    pada_data_card_deinit(&card);
    return st;
}

static void note_column(pada_study_results *results, const char *name)
{
    if (!results->column[0])
        snprintf(results->column, sizeof results->column, "%s", name);
    else if (strcmp(results->column, name) != 0)
        results->has_truths = false;
}

/* The networks that `pada rank` was asked for; *has_list is false for all of them. */
static pada_status list_asked(const pada_study_jobs *jobs, const pada_study_job *job,
                              const pada_space *space, const pada_score_table *truth,
                              pada_path_list *out, bool *has_list)
{
    const pada_study_part *part = &jobs->request->plan->runs[job->run].parts[PADA_STUDY_RANK];
    const pada_study_option *networks = pada_study_part_find(part, "networks");
    const pada_study_option *list = pada_study_part_find(part, "list");
    const pada_study_option *dialect = pada_study_part_find(part, "arch-dialect");
    pada_subspace part_of_space;
    bool is_narrow;
    pada_text file = {0};

    *has_list = part->is_wanted && (list || (networks && strcmp(networks->value, "all") != 0));
    if (!*has_list) return PADA_OK;
    if (list) {
        pada_study_add_path(jobs->request->plan, list, &file);
        pada_status st = file.status;
        if (st == PADA_OK)
            st = pada_path_list_read(out, space, file.data, dialect ? dialect->value : NULL, NULL);
        pada_text_deinit(&file);
        return st;
    }
    PADA_TRY(pada_part_of_run(&part_of_space, &is_narrow, space, job->run_folder.data));
    const pada_subspace *within = is_narrow ? &part_of_space : NULL;
    return pada_path_list_choose(out, space, within, networks->value, truth,
                                 0); /* the seed of `pada rank` */
}

static pada_status read_folder(const pada_study_jobs *jobs, const pada_study_job *job,
                               const pada_space *space, const pada_truth_column_view *truth,
                               pada_study_row *row)
{
    const pada_study_request *request = jobs->request;
    pada_path_list asked = {0};
    bool has_list = false;

    pada_status st =
        truth->table ? list_asked(jobs, job, space, truth->table, &asked, &has_list) : PADA_OK;
    if (st == PADA_OK)
        st = pada_study_row_read(
            row, &(pada_study_sources){.folder = job->folder.data,
                                       .space = space,
                                       .is_alone = request->plan->runs[job->run].is_alone,
                                       .truth = truth->table,
                                       .truths = truth->values,
                                       .asked = has_list ? &asked : NULL,
                                       .replicates = (int)request->truth.bootstrap,
                                       .n_threads = (int)request->engine.threads});
    pada_path_list_deinit(&asked);
    return st;
}

static pada_status read_run(pada_study_results *results, const pada_study_jobs *jobs,
                            const pada_study_job *job, pada_study_row *row)
{
    pada_truth_column_view truth;
    pada_space space;

    PADA_TRY(pada_space_of_run(&space, job->run_folder.data));
    PADA_TRY(open_truth(jobs, job, &space, &truth));
    if (truth.table) note_column(results, truth.name);
    const pada_status st = read_folder(jobs, job, &space, &truth, row);
    pada_score_table_close(truth.table);
    return st;
}

/* A ranking of several runs has cost what they have cost. */
static pada_status read_combined(pada_study_results *results, const pada_study_jobs *jobs,
                                 const pada_study_job *job, pada_study_row *row)
{
    const pada_study_request *request = jobs->request;
    pada_text folder = {0};

    PADA_TRY(read_run(results, jobs, job, row));
    pada_status st = PADA_OK;
    for (int i = 0; i < request->plan->runs[job->run].n_members && st == PADA_OK; i++) {
        folder.length = 0;
        pada_study_job_add_folder(request, job, i, &folder);
        st = folder.status;
        if (st == PADA_OK) st = pada_study_row_add_cost(row, folder.data);
    }
    pada_text_deinit(&folder);
    return st;
}

static pada_status read_job(pada_study_results *results, const pada_study_jobs *jobs,
                            const pada_study_job *job, pada_study_row *row)
{
    if (!pada_study_job_is_done(job) && row->status == pada_study_state_name(PADA_STUDY_DONE))
        row->status = pada_study_state_name(job->state);
    if (!pada_study_job_is_done(job)) return PADA_OK;
    if (jobs->request->plan->runs[job->run].n_members > 0)
        return read_combined(results, jobs, job, row);
    if (job->stage == PADA_STUDY_TRAIN) return read_run(results, jobs, job, row);
    if (job->stage < PADA_STUDY_RETRAIN) return PADA_OK; /* in the folder of the run */
    return pada_study_row_add_test(row, job->folder.data, job->stage == PADA_STUDY_RANDOM);
}

/* The folder of a job has something that cannot be read: its run failed, the others are shown. */
static pada_status note_failure(pada_study_job *job, pada_study_row *row)
{
    job->state = PADA_STUDY_FAILED;
    row->status = pada_study_state_name(job->state);
    pada_text_add(&job->message, "%s", pada_message());
    return job->message.status;
}

pada_status pada_study_results_read(pada_study_results *results, pada_study_jobs *jobs)
{
    void *rows;

    *results = (pada_study_results){.has_truths = true};
    PADA_TRY(pada_calloc(&rows, (size_t)jobs->n_chains, sizeof *results->rows));
    results->rows = rows;
    for (int i = 0; i < jobs->n; i++) {
        pada_study_job *job = &jobs->of[i];
        pada_study_row *row = &results->rows[job->chain];
        if (job->chain == results->n) {
            pada_study_row_init(row, job->run, job->seed);
            row->status = pada_study_state_name(PADA_STUDY_DONE);
            results->n++;
        }
        pada_status st = read_job(results, jobs, job, row);
        if (st != PADA_OK && st != PADA_ENOMEM) st = note_failure(job, row);
        PADA_TRY(st);
    }
    return PADA_OK;
}

void pada_study_results_deinit(pada_study_results *results)
{
    for (int i = 0; i < results->n; i++)
        pada_study_row_deinit(&results->rows[i]);
    pada_free(results->rows);
    *results = (pada_study_results){0};
}

/* ---- files ---- */

static pada_status write_text(const char *out, const char *name, const pada_text *text)
{
    pada_text path = {0};

    PADA_TRY(text->status);
    pada_text_add(&path, "%s/%s", out, name);
    pada_status st = path.status;
    if (st == PADA_OK) st = pada_file_replace(path.data, pada_text_str(text), text->length);
    pada_text_deinit(&path);
    return st;
}

pada_status pada_study_results_write(const pada_study_results *results, const pada_study_jobs *jobs,
                                     const char *shown)
{
    static const struct {
        const char *name;
        void (*write)(const pada_study_table *, pada_text *);
    } files[] = {{"study.csv", pada_study_table_write},
                 {"summary.csv", pada_study_table_write_summary},
                 {"differences.csv", pada_study_table_write_differences},
                 {"study.txt", NULL}};
    const pada_study_table table = {jobs->request->plan, results->rows, results->n};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pada_text text = {0};
        if (files[i].write)
            files[i].write(&table, &text);
        else
            pada_text_add(&text, "%s", shown);
        const pada_status st = write_text(jobs->request->out, files[i].name, &text);
        pada_text_deinit(&text);
        PADA_TRY(st);
    }
    return PADA_OK;
}

pada_status pada_study_report_command(const pada_study_results *results,
                                      const pada_study_jobs *jobs, pada_command_line *line,
                                      bool *found)
{
    const pada_study_request *request = jobs->request;

    *found = false;
    pada_command_line_add(line, "report");
    for (int i = 0; i < jobs->n; i++) {
        const pada_study_job *job = &jobs->of[i];
        const bool has_folder = job->stage == PADA_STUDY_TRAIN || job->stage > PADA_STUDY_SEARCH;
        if (!pada_study_job_is_done(job) || !has_folder) continue;
        pada_command_line_add(line, job->folder.data);
        *found = true;
    }
    if (request->truth.file && results->has_truths && results->column[0]) {
        pada_text_add(pada_command_line_begin(line), "--truth=%s", request->truth.file);
        pada_text_add(pada_command_line_begin(line), "--truth-column=%s", results->column);
    }
    if (request->engine.threads > 0)
        pada_text_add(pada_command_line_begin(line), "--threads=%d", (int)request->engine.threads);
    pada_text_add(pada_command_line_begin(line), "--preface=%s/study.txt", request->out);
    pada_text_add(pada_command_line_begin(line), "--out=%s/report.html", request->out);
    return line->text.status;
}
