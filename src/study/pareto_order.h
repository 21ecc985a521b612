/* pareto_order.h - points with a gain and a cost in the order of NSGA-II (Deb et al. 2002).
 *
 * Front 0 are the points that no other one beats: none has at least the gain at no more cost, and more gain or less
 * cost. Front 1 are those of the rest, and so on. The room of a point is the crowding distance: how far its two
 * neighbours in the front are apart in both, as shares of the front; infinite at its ends. */
#ifndef PADA_STUDY_PARETO_ORDER_H
#define PADA_STUDY_PARETO_ORDER_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_pareto_point {
    double gain, cost; /* finite */
    int id;            /* of equal ones the lower comes first */
    int front;         /* these two are set */
    double room;
} pada_pareto_point;

/* Sorts by front, then by room, the most first. */
pada_status pada_pareto_order(pada_pareto_point *points, int n);

#ifdef __cplusplus
}
#endif
#endif
