/* free_score.c - the scores that need no training: their list, and one number of several. */
#include "study/free_score.h"

#include <math.h>
#include <string.h>

#include "study/combine.h"

#define PADA_FREE_SCORE(file) extern const pada_free_score pada_free_##file;
#include "study/free_scores.def"
#undef PADA_FREE_SCORE

static const pada_free_score *const registry[] = {
#define PADA_FREE_SCORE(file) &pada_free_##file,
#include "study/free_scores.def"
#undef PADA_FREE_SCORE
};

enum { N_SCORES = sizeof registry / sizeof registry[0] };

const char *pada_free_score_name(int i)
{
    return i < N_SCORES ? registry[i]->name : NULL;
}

pada_status pada_free_score_find(const pada_free_score **out, const char *name)
{
    const char *names[N_SCORES];

    *out = NULL;
    for (int i = 0; i < N_SCORES; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) *out = registry[i];
    }
    if (*out) return PADA_OK;
    return pada_fail_unknown(PADA_EINVAL, "unknown score", name, names, N_SCORES);
}

pada_status pada_free_score_combine(const pada_free_score *score, const double *values, int n,
                                    double *out)
{
    if (score->n_values == 1) {
        memcpy(out, values, (size_t)n * sizeof *out);
        return PADA_OK;
    }
    memset(out, 0, (size_t)n * sizeof *out);
    for (int k = 0; k < score->n_values; k++) {
        const double *list = values + (size_t)k * (size_t)n;
        pada_shares *shares;
        PADA_TRY(pada_shares_create(&shares, list, n));
        for (int i = 0; i < n; i++) /* a share is (rank - 1/2) / n */
            out[i] += log(pada_share_of(shares, list[i]) + 0.5 / n);
        pada_shares_destroy(shares);
    }
    return PADA_OK;
}
