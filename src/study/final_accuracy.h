/* final_accuracy.h - what a network that was trained alone gets on the test images, and how two of them differ. */
#ifndef PADA_STUDY_FINAL_ACCURACY_H
#define PADA_STUDY_FINAL_ACCURACY_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All in percent. */
typedef struct pada_final_accuracy {
    double top1, low, high; /* and its 95 % interval */
    int n_images;
    char split[8]; /* whose images they are: "test" */
} pada_final_accuracy;

/* Of RUN/test.json, as `pada retrain` writes it: the weights that validated best, where they were kept, else the last
 * ones. A missing file is PADA_ENOENT; numbers that cannot be are PADA_EDATA. */
pada_status pada_final_accuracy_read(pada_final_accuracy *out, const char *run);
/* The same of a text; `origin` stands for the file in messages. */
pada_status pada_final_accuracy_parse(pada_final_accuracy *out, const char *text, size_t bytes,
                                      const char *origin);

/* The 95 % interval of a->top1 - b->top1 (Newcombe, 1998, method 10, of the intervals of both): about other test images,
 * not about other trainings. It takes the images for different ones, so that it is rather too wide. */
void pada_accuracy_difference(const pada_final_accuracy *a, const pada_final_accuracy *b,
                              double *low, double *high);

#ifdef __cplusplus
}
#endif
#endif
