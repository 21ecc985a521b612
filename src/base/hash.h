/* hash.h - a fast 64-bit hash of bytes; the same on every machine, not for adversaries. */
#ifndef PADA_BASE_HASH_H
#define PADA_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* XXH3, 64 bits. The values are part of pada's formats (streams of random numbers, weight hashes in
 * metrics) and never change. `bytes` may be NULL when n is 0. */
uint64_t pada_hash(const void *bytes, size_t n, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
