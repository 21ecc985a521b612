/* truth_args.h - the options of a truth table and of the metrics against it. */
#ifndef PADA_CLI_TRUTH_ARGS_H
#define PADA_CLI_TRUTH_ARGS_H

#include "base/option.h"
#include "study/truth_table.h"

typedef struct pada_truth_args {
    const char *file, *column;
    int64_t bootstrap;
} pada_truth_args;

extern const pada_opt pada_truth_options[]; /* --truth --truth-column --bootstrap */

/* A column of an open table. */
typedef struct pada_truth_column_view {
    pada_truth *table;    /* owned */
    const char *name;     /* borrowed */
    const double *values; /* borrowed */
} pada_truth_column_view;

/* Opens --truth. Without --truth-column it is the only column, or that of the data set: its name in
 * lower case without punctuation. data_name NULL, where nobody says which it is: CIFAR-10, that of the
 * benchmark. Neither column is PADA_EINVAL and lists those there are. On failure the table is NULL. */
pada_status pada_truth_from_args(pada_truth_column_view *out, const pada_truth_args *args,
                                 const pada_space *space, const char *data_name);

#endif
