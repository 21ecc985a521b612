/* anneal.h - how far an importance distribution is trusted, over the epochs of a run. */
#ifndef PADA_STRATEGY_ANNEAL_H
#define PADA_STRATEGY_ANNEAL_H

/* Order of the words in PADA_ANNEAL_CHOICES. */
typedef enum pada_anneal { PADA_ANNEAL_INC, PADA_ANNEAL_DEC, PADA_ANNEAL_CONST } pada_anneal;
#define PADA_ANNEAL_CHOICES "inc|dec|const"

/* The weight of importance against uniform that is set at the end of an epoch. */
static inline double pada_anneal_tau(pada_anneal kind, double tau_max, int epoch, int n_epochs)
{
    const double done = (double)epoch / n_epochs;

    switch (kind) {
    case PADA_ANNEAL_INC: return tau_max * done;
    case PADA_ANNEAL_DEC: return tau_max * (1 - done);
    case PADA_ANNEAL_CONST: break;
    }
    return tau_max;
}

#endif
