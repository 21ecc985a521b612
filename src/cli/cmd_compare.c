/* cmd_compare.c - `pada compare`: which of several runs ranks networks best, with confidence intervals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/print_metrics.h"
#include "cli/truth_args.h"
#include "report/run_info.h"
#include "run/space_args.h"
#include "study/score_join.h"
#include "study/scoreboard.h"
#include "train/run_cost.h"

#define RANKING_FILE "ranking.csv"

/* A run folder or a file of scores. */
typedef struct contestant {
    const char *name; /* the word */
    pada_text file;   /* of the scores */
    bool has_cost;
    pada_run_cost cost;
} contestant;

typedef struct compare {
    pada_space_args space_args;
    pada_truth_args truth_args;
    uint64_t seed;
    int64_t threads;
    bool json;

    pada_space space;
    pada_truth_column_view truth;
    int n;                    /* contestants */
    contestant *who;          /* [n], owned */
    pada_score_table **table; /* [n], their scores, owned */
    const char **names;       /* [n], owned */
    pada_score_join join;
    pada_scoreboard board;
} compare;

static const pada_opt options_table[] = {
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(compare, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of the bootstrap"},
    {.name = "threads",
     .type = PADA_OPT_INT,
     .offset = offsetof(compare, threads),
     .default_value = "0",
     .min = 0,
     .max = 1024,
     .meta = "N",
     .help = "threads; 0: OMP_NUM_THREADS, or one per CPU"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(compare, json),
     .help = "one JSON object per line: every run, then each further one against the first"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    compare *c = self;

    PADA_TRY(pada_options_bind(options, pada_truth_options, &c->truth_args));
    PADA_TRY(pada_options_bind(options, options_table, c));
    return pada_space_args_bind(&c->space_args, options);
}

/* ---- reading ---- */

static pada_status allocate(compare *c, int n)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *c->who));
    c->who = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *c->table));
    c->table = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *c->names));
    c->names = mem;
    c->n = n;
    return PADA_OK;
}

static pada_status read_contestant(const compare *c, contestant *who, pada_score_table **table)
{
    const bool is_run = pada_path_is_dir(who->name);

    pada_text_add(&who->file, is_run ? "%s/" RANKING_FILE : "%s", who->name);
    PADA_TRY(who->file.status);
    if (is_run) PADA_TRY(pada_run_cost_read(who->name, &who->has_cost, &who->cost));
    return pada_score_table_open_column(table, &c->space, who->file.data, "score");
}

/* What a run says about its images. */
typedef struct images {
    const char *run;  /* the word */
    const char *name; /* of the data set, borrowed from one of the others; NULL: it does not say */
    pada_data_card card; /* json NULL: only the name is known */
    pada_run_info info;
} images;

/* Compares what is read about the images of a run with what the first one says. */
static pada_status check_images(const compare *c, const images *its, const images *first)
{
    PADA_TRY(pada_truth_check_images(&c->truth_args, &its->card, its->run));
    if (its->card.json && first->card.json)
        return pada_data_card_check_same(&first->card, &its->card, first->run, its->run);
    if (!its->name || !first->name || strcmp(its->name, first->name) == 0) return PADA_OK;
    return PADA_FAIL(PADA_EDATA, "%s was trained on %s, but %s on %s", its->run, its->name,
                     first->run, first->name);
}

static pada_status read_images(images *its, const char *run)
{
    pada_text notes = {0}; /* of no interest here */
    pada_status st = pada_run_info_read(&its->info, run, &notes);

    pada_text_deinit(&notes);
    PADA_TRY(st);
    PADA_TRY(pada_data_card_read(&its->card, run));
    its->name = its->card.json ? its->card.name : its->info.data_name;
    its->run = run;
    return PADA_OK;
}

static void free_images(images *its)
{
    pada_data_card_deinit(&its->card);
    pada_run_info_deinit(&its->info);
    *its = (images){0};
}

/* One more run; the first that says something about its images is kept as `first`. */
static pada_status check_run(const compare *c, const char *run, images *first)
{
    images other = {0}, *its = first->name ? &other : first;

    free_images(its);
    pada_status st = read_images(its, run);
    if (st == PADA_OK) st = check_images(c, its, first);
    free_images(&other);
    return st;
}

/* The truth, by default of the data set of the runs, which must be the same for all. */
static pada_status open_truth(compare *c, const pada_options *options)
{
    images first = {0};
    pada_status st = PADA_OK;

    for (int i = 0; i < pada_options_n_words(options) && st == PADA_OK; i++)
        if (pada_path_is_dir(pada_options_word(options, i)))
            st = check_run(c, pada_options_word(options, i), &first);
    if (st == PADA_OK) st = pada_truth_from_args(&c->truth, &c->truth_args, &c->space, first.name);
    free_images(&first);
    return st;
}

static pada_status read_all(compare *c, const pada_options *options)
{
    const int n = pada_options_n_words(options);

    if (n < 2)
        return PADA_FAIL(PADA_EINVAL,
                         "give two or more runs or CSV files; see `pada help compare`");
    if (!c->truth_args.file)
        return PADA_FAIL(PADA_EINVAL, "no truth: give the table with --truth FILE.csv");
    PADA_TRY(pada_space_from_args(&c->space, &c->space_args));
    PADA_TRY(open_truth(c, options));
    PADA_TRY(allocate(c, n));
    for (int i = 0; i < n; i++) {
        c->names[i] = c->who[i].name = pada_options_word(options, i);
        PADA_TRY(read_contestant(c, &c->who[i], &c->table[i]));
    }
    return PADA_OK;
}

static pada_status join_all(compare *c)
{
    PADA_TRY(pada_score_join_init(&c->join, c->truth.table, c->truth.values, c->table, c->n));
    if (c->join.n < 2)
        return PADA_FAIL(PADA_EDATA,
                         "%s and the %d others have %d networks in common with %s; a "
                         "ranking needs 2",
                         c->names[0], c->n - 1, c->join.n, c->truth_args.file);
    for (int i = 0; i < c->n; i++) {
        int n_more;
        PADA_TRY(
            pada_score_join_left_out(&c->join, &c->space, c->truth.table, c->table[i], &n_more));
        if (n_more > 0)
            fprintf(stderr, "pada: %d networks of %s are left out, not being in all files\n",
                    n_more, c->who[i].file.data);
    }
    return PADA_OK;
}

static pada_status score_all(compare *c)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)c->n, sizeof(const double *)));
    const double **scores = mem;
    for (int i = 0; i < c->n; i++)
        scores[i] = c->join.scores + (size_t)i * (size_t)c->join.n;
    const pada_status st = pada_scoreboard_init(
        &c->board, &(pada_scoreboard_desc){.truths = c->join.truths,
                                           .scores = scores,
                                           .n = c->join.n,
                                           .n_sets = c->n,
                                           .replicates = (int)c->truth_args.bootstrap,
                                           .seed = c->seed,
                                           .n_threads = (int)c->threads});
    pada_free(mem);
    return st;
}

/* ---- tables ---- */

/* One line per run: its cost, and the metrics that methods are compared by with intervals. */
static void add_runs(const compare *c, pada_text *out)
{
    static const pada_metric shown[] = {PADA_METRIC_TAU_B, PADA_METRIC_SPEARMAN,
                                        PADA_METRIC_P_TOP5_EXPECTED};
    enum { N_SHOWN = sizeof shown / sizeof shown[0], DECIMALS = 3 };
    pada_interval interval;
    int width = 12;

    for (int i = 0; i < c->n; i++)
        if ((int)strlen(c->names[i]) > width) width = (int)strlen(c->names[i]);
    pada_text_add(out, "%-*s %7s %9s %9s %9s", width, "run", "epochs", "passes", "TMACs",
                  "seconds");
    for (int k = 0; k < N_SHOWN; k++)
        pada_text_add(out, "  %-22s", pada_metric_table[shown[k]].heading);
    pada_text_add(out, "\n");
    for (int i = 0; i < c->n; i++) {
        const contestant *who = &c->who[i];

        pada_text_add(out, "%-*s ", width, who->name);
        pada_add_number(out, who->has_cost ? who->cost.epochs : NAN, 0, 7);
        pada_add_number(out, who->has_cost ? who->cost.passes : NAN, 0, 10);
        pada_add_number(out, who->has_cost ? who->cost.gmacs / 1000 : NAN, 2, 10);
        pada_add_number(out, who->has_cost ? who->cost.seconds : NAN, 0, 10);
        for (int k = 0; k < N_SHOWN; k++) {
            pada_bootstrap_interval(c->board.bootstrap, i, shown[k], &interval);
            pada_text_add(out, "  ");
            pada_add_number(out, c->board.metrics[i].value[shown[k]], DECIMALS, 6);
            pada_text_add(out, " ");
            pada_add_interval(out, &interval, DECIMALS, 15);
        }
        pada_text_add(out, "\n");
    }
}

static void add_sentence(const compare *c, int i, pada_text *out)
{
    const pada_verdict v = pada_scoreboard_judge(&c->board, i, 0, PADA_METRIC_TAU_B);
    const char *better = c->names[v.better], *worse = c->names[v.worse];

    if (isnan(v.difference))
        pada_text_add(out, "tau-b is not defined for %s or %s.\n", c->names[0], c->names[i]);
    else if (v.difference == 0)
        pada_text_add(out, "%s and %s have the same tau-b.\n", c->names[0], c->names[i]);
    else if (isnan(v.sampled.p))
        pada_text_add(out,
                      "%s ranks better than %s by tau-b; how sure that is, is not known "
                      "without --bootstrap.\n",
                      better, worse);
    else
        pada_text_add(out,
                      "%s ranks better than %s by tau-b, which is %sdistinguishable at 95 %%.\n",
                      better, worse, v.is_clear ? "" : "not ");
}

static void add_differences(const compare *c, int i, pada_text *out)
{
    pada_text_add(out, "\n%s minus %s\n", c->names[i], c->names[0]);
    pada_text_add(out, "%-14s %12s   %-24s %8s\n", "metric", "difference", "95 % interval", "p");
    for (int m = 0; m < PADA_N_METRICS; m++) {
        const pada_metric_info *info = &pada_metric_table[m];
        const pada_verdict v = pada_scoreboard_judge(&c->board, i, 0, (pada_metric)m);

        pada_text_add(out, "%-14s ", info->label);
        pada_add_number(out, v.difference, info->decimals, 12);
        pada_text_add(out, "   ");
        pada_add_interval(out, &v.sampled.interval, info->decimals, 24);
        pada_add_number(out, v.sampled.p, 4, 9);
        pada_text_add(out, "%s\n", v.is_clear ? " *" : "");
    }
    add_sentence(c, i, out);
}

static void add_tables(const compare *c, pada_text *out)
{
    pada_text_add(out, "%d networks, truth %s of %s, %d bootstrap samples\n\n", c->join.n,
                  c->truth.name, c->truth_args.file, pada_bootstrap_replicates(c->board.bootstrap));
    add_runs(c, out);
    pada_text_add(out, "\n");
    pada_add_sets(out, &c->board, c->names);
    for (int i = 1; i < c->n; i++)
        add_differences(c, i, out);
}

/* ---- JSON ---- */

static void add_run_json(const compare *c, int i, pada_text *out)
{
    const contestant *who = &c->who[i];
    json_t *object = json_object();

    pada_json_set(out, object, "name", json_string(who->name));
    pada_json_set(out, object, "file", json_string(who->file.data));
    pada_json_set(out, object, "truth_column", json_string(c->truth.name));
    if (who->has_cost) {
        pada_json_set(out, object, "epochs", json_integer(who->cost.epochs));
        pada_json_set_number(out, object, "passes", who->cost.passes);
        pada_json_set_number(out, object, "images", who->cost.images);
        pada_json_set_number(out, object, "gmacs", who->cost.gmacs);
        pada_json_set(out, object, "seconds", json_real(who->cost.seconds));
    }
    pada_json_set_metrics(out, object, &c->board, i);
    pada_json_line(out, object);
}

static void add_difference_json(const compare *c, int i, pada_text *out)
{
    static const char *const suffixes[] = {"diff", "diff_lo", "diff_hi", "diff_p"};
    json_t *object = json_object();
    char key[64];

    pada_json_set(out, object, "name", json_string(c->names[i]));
    pada_json_set(out, object, "against", json_string(c->names[0]));
    pada_json_set(out, object, "n", json_integer(c->join.n));
    for (int m = 0; m < PADA_N_METRICS; m++) {
        const pada_verdict v = pada_scoreboard_judge(&c->board, i, 0, (pada_metric)m);
        const double values[] = {v.difference, v.sampled.interval.low, v.sampled.interval.high,
                                 v.sampled.p};
        for (int k = 0; k < 4; k++) {
            snprintf(key, sizeof key, "%s_%s", pada_metric_table[m].key, suffixes[k]);
            pada_json_set_number(out, object, key, values[k]);
        }
    }
    const pada_verdict v = pada_scoreboard_judge(&c->board, i, 0, PADA_METRIC_TAU_B);
    pada_json_set(out, object, "better",
                  v.is_clear ? json_string(c->names[v.better]) : json_null());
    pada_json_line(out, object);
}

static void add_json(const compare *c, pada_text *out)
{
    for (int i = 0; i < c->n; i++)
        add_run_json(c, i, out);
    for (int i = 1; i < c->n; i++)
        add_difference_json(c, i, out);
}

/* ---- the command ---- */

static pada_status compare_all(compare *c, const pada_options *options, pada_text *out)
{
    PADA_TRY(read_all(c, options));
    PADA_TRY(join_all(c));
    PADA_TRY(score_all(c));
    if (c->json)
        add_json(c, out);
    else
        add_tables(c, out);
    return out->status;
}

static pada_status run(void *self, const pada_options *options)
{
    compare *c = self;
    pada_text out = {0};
    const pada_status st = compare_all(c, options, &out);

    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    pada_scoreboard_deinit(&c->board);
    pada_score_join_deinit(&c->join);
    for (int i = 0; i < c->n; i++) {
        pada_text_deinit(&c->who[i].file);
        pada_score_table_close(c->table[i]);
    }
    pada_free(c->who);
    pada_free(c->table);
    pada_free(c->names);
    pada_score_table_close(c->truth.table);
    return st;
}

const pada_command pada_command_compare = {
    .name = "compare",
    .summary = "compare how well several runs rank networks, with intervals",
    .details = "Holds the scores of several runs, or of any CSV files with columns arch and score, "
               "against one truth table, on the networks that all of them have. Differences to the "
               "first one are paired, with intervals and p values.",
    .usage = "pada compare RUN|FILE.csv RUN|FILE.csv... --truth FILE.csv [options]",
    .words = "RUN|FILE.csv",
    .examples = "pada compare runs/spos runs/pada --truth truth.csv\n"
                "pada compare a.csv b.csv --truth truth.csv --truth-column cifar10 --json",
    .state_bytes = sizeof(compare),
    PADA_SPACE_ARGS(compare, space_args),
    .bind = bind,
    .run = run,
};
