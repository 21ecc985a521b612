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

static int column_named(const pada_score_table *table, const char *name, size_t bytes)
{
    for (int i = 0; i < pada_score_table_n_columns(table); i++) {
        const char *have = pada_score_table_column_name(table, i);
        if (strlen(have) == bytes && memcmp(have, name, bytes) == 0) return i;
    }
    return -1;
}

/* Whether a column is that of one seed: NAME_3 where there is a column NAME. */
static bool is_of_a_seed(const pada_score_table *table, const char *name)
{
    const char *mark = strrchr(name, '_');

    if (!mark || !mark[1] || mark[1 + strspn(mark + 1, "0123456789")] != '\0') return false;
    return column_named(table, name, (size_t)(mark - name)) >= 0;
}

/* The only column, seeds left out; -1: there are several. */
static int only_column(const pada_score_table *table)
{
    int only = -1;

    for (int i = 0; i < pada_score_table_n_columns(table); i++) {
        if (is_of_a_seed(table, pada_score_table_column_name(table, i))) continue;
        if (only >= 0) return -1;
        only = i;
    }
    return only;
}

/* Whether a data set that pada knows has a column of this name. */
static bool is_of_a_data_set(const char *column)
{
    char name[PADA_TRUTH_NAME];

    for (int i = 0; i < pada_dataset_count(); i++)
        for (const char *const *known = pada_dataset_get(i)->names; *known; known++) {
            pada_truth_column_of(*known, name);
            if (strcmp(name, column) == 0) return true;
        }
    return false;
}

static pada_status fail_which(const pada_score_table *table, const char *file)
{
    pada_text names = {0};

    for (int i = 0; i < pada_score_table_n_columns(table); i++)
        pada_text_add(&names, " %s", pada_score_table_column_name(table, i));
    const pada_status st =
        names.status == PADA_OK
            ? PADA_FAIL(PADA_EINVAL, "%s: which column? give --truth-column, one of:%s", file,
                        names.data)
            : names.status;
    pada_text_deinit(&names);
    return st;
}

/* The column without --truth-column. */
static pada_status default_column(const pada_score_table *table, const char *file,
                                  const char *data_name, const char **name)
{
    char wanted[PADA_TRUTH_NAME] = "";
    const int only = only_column(table);

    if (data_name) {
        pada_truth_column_of(data_name, wanted);
        const int own = column_named(table, wanted, strlen(wanted));
        if (own >= 0) {
            *name = pada_score_table_column_name(table, own);
            return PADA_OK;
        }
    }
    if (only < 0) return fail_which(table, file);
    *name = pada_score_table_column_name(table, only);
    if (!data_name || !is_of_a_data_set(*name)) return PADA_OK;
    return PADA_FAIL(
        PADA_EDATA,
        "%s: the truth of %s, but the data set is %s; to compare them all the same give "
        "--truth-column %s",
        file, *name, data_name, *name);
}

pada_status pada_truth_from_args(pada_truth_column_view *out, const pada_truth_args *args,
                                 const pada_space *space, const char *data_name)
{
    pada_status st = PADA_OK;

    *out = (pada_truth_column_view){.name = args->column};
    PADA_TRY(pada_score_table_open(&out->table, space, args->file));
    if (!out->name) st = default_column(out->table, args->file, data_name, &out->name);
    if (st == PADA_OK) st = pada_score_table_column(out->table, out->name, &out->values);
    if (st != PADA_OK) {
        pada_score_table_close(out->table);
        *out = (pada_truth_column_view){0};
    }
    return st;
}

pada_status pada_truth_check_images(const pada_truth_args *args, const pada_data_card *card,
                                    const char *run)
{
    pada_data_card truth = {0};
    pada_text folder = {0};

    if (!args->file || !card->json || strcmp(args->file, PADA_TRUTH_BUILTIN) == 0) return PADA_OK;
    const char *slash = strrchr(args->file, '/');
    pada_text_add(&folder, "%.*s.", slash ? (int)(slash + 1 - args->file) : 0, args->file);
    pada_status st = folder.status;
    if (st == PADA_OK) st = pada_data_card_read(&truth, folder.data);
    if (st == PADA_OK && truth.json) st = pada_data_card_check_same(card, &truth, run, args->file);
    pada_data_card_deinit(&truth);
    pada_text_deinit(&folder);
    return st;
}
