/* rank_sets.c - the scores that a ranking is shown beside: those it is made of, and baselines. */
#include "cli/rank_sets.h"

#include <string.h>

#include "base/mem.h"

/* A further set of n scores, to be filled in. */
static pada_status add_set(pada_rank_sets *sets, const char *name, const char *mark, int n,
                           double **scores)
{
    void *list = sets->list, *mem;
    pada_text text = {0};

    PADA_TRY(pada_grow(&list, &sets->cap, sets->n + 1, sizeof *sets->list));
    sets->list = list;
    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof **scores));
    *scores = mem;
    sets->list[sets->n++] = (pada_rank_set){.scores = mem};
    pada_text_add(&text, "%s%s", name, mark);
    sets->list[sets->n - 1].name = text.data; /* ownership moves */
    return text.status;
}

pada_status pada_rank_sets_add_scores(pada_rank_sets *sets, const char *name,
                                      const pada_score_join *join)
{
    double *scores;

    PADA_TRY(add_set(sets, name, "", join->n, &scores));
    memcpy(scores, join->scores, (size_t)join->n * sizeof *scores);
    return PADA_OK;
}

pada_status pada_rank_sets_add_values(pada_rank_sets *sets, const char *name,
                                      const pada_path_index *paths, const double *values,
                                      const pada_score_table *truth, const pada_score_join *join)
{
    double *scores;

    PADA_TRY(add_set(sets, name, "", join->n, &scores));
    for (int i = 0; i < join->n; i++) {
        const pada_path *path = pada_score_table_path(truth, join->rows[i]);
        scores[i] = values[pada_path_index_find(paths, path)];
    }
    return PADA_OK;
}

pada_status pada_rank_sets_add_runs(pada_rank_sets *sets, const pada_mixed *mixed,
                                    const char *const *runs, const pada_score_table *truth,
                                    const pada_score_join *join)
{
    if (mixed->n_runs > 1 && mixed->priors)
        PADA_TRY(pada_rank_sets_add_values(sets, "mean of runs", mixed->paths, mixed->means, truth,
                                           join));
    for (int r = 0; r < mixed->n_runs; r++)
        PADA_TRY(pada_rank_sets_add_values(
            sets, runs[r], mixed->paths, mixed->runs + (size_t)r * (size_t)mixed->n, truth, join));
    return PADA_OK;
}

pada_status pada_rank_sets_add_baselines(pada_rank_sets *sets, const pada_space *space,
                                         const pada_space_score *prior,
                                         const pada_score_table *truth, const pada_score_join *join)
{
    double *scores;

    for (const pada_space_score *s = space->ops->scores; s && s->name; s++) {
        PADA_TRY(add_set(sets, s->name, s == prior ? " (prior)" : "", join->n, &scores));
        for (int i = 0; i < join->n; i++)
            scores[i] = s->score(space, pada_score_table_path(truth, join->rows[i]));
    }
    return PADA_OK;
}

void pada_rank_sets_deinit(pada_rank_sets *sets)
{
    for (int i = 0; i < sets->n; i++) {
        pada_free(sets->list[i].name);
        pada_free(sets->list[i].scores);
    }
    pada_free(sets->list);
    *sets = (pada_rank_sets){0};
}

pada_status pada_rank_sets_judge(const pada_rank_sets *sets, const pada_scoreboard_desc *desc,
                                 pada_scoreboard *board)
{
    pada_scoreboard_desc whole = *desc;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)sets->n, sizeof(const double *)));
    const double **scores = mem;
    for (int i = 0; i < sets->n; i++)
        scores[i] = sets->list[i].scores;
    whole.scores = scores;
    whole.n_sets = sets->n;
    const pada_status st = pada_scoreboard_init(board, &whole);
    pada_free(mem);
    return st;
}
