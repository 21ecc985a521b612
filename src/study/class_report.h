/* class_report.h - how a network does on the images of a split, class by class.
 *
 *   recall      the share of the images of a class that are given to it: the accuracy on that class
 *   precision   the share of the images that are given to a class that are of it
 *   confusion   how many images of a class (row) were given to each class (column)
 *
 * An image is given to the class with the largest logit, the first of equal ones, and is among the best five likewise: as
 * evaluations count. Intervals are Wilson's, of 95 %. */
#ifndef PADA_STUDY_CLASS_REPORT_H
#define PADA_STUDY_CLASS_REPORT_H

#include "base/json.h"
#include "base/status.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the folder of a run whose network was tested. */
#define PADA_TEST_FILE      "test.json"
#define PADA_CONFUSION_FILE "confusion.csv"

typedef struct pada_class_report pada_class_report;

/* A share of n images in percent; NaN where n is 0. */
typedef struct pada_share {
    int count, n;
    double percent, low, high;
} pada_share;

/* Whether top-5 says anything. */
static inline bool pada_has_top5(int n_classes)
{
    return n_classes > 5;
}

/* n_classes is at least 1; too many for a matrix is PADA_EINVAL. */
pada_status pada_class_report_create(pada_class_report **out, int n_classes);
void pada_class_report_destroy(pada_class_report *r); /* NULL is fine */

/* Counts n further images. logits: [n, n_classes], labels: [n]. A label that is no class is PADA_EDATA, a logit that is not a
 * number PADA_ENUMERIC; then nothing has changed. */
pada_status pada_class_report_add(pada_class_report *r, const float *logits, const int32_t *labels,
                                  int n);

int pada_class_report_n_images(const pada_class_report *r);
bool pada_class_report_has_top5(const pada_class_report *r);
pada_share pada_class_report_top(const pada_class_report *r, int k); /* k is 1 or 5 */
pada_share pada_class_report_recall(const pada_class_report *r, int c);
pada_share pada_class_report_precision(const pada_class_report *r, int c);
int pada_class_report_confusion(const pada_class_report *r, int label, int given);

/* Names: [n_classes], any of which may be NULL, or NULL: classes are called by their numbers. */

/* Appends a table for people. */
void pada_class_report_print(const pada_class_report *r, const char *const *names, pada_text *out);
/* Owned by the caller; NULL: out of memory. Without the matrix. */
json_t *pada_class_report_json(const pada_class_report *r, const char *const *names);
/* Its array of classes alone. */
json_t *pada_class_report_classes(const pada_class_report *r, const char *const *names);
/* Appends the matrix, with a header. */
void pada_class_report_csv(const pada_class_report *r, const char *const *names, pada_text *out);
/* Replaces confusion.csv, which has the same, in a folder that is there. */
pada_status pada_class_report_write_confusion(const pada_class_report *r, const char *const *names,
                                              const char *folder);

#ifdef __cplusplus
}
#endif
#endif
