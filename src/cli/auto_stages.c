/* auto_stages.c - the stages of `pada auto`: commands that anybody could type. */
#include "cli/auto_stages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/call.h"
#include "cli/command_line.h"
#include "cli/stop_signal.h"
#include "study/best_network.h"
#include "study/random_twin.h"

#define SAME_COST 0.05 /* multiply-adds of the random network may differ by so much */

/* ---- command lines; without words there is nothing to do ---- */

typedef pada_command_line line;

/* A file or folder of the run. */
static void add_place(const pada_auto *a, line *l, const char *name)
{
    pada_text_add(pada_command_line_begin(l), "%s/%s", a->out, name);
}

static void add_out(const pada_auto *a, line *l, const char *name)
{
    pada_command_line_add(l, "--out");
    add_place(a, l, name);
}

/* An option of `pada auto` as one of the stage, `as`, unless it has its usual value, which is the same there. */
static void add_as(const pada_auto *a, line *l, const char *name, const char *as)
{
    const int i = pada_options_find(a->options, name);
    pada_text flag = {0}, value = {0};

    PADA_ASSERT(i >= 0);
    const char *usual = pada_options_get(a->options, i)->default_value;
    if (pada_options_value(a->options, i, &value) &&
        !(usual && strcmp(pada_text_str(&value), usual) == 0)) {
        pada_text_add(&flag, "--%s", as);
        pada_command_line_add(l, pada_text_str(&flag));
        pada_command_line_add(l, pada_text_str(&value));
    }
    if (flag.status != PADA_OK) l->text.status = flag.status;
    if (value.status != PADA_OK) l->text.status = value.status;
    pada_text_deinit(&flag);
    pada_text_deinit(&value);
}

static void add_option(const pada_auto *a, line *l, const char *name)
{
    add_as(a, l, name, name);
}

static void add_table(const pada_auto *a, line *l, const pada_opt *table)
{
    for (; table && table->name; table++)
        add_option(a, l, table->name);
}

/* What is about this start. */
static void add_session(const pada_auto *a, line *l)
{
    add_table(a, l, pada_engine_options);
    if (a->quiet) pada_command_line_add(l, "--quiet");
}

/* ---- what the stages are ---- */

static pada_status add_train(const pada_auto *a, line *l)
{
    pada_command_line_add(l, "train");
    pada_command_line_add(l, "--data");
    pada_command_line_add(l, a->data);
    add_option(a, l, "space");
    add_option(a, l, "image-size");
    add_table(a, l, a->space.ops->options);
    add_table(a, l, pada_image_options);
    add_option(a, l, "epochs");
    add_option(a, l, "batch-size");
    add_option(a, l, "seed");
    add_session(a, l);
    add_out(a, l, "supernet");
    return PADA_OK;
}

static pada_status add_search(const pada_auto *a, line *l)
{
    pada_command_line_add(l, "search");
    add_place(a, l, "supernet");
    add_option(a, l, "max-macs");
    add_option(a, l, "max-params");
    add_option(a, l, "max-latency");
    add_option(a, l, "latency-table");
    add_as(a, l, "evaluations", "budget");
    add_option(a, l, "seed");
    add_session(a, l);
    return PADA_OK;
}

/* The recipe is that of the space, but for mobile networks, whose recipe is for hundreds of epochs of millions of images. */
static void add_recipe(const pada_auto *a, line *l)
{
    if (strcmp(a->space.ops->name, "proxyless") == 0) {
        pada_command_line_add(l, "--recipe");
        pada_command_line_add(l, "macro");
    }
    add_as(a, l, "network-epochs", "epochs");
    add_option(a, l, "batch-size");
    add_option(a, l, "seed");
    add_session(a, l);
}

static pada_status add_network(const pada_auto *a, line *l)
{
    pada_command_line_add(l, "retrain");
    pada_command_line_add(l, "--from");
    add_place(a, l, "supernet");
    add_recipe(a, l);
    add_out(a, l, "network");
    return PADA_OK;
}

pada_status pada_auto_winner(const pada_auto *a, const pada_space *space, pada_path *out)
{
    pada_text run = {0};
    const char *file;
    pada_status st;

    pada_text_add(&run, "%s/supernet", a->out);
    if ((st = run.status) == PADA_OK) st = pada_best_network(run.data, space, out, &file);
    pada_text_deinit(&run);
    return st;
}

pada_status pada_auto_rival(const pada_auto *a, const pada_space *space, bool *found,
                            pada_path *out)
{
    pada_cost_limit limits[PADA_COST_KINDS];
    pada_path winner;

    PADA_TRY(pada_auto_limits(a, space, limits));
    PADA_TRY(pada_auto_winner(a, space, &winner));
    return pada_random_twin(space, limits, &winner, SAME_COST, a->seed, found, out);
}

static pada_status add_random(const pada_auto *a, line *l)
{
    pada_text arch = {0};
    pada_space space;
    pada_path path;
    bool found;

    PADA_TRY(pada_auto_space(a, &space));
    PADA_TRY(pada_auto_rival(a, &space, &found, &path));
    if (!found) {
        pada_auto_say(a, "there is no other network of the cost of the winner to hold it against");
        return PADA_OK;
    }
    const pada_status st = space.ops->format(&space, &path, space.ops->dialects[0], &arch);
    if (st == PADA_OK) {
        pada_command_line_add(l, "retrain");
        pada_command_line_add(l, "--from");
        add_place(a, l, "supernet");
        pada_command_line_add(l, "--arch");
        pada_command_line_add(l, arch.data);
        add_recipe(a, l);
        add_out(a, l, "random");
    }
    pada_text_deinit(&arch);
    return st;
}

static void add_export(const pada_auto *a, line *l, const char *format, const char *file)
{
    pada_command_line_add(l, "export");
    add_place(a, l, "network");
    pada_command_line_add(l, "--to");
    pada_command_line_add(l, format);
    add_out(a, l, file);
}

static pada_status add_onnx(const pada_auto *a, line *l)
{
    add_export(a, l, "onnx", "model.onnx");
    return PADA_OK;
}

static pada_status add_model(const pada_auto *a, line *l)
{
    add_export(a, l, "safetensors", "model.safetensors");
    return PADA_OK;
}

static pada_status add_report(const pada_auto *a, line *l)
{
    pada_command_line_add(l, "report");
    add_place(a, l, "supernet");
    add_out(a, l, "report.html");
    return PADA_OK;
}

typedef struct stage {
    const char *title;
    const char
        *result; /* in RUN, there when the stage is done: files appear when they are complete */
    pada_status (*add_words)(const pada_auto *a, line *l);
    bool may_lack; /* what it needs may be missing in this build: PADA_EUNSUPPORTED, PADA_EDEVICE */
} stage;

#define SEARCHED "supernet/search/best.csv"
static const stage stages[] = {
    {"train the supernet", SEARCHED, add_train, false},
    {"search it", SEARCHED, add_search, false},
    {"train the winner alone", "network/test.json", add_network, false},
    {"train a random network of the same cost", "random/test.json", add_random, false},
    {"export the winner", "model.onnx", add_onnx, false},
    {"keep it as a model", "model.safetensors", add_model, false},
    {"write a page", "report.html", add_report, true},
};
enum { N_STAGES = sizeof stages / sizeof *stages };

/* ---- running them ---- */

/* Lets standard output go elsewhere: to standard error, or nowhere. -1: it could not be. */
static int divert_output(const pada_auto *a)
{
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    const int target = a->quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : dup(STDERR_FILENO);

    if (saved >= 0 && target >= 0) (void)dup2(target, STDOUT_FILENO);
    if (target >= 0) close(target);
    return saved;
}

static void restore_output(int saved)
{
    fflush(stdout);
    (void)dup2(saved, STDOUT_FILENO);
    close(saved);
}

/* Prints the command and runs it, with standard output diverted. */
static pada_status run_words(const pada_auto *a, const line *l, const char *const *words)
{
    pada_text shown = {0};

    pada_command_line_print(l, &shown);
    if (shown.status == PADA_OK) pada_auto_say(a, "$ %s", shown.data);
    pada_status st = shown.status;
    pada_text_deinit(&shown);
    PADA_TRY(st);
    const int saved = divert_output(a);
    if (saved < 0) return PADA_FAIL(PADA_EIO, "standard output: %s", strerror(errno));
    st = pada_call_run(words[0], l->n - 1, words + 1);
    restore_output(saved);
    PADA_TRY(st);
    if (*pada_stop_signal()) /* also those that came when nobody listened */
        return PADA_FAIL(PADA_ESTOPPED, "stopped between two stages; the same command resumes it");
    return PADA_OK;
}

static pada_status run_line(const pada_auto *a, const line *l)
{
    const char **words;

    PADA_TRY(pada_command_line_words(l, &words));
    const pada_status st = run_words(a, l, words);
    pada_free(words);
    return st;
}

pada_status pada_auto_verify(const pada_auto *a)
{
    line l = {0};

    pada_command_line_add(&l, "data");
    pada_command_line_add(&l, "verify");
    pada_command_line_add(&l, a->data);
    add_option(a, &l, "image-size");
    add_table(a, &l, pada_image_options);
    const pada_status st = run_line(a, &l);
    pada_command_line_deinit(&l);
    return st;
}

static pada_status is_done(const pada_auto *a, const stage *s, bool *done)
{
    pada_text path = {0};

    pada_text_add(&path, "%s/%s", a->out, s->result);
    const pada_status st = path.status;
    *done = st == PADA_OK && pada_path_exists(path.data);
    pada_text_deinit(&path);
    return st;
}

static pada_status run_stage(const pada_auto *a, const stage *s, int number)
{
    line l = {0};

    pada_auto_say(a, "\nstage %d of %d: %s", number, N_STAGES, s->title);
    pada_status st = s->add_words(a, &l);
    if (st == PADA_OK && l.n > 0) st = run_line(a, &l);
    pada_command_line_deinit(&l);
    if (s->may_lack && (st == PADA_EUNSUPPORTED || st == PADA_EDEVICE)) {
        pada_auto_say(a, "pada: left out: %s", pada_message());
        return PADA_OK;
    }
    return st;
}

pada_status pada_auto_run_stages(const pada_auto *a)
{
    for (int i = 0; i < N_STAGES; i++) {
        bool done;
        PADA_TRY(is_done(a, &stages[i], &done));
        if (!done) PADA_TRY(run_stage(a, &stages[i], i + 1));
    }
    return PADA_OK;
}
