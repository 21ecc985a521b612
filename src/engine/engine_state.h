/* engine_state.h - what an engine owns; shared by the files of this folder only. */
#ifndef PADA_ENGINE_ENGINE_STATE_H
#define PADA_ENGINE_ENGINE_STATE_H

#include "engine/engine.h"
#include "graph/plan.h"

/* A group is the unit of bookkeeping: one shared parameter, or all parameters of one (site,
 * choice). */
typedef struct param_group {
    pada_range range;
    int site, choice; /* PADA_SHARED: always used */
    bool active;      /* has a gradient since zero_grad */
    bool sampled;     /* was active at least once in this run */
    bool saved;       /* `sampled` at the time of the snapshot */
} param_group;

struct pada_engine {
    pada_space space;
    const pada_backend *backend;
    pada_device *device;
    int batch_size;
    pada_mode mode;
    pada_params *params;
    pada_graph *graph;
    pada_plan *plan;
    /* Buffers of the backend, all with the map of `params` but for the work buffer. */
    void *weights, *grads, *velocity, *work;
    void *saved_weights, *saved_velocity; /* snapshot, or NULL */
    int64_t work_bytes, buffer_bytes;
    pada_results results;
    param_group *groups;
    int n_groups;
    int *group_of; /* [site * most choices + choice], -1: no parameters */
    int most_choices;
    pada_range *active, *moved; /* room for n_groups */
    double *sums;
    double *staging; /* the largest parameter, for conversions */
    /* The last forward pass. */
    pada_mode last_mode;
    int last_n;
    pada_bindings bindings;
};

#endif
