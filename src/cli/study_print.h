/* study_print.h - the table of a study, for people and as JSON. */
#ifndef PADA_CLI_STUDY_PRINT_H
#define PADA_CLI_STUDY_PRINT_H

#include "study/study_table.h"

/* Appends a line for each run, with means and deviations over seeds of all that is known, then the differences of the pairs. */
void pada_add_study(pada_text *out, const pada_study_table *table);
/* Appends a line of JSON for each run and seed, for each run, and for each pair. */
void pada_add_study_json(pada_text *out, const pada_study_table *table);

#endif
