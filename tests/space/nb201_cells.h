/* nb201_cells.h - the cells of NAS-Bench-201, numbered for tests that visit all of them. */
#ifndef PADA_TESTS_NB201_CELLS_H
#define PADA_TESTS_NB201_CELLS_H

#include "space/nb201_canon.h"
#include "space/space.h"

enum { N_CELLS = 15625 };

/* Digits of the number in base 5, edge 0 first. Not the official index. */
static inline pada_path cell_at(int number)
{
    pada_path path = {{0}};

    for (int edge = PADA_NB201_EDGES - 1; edge >= 0; edge--, number /= PADA_NB201_OPS)
        path.choice[edge] = (uint8_t)(number % PADA_NB201_OPS);
    return path;
}

static inline int cell_number(const pada_path *path)
{
    int number = 0;

    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        number = number * PADA_NB201_OPS + path->choice[edge];
    return number;
}

/* The space with its default sizes, or those given. */
static inline pada_space nb201_space(const pada_space_config *config)
{
    const pada_space_ops *ops;
    pada_space space;

    PADA_ASSERT(pada_space_find(&ops, "nb201") == PADA_OK);
    PADA_ASSERT(pada_space_init(&space, ops, config) == PADA_OK);
    return space;
}

#endif
