/* supernets.h - one supernet or several that judge the same networks together, and how their scores are combined. */
#ifndef PADA_CLI_SUPERNETS_H
#define PADA_CLI_SUPERNETS_H

#include "cli/run_args.h"
#include "study/mixed_ranking.h"
#include "train/run_config.h"

typedef struct pada_combine_args {
    int by;      /* pada_judgement */
    int combine; /* pada_combine */
    int64_t views;
    const char *prior;
} pada_combine_args;

extern const pada_opt pada_combine_options[]; /* --by --views --combine --prior */

/* One of them. */
typedef struct pada_judge {
    const char *run; /* the folder, borrowed; NULL: weights alone */
    pada_run_lock lock;
    pada_supernet net;
    pada_text scores_dir; /* where its scores are kept; empty: nowhere */
} pada_judge;

/* Zero-initialise; close accepts that and half-made ones. */
typedef struct pada_supernets {
    pada_judge *list; /* [n], owned */
    int n;
    bool is_mixed; /* scores are made of several, or with a prior, or are no accuracies */
    pada_judgement by;
    pada_combine combine;
    pada_prior prior;
} pada_supernets;

/* Opens the run folders that are the words of the command line, or without words the weights of `args`, as
 * pada_supernet_open does; `locks`: nobody else may work in the run folders until close. Those of several must be of one space and size, and of the same
 * images, else PADA_EINVAL or PADA_EDATA. */
pada_status pada_supernets_open(pada_supernets *nets, const pada_run_args *args,
                                const pada_combine_args *how, const pada_options *options,
                                bool locks);
/* A final form, of which there is one network, is PADA_EINVAL: nothing to `verb`. */
pada_status pada_supernets_refuse_final(const pada_supernets *nets, const char *verb);
/* The part of the space that all of them were trained on (--ops), borrowed; NULL: all of it. */
const pada_subspace *pada_supernets_within(const pada_supernets *nets);
/* Says where the scores of each are kept: in its run, unless that may only be read; else in the folder `otherwise`, NULL: nowhere. */
pada_status pada_supernets_keep_scores(pada_supernets *nets, const char *otherwise);
void pada_supernets_close(pada_supernets *nets);

/* Appends what the scores are: "mean accuracy of 2 runs + 0.3 x macs". */
void pada_supernets_describe(const pada_supernets *nets, pada_text *out);

#endif
