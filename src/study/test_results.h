/* test_results.h - what a run folder says about the test of its network: test.json and confusion.csv. */
#ifndef PADA_STUDY_TEST_RESULTS_H
#define PADA_STUDY_TEST_RESULTS_H

#include "study/class_report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A share of the images, in percent, and its 95 % interval; NaN: there are no images. */
typedef struct pada_tested_share {
    double percent, low, high;
} pada_tested_share;

typedef struct pada_tested_class {
    const char *name; /* NULL: it has none */
    int images, given;
    pada_tested_share recall, precision;
} pada_tested_class;

/* One model file. */
typedef struct pada_tested_model {
    const char *name; /* "last", "best" */
    pada_tested_share top1, top5;
    double loss;
    const char *chosen_on;      /* split; NULL: it was not chosen */
    double chosen_top1;         /* percent; NaN likewise */
    pada_tested_class *classes; /* [n_classes], owned; NULL: the file does not say */
    int n_classes;
} pada_tested_model;

/* Strings are borrowed from `json`. Zero-initialise; deinit accepts that and a failed read. */
typedef struct pada_test_results {
    const char *split;
    int images;
    pada_tested_model models[2]; /* [n_models]; the last one is that of the matrix */
    int n_models;                /* 0: no test */
    int *confusion;              /* [label][given], owned; NULL: not there */
    json_t *json;                /* owned */
} pada_test_results;

/* Files that are not there are left out, the matrix also where the classes are not known; broken ones, and a matrix that
 * is not of these classes and images, are PADA_EDATA. */
pada_status pada_test_results_read(pada_test_results *results, const char *run);
void pada_test_results_deinit(pada_test_results *results);

/* The model that is used: the last one. NULL: no test. */
const pada_tested_model *pada_test_results_model(const pada_test_results *results);

/* The 95 % interval of a - b (Newcombe, 1998, method 10, of the intervals of both): about other test images, not about
 * other trainings. It takes the images for different ones, so that it is rather too wide. */
void pada_tested_difference(const pada_tested_share *a, const pada_tested_share *b, double *low,
                            double *high);

#ifdef __cplusplus
}
#endif
#endif
