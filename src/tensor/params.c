/* params.c - the map of a parameter buffer; params.h draws it.
 *
 * Invariants
 *   1. items[] is in buffer order, so (site, choice) never decreases, with PADA_SHARED = -1 first: the tensors of one
 *      (site, choice) are neighbours and binary search finds them.
 *   2. Every offset and `elements` are multiples of PADA_PARAM_ALIGN, so ranges tile the buffer.
 *   3. `index` is an open-addressing hash table of ids + 1 (0: empty) by name, at most half full, its size a power
 *      of two. */
#include "tensor/params.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

/* Bytes of a buffer of doubles still fit in 63 bits. */
#define MAX_ELEMENTS (INT64_MAX / 16)

struct pada_params {
    pada_param **items; /* owned one by one, so that borrowed pointers survive an add */
    int *index;
    int n_items, cap_items, n_index;
    int64_t elements;
};

pada_status pada_params_create(pada_params **out)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    *out = memory;
    return PADA_OK;
}

void pada_params_destroy(pada_params *params)
{
    if (!params) return;
    for (int i = 0; i < params->n_items; i++)
        pada_free(params->items[i]);
    pada_free(params->items);
    pada_free(params->index);
    pada_free(params);
}

/* The place of a name in the table: its own, or the empty one where it would go. */
static int find_place(pada_param *const *items, const int *index, int n_index, const char *name)
{
    int i = (int)(pada_hash(name, strlen(name), 0) & (uint64_t)(n_index - 1));

    while (index[i] != 0 && strcmp(items[index[i] - 1]->name, name) != 0)
        i = (i + 1) & (n_index - 1);
    return i;
}

/* Room for one more name. */
static pada_status grow_index(pada_params *params)
{
    void *memory;

    if (params->n_items < params->n_index / 2) return PADA_OK;
    if (params->n_index > INT32_MAX / 2) return PADA_FAIL(PADA_ENOMEM, "too many parameters");
    const int n_index = params->n_index ? params->n_index * 2 : 64;
    PADA_TRY(pada_calloc(&memory, (size_t)n_index, sizeof *params->index));
    int *index = memory;
    for (int i = 0; i < params->n_items; i++)
        index[find_place(params->items, index, n_index, params->items[i]->name)] = i + 1;
    pada_free(params->index);
    params->index = index;
    params->n_index = n_index;
    return PADA_OK;
}

static pada_status check_shape(const pada_param *param, int64_t *count)
{
    if (param->n_dims < 0 || param->n_dims > 4)
        return PADA_FAIL(PADA_EINVAL, "parameter '%s': %d dimensions are not 0 to 4", param->name,
                         param->n_dims);
    *count = 1;
    for (int i = 0; i < param->n_dims; i++) {
        if (param->dims[i] <= 0)
            return PADA_FAIL(PADA_EINVAL, "parameter '%s': dimension %d is %d", param->name, i,
                             param->dims[i]);
        if (*count > MAX_ELEMENTS / param->dims[i])
            return PADA_FAIL(PADA_EINVAL, "parameter '%s': too large", param->name);
        *count *= param->dims[i];
    }
    return PADA_OK;
}

/* < 0, 0, > 0 as the tensor lies before, in or behind (site, choice). */
static int compare_owner(const pada_param *param, int site, int choice)
{
    if (param->site != site) return param->site < site ? -1 : 1;
    return param->choice < choice ? -1 : param->choice > choice;
}

static pada_status check_owner(const pada_params *params, const pada_param *param)
{
    if (param->site < PADA_SHARED || param->choice < 0 ||
        (param->site == PADA_SHARED && param->choice != 0))
        return PADA_FAIL(PADA_EINVAL, "parameter '%s': there is no site %d, choice %d", param->name,
                         param->site, param->choice);
    if (params->n_items == 0) return PADA_OK;
    const pada_param *last = params->items[params->n_items - 1];
    if (compare_owner(last, param->site, param->choice) > 0)
        return PADA_FAIL(PADA_EINVAL,
                         "parameter '%s' (site %d, choice %d) comes after site %d, choice %d",
                         param->name, param->site, param->choice, last->site, last->choice);
    return PADA_OK;
}

pada_status pada_params_add(pada_params *params, const pada_param *param, int *id)
{
    void *memory, *items = params->items;
    int64_t count = 0;

    if (param->name[0] == '\0' || !memchr(param->name, '\0', sizeof param->name))
        return PADA_FAIL(PADA_EINVAL, "parameter '%.95s': the name is empty or too long",
                         param->name);
    PADA_TRY(check_shape(param, &count));
    if (!(param->bound >= 0) || !isfinite(param->bound) || !isfinite(param->centre))
        return PADA_FAIL(PADA_EINVAL, "parameter '%s': initial values %g +- %g", param->name,
                         param->centre, param->bound);
    PADA_TRY(check_owner(params, param));
    const int64_t aligned = (count + PADA_PARAM_ALIGN - 1) / PADA_PARAM_ALIGN * PADA_PARAM_ALIGN;
    if (aligned > MAX_ELEMENTS - params->elements)
        return PADA_FAIL(PADA_EINVAL, "parameter '%s': the buffer is too large", param->name);

    /* Growing without adding changes nothing that a caller can see, so these may fail half-way. */
    PADA_TRY(grow_index(params));
    const int place = find_place(params->items, params->index, params->n_index, param->name);
    if (params->index[place] != 0)
        return PADA_FAIL(PADA_EINVAL, "parameter '%s' stands twice", param->name);
    PADA_TRY(pada_grow(&items, &params->cap_items, params->n_items + 1, sizeof *params->items));
    params->items = items;
    PADA_TRY(pada_calloc(&memory, 1, sizeof *param));

    pada_param *copy = memory;
    *copy = *param;
    for (int i = copy->n_dims; i < 4; i++)
        copy->dims[i] = 1;
    copy->count = count;
    copy->offset = params->elements;
    params->elements += aligned;
    params->index[place] = params->n_items + 1;
    *id = params->n_items;
    params->items[params->n_items++] = copy;
    return PADA_OK;
}

int pada_params_count(const pada_params *params)
{
    return params->n_items;
}

const pada_param *pada_params_get(const pada_params *params, int id)
{
    PADA_ASSERT(id >= 0 && id < params->n_items);
    return params->items[id];
}

int pada_params_find(const pada_params *params, const char *name)
{
    if (params->n_index == 0) return -1;
    return params->index[find_place(params->items, params->index, params->n_index, name)] - 1;
}

int64_t pada_params_elements(const pada_params *params)
{
    return params->elements;
}

int64_t pada_params_largest(const pada_params *params)
{
    int64_t most = 0;

    for (int i = 0; i < pada_params_count(params); i++) {
        const int64_t n = pada_params_get(params, i)->count;
        if (n > most) most = n;
    }
    return most;
}

int pada_params_first(const pada_params *params, int site, int choice)
{
    int low = 0, high = params->n_items;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (compare_owner(params->items[middle], site, choice) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Where the part of the buffer of (site, choice) starts, or would. */
static int64_t start_of(const pada_params *params, int site, int choice)
{
    const int first = pada_params_first(params, site, choice);

    return first < params->n_items ? params->items[first]->offset : params->elements;
}

pada_range pada_params_range(const pada_params *params, int site, int choice)
{
    if (site == PADA_SHARED) choice = 0;
    PADA_ASSERT(site >= PADA_SHARED && choice >= 0 && choice < INT32_MAX);
    const int64_t first = start_of(params, site, choice);
    const int64_t end = start_of(params, site, choice + 1);
    return (pada_range){.first = first, .count = end - first};
}

void pada_params_draw(const pada_params *params, int id, uint64_t seed, double *to)
{
    const pada_param *p = pada_params_get(params, id);
    pada_rng rng;

    pada_rng_init(&rng, seed, "init", (uint64_t)id);
    for (int64_t k = 0; k < p->count; k++)
        to[k] = (float)(p->centre + (2 * pada_rng_uniform(&rng) - 1) * p->bound);
}
