/* judgement.h - what a network is scored by, and what its logits say about an image. */
#ifndef PADA_STUDY_JUDGEMENT_H
#define PADA_STUDY_JUDGEMENT_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_judgement { PADA_BY_ACCURACY, PADA_BY_LOSS, PADA_BY_MARGIN } pada_judgement;

#define PADA_JUDGEMENT_CHOICES "accuracy|loss|margin" /* in this order */

/* "accuracy", "loss", .. */
const char *pada_judgement_name(pada_judgement by);

/* The score, of which more is better: percent of the images; minus the mean loss; 100 times the mean margin. */
double pada_judgement_value(pada_judgement by, double top1, double loss, double margin);

/* One image. */
typedef struct pada_judged {
    double loss; /* cross entropy */
    double
        margin; /* probability of the label minus the largest other one: -1 to 1, above 0 where it is right */
    int n_above; /* classes in front of the label; of equal logits the first class is in front, as in backends */
} pada_judged;

pada_judged pada_judge_logits(const double *logits, int n_classes, int label);

#ifdef __cplusplus
}
#endif
#endif
