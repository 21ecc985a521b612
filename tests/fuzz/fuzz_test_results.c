/* fuzz_test_results.c - test.json and confusion.csv of a run, separated by a zero byte. */
#include "fuzz/fuzz.h"

#include "study/test_results.h"

static void check_matrix(const pada_test_results *results)
{
    const pada_tested_model *model = pada_test_results_model(results);

    for (int label = 0; results->confusion && label < model->n_classes; label++) {
        int64_t sum = 0;
        for (int given = 0; given < model->n_classes; given++)
            sum += results->confusion[label * model->n_classes + given];
        FUZZ_CHECK(sum == model->classes[label].images);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *folder = fuzz_empty_folder("run");
    const uint8_t *end = n > 0 ? memchr(data, 0, n) : NULL;
    const size_t length = end ? (size_t)(end - data) : n;
    pada_test_results results = {0};

    fuzz_file("run/test.json", data, length);
    if (end) fuzz_file("run/confusion.csv", end + 1, n - length - 1);
    if (pada_test_results_read(&results, folder) == PADA_OK) {
        FUZZ_CHECK(results.n_models > 0 && results.images >= 0);
        check_matrix(&results);
    }
    pada_test_results_deinit(&results);
    return 0;
}
