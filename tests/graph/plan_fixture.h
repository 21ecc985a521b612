/* plan_fixture.h - what it takes to plan the paths of a supernet, of NB201 or another space, on a backend. */
#ifndef PADA_TESTS_GRAPH_PLAN_FIXTURE_H
#define PADA_TESTS_GRAPH_PLAN_FIXTURE_H

#include "check.h"
#include "graph/plan.h"
#include "space/nb201_cells.h"

enum { PLAN_MAX_NODES = 512 };

typedef struct plan_fixture {
    const pada_backend *backend;
    pada_device *device;
    pada_space space;
    pada_params *params;
    pada_graph *graph;
    pada_plan *plan;
} plan_fixture;

static inline void plan_fixture_open_space(plan_fixture *f, const char *backend,
                                           const pada_space *space)
{
    CHECK_OK(pada_backend_find(&f->backend, backend));
    CHECK_OK(f->backend->open(&f->device, 1));
    f->space = *space;
    CHECK_OK(pada_params_create(&f->params));
    CHECK_OK(pada_space_declare(&f->space, f->params));
    CHECK_OK(pada_graph_create(&f->graph, PLAN_MAX_NODES, PLAN_MAX_NODES));
    CHECK_OK(pada_plan_create(&f->plan, PLAN_MAX_NODES, PLAN_MAX_NODES));
}

static inline void plan_fixture_open(plan_fixture *f, const char *backend, pada_space_config config)
{
    const pada_space space = nb201_space(&config);

    plan_fixture_open_space(f, backend, &space);
}

static inline void plan_fixture_close(plan_fixture *f)
{
    pada_plan_destroy(f->plan);
    pada_graph_destroy(f->graph);
    pada_params_destroy(f->params);
    f->backend->close(f->device);
}

/* Borrowed until the next one. */
static inline const pada_program *plan_fixture_plan(plan_fixture *f, const pada_path *path,
                                                    int n_images, bool train)
{
    pada_graph_reset(f->graph);
    pada_space_build(&f->space, f->params, path, f->graph);
    CHECK_OK(pada_graph_status(f->graph));
    pada_graph_simplify(f->graph);
    pada_plan_build(f->plan, f->graph, f->backend, f->device, n_images, train);
    return pada_plan_program(f->plan);
}

#endif
