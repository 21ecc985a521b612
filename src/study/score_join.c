/* score_join.c - the networks that a truth table and tables of scores have in common. */
#include "study/score_join.h"

#include "base/mem.h"
#include "space/path_index.h"

static bool is_in_all(const pada_path *path, pada_score_table *const *tables, int n_tables)
{
    for (int i = 0; i < n_tables; i++)
        if (pada_score_table_row(tables[i], path) < 0) return false;
    return true;
}

static pada_status allocate(pada_score_join *join, int n, int n_tables)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *join->rows));
    join->rows = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *join->truths));
    join->truths = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n * (size_t)n_tables, sizeof *join->scores));
    join->scores = mem;
    return PADA_OK;
}

pada_status pada_score_join_init(pada_score_join *join, const pada_score_table *truth,
                                 const double *truths, pada_score_table *const *tables,
                                 int n_tables)
{
    const int n_rows = pada_score_table_count(truth);
    const double *scores;
    int n = 0;

    *join = (pada_score_join){0};
    for (int row = 0; row < n_rows; row++)
        n += is_in_all(pada_score_table_path(truth, row), tables, n_tables);
    PADA_TRY(allocate(join, n, n_tables));
    for (int row = 0; row < n_rows; row++) {
        if (!is_in_all(pada_score_table_path(truth, row), tables, n_tables)) continue;
        join->truths[join->n] = truths[row];
        join->rows[join->n++] = row;
    }
    for (int i = 0; i < n_tables; i++) {
        PADA_TRY(pada_score_table_column(tables[i], pada_score_table_column_name(tables[i], 0),
                                         &scores));
        for (int k = 0; k < n; k++)
            join->scores[(size_t)i * (size_t)n + (size_t)k] = scores[pada_score_table_row(
                tables[i], pada_score_table_path(truth, join->rows[k]))];
    }
    return PADA_OK;
}

static bool is_in_join(const pada_score_join *join, const pada_score_table *truth,
                       const pada_path *path)
{
    const int row = pada_score_table_row(truth, path);
    int low = 0, high = join->n;

    while (low < high) { /* the rows ascend */
        const int middle = low + (high - low) / 2;
        if (join->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return row >= 0 && low < join->n && join->rows[low] == row;
}

pada_status pada_score_join_left_out(const pada_score_join *join, const pada_space *space,
                                     const pada_score_table *truth, const pada_score_table *scores,
                                     int *n)
{
    pada_path_index *forms;
    pada_path form;

    *n = pada_score_table_count(scores) - join->n;
    PADA_TRY(pada_path_index_create(&forms, space, join->n));
    for (int i = 0; i < join->n; i++) {
        space->ops->canonical(space, pada_score_table_path(truth, join->rows[i]), &form);
        (void)pada_path_index_add(forms, &form);
    }
    for (int i = 0; i < pada_score_table_count(scores); i++) {
        const pada_path *path = pada_score_table_path(scores, i);
        space->ops->canonical(space, path, &form);
        const bool is_form = pada_path_equal(space, path, &form);
        *n -= is_form && pada_path_index_find(forms, path) >= 0 && !is_in_join(join, truth, path);
    }
    pada_path_index_destroy(forms);
    return PADA_OK;
}

void pada_score_join_deinit(pada_score_join *join)
{
    pada_free(join->rows);
    pada_free(join->truths);
    pada_free(join->scores);
    *join = (pada_score_join){0};
}
