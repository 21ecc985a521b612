/* rank_supernets.c - a ranking by several supernets: how well each of them ranks the networks it judges. */
#include "cli/rank_supernets.h"

#include <stdio.h>

#include "base/mem.h"
#include "cli/print.h"
#include "cli/print_metrics.h"
#include "study/score_groups.h"

static void add_line(pada_text *out, int number, const pada_score_group *group)
{
    pada_text_add(out, "%8d %9d", number, group->n);
    pada_add_number(out, group->tau_b, 3, 10);
    pada_add_number(out, group->mean_score, 2, 12);
    pada_add_number(out, group->mean_truth, 2, 12);
    pada_text_add(out, "\n");
}

static void add_json(pada_text *out, int number, const pada_score_group *group)
{
    json_t *object = json_object();
    char name[32];

    snprintf(name, sizeof name, "supernet %d", number);
    pada_json_set(out, object, "name", json_string(name));
    pada_json_set(out, object, "supernet", json_integer(number));
    pada_json_set(out, object, "n", json_integer(group->n));
    pada_json_set_number(out, object, "tau_b", group->tau_b);
    pada_json_set_number(out, object, "mean_score", group->mean_score);
    pada_json_set_number(out, object, "mean_truth", group->mean_truth);
    pada_json_line(out, object);
}

static pada_status add_groups(pada_text *out, const pada_family *family,
                              const pada_score_table *truth, const pada_score_join *join, bool json,
                              int *group_of, pada_score_group *groups)
{
    const int n_groups = pada_family_count(family);

    for (int i = 0; i < join->n; i++)
        PADA_TRY(
            pada_family_find(family, pada_score_table_path(truth, join->rows[i]), &group_of[i]));
    PADA_TRY(
        pada_score_groups_compute(join->scores, join->truths, group_of, join->n, groups, n_groups));
    if (!json)
        pada_text_add(out, "%8s %9s %9s %11s %11s\n", "supernet", "networks", "tau-b", "mean score",
                      "mean truth");
    for (int k = 0; k < n_groups; k++)
        (json ? add_json : add_line)(out, pada_family_number(family, k), &groups[k]);
    return out->status;
}

pada_status pada_add_supernets(pada_text *out, const pada_family *family,
                               const pada_score_table *truth, const pada_score_join *join,
                               bool json)
{
    void *group_of = NULL, *groups = NULL;
    pada_status st = pada_calloc(&group_of, (size_t)join->n, sizeof(int));

    if (st == PADA_OK)
        st = pada_calloc(&groups, (size_t)pada_family_count(family), sizeof(pada_score_group));
    if (st == PADA_OK) st = add_groups(out, family, truth, join, json, group_of, groups);
    pada_free(groups);
    pada_free(group_of);
    return st;
}
