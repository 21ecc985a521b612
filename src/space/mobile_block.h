/* mobile_block.h - the inverted bottleneck of MobileNetV2, which the chain spaces are made of.
 *
 *   x - 1x1 - norm - act - k x k of every channel by itself - norm - act - 1x1 - norm - (+ x) - y
 *      c_in       expand * c_in                    stride                     c_out
 *
 * With expand 1 the first convolution is left out. With squeeze and excitation, what the last convolution reads is
 * multiplied by the sigmoid of two 1x1 convolutions of its mean. */
#ifndef PADA_SPACE_MOBILE_BLOCK_H
#define PADA_SPACE_MOBILE_BLOCK_H

#include "space/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution and its norm, as modules of PyTorch. */
typedef struct pada_conv_names {
    const char *conv, *norm;
} pada_conv_names;

typedef struct pada_mobile_names {
    pada_conv_names expand, depthwise, project;
    const char *squeeze, *excite; /* NULL: there is none */
} pada_mobile_names;

typedef struct pada_mobile_block {
    int c_out, kernel, expand, stride;
    pada_act act;    /* inside */
    pada_act act_in; /* through which x is read; NONE where x is added */
    int squeeze;     /* channels between the two convolutions of squeeze and excitation; 0: none */
    bool is_residual;
    double drop_share; /* of drop path, of what is added to x in the final form; 0: none */
    const pada_mobile_names *names;
} pada_mobile_block;

/* norm(conv(act(x))) as a sum of its own. */
pada_feature pada_build_conv_norm(pada_builder *b, pada_feature x, const pada_conv *conv,
                                  const pada_conv_names *names);
/* The same as a part of the network, by this name. */
pada_feature pada_build_conv_part(pada_builder *b, pada_feature x, const pada_conv *conv,
                                  const pada_conv_names *names, const char *op);

/* Is a part of the network. */
pada_feature pada_build_mobile(pada_builder *b, pada_feature x, const pada_mobile_block *block);

/* The end of a chain, a part as well: the mean of act(x), dropout in training where it is dropped, logits, loss. */
typedef struct pada_mobile_head {
    int classes;
    pada_act act;
    bool is_dropped;
    const char *classifier; /* its name */
} pada_mobile_head;

void pada_build_mobile_head(pada_builder *b, pada_feature x, const pada_mobile_head *head);

/* Whether a layer may be left out, and whether a block adds its input. */
static inline bool pada_mobile_keeps_shape(int c_in, int c_out, int stride)
{
    return stride == 1 && c_in == c_out;
}

#ifdef __cplusplus
}
#endif
#endif
