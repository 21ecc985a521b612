/* truth_import.h - truth tables from the forms in which others publish accuracies of networks.
 *
 *   {"ARCH": 93.7, ..}                           JSON, one data set: `column` names it
 *   {"DATA": {"ARCH": 93.7, ..}, ..}             JSON, data sets first; or the other way round
 *   {"DATA": {"ARCH": {"val_accuracy": ..}}}     where a network has an object, one of the names in accuracy_names
 *   ARCH,93.7                                    lines of text with any separator, also under a header
 *
 * Architectures are in any dialect of the space. The result is a table as score_table.h reads it, with a column for
 * every data set and a row for every network, in the order of the file. */
#ifndef PADA_STUDY_TRUTH_IMPORT_H
#define PADA_STUDY_TRUTH_IMPORT_H

#include "base/status.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is borrowed. */
typedef struct pada_import_desc {
    const pada_space *space;
    const char *file;
    const char *dialect; /* of the architectures; NULL: any that is not ambiguous */
    const char
        *column; /* the data set, where the file names none; else the one to take; NULL: all */
} pada_import_desc;

typedef struct pada_import_result {
    int n_networks, n_columns;
} pada_import_result;

/* Appends the table to `out`. What is not a table is PADA_EDATA with what is wrong: a network twice, one without
 * a value, a value outside 0 to 100 (or 0 to 1, which is made percent). */
pada_status pada_truth_import(const pada_import_desc *desc, pada_text *out,
                              pada_import_result *result);

#ifdef __cplusplus
}
#endif
#endif
