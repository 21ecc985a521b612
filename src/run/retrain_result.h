/* retrain_result.h - what a retrained network gets on the test images, for files of the run and for people. */
#ifndef PADA_RUN_RETRAIN_RESULT_H
#define PADA_RUN_RETRAIN_RESULT_H

#include "study/class_report.h"
#include "study/evaluate.h"

/* One model file of the run. */
typedef struct pada_retrain_result {
    const char *name; /* "last", "best" */
    pada_evaluation found;
    uint64_t weights_hash;
    double val_top1;           /* that it was chosen by, percent; NaN: it was not chosen */
    pada_class_report *report; /* owned */
} pada_retrain_result;

typedef struct pada_retrain_results {
    const char *arch, *data;
    const char *const *class_names; /* as reports take them */
    pada_split split;               /* whose images the results are of */
    pada_split chosen_on;           /* whose images `best` was chosen on */
    pada_retrain_result of[2];      /* the last one is the model that `pada predict RUN` takes */
    int n;
} pada_retrain_results;

void pada_retrain_results_deinit(pada_retrain_results *results);

/* Replaces RUN/test.json, and RUN/confusion.csv, which is of the last result. */
pada_status pada_retrain_results_write(const pada_retrain_results *results, const char *run);
/* Appends a line for each, or one line of JSON: what the file has. */
void pada_retrain_results_print(const pada_retrain_results *results, bool json, pada_text *out);

#endif
