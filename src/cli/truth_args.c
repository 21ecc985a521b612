/* truth_args.c - the options of a truth table and of the metrics against it. */
#include "cli/truth_args.h"

#include <string.h>

const pada_opt pada_truth_options[] = {
    {.name = "truth",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_truth_args, file),
     .meta = "FILE.csv|builtin",
     .help = "truth table: a column `arch` and columns of true accuracies"},
    {.name = "truth-column",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_truth_args, column),
     .meta = "NAME",
     .help = "column of it (default: the only one, or that of the data set)"},
    {.name = "bootstrap",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_truth_args, bootstrap),
     .default_value = "1000",
     .min = 0,
     .max = 1000000,
     .meta = "N",
     .help = "samples for the 95 % intervals; 0: none"},
    {.name = NULL},
};

/* The column without --truth-column; -1: none suggests itself. */
static int default_column(const pada_truth *table, const char *data_name)
{
    const int n = pada_truth_n_columns(table);
    char wanted[PADA_TRUTH_NAME];

    if (n == 1) return 0;
    pada_truth_column_of(data_name ? data_name : "CIFAR-10", wanted);
    for (int i = 0; i < n; i++)
        if (strcmp(pada_truth_column_name(table, i), wanted) == 0) return i;
    return -1;
}

static pada_status fail_which(const pada_truth *table, const char *file)
{
    pada_text names = {0};

    for (int i = 0; i < pada_truth_n_columns(table); i++)
        pada_text_add(&names, " %s", pada_truth_column_name(table, i));
    const pada_status st =
        names.status == PADA_OK
            ? PADA_FAIL(PADA_EINVAL, "%s: which column? give --truth-column, one of:%s", file,
                        names.data)
            : names.status;
    pada_text_deinit(&names);
    return st;
}

static pada_status find_column(pada_truth_column_view *view, const pada_truth_args *args,
                               const char *data_name)
{
    view->name = args->column;
    if (!view->name) {
        const int column = default_column(view->table, data_name);
        if (column < 0) return fail_which(view->table, args->file);
        view->name = pada_truth_column_name(view->table, column);
    }
    return pada_truth_column(view->table, view->name, &view->values);
}

pada_status pada_truth_from_args(pada_truth_column_view *out, const pada_truth_args *args,
                                 const pada_space *space, const char *data_name)
{
    *out = (pada_truth_column_view){0};
    PADA_TRY(pada_truth_open(&out->table, space, args->file));
    /* That table is of one data set, whatever the caller guesses. */
    const bool is_builtin = strcmp(args->file, PADA_TRUTH_BUILTIN) == 0;
    const pada_status st = find_column(out, args, is_builtin ? PADA_TRUTH_BUILTIN : data_name);
    if (st != PADA_OK) {
        pada_truth_close(out->table);
        *out = (pada_truth_column_view){0};
    }
    return st;
}
