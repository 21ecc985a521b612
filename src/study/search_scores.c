/* search_scores.c - the scores of searches by a supernet, which are kept where rankings keep them. */
#include "study/search_scores.h"

#include "space/path_index.h"

static pada_status take_scores(const pada_ranking_desc *desc, const pada_ranking_table *table,
                               pada_search_score *scores)
{
    pada_path_index *asked;

    PADA_TRY(pada_path_index_create(&asked, &table->space, desc->n_paths));
    for (int i = 0; i < desc->n_paths; i++)
        (void)pada_path_index_add(asked, &desc->paths[i]);
    for (int i = 0; i < table->n; i++) {
        const pada_ranking_row *row = &table->rows[i];
        const int k = pada_path_index_find(asked, &row->path);
        if (k >= 0 && !row->extra)
            scores[k] = (pada_search_score){
                .value = row->score, .loss = row->loss, .top1 = row->score, .margin = row->margin};
    }
    pada_path_index_destroy(asked);
    return PADA_OK;
}

pada_status pada_search_scores(const pada_ranking_desc *desc, pada_search_score *scores)
{
    pada_ranking_table table;
    pada_status st = pada_ranking_run(desc, &table);

    PADA_ASSERT(desc->scores);
    if (st == PADA_OK) st = take_scores(desc, &table, scores);
    pada_ranking_table_deinit(&table);
    return st;
}
