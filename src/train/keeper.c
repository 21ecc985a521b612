/* keeper.c - the weights of a run that validated best, kept as a model file. */
#include "train/keeper.h"

#include <math.h>

void pada_keeper_visit(pada_keeper *keeper, pada_state *state)
{
    pada_state_array(state, "keeper/validated", PADA_STATE_I64, &keeper->n_validated, 1);
    pada_state_array(state, "keeper/top1", PADA_STATE_F64, &keeper->top1, 1);
}

pada_status pada_keeper_offer(pada_keeper *keeper, const char *run, const pada_model_about *about,
                              const pada_engine *e, double top1)
{
    pada_model_about known = *about;
    pada_text file = {0};
    pada_status st;

    if (isnan(top1)) return PADA_OK;
    if (keeper->n_validated++ > 0 && top1 < keeper->top1) return PADA_OK;
    known.top1 = keeper->top1 = top1;
    pada_text_add(&file, "%s/" PADA_BEST_FILE, run);
    if ((st = file.status) == PADA_OK) st = pada_model_write(file.data, &known, e);
    pada_text_deinit(&file);
    return st;
}
