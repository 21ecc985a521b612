/* auto_plan.h - sizes for `pada auto` that fit the images and the time. */
#ifndef PADA_CLI_AUTO_PLAN_H
#define PADA_CLI_AUTO_PLAN_H

#include "cli/auto_args.h"

/* Chooses what was not given (study/size_rules.h), tells people why, a line each, and takes the number of classes from
 * the images. Looks at the images, and times steps where lengths are to be chosen. */
pada_status pada_auto_plan(pada_auto *a);

#endif
