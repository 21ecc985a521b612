/* fuzz_probe_file.c - the rows of `pada probe` in a run. */
#include <stdio.h>

#include "base/file.h"
#include "fuzz/fuzz.h"
#include "probe/probe_file.h"
#include "probe/probe_log.h"

static const pada_probe_column columns[] = {{"a", NULL}, {"b", NULL}, {NULL, NULL}};
static const pada_probe_kind kind = {.name = "fuzzed", .columns = columns};
static const pada_probe_settings settings = {.draws = 16, .exact = 2, .paths = 1, .seed = 7};

/* Whether the file is one of rows, and has that of step 8. */
static int look(const char *run)
{
    pada__probe_key key = {.step = 8, .checkpoint = 0xab};
    double values[PADA_MAX_PROBE_COLUMNS];
    pada__probe_file *file;

    if (pada__probe_file_open(&file, run, &kind, &settings) != PADA_OK) return -1;
    const int found = pada__probe_file_find(file, &key, values);
    if (found) FUZZ_CHECK(key.epoch >= 0);
    pada__probe_file_close(file);
    return found;
}

/* The same for those who only read: epochs rise. */
static void look_on(const char *run)
{
    pada_probe_log log;

    if (pada_probe_log_read(&log, run, &kind) == PADA_OK)
        for (int row = 1; row < log.n; row++)
            FUZZ_CHECK(pada_probe_log_epoch(&log, row - 1) < pada_probe_log_epoch(&log, row));
    pada_probe_log_deinit(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char run[1200], path[1300];

    snprintf(run, sizeof run, "%s.run", fuzz_file("probe", data, 0));
    snprintf(path, sizeof path, "%s/probes", run);
    FUZZ_CHECK(pada_make_dirs(path) == PADA_OK);
    snprintf(path, sizeof path, "%s/probes/fuzzed.csv", run);
    FUZZ_CHECK(pada_file_replace(path, data, n) == PADA_OK);
    look_on(run);
    const int first = look(run);
    FUZZ_CHECK(look(run) == first); /* damage was cut off, rows were not */
    return 0;
}
