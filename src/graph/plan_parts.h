/* plan_parts.h - what the parts of the planner share. Private to plan*.c. */
#ifndef PADA_GRAPH_PLAN_PARTS_H
#define PADA_GRAPH_PLAN_PARTS_H

#include "graph/plan.h"

/* A tensor waiting for its place: alive from instruction `first` to `last`, both included. */
typedef struct span {
    int first, last;
    int next_start, next_end; /* in the lists of tensors that start, or end, at the same time */
} span;

typedef struct hole {
    int64_t offset, bytes;
} hole;

struct pada_plan {
    pada_program program;
    int cap_nodes, cap_instrs;
    int *ready;         /* [node] stage in which the value, later the gradient, is complete */
    int *reader;        /* [node] the only combine that reads it, or -1 */
    int *stage;         /* [instr] before sorting */
    int *order;         /* [instr] */
    int *stage_of;      /* [instr] after sorting */
    int *starts, *ends; /* [time] list heads */
    /* What reads each value: a list per node of terms t and, as n_terms + v, of other nodes v. */
    int *uses, *next_use;
    int *owner; /* [term] the combine it belongs to */
    pada_instr *unsorted;
    span *spans; /* [2 * node]: values, then gradients */
    hole *holes;
    int n_holes;
};

/* Whether the sum x is probed. */
bool pada__plan_is_probed(const pada_program *program, int x);

/* Gives every tensor, tap, statistic and partial sum of the sorted instructions its place, and decides which
 * contributions to gradients store and which add. */
void pada__plan_places(pada_plan *plan, const pada_backend *backend, const pada_device *device,
                       bool train);

#endif
