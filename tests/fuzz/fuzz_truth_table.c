/* fuzz_truth_table.c - truth tables and other scores of networks; an odd first byte: one column only. */
#include "fuzz/nb201.h"

#include "study/score_table.h"

#include <math.h>

static void check_table(const pada_space *space, const pada_score_table *truth)
{
    const int n = pada_score_table_count(truth), n_columns = pada_score_table_n_columns(truth);
    const double *values;

    FUZZ_CHECK(n > 0 && n_columns > 0);
    for (int column = 0; column < n_columns; column++) {
        const char *name = pada_score_table_column_name(truth, column);
        FUZZ_CHECK(pada_score_table_column(truth, name, &values) == PADA_OK);
        for (int row = 0; row < n; row++)
            FUZZ_CHECK(isfinite(values[row]));
    }
    for (int row = 0; row < n; row++) {
        fuzz_check_path(space, pada_score_table_path(truth, row), space->ops->dialects[0]);
        FUZZ_CHECK(pada_score_table_row(truth, pada_score_table_path(truth, row)) == row);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_space space = nb201_space(NULL);
    pada_score_table *truth;

    if (n == 0) return 0;
    const char *column = data[0] % 2 == 1 ? "score" : NULL;
    if (pada_score_table_read(&truth, &space, "input.csv", (const char *)data + 1, n - 1, column) ==
        PADA_OK)
        check_table(&space, truth);
    pada_score_table_close(truth);
    return 0;
}
