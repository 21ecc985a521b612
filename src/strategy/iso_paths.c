/* iso_paths.c - one path of every class of isomorphic ones, all equally likely. */
#include "strategy/iso_paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "space/path_number.h"

enum { MAX_PATHS = 1 << 20 /* of a space that can be listed */ };

/* A class by the hash of its key: 64 bits keep a million classes apart. */
typedef struct entry {
    uint64_t key;
    int32_t number;
} entry;

static int by_key(const void *left, const void *right)
{
    const entry *a = left, *b = right;

    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->number - b->number;
}

static int by_number(const void *left, const void *right)
{
    return *(const int32_t *)left - *(const int32_t *)right;
}

static pada_status list_keys(const pada_space *space, entry *entries, int n)
{
    for (int i = 0; i < n; i++) {
        pada_text key = {0};
        pada_path path;
        entries[i] = (entry){(uint64_t)i, i};
        if (!space->ops->iso_key) continue;
        pada_path_of_number(space, i, &path);
        space->ops->iso_key(space, &path, &key);
        const pada_status st = key.status;
        entries[i].key = pada_hash(pada_text_str(&key), key.length, 0);
        pada_text_deinit(&key);
        if (st != PADA_OK) return st;
    }
    return PADA_OK;
}

static void find_marginals(pada_iso_paths *list)
{
    pada_path_sampler_init(&list->sampler, list->space);
    memset(list->sampler.p, 0, sizeof list->sampler.p);
    for (int i = 0; i < list->n; i++) {
        pada_path path;
        pada_path_of_number(list->space, list->numbers[i], &path);
        for (int slot = 0; slot < list->space->ops->n_slots; slot++)
            list->sampler.p[slot][path.choice[slot]] += 1.0 / list->n;
    }
}

pada_status pada_iso_paths_init(pada_iso_paths *list, const pada_space *space)
{
    const int n = pada_path_count(space, MAX_PATHS);
    void *memory;

    list->space = space;
    if (n > MAX_PATHS)
        return PADA_FAIL(PADA_EINVAL, "space %s has more than %d paths to list", space->ops->name,
                         MAX_PATHS);
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof *list->numbers));
    list->numbers = memory; /* deinit gives it back, whatever comes */
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof(entry)));
    entry *entries = memory;
    const pada_status st = list_keys(space, entries, n);
    if (st == PADA_OK) {
        qsort(entries, (size_t)n, sizeof *entries, by_key);
        for (int i = 0; i < n; i++)
            if (i == 0 || entries[i].key != entries[i - 1].key)
                list->numbers[list->n++] = entries[i].number;
        qsort(list->numbers, (size_t)list->n, sizeof *list->numbers, by_number);
        find_marginals(list);
    }
    pada_free(entries);
    return st;
}

void pada_iso_paths_deinit(pada_iso_paths *list)
{
    pada_free(list->numbers);
}

void pada_iso_paths_draw(const pada_iso_paths *list, uint64_t seed, int64_t step, pada_path *path)
{
    pada_rng rng;

    pada_rng_init(&rng, seed, "path", (uint64_t)step);
    pada_path_of_number(list->space, list->numbers[pada_rng_below(&rng, (uint32_t)list->n)], path);
}
