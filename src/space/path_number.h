/* path_number.h - paths as numbers: slot 0 is the first digit. */
#ifndef PADA_SPACE_PATH_NUMBER_H
#define PADA_SPACE_PATH_NUMBER_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many paths a space has; more than `most` are most + 1. */
int pada_path_count(const pada_space *space, int most);
void pada_path_of_number(const pada_space *space, int number, pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
