/* fuzz_ranking_partial.c - results of a ranking that was stopped. */
#include "fuzz/nb201.h"

#include "study/ranking_partial.h"

#include <math.h>

static void take(void *user, const pada__partial_entry *entry)
{
    FUZZ_CHECK(entry->correct >= 0 && isfinite(entry->loss));
    ++*(int *)user;
}

static int count(const pada_space *space, const char *path)
{
    pada__partial_found found;
    pada__partial *partial;
    int n = 0;

    FUZZ_CHECK(pada__partial_open(&partial,
                                  &(pada__partial_desc){.path = path,
                                                        .header = "# pada ranking 1: fuzz",
                                                        .space = space,
                                                        .take = take,
                                                        .user = &n},
                                  &found) == PADA_OK);
    pada__partial_close(partial);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_space space = nb201_space(NULL);
    const char *path = fuzz_file("ranking.csv.partial", data, n);
    const int first = count(&space, path);

    FUZZ_CHECK(count(&space, path) == first); /* damage was cut off, results were not */
    return 0;
}
