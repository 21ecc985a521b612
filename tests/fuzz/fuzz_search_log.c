/* fuzz_search_log.c - the files of a search: best.csv, front.csv and history.csv, one behind the other in the input,
 * separated by zero bytes. */
#include "fuzz/nb201.h"

#include <math.h>

#include "study/search_log.h"

static void check_rows(const pada_space *space, const pada_search_rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        fuzz_check_path(space, &rows->rows[i].path, space->ops->dialects[0]);
        FUZZ_CHECK(isfinite(rows->rows[i].top1));
        FUZZ_CHECK(!isinf(rows->rows[i].macs) && !isinf(rows->rows[i].latency));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"search/best.csv", "search/front.csv",
                                        "search/history.csv"};
    const pada_space space = nb201_space(NULL);
    const char *folder = fuzz_empty_folder("search");
    pada_search_log log = {0};

    for (int i = 0; i < 3; i++) {
        const uint8_t *end = n > 0 ? memchr(data, 0, n) : NULL;
        const size_t length = end ? (size_t)(end - data) : n;
        if (length > 0) fuzz_file(names[i], data, length);
        data += end ? length + 1 : length;
        n -= end ? length + 1 : length;
    }
    if (pada_search_log_read(&log, &space, folder) == PADA_OK) {
        check_rows(&space, &log.best);
        check_rows(&space, &log.front);
        check_rows(&space, &log.history);
        FUZZ_CHECK(log.history.n == 0 || log.history.n == log.best.n);
    }
    pada_search_log_deinit(&log);
    return 0;
}
