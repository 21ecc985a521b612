/* inspect.h - what the images of a data set look like as a whole: counts, duplicates, numbers. */
#ifndef PADA_DATA_INSPECT_H
#define PADA_DATA_INSPECT_H

#include "data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was found in one split. */
typedef struct pada_split_facts {
    int *class_counts;     /* [n_classes] images, owned */
    int smallest, largest; /* of the counts */
    int n_constant;        /* images of one colour */
    int n_duplicates;      /* images that an earlier one of the split equals, byte by byte */
    int n_conflicts;       /* those of them with another label */
    double mean[PADA_IMAGE_CHANNELS],
        deviation[PADA_IMAGE_CHANNELS]; /* measured, as in dataset.h */
} pada_split_facts;

/* Two images that are the same, byte by byte; the other one comes first, train images before test
 * images. */
typedef struct pada_twins {
    pada_split split, other_split;
    int image, other;
} pada_twins;

typedef struct pada_facts {
    pada_split_facts splits[PADA_N_SPLITS]; /* of a split that is not open: zeros */
    int n_shared;      /* test and val images that are among the train images */
    pada_twins *twins; /* every image that is the same as an earlier one, once; owned */
    int n_twins, cap_twins;
} pada_facts;

/* Looks at every byte of the splits that are open. deinit is for the caller, also after a failure,
 * which can only be PADA_ENOMEM. */
pada_status pada_facts_init(pada_facts *facts, const pada_dataset *ds);
void pada_facts_deinit(pada_facts *facts);

/* Whether an image is of one colour. */
bool pada_image_is_constant(const pada_dataset *ds, pada_split split, int i);

#ifdef __cplusplus
}
#endif
#endif
