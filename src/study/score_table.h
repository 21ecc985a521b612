/* score_table.h - numbers by network, read from a CSV table: measured accuracies (the truth) or the scores of a
 * ranking.
 *
 *   arch,cifar10,cifar100                  one column `arch` or `genotype`, the others numbers
 *   |avg_pool_3x3~0|+...,85.86,52.9133     row 0: for NAS-Bench-201 the official index
 *
 * Architectures are in any dialect of the space that is not ambiguous. Files of spreadsheets are read as well
 * (base/csv.h): quotes, semicolons or tabs, decimal commas, empty rows. The file is checked as a whole when it is
 * opened: what has a wrong row is not a table. */
#ifndef PADA_STUDY_SCORE_TABLE_H
#define PADA_STUDY_SCORE_TABLE_H

#include "base/status.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_score_table pada_score_table;

/* In place of a file: the table inside the program (builtin_truth.h). A file of this name is
 * "./builtin". */
#define PADA_TRUTH_BUILTIN "builtin"

/* Reads a file. Missing is PADA_ENOENT; a bad header or row, an architecture twice, a value that is
 * no finite number are PADA_EDATA with "file:line" in the message. */
pada_status pada_score_table_open(pada_score_table **out, const pada_space *space,
                                  const char *path);
/* The same with `arch` and this one column; further columns may hold anything. No such column is
 * PADA_EDATA. column NULL: all columns. */
pada_status pada_score_table_open_column(pada_score_table **out, const pada_space *space,
                                         const char *path, const char *column);
/* The same from memory; `name` is for messages. Nothing of the text is kept. */
pada_status pada_score_table_read(pada_score_table **out, const pada_space *space, const char *name,
                                  const char *text, size_t bytes, const char *column);
void pada_score_table_close(pada_score_table *truth); /* NULL is fine */

int pada_score_table_count(const pada_score_table *truth); /* rows; at least one */
const pada_path *pada_score_table_path(const pada_score_table *truth, int row); /* borrowed */
int pada_score_table_row(const pada_score_table *truth, const pada_path *path); /* -1: not in it */

int pada_score_table_n_columns(const pada_score_table *truth); /* without `arch`; at least one */
const char *pada_score_table_column_name(const pada_score_table *truth, int column);
/* Values of a column by row, borrowed. */
const double *pada_score_table_values(const pada_score_table *table, int column);
/* The same by name; an unknown name is PADA_EINVAL and offers the nearest. */
pada_status pada_score_table_column(const pada_score_table *truth, const char *name,
                                    const double **values);

/* The name of the column of a data set: that of the data in lower case without punctuation,
 * "CIFAR-10" is "cifar10". Cut where it is long; "accuracy" if nothing is left that could be one. */
#define PADA_TRUTH_NAME 64
void pada_truth_column_of(const char *data_name, char out[PADA_TRUTH_NAME]);

#ifdef __cplusplus
}
#endif
#endif
