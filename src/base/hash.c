/* hash.c - pada_hash is XXH3 of the xxHash library, whose output is frozen since its version 0.8.0.
 */
#include "base/hash.h"

#include <xxhash.h>

uint64_t pada_hash(const void *bytes, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(n ? bytes : "", n, seed);
}
