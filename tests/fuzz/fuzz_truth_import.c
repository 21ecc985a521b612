/* fuzz_truth_import.c - published accuracies: what is taken is a truth table. The first byte chooses column and dialect. */
#include "fuzz/nb201.h"

#include "study/score_table.h"
#include "study/truth_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const dialects[] = {NULL, "list", "naslib", "tuples"};
    const pada_space space = nb201_space(NULL);
    pada_import_result result;
    pada_text table = {0};
    pada_score_table *truth;

    if (n == 0) return 0;
    (void)fuzz_file("published", data + 1, n - 1);
    const pada_import_desc desc = {.space = &space,
                                   .file = fuzz_path("published"),
                                   .column = data[0] % 2 == 1 ? "cifar10" : NULL,
                                   .dialect = dialects[data[0] / 2 % 4]};
    if (pada_truth_import(&desc, &table, &result) == PADA_OK) {
        FUZZ_CHECK(pada_score_table_read(&truth, &space, "table", table.data, table.length, NULL) ==
                   PADA_OK);
        FUZZ_CHECK(pada_score_table_count(truth) == result.n_networks);
        FUZZ_CHECK(pada_score_table_n_columns(truth) == result.n_columns);
        pada_score_table_close(truth);
    }
    pada_text_deinit(&table);
    return 0;
}
