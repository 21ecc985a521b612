/* data_sampler.c - which images an epoch trains on, and in which order. */
#include "sampler/data_sampler.h"

#include "base/elementary.h"

void pada_data_permute(uint64_t seed, int epoch, int32_t *order, int n)
{
    pada_rng rng;

    pada_rng_init(&rng, seed, "data", (uint64_t)epoch);
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)pada_rng_below(&rng, (uint32_t)i + 1);
        const int32_t image = order[i];
        order[i] = order[k];
        order[k] = image;
    }
}

pada_status pada_data_draw(pada_alias *alias, const double *weights, uint64_t seed, int epoch,
                           int32_t *order, int n)
{
    pada_rng rng;

    PADA_TRY(pada_alias_build(alias, weights));
    pada_rng_init(&rng, seed, "data", (uint64_t)epoch);
    for (int i = 0; i < n; i++)
        order[i] = pada_alias_draw(alias, &rng);
    return PADA_OK;
}

double pada_data_entropy(const double *p, int n)
{
    double entropy = 0;

    for (int i = 0; i < n; i++)
        if (p[i] > 0) entropy -= p[i] * pada_ln(p[i]);
    return n > 1 ? entropy / pada_ln(n) : 1;
}

double pada_data_effective_share(const double *p, int n)
{
    double squares = 0;

    for (int i = 0; i < n; i++)
        squares += p[i] * p[i];
    return 1 / (squares * n);
}
