/* mobile_block.c - the inverted bottleneck of MobileNetV2, which the chain spaces are made of. */
#include "space/mobile_block.h"

pada_feature pada_build_conv_norm(pada_builder *b, pada_feature x, const pada_conv *conv,
                                  const pada_conv_names *names)
{
    const pada_feature z = pada_build_conv(b, x, conv, PADA_BIAS_NONE, names->conv);
    pada_term norm;

    pada_build_norm(b, z, names->norm, &norm);
    return pada_build_sum(b, z.shape, &norm, 1);
}

pada_feature pada_build_conv_part(pada_builder *b, pada_feature x, const pada_conv *conv,
                                  const pada_conv_names *names, const char *op)
{
    const pada_part part = {.op = op};

    x = pada_build_part_begin(b, &part, x);
    return pada_build_part_end(b, pada_build_conv_norm(b, x, conv, names));
}

/* act(x), each channel by what all of them say about it. */
static pada_feature squeeze_excite(pada_builder *b, pada_feature x, const pada_mobile_block *block)
{
    const pada_conv squeeze = pada_conv_make(x.shape.c, block->squeeze, 1, 1, 0, PADA_ACT_NONE);
    const pada_conv excite = pada_conv_make(block->squeeze, x.shape.c, 1, 1, 0, PADA_ACT_RELU);
    pada_feature s = pada_build_gap(b, x, block->act);

    s = pada_build_conv(b, s, &squeeze, PADA_BIAS_ADDED, block->names->squeeze);
    s = pada_build_conv(b, s, &excite, PADA_BIAS_ADDED, block->names->excite);
    return pada_build_gate(b, x, block->act, s);
}

static pada_feature build_block(pada_builder *b, pada_feature x, const pada_mobile_block *block)
{
    const int hidden = x.shape.c * block->expand;
    const pada_mobile_names *names = block->names;
    pada_act act = block->act_in;
    pada_feature h = x;
    pada_term terms[2] = {{.x = PADA_ZERO}, {.kind = PADA_TERM_IDENTITY, .x = x.value}};

    PADA_ASSERT(!block->is_residual || block->act_in == PADA_ACT_NONE);
    if (block->expand > 1) {
        const pada_conv expand = pada_conv_make(x.shape.c, hidden, 1, 1, 0, act);
        h = pada_build_conv_norm(b, x, &expand, &names->expand);
        act = block->act;
    }
    pada_conv depthwise =
        pada_conv_make(hidden, hidden, block->kernel, block->stride, block->kernel / 2, act);
    depthwise.groups = hidden;
    h = pada_build_conv_norm(b, h, &depthwise, &names->depthwise);
    act = block->act;
    if (block->squeeze > 0) {
        h = squeeze_excite(b, h, block);
        act = PADA_ACT_NONE;
    }
    const pada_conv project = pada_conv_make(hidden, block->c_out, 1, 1, 0, act);
    h = pada_build_conv(b, h, &project, PADA_BIAS_NONE, names->project.conv);
    pada_build_norm(b, h, names->project.norm, &terms[0]);
    if (block->is_residual && block->drop_share > 0 && pada_build_is_final(b)) {
        const pada_feature branch = pada_build_sum(b, h.shape, terms, 1);
        terms[0] =
            (pada_term){.kind = PADA_TERM_IDENTITY,
                        .x = pada_build_drop(b, branch, PADA_DROP_IMAGES, block->drop_share).value};
    }
    return pada_build_sum(b, h.shape, terms, block->is_residual ? 2 : 1);
}

/* Its key is that of ProxylessNAS. */
pada_feature pada_build_mobile(pada_builder *b, pada_feature x, const pada_mobile_block *block)
{
    const pada_part part = {.op = "expanded_conv",
                            .squeeze = block->squeeze,
                            .expand = block->expand,
                            .kernel = block->kernel,
                            .stride = block->stride,
                            .skip = block->is_residual};

    x = pada_build_part_begin(b, &part, x);
    return pada_build_part_end(b, build_block(b, x, block));
}

void pada_build_mobile_head(pada_builder *b, pada_feature x, const pada_mobile_head *head)
{
    x = pada_build_part_begin(b, &(pada_part){.op = "Logits"}, x);
    x = pada_build_gap(b, x, head->act);
    if (head->is_dropped && pada_build_is_final(b))
        x = pada_build_drop(b, x, PADA_DROP_ELEMENTS, 1);
    x = pada_build_linear(b, x, head->classes, head->classifier);
    pada_build_loss(b, pada_build_part_end_logits(b, x));
}
