/* cuda_transfer.c - numbers between the host and the device, through pinned buffers. */
#include <math.h>
#include <string.h>

#include "backend/cuda/cuda_device.h"

enum { FLOATS = CUDA_TRANSFER / (int)sizeof(float) /* of a pinned buffer */ };

/* ---- bytes ---- */

void *pada_cuda_begin_send(pada_device *d)
{
    d->turn = !d->turn;
    cuda_note(&d->failure, cudaEventSynchronize(d->sent[d->turn]), "wait for a copy");
    return d->failure.error == cudaSuccess ? d->up[d->turn] : NULL;
}

void pada_cuda_end_send(pada_device *d, void *to, int64_t bytes)
{
    cuda_note(&d->failure,
              cudaMemcpyAsync(to, d->up[d->turn], (size_t)bytes, cudaMemcpyHostToDevice, d->stream),
              "copy to the device");
    cuda_note(&d->failure, cudaEventRecord(d->sent[d->turn], d->stream), "record a copy");
}

void pada_cuda_send(pada_device *d, void *to, const void *from, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += CUDA_TRANSFER) {
        const int64_t n = bytes - at < CUDA_TRANSFER ? bytes - at : CUDA_TRANSFER;
        void *up = pada_cuda_begin_send(d);
        if (!up) return;
        memcpy(up, (const char *)from + at, (size_t)n);
        pada_cuda_end_send(d, (char *)to + at, n);
    }
}

const void *pada_cuda_fetch(pada_device *d, const void *from, int64_t bytes)
{
    PADA_ASSERT(bytes <= CUDA_TRANSFER);
    if (d->failure.error != cudaSuccess) return NULL;
    cuda_note(&d->failure,
              cudaMemcpyAsync(d->down, from, (size_t)bytes, cudaMemcpyDeviceToHost, d->stream),
              "copy from the device");
    cuda_note(&d->failure, cudaStreamSynchronize(d->stream), "wait for the device");
    return d->failure.error == cudaSuccess ? d->down : NULL;
}

void pada_cuda_send_images(pada_device *d, void *held, const pada_image_set *set)
{
    const int64_t count = pada_shape_count(set->shape);
    const int at_once = (int)(CUDA_TRANSFER / count);
    char *to = (char *)held + cuda_levels_bytes(set->shape);

    PADA_ASSERT(at_once > 0);
    pada_cuda_send(d, held, set->levels, set->shape.c * 256 * (int64_t)sizeof(float));
    for (int first = 0; first < set->n; first += at_once) {
        const int n = set->n - first < at_once ? set->n - first : at_once;
        char *up = pada_cuda_begin_send(d);
        if (!up) return;
        for (int i = 0; i < n; i++)
            memcpy(up + i * count, set->image(set->owner, first + i), (size_t)count);
        pada_cuda_end_send(d, to + first * count, n * count);
    }
}

/* ---- vectors ---- */

void pada_cuda_write(pada_device *d, void *buffer, pada_range range, const double *from)
{
    for (int64_t at = 0; at < range.count; at += FLOATS) {
        const int64_t n = range.count - at < FLOATS ? range.count - at : FLOATS;
        float *up = pada_cuda_begin_send(d);
        if (!up) return;
        for (int64_t i = 0; i < n; i++)
            up[i] = (float)from[at + i];
        pada_cuda_end_send(d, (float *)buffer + range.first + at, n * (int64_t)sizeof(float));
    }
}

void pada_cuda_read(pada_device *d, const void *buffer, pada_range range, double *to)
{
    for (int64_t at = 0; at < range.count; at += FLOATS) {
        const int64_t n = range.count - at < FLOATS ? range.count - at : FLOATS;
        const float *down = pada_cuda_fetch(d, (const float *)buffer + range.first + at,
                                            n * (int64_t)sizeof(float));
        for (int64_t i = 0; i < n; i++)
            to[at + i] = down ? down[i] : NAN;
    }
}

void pada_cuda_read_i32(pada_device *d, const int32_t *buffer, pada_range range, int32_t *to)
{
    for (int64_t at = 0; at < range.count; at += FLOATS) {
        const int64_t n = range.count - at < FLOATS ? range.count - at : FLOATS;
        const int32_t *down =
            pada_cuda_fetch(d, buffer + range.first + at, n * (int64_t)sizeof(int32_t));
        for (int64_t i = 0; i < n; i++)
            to[at + i] = down ? down[i] : INT32_MAX;
    }
}

void pada_cuda_write_i32(pada_device *d, int32_t *buffer, pada_range range, const int32_t *from)
{
    pada_cuda_send(d, buffer + range.first, from, range.count * (int64_t)sizeof *from);
}

/* The piece of the ranges that begins at element *at of range *r and fits into a pinned buffer of which `used` floats are
 * taken; 0: it is full, or there are no more. */
static int64_t next_piece(const pada_range *ranges, int n, int *r, int64_t *at, int64_t used)
{
    while (*r < n && *at == ranges[*r].count) {
        ++*r;
        *at = 0;
    }
    if (*r == n) return 0;
    const int64_t left = ranges[*r].count - *at, room = FLOATS - used;
    return left < room ? left : room;
}

static int64_t count_elements(const pada_range *ranges, int n)
{
    int64_t count = 0;

    for (int r = 0; r < n; r++)
        count += ranges[r].count;
    return count;
}

/* Copies of pieces are queued side by side in a pinned buffer, and waited for together. */
void pada_cuda_read_raw(pada_device *d, const void *buffer, const pada_range *ranges, int n,
                        void *to)
{
    float *out = to, *end = out + count_elements(ranges, n);
    int64_t at = 0, used, count;

    for (int r = 0; out < end; out += used) {
        for (used = 0; (count = next_piece(ranges, n, &r, &at, used)) > 0; used += count) {
            cuda_note(&d->failure,
                      cudaMemcpyAsync(
                          (float *)d->down + used, (const float *)buffer + ranges[r].first + at,
                          (size_t)count * sizeof(float), cudaMemcpyDeviceToHost, d->stream),
                      "copy from the device");
            at += count;
        }
        cuda_note(&d->failure, cudaStreamSynchronize(d->stream), "wait for the device");
        if (d->failure.error != cudaSuccess) break;
        memcpy(out, d->down, (size_t)used * sizeof(float));
    }
    while (out < end) /* what cannot be read must not look like numbers */
        *out++ = NAN;
}

void pada_cuda_write_raw(pada_device *d, void *buffer, const pada_range *ranges, int n,
                         const void *from)
{
    const float *in = from, *end = in + count_elements(ranges, n);
    int64_t at = 0, used, count;

    for (int r = 0; in < end; in += used) {
        float *up = pada_cuda_begin_send(d);
        if (!up) return;
        for (used = 0; (count = next_piece(ranges, n, &r, &at, used)) > 0; used += count) {
            memcpy(up + used, in + used, (size_t)count * sizeof(float));
            cuda_note(&d->failure,
                      cudaMemcpyAsync((float *)buffer + ranges[r].first + at, up + used,
                                      (size_t)count * sizeof(float), cudaMemcpyHostToDevice,
                                      d->stream),
                      "copy to the device");
            at += count;
        }
        cuda_note(&d->failure, cudaEventRecord(d->sent[d->turn], d->stream), "record a copy");
    }
}

/* ---- tensors ---- */

/* Where element i of a [h, w, c] image is in a [c, h, w] image. */
static int64_t planar_index(int64_t i, pada_shape shape)
{
    return i % shape.c * shape.h * shape.w + i / shape.c;
}

static float widen(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To the nearest bfloat16, ties to even. */
static uint16_t narrow(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (isnan(value)) return 0x7fff;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

void pada_cuda_unpack(pada_device *d, const void *tensor, int64_t n, pada_shape shape, double *to)
{
    const int64_t count = pada_shape_count(shape), size = cuda_element_bytes(d, shape);

    for (int64_t image = 0; image < n; image++)
        for (int64_t at = 0; at < count; at += FLOATS) {
            const int64_t some = count - at < FLOATS ? count - at : FLOATS;
            const char *from = (const char *)tensor + image * cuda_image_bytes(d, shape);
            const void *down = pada_cuda_fetch(d, from + at * size, some * size);
            const uint16_t *halves = down;
            const float *floats = down;
            for (int64_t i = 0; i < some; i++)
                to[image * count + planar_index(at + i, shape)] = !down       ? NAN
                                                                  : size == 2 ? widen(halves[i])
                                                                              : floats[i];
        }
}

void pada_cuda_pack(pada_device *d, void *tensor, int64_t n, pada_shape shape, const double *from)
{
    const int64_t count = pada_shape_count(shape), size = cuda_element_bytes(d, shape);

    for (int64_t image = 0; image < n; image++)
        for (int64_t at = 0; at < count; at += FLOATS) {
            const int64_t some = count - at < FLOATS ? count - at : FLOATS;
            char *to = (char *)tensor + image * cuda_image_bytes(d, shape);
            void *up = pada_cuda_begin_send(d);
            uint16_t *halves = up;
            float *floats = up;
            if (!up) return;
            for (int64_t i = 0; i < some; i++) {
                const float value = (float)from[image * count + planar_index(at + i, shape)];
                if (size == 2)
                    halves[i] = narrow(value);
                else
                    floats[i] = value;
            }
            pada_cuda_end_send(d, to + at * size, some * size);
        }
}
