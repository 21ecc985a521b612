/* truth_args.h - the options of a truth table and of the metrics against it. */
#ifndef PADA_CLI_TRUTH_ARGS_H
#define PADA_CLI_TRUTH_ARGS_H

#include "base/option.h"
#include "data/data_card.h"
#include "study/score_table.h"

typedef struct pada_truth_args {
    const char *file, *column;
    int64_t bootstrap;
} pada_truth_args;

extern const pada_opt pada_truth_options[]; /* --truth --truth-column --bootstrap */

/* A column of an open table. */
typedef struct pada_truth_column_view {
    pada_score_table *table; /* owned */
    const char *name;        /* borrowed */
    const double *values;    /* borrowed */
} pada_truth_column_view;

/* Opens --truth. Without --truth-column it is that of the data set (its name in lower case without
 * punctuation) or the only one, not counting those of single seeds, NAME_N beside NAME. Neither is
 * PADA_EINVAL and lists those there are; the only one being that of another data set is PADA_EDATA.
 * data_name NULL: nobody says which it is. On failure the table is NULL. */
pada_status pada_truth_from_args(pada_truth_column_view *out, const pada_truth_args *args,
                                 const pada_space *space, const char *data_name);

/* A table of `pada truth` lies beside the card of its images: whether a run was trained on the same.
 * Others are PADA_EDATA. A card without JSON, and a table without card, say nothing. */
pada_status pada_truth_check_images(const pada_truth_args *args, const pada_data_card *card,
                                    const char *run);

#endif
