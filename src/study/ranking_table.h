/* ranking_table.h - networks with scores as people read them: best first, each network once, with costs.
 *
 *   arch,score,score_lo,score_hi,rank,ties,correct,images,loss,macs,params,same_as[,supernet][,statistics][,views]
 *
 * Networks with the same canonical form and the same result are one network: the canonical one, or the first of
 * them where that is not among them, has a row at its rank, and the others (its copies) follow behind all
 * distinct networks, in the same order, with its name in `same_as`. Of equal scores the lower loss comes first;
 * they share their rank, and `ties` says how many do.
 *
 * A score has as many decimals as tell the numbers of correct images apart, so that rounding makes no ties.
 * Its interval is Wilson's, of 95 %, for a share of so many images. */
#ifndef PADA_STUDY_RANKING_TABLE_H
#define PADA_STUDY_RANKING_TABLE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"
#include "space/space.h"
#include "study/score_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known about a network. */
typedef struct pada_ranking_entry {
    pada_path path;
    int correct;  /* where the images are counted */
    double score; /* where they are not; finite */
    double loss;
    double margin; /* 0: not known */
    int supernet;  /* that judged it: its number */
    bool extra;    /* nobody asked for it: the canonical form of one that was asked for */
} pada_ranking_entry;

typedef struct pada_ranking_row {
    pada_path path;
    double score, low, high; /* percent, rounded; without a count of images as given, and NaN */
    int rank, ties;          /* among the distinct networks; 1: no tie */
    int correct;
    double loss, margin;
    pada_cost
        cost;    /* of the stand-alone network of this run's sizes, dead edges of copies included */
    int same_as; /* row; -1: a distinct network */
    int n_copies; /* of a distinct network, that follow it in `same_as` */
    int supernet;
    bool extra;
} pada_ranking_row;

/* Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_ranking_table {
    pada_space space;
    int n_images; /* per score; 0: scores are not shares of images, or nobody knows */
    int decimals; /* of scores and their intervals, where images are counted */
    int n, n_distinct;
    pada_ranking_row *rows; /* [n], the distinct ones first */
} pada_ranking_table;

/* Columns that not every file has. */
typedef struct pada_ranking_extras {
    bool supernets;         /* which one judged a network */
    const char *statistics; /* what its batch norms were normalised by; NULL: the batch */
    int views;              /* of each image that were judged together; 0 and 1: no column */
} pada_ranking_extras;

/* The paths must be different. n_images 0: `score` counts, else `correct`. */
pada_status pada_ranking_table_init(pada_ranking_table *table, const pada_space *space,
                                    const pada_ranking_entry *entries, int n, int n_images);
/* The same from a table of scores, which comes from a file: its first column. n_images as above: where it is
 * known, scores are percent of them (where one cannot be, they count as unknown). */
pada_status pada_ranking_table_from_scores(pada_ranking_table *table, const pada_space *space,
                                           const pada_score_table *scores, int n_images);
/* How many images the scores of such a file are of: its column `images`; 0: it has none, or different ones. */
pada_status pada_ranking_n_images(const char *path, const pada_space *space, int *n_images);
void pada_ranking_table_deinit(pada_ranking_table *table);

/* Appends the file. */
pada_status pada_ranking_table_write(const pada_ranking_table *table,
                                     const pada_ranking_extras *extras, pada_text *out);

/* Wilson's 95 % interval of a share of n > 0, in percent. */
void pada_wilson_interval(int correct, int n, double *low, double *high);

#ifdef __cplusplus
}
#endif
#endif
