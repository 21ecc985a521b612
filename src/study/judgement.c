/* judgement.c - what a network is scored by, and what its logits say about an image. */
#include "study/judgement.h"

#include <math.h>

#include "base/elementary.h"

const char *pada_judgement_name(pada_judgement by)
{
    static const char *const names[] = {"accuracy", "loss", "margin"};

    return names[by];
}

double pada_judgement_value(pada_judgement by, double top1, double loss, double margin)
{
    switch (by) {
    case PADA_BY_ACCURACY: return top1;
    case PADA_BY_LOSS: return -loss;
    case PADA_BY_MARGIN: return 100 * margin;
    }
    return top1;
}

pada_judged pada_judge_logits(const double *logits, int n_classes, int label)
{
    double top = logits[0], other = -INFINITY, sum = 0;
    pada_judged v = {0};

    for (int c = 1; c < n_classes; c++)
        top = fmax(top, logits[c]);
    for (int c = 0; c < n_classes; c++) {
        sum += pada_exp(logits[c] - top);
        if (c == label) continue;
        other = fmax(other, logits[c]);
        v.n_above += c < label ? logits[c] >= logits[label] : logits[c] > logits[label];
    }
    v.loss = top + pada_ln(sum) - logits[label];
    v.margin = (pada_exp(logits[label] - top) - pada_exp(other - top)) / sum;
    return v;
}
