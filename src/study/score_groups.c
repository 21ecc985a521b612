/* score_groups.c - how well scores rank inside the parts of a set of networks. */
#include "study/score_groups.h"

#include <math.h>

#include "base/mem.h"
#include "study/metrics.h"

static pada_status compute_tau(const double *scores, const double *truths, int n, double *tau)
{
    pada_pairs *pairs = NULL;
    pada_metrics_work *work = NULL;
    pada_metrics metrics;
    pada_status st = pada_pairs_create(&pairs, scores, truths, n);

    if (st == PADA_OK) st = pada_metrics_work_create(&work, n);
    if (st == PADA_OK) pada_metrics_compute(pairs, NULL, work, &metrics);
    if (st == PADA_OK) *tau = metrics.value[PADA_METRIC_TAU_B];
    pada_metrics_work_destroy(work);
    pada_pairs_destroy(pairs);
    return st;
}

static double mean(const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i];
    return n > 0 ? sum / n : NAN;
}

pada_status pada_score_groups_compute(const double *scores, const double *truths,
                                      const int *group_of, int n, pada_score_group *groups,
                                      int n_groups)
{
    pada_status st = PADA_OK;
    void *mem;

    PADA_TRY(pada_calloc(&mem, 2 * (size_t)n, sizeof(double)));
    double *const own_scores = mem, *const own_truths = own_scores + n;
    for (int k = 0; k < n_groups && st == PADA_OK; k++) {
        pada_score_group group = {.tau_b = NAN};
        for (int i = 0; i < n; i++) {
            if (group_of[i] != k) continue;
            own_scores[group.n] = scores[i];
            own_truths[group.n++] = truths[i];
        }
        group.mean_score = mean(own_scores, group.n);
        group.mean_truth = mean(own_truths, group.n);
        if (group.n > 0) st = compute_tau(own_scores, own_truths, group.n, &group.tau_b);
        groups[k] = group;
    }
    pada_free(mem);
    return st;
}
