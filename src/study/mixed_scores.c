/* mixed_scores.c - the scores of searches by one supernet or several, and a prior. */
#include "study/mixed_scores.h"

#include "base/mem.h"
#include "study/search_scores.h"

enum { MAX_MISSES = 10000 /* random networks in a row that are there already */ };

struct pada_mixed_scores {
    pada_mixed_scores_desc desc;
    int n_done; /* evaluations of earlier calls */
    pada_mixer *mixer;
    double *values; /* [n_runs] of a network */
};

int pada_mixed_scores_n_reference(const pada_mixed_scores_desc *desc)
{
    const bool needs = desc->prior.score || desc->combine != PADA_COMBINE_ACCURACY;

    return needs ? desc->n_reference : 0;
}

/* ---- evaluating ---- */

static void show_progress(void *user, const pada_ranking_progress *progress)
{
    const pada_mixed_scores *m = user;
    pada_ranking_progress all = *progress;

    all.n_done += m->n_done;
    m->desc.progress(m->desc.user, &all);
}

static bool ask_to_stop(void *user)
{
    const pada_mixed_scores *m = user;

    return m->desc.stop && m->desc.stop(m->desc.user);
}

/* What each run says about each of the paths: [n_runs, n]. */
static pada_status evaluate(pada_mixed_scores *m, const pada_path *paths, int n,
                            pada_search_score *said)
{
    for (int r = 0; r < m->desc.n_runs; r++) {
        pada_ranking_desc desc = m->desc.runs[r];

        desc.paths = paths;
        desc.n_paths = n;
        desc.user = m;
        desc.stop = ask_to_stop;
        desc.progress = m->desc.progress ? show_progress : NULL;
        PADA_TRY(pada_search_scores(&desc, said + (size_t)r * (size_t)n));
        m->n_done += n;
    }
    return PADA_OK;
}

static double value_of(const pada_mixed_scores *m, const pada_search_score *said)
{
    return pada_judgement_value(m->desc.by, said->top1, said->loss, said->margin);
}

/* ---- the reference ---- */

/* Different networks inside the limits, as many as there are or are wanted. */
static pada_status draw_reference(const pada_mixed_scores *m, pada_path *paths, int *n)
{
    const pada_space *space = m->desc.space;
    const int wanted = m->desc.n_reference;
    pada_path_index *forms;
    pada_path path, form;
    pada_rng rng;

    *n = 0;
    PADA_TRY(pada_path_index_create(&forms, space, wanted));
    pada_rng_init(&rng, m->desc.seed, "search reference", 0);
    for (int misses = 0; misses < MAX_MISSES && *n < wanted; misses++) {
        if (!pada_cost_limits_draw(m->desc.limits, &rng, &path)) break;
        space->ops->canonical(space, &path, &form);
        if (pada_path_index_find(forms, &form) >= 0) continue;
        (void)pada_path_index_add(forms, &form);
        paths[(*n)++] = pada_cost_limits_allow(m->desc.limits, &form) ? form : path;
        misses = 0;
    }
    pada_path_index_destroy(forms);
    if (*n < 2)
        return PADA_FAIL(PADA_EINVAL, "%d networks inside the limits; a reference needs 2", *n);
    return PADA_OK;
}

/* Room for what is known about a reference of n networks. */
typedef struct sample {
    pada_path *paths;
    pada_search_score *said;
    double *values;      /* [n_runs, n] */
    const double **runs; /* [n_runs] of them */
    double *priors;
} sample;

static pada_status allocate_sample(sample *s, int n_runs, int n)
{
    const size_t all = (size_t)n_runs * (size_t)n;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *s->paths));
    s->paths = mem;
    PADA_TRY(pada_calloc(&mem, all, sizeof *s->said));
    s->said = mem;
    PADA_TRY(pada_calloc(&mem, all, sizeof *s->values));
    s->values = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n_runs, sizeof *s->runs));
    s->runs = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *s->priors));
    s->priors = mem;
    return PADA_OK;
}

static pada_status make_mixer(pada_mixed_scores *m, sample *s)
{
    const pada_mixed_scores_desc *desc = &m->desc;
    const pada_space_score *prior = desc->prior.score;
    int n = 1;

    PADA_TRY(allocate_sample(s, desc->n_runs, desc->n_reference));
    if (pada_mixed_scores_n_reference(desc) > 0) {
        PADA_TRY(draw_reference(m, s->paths, &n));
        PADA_TRY(evaluate(m, s->paths, n, s->said));
    }
    for (int i = 0; i < desc->n_runs * n; i++)
        s->values[i] = value_of(m, &s->said[i]);
    for (int r = 0; r < desc->n_runs; r++)
        s->runs[r] = s->values + (size_t)r * (size_t)n;
    for (int i = 0; prior && i < n; i++)
        s->priors[i] = prior->score(desc->space, &s->paths[i]);
    return pada_mixer_create(&m->mixer,
                             &(pada_mixer_desc){.combine = desc->combine,
                                                .n_runs = desc->n_runs,
                                                .n = n,
                                                .runs = s->runs,
                                                .prior = prior ? s->priors : NULL,
                                                .weight = desc->prior.weight,
                                                .finds_weight = desc->prior.finds_weight});
}

pada_status pada_mixed_scores_create(pada_mixed_scores **out, const pada_mixed_scores_desc *desc)
{
    sample s = {0};
    void *mem;

    *out = NULL;
    PADA_ASSERT(desc->n_runs >= 1 && desc->n_reference >= 2);
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_mixed_scores *m = mem;
    m->desc = *desc;
    pada_status st = pada_calloc(&mem, (size_t)desc->n_runs, sizeof *m->values);
    m->values = mem;
    if (st == PADA_OK) st = make_mixer(m, &s);
    pada_free(s.paths);
    pada_free(s.said);
    pada_free(s.values);
    pada_free(s.runs);
    pada_free(s.priors);
    if (st != PADA_OK) {
        pada_mixed_scores_destroy(m);
        return st;
    }
    *out = m;
    return PADA_OK;
}

void pada_mixed_scores_destroy(pada_mixed_scores *m)
{
    if (!m) return;
    pada_mixer_destroy(m->mixer);
    pada_free(m->values);
    pada_free(m);
}

double pada_mixed_scores_weight(const pada_mixed_scores *m)
{
    return pada_mixer_weight(m->mixer);
}

/* ---- the scores ---- */

static pada_search_score mix(const pada_mixed_scores *m, const pada_path *path,
                             const pada_search_score *said, int n)
{
    const pada_space_score *prior = m->desc.prior.score;
    const int n_runs = m->desc.n_runs;
    pada_search_score sum = {0};

    for (int r = 0; r < n_runs; r++) {
        const pada_search_score *its = &said[(size_t)r * (size_t)n];
        m->values[r] = value_of(m, its);
        sum.top1 += its->top1;
        sum.loss += its->loss;
    }
    const double mean = pada_mixer_mean(m->mixer, m->values);
    return (pada_search_score){
        .value = pada_mixer_score(m->mixer, mean, prior ? prior->score(m->desc.space, path) : 0),
        .loss = sum.loss / n_runs,
        .top1 = sum.top1 / n_runs};
}

pada_status pada_mixed_scores_get(pada_mixed_scores *m, const pada_path *paths, int n,
                                  pada_search_score *out)
{
    void *said;

    PADA_TRY(pada_calloc(&said, (size_t)m->desc.n_runs * (size_t)n, sizeof(pada_search_score)));
    const pada_status st = evaluate(m, paths, n, said);
    for (int i = 0; i < n && st == PADA_OK; i++)
        out[i] = mix(m, &paths[i], (const pada_search_score *)said + i, n);
    pada_free(said);
    return st;
}
