/* op_cases.h - the networks that every backend has to compute: one per operator, option and way to
 * combine them. */
#ifndef PADA_TESTS_OPS_OP_CASES_H
#define PADA_TESTS_OPS_OP_CASES_H

#include "ops/graph_case.h"

/* images [-> probe] -> the convolution [-> batch norm] -> readout. */
typedef struct conv_case {
    pada_conv conv;
    bool bias, norm;
    int n_images, h, w;
    bool images; /* reads the images themselves, without the probe */
} conv_case;

/* Every kernel, stride, padding, activation, with and without bias and batch norm, on small images.
 * */
enum { N_CONV_GRID = 192 };
conv_case conv_grid(int i);

void conv_case_build(graph_case *c, const conv_case *k, uint64_t seed);
void conv_case_name(const conv_case *k, char *to, size_t size);

/* Everything else. The images have at least 5 rows and columns. */
typedef struct sum_case {
    const char *name;
    void (*build)(graph_case *c);
    bool kinks; /* has activations on values that may lie anywhere */
} sum_case;

extern const sum_case sum_cases[];
extern const int n_sum_cases;

#endif
