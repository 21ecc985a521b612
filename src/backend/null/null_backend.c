/* null_backend.c - plans and computes nothing: for tests of planning, and to see what planning
 * costs. */
#include <string.h>

#include "backend/backend.h"
#include "base/mem.h"

struct pada_device {
    int unused;
};

static pada_status null_open(pada_device **out, int n_threads)
{
    void *mem;

    (void)n_threads;
    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    *out = mem;
    return PADA_OK;
}

static void null_close(pada_device *d)
{
    pada_free(d);
}

static const char *null_describe(const pada_device *d)
{
    (void)d;
    return "plans only";
}

static pada_status null_alloc(pada_device *d, void **out, int64_t bytes)
{
    (void)d;
    return pada_alloc_aligned(out, (size_t)bytes);
}

static void null_release(pada_device *d, void *memory)
{
    (void)d;
    pada_free(memory);
}

static void null_write(pada_device *d, void *buffer, pada_range range, const double *from)
{
    (void)d, (void)buffer, (void)range, (void)from;
}

static void null_read(pada_device *d, const void *buffer, pada_range range, double *to)
{
    (void)d, (void)buffer;
    memset(to, 0, (size_t)range.count * sizeof *to);
}

static void null_read_i32(pada_device *d, const int32_t *buffer, pada_range range, int32_t *to)
{
    (void)d, (void)buffer;
    memset(to, 0, (size_t)range.count * sizeof *to);
}

static void null_write_i32(pada_device *d, int32_t *buffer, pada_range range, const int32_t *from)
{
    (void)d, (void)buffer, (void)range, (void)from;
}

static void null_read_raw(pada_device *d, const void *buffer, const pada_range *ranges, int n,
                          void *to)
{
    float *at = to;

    (void)d, (void)buffer;
    for (int r = 0; r < n; at += ranges[r++].count)
        memset(at, 0, (size_t)ranges[r].count * sizeof *at);
}

static void null_write_raw(pada_device *d, void *buffer, const pada_range *ranges, int n,
                           const void *from)
{
    (void)d, (void)buffer, (void)ranges, (void)n, (void)from;
}

static int64_t null_image_bytes(const pada_device *d, pada_shape shape)
{
    (void)d;
    return (pada_shape_count(shape) * (int64_t)sizeof(float) + PADA_ALIGN - 1) / PADA_ALIGN *
           PADA_ALIGN;
}

static int64_t null_channel_bytes(const pada_device *d, int channels)
{
    return null_image_bytes(d, (pada_shape){channels, 1, 1});
}

static void null_unpack(pada_device *d, const void *tensor, int64_t n, pada_shape shape, double *to)
{
    (void)d, (void)tensor;
    memset(to, 0, (size_t)(n * pada_shape_count(shape)) * sizeof *to);
}

static void null_pack(pada_device *d, void *tensor, int64_t n, pada_shape shape, const double *from)
{
    (void)d, (void)tensor, (void)n, (void)shape, (void)from;
}

static pada_status null_prepare(pada_device *d, const pada_program *q)
{
    (void)d, (void)q;
    return PADA_OK;
}

static void null_run(pada_device *d, const pada_program *q, const pada_bindings *b, int first,
                     int count)
{
    (void)d, (void)q, (void)b, (void)first, (void)count;
}

static void null_fill_zero(pada_device *d, void *x, const pada_range *ranges, int n)
{
    (void)d, (void)x, (void)ranges, (void)n;
}

static void null_sum_squares(pada_device *d, const void *x, const pada_range *ranges, int n,
                             double *sums)
{
    (void)d, (void)x, (void)ranges;
    memset(sums, 0, (size_t)n * sizeof *sums);
}

static void null_dot(pada_device *d, const void *x, const void *y, const pada_range *ranges, int n,
                     double *sums)
{
    (void)y;
    null_sum_squares(d, x, ranges, n, sums);
}

static void null_update(pada_device *d, const pada_update_buffers *buffers,
                        const pada_update_ranges *ranges, const pada_update *update)
{
    (void)d, (void)buffers, (void)ranges, (void)update;
}

static void null_copy(pada_device *d, void *to, const void *from, const pada_range *ranges, int n)
{
    (void)d, (void)to, (void)from, (void)ranges, (void)n;
}

static void null_axpy(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                      int n)
{
    (void)d, (void)y, (void)a, (void)x, (void)ranges, (void)n;
}

static void null_blend(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                       int n)
{
    (void)d, (void)y, (void)a, (void)x, (void)ranges, (void)n;
}

static void null_welford(pada_device *d, void *mean, void *spread, const void *x,
                         const pada_range *ranges, const int64_t *counts, int n)
{
    (void)d, (void)mean, (void)spread, (void)x, (void)ranges, (void)counts, (void)n;
}

extern const pada_backend pada_backend_null;
const pada_backend pada_backend_null = {
    .name = "null",
    .summary = "plans and computes nothing",
    .dtype = PADA_F32,
    .plans_only = true,
    .open = null_open,
    .close = null_close,
    .describe = null_describe,
    .alloc = null_alloc,
    .release = null_release,
    .write = null_write,
    .read = null_read,
    .read_i32 = null_read_i32,
    .write_i32 = null_write_i32,
    .read_raw = null_read_raw,
    .write_raw = null_write_raw,
    .image_bytes = null_image_bytes,
    .channel_bytes = null_channel_bytes,
    .unpack = null_unpack,
    .pack = null_pack,
    .prepare = null_prepare,
    .run = null_run,
    .fill_zero = null_fill_zero,
    .sum_squares = null_sum_squares,
    .dot = null_dot,
    .update = null_update,
    .copy = null_copy,
    .axpy = null_axpy,
    .blend = null_blend,
    .welford = null_welford,
};
