/* path_index.h - numbers different paths 0, 1, 2, .. in the order in which they come. */
#ifndef PADA_SPACE_PATH_INDEX_H
#define PADA_SPACE_PATH_INDEX_H

#include "base/status.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_path_index pada_path_index;

/* Room for `cap` paths, 0 to INT32_MAX / 4. */
pada_status pada_path_index_create(pada_path_index **out, const pada_space *space, int cap);
void pada_path_index_destroy(pada_path_index *index); /* NULL is fine */

/* The number of a path, which becomes the next one if it is new; there must be room (asserted). */
int pada_path_index_add(pada_path_index *index, const pada_path *path);
int pada_path_index_find(const pada_path_index *index, const pada_path *path); /* -1: not there */

int pada_path_index_count(const pada_path_index *index);
const pada_path *pada_path_index_get(const pada_path_index *index, int i); /* borrowed */

#ifdef __cplusplus
}
#endif
#endif
