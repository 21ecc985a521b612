/* op.c - the table of operators, their output shapes and multiply-adds, and what kernels accept. */
#include "op/op.h"

#include <stdio.h>

enum { PADA_CODE_NO = -1 };

static const pada_op_info infos[PADA_N_OPS] = {
#define PADA_OP(name_, NAME, operands_, role_, reads_, shape_, macs_, eval_, train_, backward_) \
    {.name = #name_,                                                                            \
     .operands = PADA_OPERANDS_##operands_,                                                     \
     .role = PADA_ROLE_##role_,                                                                 \
     .reads = PADA_READS_##reads_,                                                              \
     .eval = PADA_CODE_##eval_,                                                                 \
     .train = PADA_CODE_##train_,                                                               \
     .backward = PADA_CODE_##backward_},
#include "op/ops.def"
#undef PADA_OP
};

const pada_op_info *pada_op_get(pada_op op)
{
    PADA_ASSERT(op >= 0 && op < PADA_N_OPS);
    return &infos[op];
}

const char *pada_op_name(pada_op op)
{
    return pada_op_get(op)->name;
}

/* Output size of a window of `extent` pixels moved by `stride` over n pixels with `pad` on both
 * sides. */
static int windows(int n, int extent, int stride, int pad)
{
    return (n + 2 * pad - extent) / stride + 1;
}

pada_conv pada_conv_make(int c_in, int c_out, int kernel, int stride, int pad, pada_act act)
{
    return (pada_conv){.c_in = c_in,
                       .c_out = c_out,
                       .kernel = kernel,
                       .stride = stride,
                       .pad = pad,
                       .act = act,
                       .groups = 1,
                       .dilation = 1};
}

pada_status pada_conv_shape(const pada_conv *conv, pada_shape in, pada_shape *out)
{
    if (conv->c_in != in.c)
        return PADA_FAIL(PADA_EINVAL, "conv of %d channels reads a tensor of %d", conv->c_in, in.c);
    if (conv->c_out < 1 || conv->groups < 1 || conv->c_in % conv->groups != 0 ||
        conv->c_out % conv->groups != 0)
        return PADA_FAIL(PADA_EINVAL, "conv from %d to %d channels in %d groups", conv->c_in,
                         conv->c_out, conv->groups);
    const int extent = (conv->kernel - 1) * conv->dilation + 1;
    if (conv->kernel < 1 || conv->stride < 1 || conv->dilation < 1 || conv->pad < 0 ||
        conv->pad >= extent)
        return PADA_FAIL(PADA_EINVAL, "conv with kernel %d, stride %d, pad %d, dilation %d",
                         conv->kernel, conv->stride, conv->pad, conv->dilation);
    if (conv->offset < 0 || (conv->offset > 0 && conv->pad > 0))
        return PADA_FAIL(PADA_EINVAL, "conv with offset %d and pad %d", conv->offset, conv->pad);
    const int h = in.h - conv->offset, w = in.w - conv->offset;
    if (h + 2 * conv->pad < extent || w + 2 * conv->pad < extent)
        return PADA_FAIL(PADA_EINVAL, "conv kernel %d is larger than its %dx%d input", extent, h,
                         w);
    out->c = conv->c_out;
    out->h = windows(h, extent, conv->stride, conv->pad);
    out->w = windows(w, extent, conv->stride, conv->pad);
    return PADA_OK;
}

pada_status pada_pool_shape(const pada_pool *pool, pada_shape in, pada_shape *out)
{
    if (pool->kernel < 1 || pool->stride < 1 || pool->pad < 0 || pool->pad >= pool->kernel)
        return PADA_FAIL(PADA_EINVAL, "pool with kernel %d, stride %d, pad %d", pool->kernel,
                         pool->stride, pool->pad);
    if (in.h + 2 * pool->pad < pool->kernel || in.w + 2 * pool->pad < pool->kernel)
        return PADA_FAIL(PADA_EINVAL, "pool kernel %d is larger than its %dx%d input", pool->kernel,
                         in.h, in.w);
    out->c = in.c;
    out->h = windows(in.h, pool->kernel, pool->stride, pool->pad);
    out->w = windows(in.w, pool->kernel, pool->stride, pool->pad);
    return PADA_OK;
}

int64_t pada_conv_weights(const pada_conv *conv)
{
    PADA_ASSERT(conv->groups > 0); /* of pada_conv_make */
    return (int64_t)conv->c_out * (conv->c_in / conv->groups) * conv->kernel * conv->kernel;
}

int64_t pada_conv_macs(const pada_conv *conv, pada_shape out)
{
    return pada_conv_weights(conv) * out.h * out.w;
}

int64_t pada_linear_macs(int in, int out)
{
    return (int64_t)out * (in + 1);
}

pada_grouping pada_conv_grouping(const pada_conv *conv)
{
    if (conv->groups == 1) return PADA_DENSE;
    return conv->groups == conv->c_in && conv->c_in == conv->c_out ? PADA_DEPTHWISE : PADA_GROUPED;
}

bool pada_conv_in(const pada_conv_list *list, const pada_conv *conv)
{
    return pada_set_has(list->kernels, conv->kernel) && pada_set_has(list->strides, conv->stride) &&
           pada_set_has(list->pads, conv->pad) && pada_set_has(list->dilations, conv->dilation) &&
           pada_set_has(list->groupings, (int)pada_conv_grouping(conv)) &&
           pada_set_has(list->acts, (int)conv->act) && pada_set_has(list->offsets, conv->offset);
}

const char *pada_conv_text(const pada_conv *conv, char *room, size_t size)
{
    static const char *const acts[] = {"no activation", "relu", "relu6"};
    const bool named = (size_t)conv->act < sizeof acts / sizeof *acts;

    (void)snprintf(
        room, size, "conv %dx%d %d->%d, stride %d, pad %d, groups %d, dilation %d, offset %d, %s",
        conv->kernel, conv->kernel, conv->c_in, conv->c_out, conv->stride, conv->pad, conv->groups,
        conv->dilation, conv->offset, named ? acts[conv->act] : "unknown activation");
    return room;
}

/* ---- by node: the columns `shape` and `macs` of ops.def ---- */

static pada_status shape_given(const pada_node *node, pada_shape in, pada_shape *out)
{
    (void)in;
    *out = node->shape;
    return PADA_OK;
}

static pada_status shape_same(const pada_node *node, pada_shape in, pada_shape *out)
{
    (void)node;
    *out = in;
    return PADA_OK;
}

static pada_status shape_pixel(const pada_node *node, pada_shape in, pada_shape *out)
{
    (void)node;
    *out = (pada_shape){in.c, 1, 1};
    return PADA_OK;
}

static pada_status shape_conv(const pada_node *node, pada_shape in, pada_shape *out)
{
    return pada_conv_shape(&node->conv, in, out);
}

static pada_status shape_pool(const pada_node *node, pada_shape in, pada_shape *out)
{
    return pada_pool_shape(&node->pool, in, out);
}

static int64_t macs_none(const pada_node *node, pada_shape in)
{
    (void)node, (void)in;
    return 0;
}

static int64_t macs_conv(const pada_node *node, pada_shape in)
{
    (void)in;
    return pada_conv_macs(&node->conv, node->shape);
}

static int64_t macs_linear(const pada_node *node, pada_shape in)
{
    return pada_linear_macs(in.c, node->shape.c);
}

static const struct {
    pada_status (*shape)(const pada_node *node, pada_shape in, pada_shape *out);
    int64_t (*macs)(const pada_node *node, pada_shape in);
} functions[PADA_N_OPS] = {
#define PADA_OP(name_, NAME, operands_, role_, reads_, by_shape, by_macs, ...) \
    {shape_##by_shape, macs_##by_macs},
#include "op/ops.def"
#undef PADA_OP
};

pada_status pada_node_shape(const pada_node *node, pada_shape in, pada_shape *out)
{
    return functions[node->op].shape(node, in, out);
}

int64_t pada_node_macs(const pada_node *node, pada_shape in)
{
    return functions[node->op].macs(node, in);
}
