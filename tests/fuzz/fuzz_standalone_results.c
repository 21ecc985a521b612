/* fuzz_standalone_results.c - results of `pada truth` that are not a table yet. */
#include "fuzz/nb201.h"

#include "study/standalone_results.h"

static void take(void *user, const pada__result *result)
{
    FUZZ_CHECK(result->images > 0 && result->correct >= 0 && result->correct <= result->images);
    ++*(int *)user;
}

/* How many results the file has; -1: it is none. */
static int count(const pada_space *space, const char *path)
{
    pada__results *results;
    int n = 0;

    const pada_status st = pada__results_open(&results, space, path, take, &n);
    pada__results_close(results);
    return st == PADA_OK ? n : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_space space = nb201_space(NULL);
    const char *path = fuzz_file("results.csv", data, n);
    const int first = count(&space, path);

    FUZZ_CHECK(count(&space, path) == first); /* damage was cut off, results were not */
    return 0;
}
