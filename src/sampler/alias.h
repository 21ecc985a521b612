/* alias.h - draws from a distribution over many items in constant time (Walker's alias method).
 *
 * Item i owns an equal share of the unit interval; what of its share exceeds its probability is
 * given to one other item. Building is linear in the number of items. */
#ifndef PADA_SAMPLER_ALIAS_H
#define PADA_SAMPLER_ALIAS_H

#include <stdint.h>

#include "base/rng.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_alias pada_alias;

/* Room for n items; building and drawing allocate nothing. */
pada_status pada_alias_create(pada_alias **out, int n);
void pada_alias_destroy(pada_alias *alias); /* NULL is fine */

/* Takes n weights that need not add up to one. A weight that is negative or not finite, or a sum of
 * zero, is PADA_ENUMERIC. */
pada_status pada_alias_build(pada_alias *alias, const double *weights);
/* An item with probability weight / sum: three 32-bit draws. */
int pada_alias_draw(const pada_alias *alias, pada_rng *rng);

#ifdef __cplusplus
}
#endif
#endif
