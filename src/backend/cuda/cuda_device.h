/* cuda_device.h - the opened cuda backend: what its host files share.
 *
 * Everything runs on one stream, in the order in which it was asked for. The host waits only where
 * it is given numbers (read, unpack, sum_squares, finish).
 *
 * Device memory besides the buffers of the caller, each as large as the largest program so far:
 *
 *   local     tensors inside a stage, all images: offset * n_images + n * image_bytes
 *   planar    images of the batch as they came, [n, c, h, w]
 *   images    the same as a tensor
 *   picks     [n] what a batch takes from a held set
 *   labels    [n]
 *   weights   [n] factors of the images
 *   dz        gradient of a convolution's output, where a batch norm stands behind it
 *   partial   sums of chunks of images (weight gradients) or of images (channel sums)
 *   fixed     sums of node kernels: moments, then those of gradients
 *   fragments weights for node kernels
 *   shares    weight gradients of the blocks of node kernels
 *
 * A held set (hold) is [ levels: c * 256 floats, rounded up | images: n * c * h * w bytes ].
 *
 * Host memory that the device reads and writes directly (pinned):
 *
 *   up[2]     on the way to the device, used in turn; `sent` says when one may be filled again
 *   down      on the way back
 */
#ifndef PADA_BACKEND_CUDA_CUDA_DEVICE_H
#define PADA_BACKEND_CUDA_CUDA_DEVICE_H

#include "backend/backend.h"
#include "backend/cuda/cuda_check.h"
#include "backend/cuda/cuda_kernels.h"
#include "backend/cuda/cuda_match.h"
#include "base/mem.h"

enum {
    CUDA_TRANSFER = 1 << 20,                        /* bytes of a pinned buffer */
    CUDA_MAX_SUMS = CUDA_TRANSFER / sizeof(double), /* sums fetched together */
};

/* Device memory that only grows. */
typedef struct cuda_buffer {
    void *data;
    int64_t cap; /* bytes */
} cuda_buffer;

struct pada_device {
    bool half; /* activations are bfloat16 */
    bool
        tiles; /* node kernels are used: half, and the device has as much shared memory as they want */
    int number; /* of the device in this machine */
    cudaStream_t stream;
    cuda_failure failure;
    char description[320];
    cuda_buffer local, planar, images, picks, labels, weights, dz, partial;
    cuda_buffer fixed, fragments, shares;
    cuda_match match;  /* of the program prepared last */
    bool slopes_clean; /* the sums of gradients are zero */
    int batch;         /* of weight gradients that are not added up yet */
    cuda_when before;  /* the level of the last launch; stage -1: it was not of one */
    double *sums;      /* device memory, CUDA_MAX_SUMS */
    void *up[2], *down;
    cudaEvent_t sent[2];
    int turn; /* of up */
};

static inline int64_t cuda_round_up(int64_t bytes)
{
    return (bytes + PADA_ALIGN - 1) / PADA_ALIGN * PADA_ALIGN;
}

/* Whether the elements of a tensor are bfloat16: pooled features and logits never are. */
static inline bool cuda_is_half(const pada_device *d, pada_shape shape)
{
    return d->half && shape.h * shape.w > 1;
}

static inline int64_t cuda_element_bytes(const pada_device *d, pada_shape shape)
{
    return cuda_is_half(d, shape) ? 2 : 4;
}

static inline int64_t cuda_image_bytes(const pada_device *d, pada_shape shape)
{
    return cuda_round_up(pada_shape_count(shape) * cuda_element_bytes(d, shape));
}

/* A tensor of this layout. */
static inline cuda_tensor cuda_tensor_at(const pada_device *d, void *data, pada_shape shape)
{
    const int64_t stride = cuda_image_bytes(d, shape) / cuda_element_bytes(d, shape);

    return (cuda_tensor){data, stride, cuda_is_half(d, shape)};
}

static inline int64_t cuda_channel_bytes(int channels)
{
    return cuda_round_up(channels * (int64_t)sizeof(float));
}

/* Bytes of the levels of a held set. */
static inline int64_t cuda_levels_bytes(pada_shape shape)
{
    return cuda_round_up(shape.c * 256 * (int64_t)sizeof(float));
}

/* ---- cuda_transfer.c ---- */

/* A pinned buffer of CUDA_TRANSFER bytes to fill; pada_cuda_end_send copies the first `bytes` of it to the
 * device. NULL after a failure. */
void *pada_cuda_begin_send(pada_device *d);
void pada_cuda_end_send(pada_device *d, void *to, int64_t bytes);
/* Copies host memory of any length to the device; it may be changed at once. */
void pada_cuda_send(pada_device *d, void *to, const void *from, int64_t bytes);
/* At most CUDA_TRANSFER bytes of the device in host memory, valid until the next fetch; waits. NULL
 * after a failure. */
const void *pada_cuda_fetch(pada_device *d, const void *from, int64_t bytes);

/* Fills a held set. */
void pada_cuda_send_images(pada_device *d, void *held, const pada_image_set *set);

/* Verbs of backend.h. After a failure numbers are NaN, integers INT32_MAX. */
void pada_cuda_write(pada_device *d, void *buffer, pada_range range, const double *from);
void pada_cuda_read(pada_device *d, const void *buffer, pada_range range, double *to);
void pada_cuda_read_i32(pada_device *d, const int32_t *buffer, pada_range range, int32_t *to);
void pada_cuda_write_i32(pada_device *d, int32_t *buffer, pada_range range, const int32_t *from);
void pada_cuda_read_raw(pada_device *d, const void *buffer, const pada_range *ranges, int n,
                        void *to);
void pada_cuda_write_raw(pada_device *d, void *buffer, const pada_range *ranges, int n,
                         const void *from);
void pada_cuda_unpack(pada_device *d, const void *tensor, int64_t n, pada_shape shape, double *to);
void pada_cuda_pack(pada_device *d, void *tensor, int64_t n, pada_shape shape, const double *from);

/* ---- cuda_run.c ---- */

void pada_cuda_run(pada_device *d, const pada_program *q, const pada_bindings *b, int first,
                   int count);

#endif
