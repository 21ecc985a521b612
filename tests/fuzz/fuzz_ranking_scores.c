/* fuzz_ranking_scores.c - scores of a ranking that were kept. */
#include "fuzz/nb201.h"

#include "study/ranking_scores.h"

#include <math.h>

enum { N_IMAGES = 10000 };

/* How many results the file has; -1: it is none. */
static int count(const pada_space *space, const char *path, bool replaces_others)
{
    const pada__scores_desc desc = {.path = path,
                                    .header = "# pada scores 2: fuzz",
                                    .space = space,
                                    .n_images = N_IMAGES,
                                    .replaces_others = replaces_others};
    pada__results_found found;
    pada__scores *scores;

    if (pada__scores_open(&scores, &desc, &found) != PADA_OK) return -1;
    const int n = pada__scores_count(scores);
    for (int i = 0; i < n; i++) {
        const pada__score *score = pada__scores_get(scores, i);
        FUZZ_CHECK(score->correct >= 0 && score->correct <= N_IMAGES && isfinite(score->loss));
    }
    pada__scores_close(scores);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_space space = nb201_space(NULL);
    const char *path = fuzz_file("scores.csv", data, n);
    const int first = count(&space, path, false);

    FUZZ_CHECK(count(&space, path, false) == first); /* half a line was cut off, results were not */
    FUZZ_CHECK(count(&space, path, true) >= first);  /* another header: the file begins anew */
    return 0;
}
