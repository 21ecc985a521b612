/* loss_cases.h - networks with auxiliary losses, and with drops. */
#ifndef PADA_TESTS_OPS_LOSS_CASES_H
#define PADA_TESTS_OPS_LOSS_CASES_H

#include "ops/op_cases.h"

/* Which losses a network has: the gradients of both are those of the one, and AUXILIARY_WEIGHT times those of the
 * other, which is the loss where it stands alone. */
enum { THE_LOSS = 1, AUXILIARY_LOSS = 2 };
#define AUXILIARY_WEIGHT 0.4

/* Network i with the same parameters whatever the losses; false: there is none of that number. */
bool auxiliary_case(int i, unsigned losses, graph_case *c, char *name, size_t size);

/* Network i with dropout or drop path; masks of each drop something and keep something. */
bool drop_case(int i, graph_case *c, char *name, size_t size);

#endif
