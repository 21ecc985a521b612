/* rank_top.h - the best networks of a ranking, as a table and as JSON. */
#ifndef PADA_CLI_RANK_TOP_H
#define PADA_CLI_RANK_TOP_H

#include <jansson.h>

#include "base/text.h"
#include "study/ranking_table.h"
#include "study/score_join.h"

typedef struct pada_rank_top {
    const pada_ranking_table *table;
    int n;      /* networks, as far as there are so many */
    bool costs; /* the table knows the sizes of the networks */
    /* What is known about them; NULL: nothing. Truths count among the networks of `join`. */
    const pada_score_table *truth;
    const pada_score_join *join;
} pada_rank_top;

/* Appends a heading and a line per network. */
pada_status pada_add_top(pada_text *out, const pada_rank_top *top);
/* Sets "distinct", "images" and "top", an array of objects; a failure stays in out->status. */
void pada_json_set_top(pada_text *out, json_t *object, const pada_rank_top *top);

#endif
