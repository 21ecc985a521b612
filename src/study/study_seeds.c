/* study_seeds.c - lists of seeds as studies write them. */
#include "study/study_seeds.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { WORD = 64 };

static pada_status add_one(pada_study_seeds *seeds, uint64_t seed, const char *what)
{
    void *of = seeds->of;

    for (int i = 0; i < seeds->n; i++)
        if (seeds->of[i] == seed)
            return PADA_FAIL(PADA_EINVAL, "%s: %" PRIu64 " is there twice", what, seed);
    if (seeds->n == PADA_STUDY_MAX_SEEDS)
        return PADA_FAIL(PADA_EINVAL, "%s: more than %d", what, PADA_STUDY_MAX_SEEDS);
    PADA_TRY(pada_grow(&of, &seeds->cap, seeds->n + 1, sizeof *seeds->of));
    seeds->of = of;
    seeds->of[seeds->n++] = seed;
    return PADA_OK;
}

/* "3" or "0-9". */
static pada_status add_range(pada_study_seeds *seeds, char *word, const char *what)
{
    char *dash = strchr(word, '-');
    uint64_t first, last;

    if (dash) *dash = '\0';
    PADA_TRY(pada_parse_u64(word, what, &first));
    last = first;
    if (dash) PADA_TRY(pada_parse_u64(dash + 1, what, &last));
    if (last < first)
        return PADA_FAIL(PADA_EINVAL, "%s: %" PRIu64 "-%" PRIu64 " is no range", what, first, last);
    PADA_TRY(add_one(seeds, first, what));
    for (uint64_t seed = first; seed < last;) /* up to the largest number there is */
        PADA_TRY(add_one(seeds, ++seed, what));
    return PADA_OK;
}

pada_status pada_study_seeds_add(pada_study_seeds *seeds, const char *text, const char *what)
{
    for (const char *at = text;; at++) {
        const size_t n = strcspn(at, ",");
        const size_t blanks = strspn(at, " ");
        char word[WORD];

        if (n >= WORD || blanks >= n)
            return PADA_FAIL(PADA_EINVAL, "%s: '%.40s' is no list of seeds, such as 0-2,7", what,
                             text);
        memcpy(word, at + blanks, n - blanks);
        word[n - blanks] = '\0';
        PADA_TRY(add_range(seeds, word, what));
        at += n;
        if (*at == '\0') return PADA_OK;
    }
}

pada_status pada_study_seeds_copy(pada_study_seeds *seeds, const pada_study_seeds *from)
{
    void *of = seeds->of;

    PADA_TRY(pada_grow(&of, &seeds->cap, from->n, sizeof *seeds->of));
    seeds->of = of;
    if (from->n > 0) memcpy(seeds->of, from->of, (size_t)from->n * sizeof *seeds->of);
    seeds->n = from->n;
    return PADA_OK;
}
