/* cmd_report.c - `pada report`: one HTML page about one or several runs. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/truth_args.h"
#include "report/report.h"
#include "report/run_info.h"
#include "run/space_args.h"

#define REPORT_FILE "report.html"

enum { MAX_PREFACE = 1000000 };

typedef struct report {
    pada_truth_args truth_args;
    const char *out, *preface;
    uint64_t seed;
    int64_t threads;

    pada_space space;
    pada_run_info info;           /* of the first run */
    pada_truth_column_view truth; /* empty without --truth */
    const char **runs;            /* [n_runs], owned */
    int n_runs;
} report;

static const pada_opt options_table[] = {
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(report, out),
     .meta = "FILE.html",
     .help = "the page (default: " REPORT_FILE " in RUN, or here for several runs)"},
    {.name = "preface",
     .type = PADA_OPT_STRING,
     .offset = offsetof(report, preface),
     .meta = "FILE.txt",
     .help = "a text for the top of the page, as it is: the table of a study"},
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(report, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of the bootstrap"},
    {.name = "threads",
     .type = PADA_OPT_INT,
     .offset = offsetof(report, threads),
     .default_value = "0",
     .min = 0,
     .max = 1024,
     .meta = "N",
     .help = "threads; 0: OMP_NUM_THREADS, or one per CPU"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    report *r = self;

    PADA_TRY(pada_options_bind(options, options_table, r));
    return pada_options_bind(options, pada_truth_options, &r->truth_args);
}

static pada_status take_words(report *r, const pada_options *options)
{
    void *mem;

    if (pada_options_n_words(options) == 0)
        return PADA_FAIL(PADA_EINVAL, "no run folder given; see `pada help report`");
    PADA_TRY(pada_calloc(&mem, (size_t)pada_options_n_words(options), sizeof *r->runs));
    r->runs = mem;
    for (r->n_runs = 0; r->n_runs < pada_options_n_words(options); r->n_runs++) {
        r->runs[r->n_runs] = pada_options_word(options, r->n_runs);
        if (!pada_path_is_dir(r->runs[r->n_runs]))
            return PADA_FAIL(PADA_ENOENT, "%s: no run folder", r->runs[r->n_runs]);
    }
    return PADA_OK;
}

/* Whether a folder has something to report: an epoch or a ranking. */
static pada_status look_for(const char *run, const char *name, bool *found)
{
    pada_text path = {0};

    pada_text_add(&path, "%s/%s", run, name);
    PADA_TRY(path.status);
    *found = *found || pada_path_exists(path.data);
    pada_text_deinit(&path);
    return PADA_OK;
}

/* One empty run among others is said on the page; a page about nothing is not written. */
static pada_status check_contents(const report *r)
{
    bool found = false;

    for (int i = 0; i < r->n_runs; i++) {
        PADA_TRY(look_for(r->runs[i], "metrics.csv", &found));
        PADA_TRY(look_for(r->runs[i], "ranking.csv", &found));
    }
    if (found) return PADA_OK;
    return PADA_FAIL(PADA_EDATA, "%s: nothing to report: neither metrics.csv nor ranking.csv",
                     r->runs[0]);
}

/* The runs must be of the images of the truth, where it says which they are. */
static pada_status check_truth(const report *r)
{
    for (int i = 0; i < r->n_runs; i++) {
        pada_data_card card;
        PADA_TRY(pada_data_card_read(&card, r->runs[i]));
        const pada_status st = pada_truth_check_images(&r->truth_args, &card, r->runs[i]);
        pada_data_card_deinit(&card);
        PADA_TRY(st);
    }
    return PADA_OK;
}

/* The space of the first run, and its truth. A folder that does not say is one of NAS-Bench-201. */
static pada_status open_truth(report *r)
{
    const pada_space_ops *ops;
    pada_text notes = {0}; /* the page has them too */
    pada_status st = pada_run_info_read(&r->info, r->runs[0], &notes);

    pada_text_deinit(&notes);
    PADA_TRY(st);
    PADA_TRY(pada_space_find(&ops, r->info.space ? r->info.space : "nb201"));
    PADA_TRY(pada_space_init(&r->space, ops, &(pada_space_config){0}));
    if (!r->truth_args.file) return PADA_OK;
    PADA_TRY(check_truth(r));
    return pada_truth_from_args(&r->truth, &r->truth_args, &r->space, r->info.data_name);
}

static pada_status write_page(const report *r, const char *preface, const char *path)
{
    pada_text page = {0};
    pada_status st =
        pada_report_page(&(pada_report_desc){.space = &r->space,
                                             .runs = r->runs,
                                             .n_runs = r->n_runs,
                                             .preface = preface,
                                             .truth = r->truth.table,
                                             .truth_file = r->truth_args.file,
                                             .truth_column = r->truth.name,
                                             .truths = r->truth.values,
                                             .replicates = (int)r->truth_args.bootstrap,
                                             .seed = r->seed,
                                             .n_threads = (int)r->threads,
                                             .version = pada_version()},
                         &page);

    if (st == PADA_OK) st = pada_file_replace(path, page.data, page.length);
    if (st == PADA_OK) printf("%s: %zu bytes\n", path, page.length);
    pada_text_deinit(&page);
    return st;
}

static pada_status read_preface(const report *r, pada_text *out)
{
    pada_file file = {0};

    if (!r->preface) return PADA_OK;
    PADA_TRY(pada_file_load(&file, r->preface));
    pada_status st = PADA_OK;
    if (file.bytes > MAX_PREFACE || (file.bytes > 0 && memchr(file.data, '\0', file.bytes)))
        st = PADA_FAIL(PADA_EDATA, "%s: no text of at most %d bytes", r->preface, MAX_PREFACE);
    else
        pada_text_add_bytes(out, file.data, file.bytes);
    pada_file_close(&file);
    return st == PADA_OK ? out->status : st;
}

static pada_status make_report(report *r, const pada_options *options)
{
    pada_text path = {0}, preface = {0};

    PADA_TRY(take_words(r, options));
    PADA_TRY(check_contents(r));
    PADA_TRY(open_truth(r));
    pada_status st = read_preface(r, &preface);
    if (!r->out && r->n_runs == 1) pada_text_add(&path, "%s/", r->runs[0]);
    pada_text_add(&path, "%s", r->out ? r->out : REPORT_FILE);
    if (st == PADA_OK) st = path.status;
    if (st == PADA_OK) st = write_page(r, pada_text_str(&preface), path.data);
    pada_text_deinit(&preface);
    pada_text_deinit(&path);
    return st;
}

static pada_status run(void *self, const pada_options *options)
{
    report *r = self;
    const pada_status st = make_report(r, options);

    pada_score_table_close(r->truth.table);
    pada_run_info_deinit(&r->info);
    pada_free(r->runs);
    return st;
}

const pada_command pada_command_report = {
    .name = "report",
    .summary = "one HTML page about runs: a verdict, the best network, search, test, curves",
    .details =
        "Writes one HTML file that needs nothing but itself: what the runs are worth in words, the "
        "best network with its costs and the command to use next, then rankings, curves and "
        "provenance. A search (RUN/search) is shown with its front; a network that was retrained "
        "with its test, class by class, and how to use it. What a folder lacks is said on the page.",
    .usage = "pada report RUN... [--truth FILE.csv] [--out FILE.html] [options]",
    .words = "RUN",
    .examples = "pada report runs/a --truth truth.csv\n"
                "pada report runs/spos runs/pada --truth builtin --out both.html\n"
                "pada report runs/a-final",
    .state_bytes = sizeof(report),
    .bind = bind,
    .run = run,
};
