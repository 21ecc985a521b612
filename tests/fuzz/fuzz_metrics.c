/* fuzz_metrics.c - metrics.csv of a run: cut off for a resumed run, and read as columns. */
#include "fuzz/fuzz.h"

#include "train/epoch_metrics.h"
#include "train/run_history.h"

static void read_history(const char *run)
{
    pada_history history = {0};
    pada_text notes = {0};

    FUZZ_CHECK(pada_history_read(&history, run, &notes) == PADA_OK);
    for (int row = 0; row < history.n_rows; row++) {
        (void)pada_history_trains(&history, row);
        for (int column = 0; column < history.n_columns; column++)
            (void)pada_history_value(&history, row, column);
    }
    (void)pada_history_last(&history, "loss");
    (void)pada_history_has(&history, "seconds");
    pada_history_deinit(&history);
    pada_text_deinit(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const int epoch = n > 0 ? data[0] % 8 : 0; /* the rest is the file */
    int n_missing;

    (void)fuzz_empty_folder("run");
    (void)fuzz_file("run/metrics.csv", n > 0 ? data + 1 : data, n > 0 ? n - 1 : 0);
    read_history(fuzz_path("run"));
    if (pada_epoch_metrics_rewind(fuzz_path("run"), epoch, &n_missing) == PADA_OK) {
        FUZZ_CHECK(n_missing >= 0 && n_missing <= epoch);
        read_history(fuzz_path("run"));
    }
    return 0;
}
