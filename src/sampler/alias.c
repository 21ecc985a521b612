/* alias.c - draws from a distribution over many items in constant time. */
#include "sampler/alias.h"

#include <math.h>

#include "base/mem.h"

struct pada_alias {
    int n;
    double *keep;   /* [n] the part of its share that an item keeps, 0 to 1 */
    int32_t *other; /* [n] who gets the rest */
    int32_t
        *queue; /* [n] while building: items with too little from the front, others from behind */
};

pada_status pada_alias_create(pada_alias **out, int n)
{
    void *memory;
    pada_status st;

    *out = NULL;
    PADA_ASSERT(n > 0);
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_alias *a = memory;
    a->n = n;
    if ((st = pada_calloc(&memory, (size_t)n, sizeof *a->keep)) != PADA_OK) goto fail;
    a->keep = memory;
    if ((st = pada_calloc(&memory, (size_t)n, sizeof *a->other)) != PADA_OK) goto fail;
    a->other = memory;
    if ((st = pada_calloc(&memory, (size_t)n, sizeof *a->queue)) != PADA_OK) goto fail;
    a->queue = memory;
    *out = a;
    return PADA_OK;
fail:
    pada_alias_destroy(a);
    return st;
}

void pada_alias_destroy(pada_alias *a)
{
    if (!a) return;
    pada_free(a->keep);
    pada_free(a->other);
    pada_free(a->queue);
    pada_free(a);
}

static pada_status add_up(const double *weights, int n, double *sum)
{
    *sum = 0;
    for (int i = 0; i < n; i++) {
        if (!(weights[i] >= 0) || !isfinite(weights[i]))
            return PADA_FAIL(PADA_ENUMERIC, "weight %g of item %d in a distribution", weights[i],
                             i);
        *sum += weights[i];
    }
    if (!(*sum > 0) || !isfinite(*sum))
        return PADA_FAIL(PADA_ENUMERIC, "the weights of a distribution add up to %g", *sum);
    return PADA_OK;
}

pada_status pada_alias_build(pada_alias *a, const double *weights)
{
    double sum;
    int n_poor = 0, first_rich = a->n;

    PADA_TRY(add_up(weights, a->n, &sum));
    for (int i = 0; i < a->n; i++) {
        a->keep[i] = weights[i] / sum * a->n;
        a->other[i] = i;
        if (a->keep[i] < 1)
            a->queue[n_poor++] = i;
        else
            a->queue[--first_rich] = i;
    }
    /* Each poor item is filled up by a rich one, which may become poor by that. */
    while (n_poor > 0 && first_rich < a->n) {
        const int poor = a->queue[--n_poor], rich = a->queue[first_rich];
        a->other[poor] = rich;
        a->keep[rich] -= 1 - a->keep[poor];
        if (a->keep[rich] < 1) {
            first_rich++;
            a->queue[n_poor++] = rich;
        }
    }
    /* Whoever is left has one share, but for rounding. */
    while (n_poor > 0)
        a->keep[a->queue[--n_poor]] = 1;
    for (; first_rich < a->n; first_rich++)
        a->keep[a->queue[first_rich]] = 1;
    return PADA_OK;
}

int pada_alias_draw(const pada_alias *a, pada_rng *rng)
{
    const int i = (int)pada_rng_below(rng, (uint32_t)a->n);

    return pada_rng_uniform(rng) < a->keep[i] ? i : a->other[i];
}
