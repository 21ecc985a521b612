/* pareto_order.c - points with a gain and a cost in the order of NSGA-II. */
#include "study/pareto_order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

static int compare_by_cost(const void *x, const void *y)
{
    const pada_pareto_point *a = x, *b = y;

    if (a->front != b->front) return a->front < b->front ? -1 : 1;
    if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
    if (a->gain != b->gain) return a->gain > b->gain ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_by_room(const void *x, const void *y)
{
    const pada_pareto_point *a = x, *b = y;

    if (a->front != b->front) return a->front < b->front ? -1 : 1;
    if (a->room != b->room) return a->room > b->room ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Points come by ascending cost: one belongs to the first front whose last point gains less. `best` has the gains of
 * these points, which fall from front to front. */
static void find_fronts(pada_pareto_point *points, int n, double *best)
{
    int n_fronts = 0;

    for (int i = 0; i < n; i++) {
        pada_pareto_point *p = &points[i];
        const bool is_copy = i > 0 && p[-1].cost == p->cost && p[-1].gain == p->gain;
        int low = 0, high = n_fronts;

        while (low < high) {
            const int middle = (low + high) / 2;
            if (best[middle] >= p->gain)
                low = middle + 1;
            else
                high = middle;
        }
        p->front = is_copy ? p[-1].front : low;
        best[p->front] = p->gain;
        if (p->front == n_fronts) n_fronts++;
    }
}

/* Of the points of one front, which come by ascending cost. */
static void measure_room(pada_pareto_point *list, int n)
{
    const double costs = list[n - 1].cost - list[0].cost;
    const double gains = list[n - 1].gain - list[0].gain;

    for (int i = 0; i < n; i++) {
        list[i].room = INFINITY;
        if (i == 0 || i == n - 1) continue;
        list[i].room = 0;
        if (costs > 0) list[i].room += (list[i + 1].cost - list[i - 1].cost) / costs;
        if (gains > 0) list[i].room += (list[i + 1].gain - list[i - 1].gain) / gains;
    }
}

pada_status pada_pareto_order(pada_pareto_point *points, int n)
{
    void *best;

    PADA_TRY(pada_calloc(&best, (size_t)n, sizeof(double)));
    for (int i = 0; i < n; i++)
        points[i].front = 0;
    qsort(points, (size_t)n, sizeof *points, compare_by_cost);
    find_fronts(points, n, best);
    pada_free(best);
    qsort(points, (size_t)n, sizeof *points, compare_by_cost);
    for (int first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && points[end].front == points[first].front;)
            end++;
        measure_room(&points[first], end - first);
    }
    qsort(points, (size_t)n, sizeof *points, compare_by_room);
    return PADA_OK;
}
