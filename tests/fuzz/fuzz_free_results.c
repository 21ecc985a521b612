/* fuzz_free_results.c - scores without training that were kept. */
#include "fuzz/nb201.h"

#include "study/free_results.h"

#include <math.h>

enum { N_VALUES = 2 };

static pada_status take(void *user, const pada_path *path, const double *values)
{
    (void)path;
    for (int k = 0; k < N_VALUES; k++)
        FUZZ_CHECK(isfinite(values[k]));
    ++*(int *)user;
    return PADA_OK;
}

/* How many results the file has; -1: it is none. */
static int count(const pada_space *space, const char *path)
{
    pada__free_results *results;
    int n = 0;

    if (pada__free_results_open(&results,
                                &(pada__free_results_desc){.path = path,
                                                           .header = "# pada free scores 1: fuzz",
                                                           .space = space,
                                                           .n_values = N_VALUES,
                                                           .take = take,
                                                           .user = &n}) != PADA_OK)
        return -1;
    pada__free_results_close(results);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_space space = nb201_space(NULL);
    const char *path = fuzz_file("free.csv", data, n);
    const int first = count(&space, path);

    FUZZ_CHECK(count(&space, path) == first); /* half a line was cut off, results were not */
    return 0;
}
