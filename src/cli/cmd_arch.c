/* cmd_arch.c - `pada arch`: architectures from one dialect into another, what they cost, how they look. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/print_operators.h"
#include "cli/run_args.h"
#include "report/draw.h"
#include "run/names.h"
#include "run/space_args.h"
#include "study/best_network.h"
#include "study/latency_table.h"

#define CANONICAL "canonical"
#define ISO       "iso"
#define INDEX     "index"

typedef struct arch {
    pada_space_args space_args;
    const char *from, *to, *truth_file, *latency_file;
    const char *run; /* folder; NULL: none */
    bool cost, operators, json;
    int64_t best; /* how many of the run, if no architecture is given */
    int form;     /* whose costs */

    pada_options *config; /* of the run; owns its strings */
    pada_space space;
    pada_draw draw;                /* of --to; NULL: that is no drawing */
    pada_score_table *truth;       /* NULL without --truth */
    pada_latency_table *latencies; /* NULL without --latency-table */
    pada_operator_counts operators_of_all;
} arch;

enum { FINAL, SEARCH }; /* of --form */

/* Forms beside the dialects of the space. */
static const char *const from_forms[] = {INDEX};
static const char *const to_forms[] = {CANONICAL, ISO, INDEX, "svg", "dot", "text"};

enum {
    N_FROM_FORMS = sizeof from_forms / sizeof *from_forms,
    N_TO_FORMS = sizeof to_forms / sizeof *to_forms
};

/* The dialects, and further names after them. */
static const char *name_of_form(int i, const char *const *more, int n_more)
{
    int n_dialects = 0;

    if (pada_name_of_dialect(i)) return pada_name_of_dialect(i);
    while (pada_name_of_dialect(n_dialects))
        n_dialects++;
    return i - n_dialects < n_more ? more[i - n_dialects] : NULL;
}

static const char *name_of_from(int i)
{
    return name_of_form(i, from_forms, N_FROM_FORMS);
}

static const char *name_of_to(int i)
{
    return name_of_form(i, to_forms, N_TO_FORMS);
}

static const pada_opt options_table[] = {
    {.name = "from",
     .type = PADA_OPT_STRING,
     .offset = offsetof(arch, from),
     .meta = "DIALECT",
     .names = name_of_from,
     .help =
         "dialect of the input, one of the space (`pada info`), or index (default: auto-detected)"},
    {.name = "to",
     .type = PADA_OPT_STRING,
     .offset = offsetof(arch, to),
     .meta = "DIALECT",
     .names = name_of_to,
     .help =
         "a dialect; canonical (without dead edges); iso (isomorphism key); index; svg, dot, text "
         "(drawings)"},
    {.name = "truth",
     .type = PADA_OPT_STRING,
     .offset = offsetof(arch, truth_file),
     .meta = "FILE.csv",
     .help = "truth table whose row numbers are the indices"},
    {.name = "run",
     .type = PADA_OPT_STRING,
     .offset = offsetof(arch, run),
     .meta = "RUN",
     .help = "space and sizes are those of this run folder, unless a flag says otherwise"},
    {.name = "cost",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(arch, cost),
     .help = "multiply-adds and parameters of the stand-alone network"},
    {.name = "best",
     .type = PADA_OPT_INT,
     .offset = offsetof(arch, best),
     .default_value = "1",
     .min = 1,
     .max = 1000000,
     .meta = "N",
     .help = "without an architecture: the N best of the search of RUN, or of its ranking"},
    {.name = "operators",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(arch, operators),
     .help = "how often it has each operator, and how many of these read inputs of a cell; of "
             "several networks also the mean"},
    {.name = "latency-table",
     .type = PADA_OPT_STRING,
     .offset = offsetof(arch, latency_file),
     .meta = "FILE",
     .help =
         "--cost, and the latency by a table of `pada bench latency`, ProxylessNAS or Once-for-all"},
    {.name = "form",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(arch, form),
     .default_value = "final",
     .choices = "final|search",
     .help = "costs of the network by itself, or as it is in the supernet"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(arch, json),
     .help = "one JSON object per line: arch, macs and params (--cost), latency_ms, operators, to "
             "(--to)"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    arch *a = self;

    PADA_TRY(pada_options_bind(options, options_table, a));
    return pada_space_args_bind(&a->space_args, options);
}

/* Checks the value of --from or --to against the dialects of the space and further forms. */
static pada_status check_form(const arch *a, const char *flag, const char *form,
                              const char *const *more, int n_more)
{
    const char *names[32];
    int n = 0;

    if (!form) return PADA_OK;
    for (const char *const *d = a->space.ops->dialects; *d; d++) {
        PADA_ASSERT(n + n_more < (int)(sizeof names / sizeof names[0]));
        names[n++] = *d;
    }
    for (int i = 0; i < n_more; i++)
        names[n++] = more[i];
    for (int i = 0; i < n; i++)
        if (strcmp(form, names[i]) == 0) return PADA_OK;

    char lead[40];
    (void)snprintf(lead, sizeof lead, "%s: unknown dialect", flag);
    return pada_fail_unknown(PADA_EINVAL, lead, form, names, n);
}

static pada_status read_index(const arch *a, const char *word, pada_path *path)
{
    int64_t row;

    if (!a->truth)
        return PADA_FAIL(PADA_EINVAL,
                         "index '%s' is a row of the truth table: give it with --truth FILE.csv",
                         word);
    PADA_TRY(pada_parse_int(word, INDEX, 0, pada_score_table_count(a->truth) - 1, &row));
    *path = *pada_score_table_path(a->truth, (int)row);
    return PADA_OK;
}

/* A number that is no architecture of the space is a row of the table. */
static pada_status read_word(const arch *a, const char *word, pada_path *path)
{
    const pada_space_ops *ops = a->space.ops;
    const bool is_number = word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';

    if (a->from && strcmp(a->from, INDEX) == 0) return read_index(a, word, path);
    const pada_status st = ops->parse(&a->space, word, a->from, path);
    if (st == PADA_OK || a->from || !is_number) return st;
    if (a->truth) return read_index(a, word, path);
    return PADA_FAIL(PADA_EINVAL, "%s; or is it an index? Then give --truth FILE.csv",
                     pada_message());
}

static pada_status write_index(const arch *a, const pada_path *path, pada_text *out)
{
    if (!a->truth)
        return PADA_FAIL(PADA_EINVAL, "--to index: give the truth table with --truth FILE.csv");
    const int row = pada_score_table_row(a->truth, path);
    if (row < 0) return PADA_FAIL(PADA_EDATA, "%s: architecture not in the table", a->truth_file);
    pada_text_add(out, "%d", row);
    return out->status;
}

static pada_status draw(const arch *a, const pada_path *path, pada_text *out)
{
    pada_sketch sketch;

    PADA_TRY(pada_sketch_path(&sketch, &a->space, path));
    return a->draw(&sketch, out);
}

static pada_status convert(const arch *a, const pada_path *path, const char *to, pada_text *out)
{
    const pada_space_ops *ops = a->space.ops;
    pada_path form;

    if (strcmp(to, INDEX) == 0) return write_index(a, path, out);
    if (strcmp(to, ISO) == 0) {
        if (!ops->iso_key)
            return PADA_FAIL(PADA_EINVAL, "space %s defines no isomorphism key", ops->name);
        ops->iso_key(&a->space, path, out);
        return out->status;
    }
    if (strcmp(to, CANONICAL) == 0) {
        ops->canonical(&a->space, path, &form);
        return ops->format(&a->space, &form, ops->dialects[0], out);
    }
    return ops->format(&a->space, path, to, out);
}

/* What is said about one path. */
typedef struct description {
    pada_text name, converted;
    pada_cost cost;
    double latency_ms; /* with a table */
    pada_operator_counts operators;
} description;

static pada_status find_costs(const arch *a, const pada_path *path, description *d)
{
    if (a->form == FINAL)
        pada_space_cost(&a->space, path, &d->cost);
    else
        pada_space_search_cost(&a->space, path, &d->cost);
    return a->latencies ? pada_latency_of(a->latencies, &a->space, path, &d->latency_ms) : PADA_OK;
}

static pada_status count_operators(arch *a, const pada_path *path, description *d)
{
    PADA_TRY(pada_operator_counts_add(&a->operators_of_all, &a->space, path));
    return pada_operator_counts_add(&d->operators, &a->space, path);
}

static void write_json(const arch *a, const description *d, pada_text *out)
{
    json_t *object = json_object();

    pada_json_set(out, object, "arch", json_string(pada_text_str(&d->name)));
    if (a->cost) {
        pada_json_set(out, object, "macs", json_integer(d->cost.macs));
        pada_json_set(out, object, "params", json_integer(d->cost.params));
    }
    if (a->latencies) pada_json_set(out, object, "latency_ms", json_real(d->latency_ms));
    if (a->operators)
        pada_json_set(out, object, "operators", pada_json_operators(out, &d->operators));
    if (a->to) pada_json_set(out, object, "to", json_string(pada_text_str(&d->converted)));
    pada_json_line(out, object);
}

static void write_text(const arch *a, const description *d, pada_text *out)
{
    pada_text_add(out, "%s", pada_text_str(&d->converted));
    if (a->cost)
        pada_text_add(out, "  macs %" PRId64 "  params %" PRId64, d->cost.macs, d->cost.params);
    if (a->latencies) pada_text_add(out, "  latency_ms %.4f", d->latency_ms);
    if (a->operators) pada_add_operators(out, &d->operators);
    if (!a->draw) pada_text_add(out, "\n"); /* a drawing has its own */
}

/* Appends what is printed for one path. */
static pada_status describe(arch *a, const pada_path *path, pada_text *out)
{
    const char *own = a->space.ops->dialects[0];
    description d = {.latency_ms = 0};
    pada_status st;

    if ((st = find_costs(a, path, &d)) != PADA_OK) goto out;
    if (a->operators && (st = count_operators(a, path, &d)) != PADA_OK) goto out;
    if ((st = convert(a, path, own, &d.name)) != PADA_OK) goto out;
    st =
        a->draw ? draw(a, path, &d.converted) : convert(a, path, a->to ? a->to : own, &d.converted);
    if (st != PADA_OK) goto out;
    if (a->json)
        write_json(a, &d, out);
    else
        write_text(a, &d, out);
    st = out->status;
out:
    pada_text_deinit(&d.name);
    pada_text_deinit(&d.converted);
    return st;
}

/* A drawing is a document: nothing else may stand in its file. */
static pada_status check_drawing(const arch *a, int n_words)
{
    if (!a->draw || a->json) return PADA_OK;
    if (a->cost || a->operators)
        return PADA_FAIL(PADA_EINVAL, "--%s beside a drawing (--to %s) needs --json",
                         a->cost ? "cost" : "operators", a->to);
    if (n_words > 1)
        return PADA_FAIL(PADA_EINVAL, "--to %s draws one architecture at a time, or needs --json",
                         a->to);
    return PADA_OK;
}

/* ---- the architectures of the command line ---- */

/* A word that is a run folder is not an architecture. */
static pada_status find_run(arch *a, const pada_options *options, int *n_archs)
{
    *n_archs = 0;
    for (int i = 0; i < pada_options_n_words(options); i++) {
        const char *word = pada_options_word(options, i);
        if (!pada_is_run(word)) {
            (*n_archs)++;
            continue;
        }
        if (a->run) return PADA_FAIL(PADA_EINVAL, "two runs, %s and %s: give one", a->run, word);
        a->run = word;
    }
    if (*n_archs == 0 && !a->run)
        return PADA_FAIL(PADA_EINVAL, "no architecture given; see `pada help arch`");
    return PADA_OK;
}

static pada_status describe_words(arch *a, const pada_options *options, pada_text *out)
{
    pada_path path;

    for (int i = 0; i < pada_options_n_words(options); i++) {
        const char *word = pada_options_word(options, i);
        if (pada_is_run(word)) continue;
        PADA_TRY(read_word(a, word, &path));
        PADA_TRY(describe(a, &path, out));
    }
    return PADA_OK;
}

static pada_status describe_best(arch *a, pada_text *out)
{
    const char *file;
    void *memory;
    int n;

    PADA_TRY(pada_calloc(&memory, (size_t)a->best, sizeof(pada_path)));
    pada_path *paths = memory;
    pada_status st = pada_best_networks(a->run, &a->space, (int)a->best, paths, &n, &file);
    for (int i = 0; i < n && st == PADA_OK; i++)
        st = describe(a, &paths[i], out);
    pada_free(paths);
    return st;
}

static pada_status open_latencies(arch *a)
{
    if (a->form != FINAL)
        return PADA_FAIL(PADA_EINVAL, "--latency-table: latencies are those of --form final");
    a->cost = true;
    return pada_latency_table_open(&a->latencies, a->latency_file);
}

static pada_status describe_all(arch *a, const pada_options *options, pada_text *out)
{
    int n;

    PADA_TRY(find_run(a, options, &n));
    if (n > 0 && pada_options_given(options, "best"))
        return PADA_FAIL(PADA_EINVAL, "--best: of a run folder, and an architecture was given");
    if (a->run) PADA_TRY(pada_space_args_from_run(&a->space_args, options, a->run, &a->config));
    PADA_TRY(pada_space_from_args(&a->space, &a->space_args));
    PADA_TRY(check_form(a, "--from", a->from, from_forms, N_FROM_FORMS));
    PADA_TRY(check_form(a, "--to", a->to, to_forms, N_TO_FORMS));
    a->draw = a->to ? pada_draw_find(a->to) : NULL;
    if (a->latency_file) PADA_TRY(open_latencies(a));
    PADA_TRY(check_drawing(a, n > 0 ? n : (int)a->best));
    if (a->truth_file) PADA_TRY(pada_score_table_open(&a->truth, &a->space, a->truth_file));
    PADA_TRY(n > 0 ? describe_words(a, options, out) : describe_best(a, out));
    if (a->operators_of_all.n_networks > 1 && !a->json) {
        pada_text_add(out, "mean of %d", a->operators_of_all.n_networks);
        pada_add_operators(out, &a->operators_of_all);
        pada_text_add(out, "\n");
    }
    return out->status;
}

static pada_status run(void *self, const pada_options *options)
{
    arch *a = self;
    pada_text out = {0};
    const pada_status st = describe_all(a, options, &out);

    /* Printed only when all of them are right, so that a script never sees half a result. */
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    pada_score_table_close(a->truth);
    pada_latency_table_close(a->latencies);
    pada_options_destroy(a->config);
    return st;
}

const pada_command pada_command_arch = {
    .name = "arch",
    .summary = "convert architectures between dialects, count what they cost, draw them",
    .details =
        "An architecture may be written in any dialect of its space; what is not exactly one "
        "architecture is refused. A list of integers is ambiguous and needs --from. Costs are "
        "those of the stand-alone network in its final size (--form search: of the path in the supernet): multiply-adds of convolutions and the linear "
        "layer, dead edges included, with the sizes of a run (--run, or its folder as a word) or "
        "of the options. A run without an architecture is the best network of its search, or else of its ranking.",
    .usage = "pada arch STRING... [options] | RUN [options]",
    .examples = "pada arch --from list 3,3,4,1,3,1 --cost\n"
                "pada arch --cost runs/a\n"
                "pada arch --operators --best 10 runs/a\n"
                "pada arch 1 --truth truth.csv --to nni\n"
                "pada arch --space macro 01201201 --latency-table macro.csv\n"
                "pada arch '|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|' --to iso\n"
                "pada arch --from list 3,3,4,1,3,1 --to svg > cell.svg",
    .state_bytes = sizeof(arch),
    PADA_SPACE_ARGS(arch, space_args),
    .bind = bind,
    .run = run,
};
