/* op.c - names, output shapes and multiply-adds of the operators. */
#include "op/op.h"

static const char *const names[PADA_N_OPS] = {
#define PADA_OP(name, NAME) #name,
#include "op/ops.def"
#undef PADA_OP
};

const char *pada_op_name(pada_op op)
{
    PADA_ASSERT(op >= 0 && op < PADA_N_OPS);
    return names[op];
}

/* Output size of a window of `kernel` moved by `stride` over n pixels with `pad` on both sides. */
static int windows(int n, int kernel, int stride, int pad)
{
    return (n + 2 * pad - kernel) / stride + 1;
}

pada_status pada_conv_shape(const pada_conv *conv, pada_shape in, pada_shape *out)
{
    if (conv->c_in != in.c)
        return PADA_FAIL(PADA_EINVAL, "conv of %d channels reads a tensor of %d", conv->c_in, in.c);
    if (conv->c_out < 1 || conv->kernel < 1 || conv->stride < 1 || conv->pad < 0 ||
        conv->pad >= conv->kernel)
        return PADA_FAIL(PADA_EINVAL, "conv to %d channels with kernel %d, stride %d, pad %d",
                         conv->c_out, conv->kernel, conv->stride, conv->pad);
    if (in.h + 2 * conv->pad < conv->kernel || in.w + 2 * conv->pad < conv->kernel)
        return PADA_FAIL(PADA_EINVAL, "conv kernel %d is larger than its %dx%d input", conv->kernel,
                         in.h, in.w);
    out->c = conv->c_out;
    out->h = windows(in.h, conv->kernel, conv->stride, conv->pad);
    out->w = windows(in.w, conv->kernel, conv->stride, conv->pad);
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
    return (int64_t)conv->c_out * conv->c_in * conv->kernel * conv->kernel;
}

int64_t pada_conv_macs(const pada_conv *conv, pada_shape out)
{
    return pada_conv_weights(conv) * out.h * out.w;
}

int64_t pada_linear_macs(int in, int out)
{
    return (int64_t)out * (in + 1);
}
