/* darts_ops.h - the operators of DARTS, as terms of the sum that is a node. */
#ifndef PADA_SPACE_DARTS_OPS_H
#define PADA_SPACE_DARTS_OPS_H

#include "space/darts_cell.h"
#include "space/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Half of the channels each from 1x1 convolutions of stride 2 that see the even and the odd rows and columns of x, read
 * through a ReLU; then a norm. Rows and columns are even numbers. */
void pada_build_factorised_reduction(pada_builder *b, pada_feature x, int c_out, pada_term *term);

/* norm(1x1(relu(x))) */
void pada_build_relu_conv_norm(pada_builder *b, pada_feature x, int c_out, pada_term *term);

/* The auxiliary head that x, of at least PADA_DARTS_AUXILIARY_SIZE rows and columns, trains as well. */
#define PADA_DARTS_AUXILIARY_SIZE 8
void pada_build_darts_auxiliary(pada_builder *b, pada_feature x, int classes, double weight);

/* An operator that keeps the channels. In the search form pools have a norm; in the final form all but the identity may be
 * dropped for an image. All but `none` are parts of the network. */
void pada_build_darts_op(pada_builder *b, pada_feature x, pada_darts_op op, int stride,
                         pada_term *term);

#ifdef __cplusplus
}
#endif
#endif
