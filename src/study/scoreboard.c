/* scoreboard.c - several sets of scores for the same networks: their metrics, with intervals. */
#include "study/scoreboard.h"

#include "base/mem.h"

static pada_status compute_metrics(pada_scoreboard *board, pada_pairs *const *sets)
{
    pada_metrics_work *work;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)board->n_sets, sizeof *board->metrics));
    board->metrics = mem;
    PADA_TRY(pada_metrics_work_create(&work, board->n));
    for (int i = 0; i < board->n_sets; i++)
        pada_metrics_compute(sets[i], NULL, work, &board->metrics[i]);
    pada_metrics_work_destroy(work);
    return PADA_OK;
}

static pada_status compute(pada_scoreboard *board, const pada_scoreboard_desc *desc,
                           pada_pairs **sets)
{
    for (int i = 0; i < desc->n_sets; i++)
        PADA_TRY(pada_pairs_create(&sets[i], desc->scores[i], desc->truths, desc->n));
    PADA_TRY(compute_metrics(board, sets));
    return pada_bootstrap_create(&board->bootstrap,
                                 &(pada_bootstrap_desc){.sets = (const pada_pairs *const *)sets,
                                                        .n_sets = desc->n_sets,
                                                        .replicates = desc->replicates,
                                                        .seed = desc->seed,
                                                        .n_threads = desc->n_threads});
}

pada_status pada_scoreboard_init(pada_scoreboard *board, const pada_scoreboard_desc *desc)
{
    void *mem;

    *board = (pada_scoreboard){.n = desc->n, .n_sets = desc->n_sets};
    PADA_TRY(pada_calloc(&mem, (size_t)desc->n_sets, sizeof(pada_pairs *)));
    pada_pairs **sets = mem;
    const pada_status st = compute(board, desc, sets);
    for (int i = 0; i < desc->n_sets; i++)
        pada_pairs_destroy(sets[i]);
    pada_free(sets);
    return st;
}

void pada_scoreboard_deinit(pada_scoreboard *board)
{
    pada_free(board->metrics);
    pada_bootstrap_destroy(board->bootstrap);
    *board = (pada_scoreboard){0};
}

pada_verdict pada_scoreboard_judge(const pada_scoreboard *board, int set, int other,
                                   pada_metric metric)
{
    pada_verdict v = {.difference =
                          board->metrics[set].value[metric] - board->metrics[other].value[metric]};
    const bool is_better = (v.difference > 0) != pada_metric_table[metric].less_is_better;

    pada_bootstrap_difference(board->bootstrap, set, other, metric, &v.sampled);
    v.is_clear = v.sampled.interval.low > 0 || v.sampled.interval.high < 0;
    v.better = is_better ? set : other;
    v.worse = is_better ? other : set;
    return v;
}
