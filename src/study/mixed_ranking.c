/* mixed_ranking.c - a ranking by several runs and a prior, and its file. */
#include "study/mixed_ranking.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- the prior ---- */

enum { MAX_BASELINES = 32, NAME_BYTES = 32 };

static pada_status find_baseline(const pada_space_score **out, const pada_space *space,
                                 const char *name, const char *what)
{
    const char *names[MAX_BASELINES];
    char lead[96];
    int n = 0;

    for (const pada_space_score *s = space->ops->scores; s && s->name && n < MAX_BASELINES; s++) {
        names[n++] = s->name;
        if (strcmp(name, s->name) != 0) continue;
        *out = s;
        return PADA_OK;
    }
    snprintf(lead, sizeof lead, "%.20s: unknown baseline of space %.20s", what, space->ops->name);
    return pada_fail_unknown(PADA_EINVAL, lead, name, names, n);
}

pada_status pada_prior_parse(pada_prior *out, const pada_space *space, const char *text,
                             const char *what)
{
    const char *colon = strchr(text, ':');
    char name[NAME_BYTES];

    *out = (pada_prior){0};
    if (!colon || colon == text || (size_t)(colon - text) >= sizeof name)
        return PADA_FAIL(PADA_EINVAL,
                         "%s: '%.60s' is not NAME:WEIGHT, such as macs:0.3 or macs:auto", what,
                         text);
    memcpy(name, text, (size_t)(colon - text));
    name[colon - text] = '\0';
    PADA_TRY(find_baseline(&out->score, space, name, what));
    out->finds_weight = strcmp(colon + 1, "auto") == 0;
    if (out->finds_weight) return PADA_OK;
    return pada_parse_double(colon + 1, what, -1000, 1000, &out->weight);
}

/* ---- the scores ---- */

static pada_status allocate(pada_mixed *m, const pada_mixed_desc *desc)
{
    const size_t n = (size_t)desc->n;
    double **const lists[] = {&m->losses, &m->means, &m->scores, &m->priors};
    void *mem;

    m->n = desc->n;
    m->n_runs = desc->n_runs;
    PADA_TRY(pada_path_index_create(&m->paths, desc->space, desc->n));
    PADA_TRY(pada_calloc(&mem, (size_t)desc->n_runs * n, sizeof(double)));
    m->runs = mem;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] - (desc->prior.score == NULL); i++) {
        PADA_TRY(pada_calloc(&mem, n, sizeof(double)));
        *lists[i] = mem;
    }
    return PADA_OK;
}

static void take_run(pada_mixed *m, int run, const pada_ranking_table *table, pada_judgement by)
{
    for (int i = 0; i < table->n; i++) {
        const pada_ranking_row *row = &table->rows[i];
        const int k = pada_path_index_find(m->paths, &row->path);
        if (k < 0 || row->extra) continue;
        m->runs[(size_t)run * (size_t)m->n + (size_t)k] =
            pada_judgement_value(by, row->score, row->loss, row->margin);
        m->losses[k] += row->loss / m->n_runs;
    }
}

static void mix_all(pada_mixed *m, const pada_mixer *mixer, double *values)
{
    for (int i = 0; i < m->n; i++) {
        for (int r = 0; r < m->n_runs; r++)
            values[r] = m->runs[(size_t)r * (size_t)m->n + (size_t)i];
        m->means[i] = pada_mixer_mean(mixer, values);
        m->scores[i] = pada_mixer_score(mixer, m->means[i], m->priors ? m->priors[i] : 0);
    }
}

static pada_status mix(pada_mixed *m, const pada_mixed_desc *desc)
{
    pada_mixer *mixer = NULL;
    void *runs, *values;

    PADA_TRY(pada_calloc(&runs, (size_t)m->n_runs, sizeof(const double *)));
    pada_status st = pada_calloc(&values, (size_t)m->n_runs, sizeof(double));
    if (st != PADA_OK) {
        pada_free(runs);
        return st;
    }
    const double **lists = runs;
    for (int r = 0; r < m->n_runs; r++)
        lists[r] = m->runs + (size_t)r * (size_t)m->n;
    st = pada_mixer_create(&mixer, &(pada_mixer_desc){.combine = desc->combine,
                                                      .n_runs = m->n_runs,
                                                      .n = m->n,
                                                      .runs = lists,
                                                      .prior = m->priors,
                                                      .weight = desc->prior.weight,
                                                      .finds_weight = desc->prior.finds_weight});
    if (st == PADA_OK) {
        m->weight = pada_mixer_weight(mixer);
        mix_all(m, mixer, values);
    }
    pada_mixer_destroy(mixer);
    pada_free(values);
    pada_free(runs);
    return st;
}

pada_status pada_mixed_init(pada_mixed *m, const pada_mixed_desc *desc)
{
    *m = (pada_mixed){0};
    PADA_TRY(allocate(m, desc));
    for (int i = 0; i < desc->n; i++) {
        (void)pada_path_index_add(m->paths, &desc->paths[i]);
        if (m->priors) m->priors[i] = desc->prior.score->score(desc->space, &desc->paths[i]);
    }
    for (int r = 0; r < desc->n_runs; r++)
        take_run(m, r, &desc->runs[r], desc->by);
    return mix(m, desc);
}

void pada_mixed_deinit(pada_mixed *m)
{
    pada_path_index_destroy(m->paths);
    pada_free(m->runs);
    pada_free(m->losses);
    pada_free(m->means);
    pada_free(m->priors);
    pada_free(m->scores);
    *m = (pada_mixed){0};
}

pada_status pada_mixed_table(const pada_mixed *m, const pada_space *space,
                             pada_ranking_table *table)
{
    void *mem;

    *table = (pada_ranking_table){0};
    PADA_TRY(pada_calloc(&mem, (size_t)m->n, sizeof(pada_ranking_entry)));
    pada_ranking_entry *entries = mem;
    for (int i = 0; i < m->n; i++)
        entries[i] = (pada_ranking_entry){
            .path = *pada_path_index_get(m->paths, i), .score = m->scores[i], .loss = m->losses[i]};
    const pada_status st = pada_ranking_table_init(table, space, entries, m->n, 0);
    pada_free(mem);
    return st;
}

/* ---- the file ---- */

/* "run1_" and the last part of a folder, without what could not stand in a header. */
static void add_column(pada_text *out, int run, const char *folder)
{
    size_t end = strlen(folder), first;

    while (end > 0 && folder[end - 1] == '/')
        end--;
    for (first = end; first > 0 && folder[first - 1] != '/';)
        first--;
    pada_text_add(out, ",run%d_", run + 1);
    for (size_t i = first; i < end; i++) {
        const unsigned char c = (unsigned char)folder[i];
        pada_text_add(out, "%c", isalnum(c) || c == '-' || c == '.' ? c : '_');
    }
}

static void add_number(pada_text *out, double x)
{
    pada_text_add(out, ",");
    pada_text_add_double(out, x);
}

static pada_status add_row(const pada_mixed *m, const pada_ranking_table *t,
                           const pada_ranking_row *row, pada_text *out)
{
    const pada_space_ops *ops = t->space.ops;
    const int k = pada_path_index_find(m->paths, &row->path);

    PADA_TRY(ops->format(&t->space, &row->path, ops->dialects[0], out));
    add_number(out, row->score);
    pada_text_add(out, ",%d,%d", row->rank, row->ties);
    add_number(out, m->means[k]);
    for (int r = 0; r < m->n_runs; r++)
        add_number(out, m->runs[(size_t)r * (size_t)m->n + (size_t)k]);
    if (m->priors) add_number(out, m->priors[k]);
    add_number(out, row->loss);
    pada_text_add(out, ",%" PRId64 ",%" PRId64 ",", row->cost.macs, row->cost.params);
    if (row->same_as >= 0)
        PADA_TRY(ops->format(&t->space, &t->rows[row->same_as].path, ops->dialects[0], out));
    pada_text_add(out, "\n");
    return out->status;
}

pada_status pada_mixed_write(const pada_mixed *m, const pada_ranking_table *table,
                             const char *const *runs, pada_text *out)
{
    pada_text_add(out, "arch,score,rank,ties,mean");
    for (int r = 0; r < m->n_runs; r++)
        add_column(out, r, runs[r]);
    pada_text_add(out, "%s,loss,macs,params,same_as\n", m->priors ? ",prior" : "");
    for (int i = 0; i < table->n; i++)
        PADA_TRY(add_row(m, table, &table->rows[i], out));
    return out->status;
}
