/* best_first.c - networks in the order of their scores. */
#include "study/best_first.h"

#include <stdlib.h>

#include "base/mem.h"

typedef struct scored {
    double score;
    int index;
} scored;

static int compare(const void *a, const void *b)
{
    const scored *x = a, *y = b;

    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

pada_status pada_best_first(int **order, const double *scores, int n)
{
    void *items, *result;

    *order = NULL;
    PADA_TRY(pada_calloc(&items, (size_t)n, sizeof(scored)));
    const pada_status st = pada_calloc(&result, (size_t)n, sizeof **order);
    if (st == PADA_OK) {
        scored *list = items;
        *order = result;
        for (int i = 0; i < n; i++)
            list[i] = (scored){scores[i], i};
        qsort(list, (size_t)n, sizeof *list, compare);
        for (int i = 0; i < n; i++)
            (*order)[i] = list[i].index;
    }
    pada_free(items);
    return st;
}

int pada_rank_of(const double *values, int n, double value)
{
    int higher = 0;

    for (int i = 0; i < n; i++)
        higher += values[i] > value;
    return higher + 1;
}
