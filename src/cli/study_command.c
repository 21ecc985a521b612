/* study_command.c - the command of one stage of a study, and the record of its options. */
#include "cli/study_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/call.h"
#include "space/space.h"

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/* Options that name a file, which is relative to the study. */
static const char *const file_options[] = {"list", "latency-table", NULL};

/* ---- words ---- */

static const char *command_name(const pada_study_plan *plan, const pada_study_job *job)
{
    if (job->stage == PADA_STUDY_TRAIN) return plan->runs[job->run].is_alone ? "retrain" : "train";
    if (job->stage == PADA_STUDY_RANDOM) return "retrain";
    return pada_study_stage_name(job->stage);
}

void pada_study_add_path(const pada_study_plan *plan, const pada_study_option *option,
                         pada_text *out)
{
    const char *slash = strrchr(plan->file, '/');

    if (option->line > 0 && option->value[0] != '/' && slash)
        pada_text_add(out, "%.*s/", (int)(slash - plan->file), plan->file);
    pada_text_add(out, "%s", option->value);
}

/* The recipe of a training is a file; that of `pada retrain` may be a name of the program. */
static void add_recipe(const pada_study_plan *plan, bool is_retraining,
                       const pada_study_option *recipe, pada_command_line *line)
{
    pada_text *word = pada_command_line_begin(line);

    pada_text_add(word, is_retraining ? "--recipe=" : "--config=");
    if (is_retraining && !strchr(recipe->value, '/') && !strchr(recipe->value, '.'))
        pada_text_add(word, "%s", recipe->value);
    else
        pada_study_add_path(plan, recipe, word);
}

/* Images of a relative name are below --data; without that the name is what `pada train` is given. */
static void add_data(const pada_study_request *request, const pada_study_job *job,
                     pada_command_line *line)
{
    const pada_study_run *run = &request->plan->runs[job->run];
    const int trained = run->n_members > 0 ? run->members[0] : job->run;
    const pada_study_part *part = &request->plan->runs[trained].parts[PADA_STUDY_TRAIN];
    const pada_study_option *own = pada_study_part_find(part, "data");
    const bool is_below = own && own->line > 0 && request->data && own->value[0] != '/' &&
                          strcmp(own->value, "builtin") != 0 &&
                          strcmp(request->data, "builtin") != 0;

    if (!own && !request->data) return;
    pada_text *word = pada_command_line_begin(line);
    if (is_below)
        pada_text_add(word, "--data=%s/%s", request->data, own->value);
    else
        pada_text_add(word, "--data=%s",
                      own && (own->line == 0 || !request->data || own->value[0] == '/')
                          ? own->value
                          : request->data);
}

static void add_flag(pada_command_line *line, const char *name, const char *value)
{
    if (value) pada_text_add(pada_command_line_begin(line), "--%s=%s", name, value);
}

static void add_seed(pada_command_line *line, uint64_t seed)
{
    pada_text_add(pada_command_line_begin(line), "--seed=%" PRIu64, seed);
}

/* What follows from the place of the job in the study. */
static void add_frame(const pada_study_request *request, const pada_study_job *job,
                      pada_command_line *line)
{
    const pada_study_part *part = &request->plan->runs[job->run].parts[job->stage];
    const char *command = command_name(request->plan, job);
    const int n_members = request->plan->runs[job->run].n_members;
    const bool has_words = job->stage == PADA_STUDY_RANK || job->stage == PADA_STUDY_SEARCH;
    const pada_study_option *recipe = pada_study_part_find(part, "recipe");

    pada_command_line_add(line, command);
    for (int i = 0; has_words && i < (n_members > 0 ? n_members : 1); i++)
        pada_study_job_add_folder(request, job, i, pada_command_line_begin(line));
    if (job->stage > PADA_STUDY_SEARCH) add_flag(line, "from", job->run_folder.data);
    add_flag(line, "space", job->space); /* the run may not be there to be asked */
    if (recipe && !has_words)
        add_recipe(request->plan, strcmp(command, "retrain") == 0, recipe, line);
    add_data(request, job, line);
    if (job->stage == PADA_STUDY_RANK) {
        add_flag(line, "truth", request->truth.file);
        add_flag(line, "truth-column", request->truth.column);
    }
    if (strcmp(request->engine.backend, "auto") != 0)
        add_flag(line, "backend", request->engine.backend);
    if (job->stage != PADA_STUDY_RANK)
        add_seed(line, job->stage > PADA_STUDY_SEARCH ? job->again : job->seed);
    if (!has_words) add_flag(line, "out", job->folder.data);
    if (n_members > 0) pada_text_add(pada_command_line_begin(line), "--out=%s/", job->folder.data);
    if (request->engine.threads > 0)
        pada_text_add(pada_command_line_begin(line), "--threads=%" PRId64, request->engine.threads);
}

/* ---- options ---- */

/* Those that the frame has already. */
static bool is_in_frame(const pada_study_request *request, const pada_study_job *job,
                        const char *key)
{
    const bool is_rank = job->stage == PADA_STUDY_RANK;

    return (strcmp(key, "recipe") == 0 && !is_rank && job->stage != PADA_STUDY_SEARCH) ||
           strcmp(key, "data") == 0 ||
           (strcmp(key, "backend") == 0 && strcmp(request->engine.backend, "auto") != 0) ||
           (strcmp(key, "threads") == 0 && request->engine.threads > 0) ||
           (is_rank && strcmp(key, "truth-column") == 0 && request->truth.column);
}

static pada_status open_call(pada_call *call, const pada_command_line *line)
{
    const pada_command *command;
    const char **words;

    PADA_TRY(pada_command_line_words(line, &words));
    pada_status st = pada_command_find(&command, words[0]);
    if (st == PADA_OK) st = pada_call_open(call, command, line->n - 1, words + 1);
    pada_free(words);
    return st;
}

/* Whether the command, with the words it has so far, has an option. */
static pada_status find_option(const pada_command_line *line, const char *name, bool *found)
{
    pada_call call = {0};

    PADA_TRY(open_call(&call, line));
    *found = pada_options_find(call.options, name) >= 0;
    pada_call_close(&call);
    return PADA_OK;
}

static void mark_known(const pada_study_request *request, const pada_study_option *option)
{
    for (int i = 0; i < request->n_sets; i++)
        if (request->sets[i].value == option->value) request->sets[i].is_known = true;
}

static void add_option(const pada_study_plan *plan, const pada_study_option *option,
                       pada_command_line *line)
{
    pada_text *word = pada_command_line_begin(line);

    pada_text_add(word, "--%s=", option->key);
    if (is_among(option->key, file_options))
        pada_study_add_path(plan, option, word);
    else
        pada_text_add(word, "%s", option->value);
}

static pada_status add_options(const pada_study_request *request, const pada_study_job *job,
                               pada_command_line *line)
{
    const pada_study_part *part = &request->plan->runs[job->run].parts[job->stage];

    for (int pass = 0; pass < 2; pass++) /* --set last: what there is may depend on the others */
        for (int i = 0; i < part->n; i++) {
            const pada_study_option *option = &part->options[i];
            bool found = true;
            if (option->is_of_file != (pass == 0)) continue;
            if (is_in_frame(request, job, option->key)) {
                mark_known(request, option);
                continue;
            }
            if (!option->is_of_file) PADA_TRY(find_option(line, option->key, &found));
            if (!found) continue;
            mark_known(request, option);
            add_option(request->plan, option, line);
        }
    return line->text.status;
}

/* ---- checking ---- */

/* The line of the study that an option stands on; 0: it is none of the file. */
static int line_of(const pada_study_part *part, const char *word)
{
    for (int i = 0; i < part->n; i++) {
        const size_t n = strlen(part->options[i].key);
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, part->options[i].key, n) == 0 &&
            word[2 + n] == '=')
            return part->options[i].line;
    }
    return 0;
}

static pada_status fail_at(const pada_study_request *request, const pada_study_job *job, int line,
                           pada_status st)
{
    const pada_study_plan *plan = request->plan;

    return PADA_FAIL(st, "%s:%d: run '%s'%s%s: %s", plan->file, line, plan->runs[job->run].name,
                     job->stage == PADA_STUDY_TRAIN ? "" : ", ",
                     job->stage == PADA_STUDY_TRAIN ? "" : pada_study_stage_name(job->stage),
                     pada_message());
}

/* Takes the words one by one, so that the message names the line of a wrong one. */
static pada_status parse_words(const pada_study_request *request, const pada_study_job *job,
                               pada_call *call, const char *const *words, int n)
{
    const pada_study_part *part = &request->plan->runs[job->run].parts[job->stage];

    for (int i = 1; i < n; i++) {
        const pada_status st = pada_call_parse(call, 1, &words[i]);
        const int line = line_of(part, words[i]);
        if (st != PADA_OK) return fail_at(request, job, line > 0 ? line : part->line, st);
    }
    return PADA_OK;
}

/* ---- the record ---- */

static bool has_default(const pada_options *options, int i, const char *value)
{
    const char *usual = pada_options_get(options, i)->default_value;

    return strcmp(usual ? usual : "0", value) == 0 || (!usual && strcmp(value, "false") == 0);
}

/* The last part of a path: the study may be begun from another folder. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Appends every option that shapes the result and is not what the program takes without it. */
static pada_status add_record(const pada_call *call, pada_text *out)
{
    static const char *const passed_over[] = {"data", "out", "truth",       "quiet",
                                              "json", "top", "max-seconds", NULL};
    pada_status st = PADA_OK;

    for (int i = 0; i < pada_options_count(call->options) && st == PADA_OK; i++) {
        const pada_opt *opt = pada_options_get(call->options, i);
        pada_text value = {0};

        if (opt->session || is_among(opt->name, passed_over)) continue;
        const bool is_given = pada_options_value(call->options, i, &value);
        const char *text = pada_text_str(&value);
        if (is_given && !has_default(call->options, i, text))
            pada_text_add(out, "%s: %s\n", opt->name,
                          is_among(opt->name, file_options) ? base_name(text) : text);
        st = value.status;
        pada_text_deinit(&value);
    }
    return st == PADA_OK ? out->status : st;
}

/* Which runs are ranked together: no option says so. */
static void record_members(const pada_study_plan *plan, const pada_study_run *run, pada_text *out)
{
    for (int i = 0; i < run->n_members; i++)
        pada_text_add(out, "%s%s%s", i == 0 ? "of: " : ",", plan->runs[run->members[i]].name,
                      i == run->n_members - 1 ? "\n" : "");
}

/* The space that the other stages of the run will find. */
static pada_status take_space(const pada_call *call, pada_study_job *job)
{
    const pada_space_ops *ops;
    pada_text name = {0};

    if (job->space) return PADA_OK;
    (void)pada_options_value(call->options, pada_options_find(call->options, "space"), &name);
    pada_status st = name.status;
    if (st == PADA_OK) st = pada_space_find(&ops, pada_text_str(&name));
    if (st == PADA_OK) job->space = ops->name;
    pada_text_deinit(&name);
    return st;
}

static pada_status check(const pada_study_request *request, pada_study_job *job)
{
    pada_call call = {0};
    const char **words;

    pada_status st = open_call(&call, &job->line);
    if (st != PADA_OK)
        return fail_at(request, job, request->plan->runs[job->run].parts[job->stage].line, st);
    if ((st = pada_command_line_words(&job->line, &words)) == PADA_OK) {
        st = parse_words(request, job, &call, words, job->line.n);
        if (st == PADA_OK) st = take_space(&call, job);
        record_members(request->plan, &request->plan->runs[job->run], &job->record);
        if (st == PADA_OK) st = add_record(&call, &job->record);
        pada_free(words);
    }
    pada_call_close(&call);
    return st;
}

pada_status pada_study_command_make(const pada_study_request *request, pada_study_job *job)
{
    add_frame(request, job, &job->line);
    PADA_TRY(job->line.text.status);
    const pada_status st = add_options(request, job, &job->line);
    if (st != PADA_OK)
        return fail_at(request, job, request->plan->runs[job->run].parts[job->stage].line, st);
    return check(request, job);
}
