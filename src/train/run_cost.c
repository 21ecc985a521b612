/* run_cost.c - what a run has cost, from its metrics.csv. */
#include "train/run_cost.h"

#include <math.h>

#include "train/run_history.h"

enum { FIRST_LINE = 2 /* of the rows */ };

/* The sum of a column, whose numbers are not negative; NaN: it is not there. */
static pada_status add_up(const pada_history *h, const char *run, const char *name, double *sum)
{
    const int column = pada_history_column(h, name);

    *sum = column < 0 ? NAN : 0;
    for (int row = 0; row < h->n_rows && column >= 0; row++) {
        const double x = pada_history_value(h, row, column);
        if (!(x >= 0))
            return PADA_FAIL(PADA_EDATA, "%s/metrics.csv:%d: %s is not a number from 0 on", run,
                             row + FIRST_LINE, name);
        *sum += x;
    }
    return PADA_OK;
}

/* Rows with more steps than the one before; all where nobody counts steps. */
static int count_epochs(const pada_history *h)
{
    const int column = pada_history_column(h, "steps");
    double before = 0;
    int n = 0;

    for (int row = 0; row < h->n_rows; row++) {
        const double steps = pada_history_value(h, row, column);
        n += !(steps <= before);
        before = steps;
    }
    return n;
}

static pada_status read_cost(const pada_history *h, const char *run, pada_run_cost *cost)
{
    double steps; /* they count over all epochs; the sum means nothing */

    if (pada_history_column(h, "seconds") < 0)
        return PADA_FAIL(PADA_EDATA, "%s/metrics.csv:1: no column is called 'seconds'", run);
    PADA_TRY(add_up(h, run, "steps", &steps));
    PADA_TRY(add_up(h, run, "passes", &cost->passes));
    PADA_TRY(add_up(h, run, "images", &cost->images));
    PADA_TRY(add_up(h, run, "gmacs", &cost->gmacs));
    PADA_TRY(add_up(h, run, "seconds", &cost->seconds));
    cost->epochs = count_epochs(h);
    return PADA_OK;
}

pada_status pada_run_cost_read(const char *run, bool *found, pada_run_cost *cost)
{
    pada_history history;

    *found = false;
    *cost = (pada_run_cost){0};
    pada_status st = pada_history_read(&history, run, NULL);
    if (st == PADA_OK) st = read_cost(&history, run, cost);
    pada_history_deinit(&history);
    *found = st == PADA_OK;
    return st == PADA_ENOENT ? PADA_OK : st;
}
