/* join_cases.h - networks with pools of their own and with concatenations, which not every backend has. */
#ifndef PADA_TESTS_OPS_JOIN_CASES_H
#define PADA_TESTS_OPS_JOIN_CASES_H

#include "ops/op_cases.h"

/* Network i; false: there is none of that number. All of its values are away from kinks, and those that a pool
 * compares away from each other. */
bool join_case(int i, graph_case *c, char *name, size_t size);

#endif
