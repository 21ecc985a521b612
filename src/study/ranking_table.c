/* ranking_table.c - networks with scores as people read them: best first, each network once, with costs. */
#include "study/ranking_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "space/path_index.h"

#define Z_95 1.959963984540054 /* of the normal distribution: 95 % lie within */

/* ---- numbers ---- */

void pada_wilson_interval(int correct, int n, double *low, double *high)
{
    const double share = (double)correct / n, z2 = Z_95 * Z_95;
    const double middle = (share + z2 / (2.0 * n)) / (1 + z2 / n);
    const double half =
        Z_95 / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4.0 * n * (double)n));

    *low = correct == 0 ? 0 : 100 * (middle - half);
    *high = correct == n ? 100 : 100 * (middle + half);
}

/* The fewest, at least one, with which neighbours are a digit apart: 100 / n_images >= 10^-decimals. */
static int decimals_of(int n_images)
{
    double steps = n_images / 1000.0;
    int decimals = 1;

    for (; steps > 1; steps /= 10)
        decimals++;
    return decimals;
}

static double round_to(double x, int decimals)
{
    const double scale = pow(10, decimals);

    return round(x * scale) / scale;
}

/* ---- the order ---- */

/* An entry on its way into the table. */
typedef struct candidate {
    pada_ranking_row row;
    pada_path form;
    bool is_form; /* the canonical one itself */
} candidate;

static int compare_paths(const pada_path *a, const pada_path *b)
{
    return memcmp(a->choice, b->choice, sizeof a->choice);
}

/* Whether two candidates are the same network with the same result. */
static bool is_same(const candidate *a, const candidate *b)
{
    return a->row.score == b->row.score && a->row.loss == b->row.loss &&
           compare_paths(&a->form, &b->form) == 0;
}

/* Best first; the candidates of one network stand together, its own form before its copies. */
static int compare(const void *x, const void *y)
{
    const candidate *a = x, *b = y;

    if (a->row.score != b->row.score) return a->row.score > b->row.score ? -1 : 1;
    if (a->row.loss != b->row.loss) return a->row.loss < b->row.loss ? -1 : 1;
    const int forms = compare_paths(&a->form, &b->form);
    if (forms != 0) return forms;
    if (a->is_form != b->is_form) return a->is_form ? -1 : 1;
    return compare_paths(&a->row.path, &b->row.path);
}

static void make_candidate(const pada_ranking_table *t, const pada_ranking_entry *entry,
                           candidate *out)
{
    pada_ranking_row *row = &out->row;

    *row = (pada_ranking_row){.path = entry->path,
                              .score = entry->score,
                              .low = NAN,
                              .high = NAN,
                              .correct = entry->correct,
                              .loss = entry->loss,
                              .margin = entry->margin,
                              .same_as = -1,
                              .supernet = entry->supernet,
                              .extra = entry->extra};
    if (t->n_images > 0) {
        pada_wilson_interval(entry->correct, t->n_images, &row->low, &row->high);
        row->score = round_to(100.0 * entry->correct / t->n_images, t->decimals);
        row->low = round_to(row->low, t->decimals);
        row->high = round_to(row->high, t->decimals);
    }
    pada_space_cost(&t->space, &row->path, &row->cost);
    t->space.ops->canonical(&t->space, &row->path, &out->form);
    out->is_form = pada_path_equal(&t->space, &row->path, &out->form);
}

/* Ranks and ties of the distinct rows, which are in order. */
static void set_ranks(pada_ranking_table *t)
{
    int first = 0;

    for (int i = 0; i < t->n_distinct; i++) {
        if (t->rows[i].score != t->rows[first].score) first = i;
        t->rows[i].rank = first + 1;
    }
    for (int i = t->n_distinct - 1; i >= 0; i--) {
        const bool is_last = i == t->n_distinct - 1 || t->rows[i + 1].rank != t->rows[i].rank;
        t->rows[i].ties = is_last ? i - t->rows[i].rank + 2 : t->rows[i + 1].ties;
    }
}

static void fill_rows(pada_ranking_table *t, const candidate *list, int n)
{
    for (int i = 0; i < n; i++)
        t->n_distinct += i == 0 || !is_same(&list[i], &list[i - 1]);
    int distinct = -1, copies = t->n_distinct;
    for (int i = 0; i < n; i++) {
        const bool is_copy = i > 0 && is_same(&list[i], &list[i - 1]);
        pada_ranking_row *row = &t->rows[is_copy ? copies++ : ++distinct];
        *row = list[i].row;
        if (is_copy) {
            row->same_as = distinct;
            t->rows[distinct].n_copies++;
        }
    }
    t->n = n;
    set_ranks(t);
    for (int i = t->n_distinct; i < n; i++) {
        t->rows[i].rank = t->rows[t->rows[i].same_as].rank;
        t->rows[i].ties = t->rows[t->rows[i].same_as].ties;
    }
}

pada_status pada_ranking_table_init(pada_ranking_table *t, const pada_space *space,
                                    const pada_ranking_entry *entries, int n, int n_images)
{
    void *rows, *memory;

    *t = (pada_ranking_table){
        .space = *space, .n_images = n_images, .decimals = decimals_of(n_images)};
    PADA_TRY(pada_calloc(&rows, (size_t)n, sizeof *t->rows));
    t->rows = rows;
    const pada_status st = pada_calloc(&memory, (size_t)n, sizeof(candidate));
    if (st != PADA_OK) {
        pada_ranking_table_deinit(t);
        return st;
    }
    candidate *list = memory;
    for (int i = 0; i < n; i++)
        make_candidate(t, &entries[i], &list[i]);
    qsort(list, (size_t)n, sizeof *list, compare);
    fill_rows(t, list, n);
    pada_free(memory);
    return PADA_OK;
}

/* Of equal scores the order of the file decides, by where a form comes first; `loss` stands for it. */
static pada_status make_entries(const pada_space *space, const pada_score_table *scores,
                                pada_path_index *forms, pada_ranking_entry *entries)
{
    const double *values;
    pada_path form;

    PADA_TRY(pada_score_table_column(scores, pada_score_table_column_name(scores, 0), &values));
    for (int i = 0; i < pada_score_table_count(scores); i++) {
        const pada_path *path = pada_score_table_path(scores, i);

        space->ops->canonical(space, path, &form);
        entries[i] = (pada_ranking_entry){
            .path = *path, .score = values[i], .loss = pada_path_index_add(forms, &form)};
    }
    return PADA_OK;
}

static void count_images(pada_ranking_entry *entries, int n, int n_images)
{
    for (int i = 0; i < n; i++)
        entries[i].correct = (int)lround(entries[i].score / 100 * n_images);
}

/* Whether all scores can be shares in percent. */
static bool are_shares(const pada_ranking_entry *entries, int n)
{
    for (int i = 0; i < n; i++)
        if (!(entries[i].score >= 0 && entries[i].score <= 100)) return false;
    return true;
}

pada_status pada_ranking_table_from_scores(pada_ranking_table *t, const pada_space *space,
                                           const pada_score_table *scores, int n_images)
{
    const int n = pada_score_table_count(scores);
    pada_path_index *forms = NULL;
    void *entries = NULL;
    pada_status st;

    *t = (pada_ranking_table){0};
    if ((st = pada_path_index_create(&forms, space, n)) != PADA_OK) goto out;
    if ((st = pada_calloc(&entries, (size_t)n, sizeof(pada_ranking_entry))) != PADA_OK) goto out;
    if ((st = make_entries(space, scores, forms, entries)) != PADA_OK) goto out;
    if (n_images > 0 && are_shares(entries, n))
        count_images(entries, n, n_images);
    else
        n_images = 0;
    if ((st = pada_ranking_table_init(t, space, entries, n, n_images)) != PADA_OK) goto out;
    for (int i = 0; i < n; i++)
        t->rows[i].loss = NAN;
out:
    pada_free(entries);
    pada_path_index_destroy(forms);
    return st;
}

pada_status pada_ranking_n_images(const char *path, const pada_space *space, int *n_images)
{
    pada_score_table *table;

    *n_images = 0;
    const pada_status st = pada_score_table_open_column(&table, space, path, "images");
    if (st == PADA_EDATA) return PADA_OK; /* a file of others */
    PADA_TRY(st);
    const double *values = pada_score_table_values(table, 0); /* the only one */
    bool is_count = values[0] >= 1 && values[0] <= INT32_MAX && values[0] == floor(values[0]);
    for (int i = 1; i < pada_score_table_count(table); i++)
        is_count = is_count && values[i] == values[0];
    if (is_count) *n_images = (int)values[0];
    pada_score_table_close(table);
    return PADA_OK;
}

void pada_ranking_table_deinit(pada_ranking_table *t)
{
    pada_free(t->rows);
    *t = (pada_ranking_table){0};
}

/* ---- the file ---- */

static pada_status add_row(const pada_ranking_table *t, const pada_ranking_row *row,
                           const pada_ranking_extras *extras, pada_text *out)
{
    const pada_space_ops *ops = t->space.ops;

    PADA_TRY(ops->format(&t->space, &row->path, ops->dialects[0], out));
    pada_text_add(out, ",%.*f,%.*f,%.*f,%d,%d,%d,%d,", t->decimals, row->score, t->decimals,
                  row->low, t->decimals, row->high, row->rank, row->ties, row->correct,
                  t->n_images);
    pada_text_add_double(out, row->loss);
    pada_text_add(out, ",%" PRId64 ",%" PRId64 ",", row->cost.macs, row->cost.params);
    if (row->same_as >= 0)
        PADA_TRY(ops->format(&t->space, &t->rows[row->same_as].path, ops->dialects[0], out));
    if (extras->supernets) pada_text_add(out, ",%d", row->supernet);
    if (extras->statistics) pada_text_add(out, ",%s", extras->statistics);
    if (extras->views > 1) pada_text_add(out, ",%d", extras->views);
    pada_text_add(out, "\n");
    return out->status;
}

pada_status pada_ranking_table_write(const pada_ranking_table *t, const pada_ranking_extras *extras,
                                     pada_text *out)
{
    PADA_ASSERT(t->n_images > 0);
    pada_text_add(
        out,
        "arch,score,score_lo,score_hi,rank,ties,correct,images,loss,macs,params,same_as%s%s%s\n",
        extras->supernets ? ",supernet" : "", extras->statistics ? ",statistics" : "",
        extras->views > 1 ? ",views" : "");
    for (int i = 0; i < t->n; i++)
        PADA_TRY(add_row(t, &t->rows[i], extras, out));
    return out->status;
}
