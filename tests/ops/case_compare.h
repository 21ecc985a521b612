/* case_compare.h - results of one network on two backends, held against each other. */
#ifndef PADA_TESTS_OPS_CASE_COMPARE_H
#define PADA_TESTS_OPS_CASE_COMPARE_H

#include "ops/graph_case.h"

/* Largest relative error of a value or gradient tensor that a backend may have. */
double case_tolerance(const pada_backend *backend);

/* The largest relative error over logits, losses, norms, gradients, and interior tensors that both have;
 * one that is larger than allowed is printed with `name`. */
double case_error(const graph_case *c, const case_result *have, const case_result *want,
                  const char *name, double allowed);

bool case_same_bits(const case_result *a, const case_result *b);

/* Runs a case staged and at once, and compares both with the reference's result. Returns the largest
 * relative error, and prints one that is larger than allowed. */
double case_run_against(const graph_case *c, const pada_backend *backend, pada_device *device,
                        const case_result *want, const char *name, double allowed);

#endif
