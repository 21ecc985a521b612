/* mem.h - counted host memory with fault injection.
 *
 * All host memory of pada comes from here, so that tests can make the n-th allocation fail and can
 * see that nothing leaks. */
#ifndef PADA_BASE_MEM_H
#define PADA_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_ALIGN 64 /* bytes: one cache line, one AVX-512 register */

/* *out = a * b, or false (and *out is 0) if that does not fit. For sizes that come from files and
 * users. */
static inline bool pada_size_mul(size_t a, size_t b, size_t *out)
{
    const bool fits = a == 0 || b <= SIZE_MAX / a;

    *out = fits ? a * b : 0;
    return fits;
}

/* Zeroed memory for n objects of `size` bytes; n * size is checked for overflow. n = 0 gives a
 * valid pointer. */
pada_status pada_calloc(void **out, size_t n, size_t size);

/* Zeroed memory aligned to PADA_ALIGN; blocks of 2 MiB and more are aligned to 2 MiB and ask for
 * huge pages. */
pada_status pada_alloc_aligned(void **out, size_t bytes);

/* A copy of a string. */
pada_status pada_strdup(char **out, const char *text);

/* Gives back what the three functions above returned; NULL is fine. */
void pada_free(void *memory);

/* Makes *items, with room for *cap elements of `size` bytes, hold at least `need`; contents are
 * kept, new bytes are zero. *items may be NULL with *cap 0. On failure nothing has changed. */
pada_status pada_grow(void **items, int *cap, int need, size_t size);

/* Allocations made so far and not freed, for leak tests. */
int64_t pada_mem_live(void);

/* Allocations made so far; the distance between two readings shows that a step allocates nothing.
 */
int64_t pada_mem_count(void);

/* Makes the n-th allocation from now fail (0 = the next one), once. -1 switches the injection off.
 */
void pada_mem_fail_after(int64_t n);

#ifdef __cplusplus
}
#endif
#endif
