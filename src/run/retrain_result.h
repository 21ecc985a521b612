/* retrain_result.h - what a retrained network gets on the test images, for RUN/test.json and for people. */
#ifndef PADA_RUN_RETRAIN_RESULT_H
#define PADA_RUN_RETRAIN_RESULT_H

#include "study/evaluate.h"

#define PADA_TEST_FILE "test.json" /* in the run folder */

/* One model file of the run. */
typedef struct pada_retrain_result {
    const char *name; /* "last", "best" */
    pada_evaluation found;
    uint64_t weights_hash;
    double val_top1; /* that it was chosen by, percent; NaN: it was not chosen */
} pada_retrain_result;

typedef struct pada_retrain_results {
    const char *arch, *data;
    pada_split split;     /* whose images the results are of */
    pada_split chosen_on; /* whose images `best` was chosen on */
    pada_retrain_result of[2];
    int n;
} pada_retrain_results;

/* Replaces RUN/test.json. */
pada_status pada_retrain_results_write(const pada_retrain_results *results, const char *run);
/* Appends a line for each, or one line of JSON: what the file has. */
void pada_retrain_results_print(const pada_retrain_results *results, bool json, pada_text *out);

#endif
