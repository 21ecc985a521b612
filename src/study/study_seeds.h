/* study_seeds.h - lists of seeds as studies write them: "0-2,7". Private to study_plan.c. */
#ifndef PADA_STUDY_STUDY_SEEDS_H
#define PADA_STUDY_STUDY_SEEDS_H

#include "study/study_plan.h"

/* Appends the seeds of a text: numbers and ranges, separated by commas. PADA_EINVAL, "`what`: ..", for anything else, a seed
 * that is there already, and more than PADA_STUDY_MAX_SEEDS. */
pada_status pada_study_seeds_add(pada_study_seeds *seeds, const char *text, const char *what);
/* Replaces them by those of others. */
pada_status pada_study_seeds_copy(pada_study_seeds *seeds, const pada_study_seeds *from);

enum { PADA_STUDY_MAX_SEEDS = 1000 };

#endif
