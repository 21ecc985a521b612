/* mem.c - counted host memory with fault injection.
 *
 * Invariants
 *   1. Every block comes from calloc or posix_memalign, so free() takes back any of them.
 *   2. `live` and `total` change only after an allocation has succeeded.
 *   3. `countdown` is -1 (off) or the number of allocations that will still succeed; exactly one thread sees it
 *      go from 0 to -1, so exactly one allocation fails. */
#include "base/mem.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

static atomic_int_least64_t live, total;
static atomic_int_least64_t countdown = -1;

static bool is_injected_failure(void)
{
    int_least64_t n = atomic_load(&countdown);

    while (n >= 0)
        if (atomic_compare_exchange_weak(&countdown, &n, n - 1)) return n == 0;
    return false;
}

static void count_one(void)
{
    atomic_fetch_add(&live, 1);
    atomic_fetch_add(&total, 1);
}

pada_status pada_calloc(void **out, size_t n, size_t size)
{
    size_t bytes;

    *out = NULL;
    /* The upper half of the range can only come from an arithmetic slip; sanitizers abort on such
     * requests. */
    if (!pada_size_mul(n, size, &bytes) || bytes > PTRDIFF_MAX)
        return PADA_FAIL(PADA_ENOMEM, "out of memory (%zu objects of %zu bytes)", n, size);
    /* calloc(0) may return NULL; one byte never does. */
    void *memory = is_injected_failure() ? NULL : calloc(1, bytes ? bytes : 1);
    if (!memory) return PADA_FAIL(PADA_ENOMEM, "out of memory (%zu bytes)", bytes);
    count_one();
    *out = memory;
    return PADA_OK;
}

pada_status pada_alloc_aligned(void **out, size_t bytes)
{
    const bool huge = bytes >= HUGE_PAGE_BYTES;
    void *memory = NULL;

    *out = NULL;
    if (bytes > PTRDIFF_MAX || is_injected_failure() ||
        posix_memalign(&memory, huge ? HUGE_PAGE_BYTES : PADA_ALIGN, bytes ? bytes : 1) != 0)
        return PADA_FAIL(PADA_ENOMEM, "out of memory (%zu bytes)", bytes);
#ifdef MADV_HUGEPAGE
    /* Asked for before the first touch. It is a wish: kernels without huge pages say no and nothing
     * is lost. */
    if (huge) (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    memset(memory, 0, bytes);
    count_one();
    *out = memory;
    return PADA_OK;
}

pada_status pada_strdup(char **out, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, bytes, 1));
    memcpy(memory, text, bytes);
    *out = memory;
    return PADA_OK;
}

void pada_free(void *memory)
{
    if (!memory) return;
    atomic_fetch_sub(&live, 1);
    free(memory);
}

pada_status pada_grow(void **items, int *cap, int need, size_t size)
{
    void *grown;

    PADA_ASSERT(need >= 0 && *cap >= 0 && size > 0);
    if (need <= *cap) return PADA_OK;

    /* Doubling keeps the cost of n appends linear in n. */
    int new_cap = *cap > INT_MAX / 2 ? INT_MAX : *cap * 2;
    if (new_cap < 8) new_cap = 8;
    if (new_cap < need) new_cap = need;
    PADA_TRY(pada_calloc(&grown, (size_t)new_cap, size));
    if (*items) memcpy(grown, *items, (size_t)*cap * size);
    pada_free(*items);
    *items = grown;
    *cap = new_cap;
    return PADA_OK;
}

int64_t pada_mem_live(void)
{
    return atomic_load(&live);
}

int64_t pada_mem_count(void)
{
    return atomic_load(&total);
}

void pada_mem_fail_after(int64_t n)
{
    atomic_store(&countdown, n < 0 ? -1 : n);
}
