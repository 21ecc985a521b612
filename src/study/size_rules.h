/* size_rules.h - sizes of networks and lengths of trainings that fit the number of images and the time.
 *
 * Rules of thumb, in one place. Each is a function of numbers alone, so that everybody can repeat it. */
#ifndef PADA_STUDY_SIZE_RULES_H
#define PADA_STUDY_SIZE_RULES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Image sizes that there is a rule for. */
enum { PADA_SMALL_IMAGES = 16, PADA_USUAL_IMAGES = 32, PADA_LARGE_IMAGES = 64 };

/* The image size for pictures whose shorter side has so many pixels: 16, 32 or 64. */
int pada_rule_image_size(int side);
/* Images per batch: a power of two, at least 16 batches in an epoch where that leaves 8 images, at most 256 of 32 pixels
 * (64 of 64) and at most all of them. */
int pada_rule_batch_size(int n_train, int image_size);

/* A size of networks, an option of a space, by the number of training images. */
typedef struct pada_size_rule {
    const char *space, *option;
    int few,
        some; /* below PADA_FEW_IMAGES, below PADA_MANY_IMAGES; else the default of the space */
} pada_size_rule;
enum { PADA_FEW_IMAGES = 2000, PADA_MANY_IMAGES = 20000 };

/* The i-th rule; NULL after the last. */
const pada_size_rule *pada_size_rule_get(int i);
/* What it says; 0: the default of the space. */
int pada_size_rule_value(const pada_size_rule *rule, int n_train);

/* What is known before lengths are chosen. */
typedef struct pada_length_facts {
    double seconds;                      /* for all */
    double step_seconds;                 /* of the supernet, one batch */
    double network_step_seconds;         /* of one network by itself */
    int batch_size, n_train, n_validate; /* images */
} pada_length_facts;

typedef struct pada_lengths {
    int epochs, network_epochs; /* of the supernet; of each of two networks alone */
    int evaluations;            /* of the search */
    bool is_rushed;             /* there is time for less than that, which are the fewest */
    bool has_most;              /* both have the most epochs that are of use */
} pada_lengths;

/* Two fifths of the time for the supernet, a tenth for the search, a quarter for each of two networks. Evaluating an image is
 * taken for a third of training on it. */
pada_lengths pada_rule_lengths(const pada_length_facts *facts);
/* Seconds that they take, by the same account. */
double pada_lengths_seconds(const pada_lengths *lengths, const pada_length_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
