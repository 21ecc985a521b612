/* class_test.h - what a test class by class needs beside an evaluation: room for the scores of all images, labels, names. */
#ifndef PADA_STUDY_CLASS_TEST_H
#define PADA_STUDY_CLASS_TEST_H

#include "data/dataset.h"
#include "study/class_report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_class_test {
    int n_images, n_classes;
    float *logits;      /* [n_images, n_classes], owned; pada_evaluator_run fills them */
    int32_t *labels;    /* [n_images], owned */
    const char **names; /* [n_classes], owned; a name is the data set's, NULL where it has none */
} pada_class_test;

/* Of the first n_images of the split, which is open. */
pada_status pada_class_test_init(pada_class_test *test, const pada_dataset *data, pada_split split,
                                 int n_images);
void pada_class_test_deinit(pada_class_test *test);

/* Counts the logits that are there now. *out is NULL on failure. */
pada_status pada_class_test_count(const pada_class_test *test, pada_class_report **out);

#ifdef __cplusplus
}
#endif
#endif
