/* darts_ops.c - the operators of DARTS, as terms of the sum that is a node. */
#include "space/darts_ops.h"

void pada_build_factorised_reduction(pada_builder *b, pada_feature x, int c_out, pada_term *term)
{
    const pada_conv even = pada_conv_make(x.shape.c, c_out / 2, 1, 2, 0, PADA_ACT_RELU);
    pada_conv odd = pada_conv_make(x.shape.c, c_out - c_out / 2, 1, 2, 0, PADA_ACT_RELU);
    pada_feature parts[2];

    odd.offset = 1;
    parts[0] = pada_build_conv(b, x, &even, PADA_BIAS_NONE, "conv_1");
    parts[1] = pada_build_conv(b, x, &odd, PADA_BIAS_NONE, "conv_2");
    pada_build_norm(b, pada_build_concat(b, parts, 2), "bn", term);
}

void pada_build_relu_conv_norm(pada_builder *b, pada_feature x, int c_out, pada_term *term)
{
    const pada_conv conv = pada_conv_make(x.shape.c, c_out, 1, 1, 0, PADA_ACT_RELU);

    pada_build_norm(b, pada_build_conv(b, x, &conv, PADA_BIAS_NONE, "op.1"), "op.2", term);
}

/* A convolution of every channel by itself, a 1x1 convolution of all of them, a norm. */
typedef struct separable {
    int kernel, stride, dilation;
    const char *depthwise, *pointwise, *norm;
} separable;

static void separable_term(pada_builder *b, pada_feature x, const separable *s, pada_term *term)
{
    const int c = x.shape.c, pad = s->dilation * (s->kernel - 1) / 2;
    pada_conv depthwise = pada_conv_make(c, c, s->kernel, s->stride, pad, PADA_ACT_RELU);
    const pada_conv pointwise = pada_conv_make(c, c, 1, 1, 0, PADA_ACT_NONE);

    depthwise.groups = c;
    depthwise.dilation = s->dilation;
    pada_feature z = pada_build_conv(b, x, &depthwise, PADA_BIAS_NONE, s->depthwise);
    z = pada_build_conv(b, z, &pointwise, PADA_BIAS_NONE, s->pointwise);
    pada_build_norm(b, z, s->norm, term);
}

static pada_shape strided(pada_shape shape, int stride)
{
    return (pada_shape){shape.c, (shape.h - 1) / stride + 1, (shape.w - 1) / stride + 1};
}

static void twice_separable_term(pada_builder *b, pada_feature x, int kernel, int stride,
                                 pada_term *term)
{
    const separable first = {kernel, stride, 1, "op.1", "op.2", "op.3"};
    const separable second = {kernel, 1, 1, "op.5", "op.6", "op.7"};

    separable_term(b, x, &first, term);
    separable_term(b, pada_build_sum(b, strided(x.shape, stride), term, 1), &second, term);
}

static void pool_term(pada_builder *b, pada_feature x, pada_pool_kind kind, int stride,
                      pada_term *term)
{
    const pada_pool pool = {.kernel = 3, .stride = stride, .pad = 1};

    if (pada_build_is_final(b) && kind == PADA_POOL_AVG) {
        *term = (pada_term){.kind = PADA_TERM_AVGPOOL, .x = x.value, .pool = pool};
        return;
    }
    const pada_feature y = pada_build_pool(b, x, &pool, kind, PADA_ACT_NONE);
    if (pada_build_is_final(b))
        *term = (pada_term){.kind = PADA_TERM_IDENTITY, .x = y.value};
    else
        pada_build_norm(b, y, "1", term);
}

static void op_term(pada_builder *b, pada_feature x, pada_darts_op op, int stride, pada_term *term)
{
    const int kernel = op == PADA_DARTS_SEP3 || op == PADA_DARTS_DIL3 ? 3 : 5;
    const separable dilated = {kernel, stride, 2, "op.1", "op.2", "op.3"};

    *term = (pada_term){.kind = PADA_TERM_IDENTITY, .x = PADA_ZERO};
    switch (op) {
    case PADA_DARTS_MAX_POOL: pool_term(b, x, PADA_POOL_MAX, stride, term); break;
    case PADA_DARTS_AVG_POOL: pool_term(b, x, PADA_POOL_AVG, stride, term); break;
    case PADA_DARTS_SKIP:
        if (stride == 1)
            term->x = x.value;
        else
            pada_build_factorised_reduction(b, x, x.shape.c, term);
        break;
    case PADA_DARTS_SEP3:
    case PADA_DARTS_SEP5: twice_separable_term(b, x, kernel, stride, term); break;
    case PADA_DARTS_DIL3:
    case PADA_DARTS_DIL5: separable_term(b, x, &dilated, term); break;
    case PADA_DARTS_NONE:
    case PADA_DARTS_OPS: break;
    }
}

/* In the final form all but the identity may be dropped. */
static void dropped_term(pada_builder *b, pada_feature x, pada_darts_op op, int stride,
                         pada_term *term)
{
    op_term(b, x, op, stride, term);
    if (!pada_build_is_final(b) || (op == PADA_DARTS_SKIP && stride == 1)) return;
    const pada_feature y = pada_build_sum(b, strided(x.shape, stride), term, 1);
    *term = (pada_term){.kind = PADA_TERM_IDENTITY,
                        .x = pada_build_drop(b, y, PADA_DROP_IMAGES, 1).value};
}

void pada_build_darts_op(pada_builder *b, pada_feature x, pada_darts_op op, int stride,
                         pada_term *term)
{
    const pada_part part = {.op = pada_darts_labels[op]};

    if (op != PADA_DARTS_NONE) x = pada_build_part_begin(b, &part, x);
    dropped_term(b, x, op, stride, term);
    if (op != PADA_DARTS_NONE) pada_build_part_end_term(b, strided(x.shape, stride), term);
}

void pada_build_darts_auxiliary(pada_builder *b, pada_feature x, int classes, double weight)
{
    const pada_pool pool = {.kernel = 5, .stride = 3, .pad = 0};
    const pada_conv narrow = pada_conv_make(x.shape.c, 128, 1, 1, 0, PADA_ACT_NONE);
    const pada_conv wide = pada_conv_make(128, 768, 2, 1, 0, PADA_ACT_RELU);
    pada_term norm;

    pada_build_auxiliary_begin(b);
    const int mark = pada_build_enter(b, "auxiliary_head");
    x = pada_build_pool(b, x, &pool, PADA_POOL_AVG, PADA_ACT_RELU);
    x = pada_build_conv(b, x, &narrow, PADA_BIAS_NONE, "features.2");
    pada_build_norm(b, x, "features.3", &norm);
    x = pada_build_sum(b, x.shape, &norm, 1);
    x = pada_build_conv(b, x, &wide, PADA_BIAS_NONE, "features.5");
    pada_build_norm(b, x, "features.6", &norm);
    x = pada_build_gap(b, pada_build_sum(b, x.shape, &norm, 1), PADA_ACT_RELU);
    x = pada_build_linear(b, x, classes, "classifier");
    pada_build_leave(b, mark);
    pada_build_auxiliary_end(b, x, weight);
}
