/* op_changes.h - operators that fast kernels take, and every one of them with each attribute changed:
 * whatever a kernel does not list must not be computed by it. */
#ifndef PADA_TESTS_OPS_OP_CHANGES_H
#define PADA_TESTS_OPS_OP_CHANGES_H

#include "ops/op_cases.h"

/* Change i of the convolutions; false: there is none of that number. Those that are no convolutions,
 * such as a kernel larger than the image, are left out. */
bool conv_change(int i, conv_case *k);

/* Depthwise and grouped convolutions with two attributes changed, small: for finite differences. */
bool group_grid(int i, conv_case *k);

/* Change i of the average pools that fast kernels take, built into a network; its name. */
bool pool_change(int i, uint64_t seed, graph_case *c, char *name, size_t size);

#endif
