/* best_network.c - the best networks that are known of a run with a supernet. */
#include "study/best_network.h"

#include "base/file.h"
#include "study/ranking_table.h"

#define SEARCH_FILE  "search/best.csv"
#define RANKING_FILE "ranking.csv"

/* Opens the column of a file of the run. *scores is NULL if the file is not there. */
static pada_status open_scores(pada_score_table **scores, const char *run, const char *name,
                               const char *column, const pada_space *space)
{
    pada_text file = {0};
    pada_status st;

    *scores = NULL;
    pada_text_add(&file, "%s/%s", run, name);
    if ((st = file.status) == PADA_OK && pada_path_exists(file.data))
        st = pada_score_table_open_column(scores, space, file.data, column);
    pada_text_deinit(&file);
    return st;
}

static pada_status take_ranking(const char *run, const pada_space *space, int n, pada_path *paths,
                                int *n_found)
{
    pada_ranking_table table = {0};
    pada_score_table *scores;

    PADA_TRY(open_scores(&scores, run, RANKING_FILE, "score", space));
    if (!scores)
        return PADA_FAIL(PADA_ENOENT,
                         "%s: no best network is known, neither " SEARCH_FILE " nor " RANKING_FILE
                         " is there; try `pada search %s` or `pada rank %s`",
                         run, run, run);
    const pada_status st = pada_ranking_table_from_scores(&table, space, scores, 0);
    for (; st == PADA_OK && *n_found < n && *n_found < table.n_distinct; ++*n_found)
        paths[*n_found] = table.rows[*n_found].path;
    pada_ranking_table_deinit(&table);
    pada_score_table_close(scores);
    return st;
}

pada_status pada_best_networks(const char *run, const pada_space *space, int n, pada_path *paths,
                               int *n_found, const char **file)
{
    pada_score_table *scores;

    *n_found = 0;
    PADA_TRY(open_scores(&scores, run, SEARCH_FILE, "top1", space));
    *file = scores ? SEARCH_FILE : RANKING_FILE;
    if (!scores) return take_ranking(run, space, n, paths, n_found);
    for (; *n_found < n && *n_found < pada_score_table_count(scores); ++*n_found)
        paths[*n_found] = *pada_score_table_path(scores, *n_found);
    pada_score_table_close(scores);
    return PADA_OK;
}

pada_status pada_best_network(const char *run, const pada_space *space, pada_path *out,
                              const char **file)
{
    int n_found;

    return pada_best_networks(run, space, 1, out, &n_found, file);
}
