/* part.h - the parts whose latencies add up to that of a network: a block of a chain, an operator of a cell.
 *
 * A part has a key, a text with its operator and its sizes, by which latency tables know it. Blocks have the keys of
 * ProxylessNAS, so that its tables fit:
 *
 *   Conv-input:224x224x3-output:112x112x32
 *   expanded_conv-input:56x56x24-output:56x56x24-expand:3-kernel:5-stride:1-idskip:1
 *   nor_conv_3x3-input:32x32x16-output:32x32x16
 *   Logits-input:7x7x1280-output:1000 */
#ifndef PADA_SPACE_PART_H
#define PADA_SPACE_PART_H

#include <stdbool.h>

#include "base/text.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_part {
    const char *op; /* letters, digits and underscores; borrowed */
    int squeeze;    /* channels of squeeze and excitation; 0: none. "_se8" behind the operator */
    pada_shape in, out; /* out.h is 0 where the part makes logits */
    /* of inverted bottlenecks; all others have kernel 0, and their name says it */
    int expand, kernel, stride;
    bool skip; /* adds its input */
} pada_part;

/* Where a part stands: the number-th of the shared ones, or of those of a choice at a site, which `slot` decides. */
typedef struct pada_part_place {
    int slot, site, choice, number; /* shared: slot -1, site PADA_SHARED, choice 0 */
} pada_part_place;

/* What a network that was cut down to one part consists of (pada_space_isolate). */
typedef enum pada_part_form {
    PADA_PART_NONE,    /* it was not */
    PADA_PART_ALONE,   /* images - x - the part - mean of y - loss */
    PADA_PART_X_ALONE, /* images - x - mean of x - loss */
    PADA_PART_Y_ALONE  /* images - y - mean of y - loss */
} pada_part_form;

/* Appends the name of the operator, the first field of tables, and the key. */
void pada_part_op(const pada_part *part, pada_text *out);
void pada_part_key(const pada_part *part, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
