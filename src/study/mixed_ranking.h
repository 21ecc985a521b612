/* mixed_ranking.h - a ranking by several runs and a prior, and its file.
 *
 *   arch,score,rank,ties,mean,run1_NAME,run2_NAME,..[,prior],loss,macs,params,same_as
 *
 * What a score is made of: combine.h. Networks with the same canonical form and the same score are one network, as in
 * ranking_table.h; copies that the prior tells apart are not. */
#ifndef PADA_STUDY_MIXED_RANKING_H
#define PADA_STUDY_MIXED_RANKING_H

#include "base/status.h"
#include "base/text.h"
#include "space/path_index.h"
#include "study/combine.h"
#include "study/judgement.h"
#include "study/ranking_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Something that can be said about a network without a run, and how much it weighs. */
typedef struct pada_prior {
    const pada_space_score *score; /* of the space; NULL: no prior */
    double weight;
    bool finds_weight; /* by the agreement of the runs (prior_weight.h) */
} pada_prior;

/* "macs:0.3", "macs:auto": a baseline of the space and its weight. Everything else is PADA_EINVAL, "`what`: ..", and offers the
 * nearest name. */
pada_status pada_prior_parse(pada_prior *out, const pada_space *space, const char *text,
                             const char *what);

/* Everything is borrowed for the call. */
typedef struct pada_mixed_desc {
    const pada_space *space;
    const pada_path *paths; /* [n], all different */
    int n;
    const pada_ranking_table *runs; /* [n_runs]: each has all of the paths */
    int n_runs;
    pada_judgement by;
    pada_combine combine;
    pada_prior prior;
} pada_mixed_desc;

/* Numbers of the networks in the order of the paths. Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_mixed {
    int n, n_runs;
    pada_path_index *paths;
    double *runs;   /* [n_runs, n], scores of each run (judgement.h) */
    double *losses; /* [n], means over the runs */
    double *means;  /* [n], what the runs say together */
    double *priors; /* [n]; NULL: none */
    double *scores; /* [n] */
    double weight;  /* of the prior */
} pada_mixed;

pada_status pada_mixed_init(pada_mixed *mixed, const pada_mixed_desc *desc);
void pada_mixed_deinit(pada_mixed *mixed);

/* The networks best first; of equal scores the lower loss comes first. */
pada_status pada_mixed_table(const pada_mixed *mixed, const pada_space *space,
                             pada_ranking_table *table);
/* Appends the file. `runs` are folders, [n_runs]: the last part of each names its column. */
pada_status pada_mixed_write(const pada_mixed *mixed, const pada_ranking_table *table,
                             const char *const *runs, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
