/* path_index.c - numbers different paths 0, 1, 2, .. in the order in which they come.
 *
 * `slots` is a hash table with open addressing, at most half full: 0 is empty, else number + 1. */
#include "space/path_index.h"

#include "base/hash.h"
#include "base/mem.h"

struct pada_path_index {
    pada_space space;
    int n, cap;
    pada_path *paths; /* [cap], by number */
    uint32_t *slots;  /* [n_slots] */
    uint32_t n_slots; /* a power of two */
};

pada_status pada_path_index_create(pada_path_index **out, const pada_space *space, int cap)
{
    void *mem;
    pada_status st;

    *out = NULL;
    PADA_ASSERT(cap >= 0 && cap <= INT32_MAX / 4);
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_path_index *index = mem;
    index->space = *space;
    index->cap = cap;
    index->n_slots = 2;
    while (index->n_slots < 2 * (uint32_t)cap)
        index->n_slots *= 2;
    if ((st = pada_calloc(&mem, (size_t)cap, sizeof *index->paths)) != PADA_OK) goto fail;
    index->paths = mem;
    if ((st = pada_calloc(&mem, index->n_slots, sizeof *index->slots)) != PADA_OK) goto fail;
    index->slots = mem;
    *out = index;
    return PADA_OK;
fail:
    pada_path_index_destroy(index);
    return st;
}

void pada_path_index_destroy(pada_path_index *index)
{
    if (!index) return;
    pada_free(index->slots);
    pada_free(index->paths);
    pada_free(index);
}

/* The slot of a path: the one that holds it, or the empty one where it belongs. */
static uint32_t *find_slot(const pada_path_index *index, const pada_path *path)
{
    const pada_space *space = &index->space;
    const uint32_t mask = index->n_slots - 1;
    uint32_t i = (uint32_t)pada_hash(path->choice, (size_t)space->ops->n_slots, 0) & mask;

    while (index->slots[i] != 0 &&
           !pada_path_equal(space, &index->paths[index->slots[i] - 1], path))
        i = (i + 1) & mask;
    return &index->slots[i];
}

int pada_path_index_add(pada_path_index *index, const pada_path *path)
{
    uint32_t *slot = find_slot(index, path);

    if (*slot == 0) {
        PADA_ASSERT(index->n < index->cap);
        index->paths[index->n++] = *path;
        *slot = (uint32_t)index->n;
    }
    return (int)*slot - 1;
}

int pada_path_index_find(const pada_path_index *index, const pada_path *path)
{
    return (int)*find_slot(index, path) - 1;
}

int pada_path_index_count(const pada_path_index *index)
{
    return index->n;
}

const pada_path *pada_path_index_get(const pada_path_index *index, int i)
{
    PADA_ASSERT(i >= 0 && i < index->n);
    return &index->paths[i];
}
