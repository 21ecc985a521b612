/* cuda_backend.c - the cuda backend: opening, memory, preparing programs, vectors. Running programs
 * is in cuda_run.c, the way of numbers to and from the device in cuda_transfer.c. */
#include <math.h>
#include <stdio.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_known.h"
#include "base/launch.h"

/* ---- opening ---- */

enum { HALF_MAJOR = 8 }; /* compute capability that has bfloat16 */

/* The device of this process, current for the calling thread from now on; why there is none otherwise. Processes of one machine take turns. */
static pada_status select_device(struct cudaDeviceProp *properties, int *number, bool half)
{
    int n = 0;
    cudaError_t error = cudaGetDeviceCount(&n);

    if (error == cudaSuccess && n == 0) error = cudaErrorNoDevice;
    if (error == cudaSuccess) *number = pada_launched_local_rank() % n;
    if (error == cudaSuccess) error = cudaSetDevice(*number);
    if (error == cudaSuccess) error = cudaGetDeviceProperties(properties, *number);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return PADA_FAIL(PADA_EDEVICE, "no CUDA device: %s", cudaGetErrorString(error));
    }
    if ((error = pada_cuda_fits()) != cudaSuccess) {
        (void)cudaGetLastError();
        return PADA_FAIL(PADA_EDEVICE, "no CUDA device: %s has compute capability %d.%d: %s",
                         properties->name, properties->major, properties->minor,
                         cudaGetErrorString(error));
    }
    if (half && properties->major < HALF_MAJOR)
        return PADA_FAIL(PADA_EDEVICE,
                         "%s has compute capability %d.%d and no bfloat16, which needs %d.0; "
                         "backend cuda-fp32 runs on it",
                         properties->name, properties->major, properties->minor, HALF_MAJOR);
    return PADA_OK;
}

/* Whether there is a device of this compute capability or better. */
static bool is_present(int major)
{
    int n = 0, found = 0;
    const bool present =
        cudaGetDeviceCount(&n) == cudaSuccess && n > 0 &&
        cudaDeviceGetAttribute(&found, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess;

    (void)cudaGetLastError();
    return present && found >= major;
}

static bool half_present(void)
{
    return is_present(HALF_MAJOR);
}

static bool single_present(void)
{
    return is_present(0);
}

static void cuda_close(pada_device *d)
{
    if (!d) return;
    cuda_buffer *buffers[] = {&d->local,  &d->planar,    &d->images, &d->picks,
                              &d->labels, &d->weights,   &d->dz,     &d->partial,
                              &d->fixed,  &d->fragments, &d->shares};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        (void)cudaFree(buffers[i]->data);
    (void)cudaFree(d->sums);
    for (int i = 0; i < 2; i++) {
        if (d->sent[i]) (void)cudaEventDestroy(d->sent[i]);
        (void)cudaFreeHost(d->up[i]);
    }
    (void)cudaFreeHost(d->down);
    if (d->stream) (void)cudaStreamDestroy(d->stream);
    (void)cudaGetLastError();
    pada_cuda_match_deinit(&d->match);
    pada_free(d);
}

/* Lets node kernels have their shared memory; a device with less does without them. */
static pada_status prepare_tiles(pada_device *d)
{
    cudaError_t error = pada_cuda_node_forward_init();

    if (error == cudaSuccess) error = pada_cuda_node_backward_init();
    if (error == cudaSuccess) error = pada_cuda_reduction_forward_init();
    if (error == cudaSuccess) error = pada_cuda_reduction_backward_init();
    if (error == cudaSuccess) error = pada_cuda_stem_init();
    d->tiles = error == cudaSuccess;
    if (error == cudaErrorInvalidValue) {
        (void)cudaGetLastError();
        return PADA_OK;
    }
    return cuda_status(error, "node kernels");
}

static pada_status make_room(pada_device *d)
{
    void *sums;

    PADA_TRY(cuda_status(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking), "stream"));
    for (int i = 0; i < 2; i++) {
        PADA_TRY(
            cuda_status(cudaEventCreateWithFlags(&d->sent[i], cudaEventDisableTiming), "event"));
        PADA_TRY(cuda_status(cudaMallocHost(&d->up[i], CUDA_TRANSFER), "pinned memory"));
    }
    PADA_TRY(cuda_status(cudaMallocHost(&d->down, CUDA_TRANSFER), "pinned memory"));
    PADA_TRY(cuda_status(cudaMalloc(&sums, CUDA_MAX_SUMS * sizeof *d->sums), "memory for sums"));
    d->sums = sums;
    return d->half ? prepare_tiles(d) : PADA_OK;
}

static pada_status open_device(pada_device **out, bool half)
{
    struct cudaDeviceProp properties;
    void *mem;
    pada_status st;
    int number = 0;

    *out = NULL;
    PADA_TRY(select_device(&properties, &number, half));
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_device *d = mem;
    d->half = half;
    d->number = number;
    snprintf(d->description, sizeof d->description, "%s, %s", properties.name,
             half ? "bfloat16" : "float32");
    if ((st = make_room(d)) != PADA_OK) {
        cuda_close(d);
        return st;
    }
    *out = d;
    return PADA_OK;
}

static pada_status open_half(pada_device **out, int n_threads)
{
    (void)n_threads;
    return open_device(out, true);
}

static pada_status open_single(pada_device **out, int n_threads)
{
    (void)n_threads;
    return open_device(out, false);
}

static const char *cuda_describe(const pada_device *d)
{
    return d->description;
}

static pada_status cuda_adopt(pada_device *d)
{
    return cuda_status(cudaSetDevice(d->number), "device");
}

static pada_status cuda_finish(pada_device *d)
{
    cuda_note(&d->failure, cudaStreamSynchronize(d->stream), "wait for the device");
    return cuda_status(d->failure.error, d->failure.what);
}

/* ---- memory and layout ---- */

static pada_status cuda_alloc(pada_device *d, void **out, int64_t bytes)
{
    void *mem;

    *out = NULL;
    PADA_TRY(cuda_status(d->failure.error, d->failure.what));
    PADA_TRY(cuda_status(cudaMalloc(&mem, bytes > 0 ? (size_t)bytes : 1), "device memory"));
    cuda_note(&d->failure, cudaMemsetAsync(mem, 0, (size_t)bytes, d->stream), "clear memory");
    *out = mem;
    return PADA_OK;
}

static void cuda_release(pada_device *d, void *memory)
{
    cuda_note(&d->failure, cudaFree(memory), "free memory");
}

static pada_status cuda_hold(pada_device *d, void **out, const pada_image_set *set)
{
    PADA_TRY(
        cuda_alloc(d, out, cuda_levels_bytes(set->shape) + set->n * pada_shape_count(set->shape)));
    pada_cuda_send_images(d, *out, set);
    const pada_status st = cuda_finish(d);
    if (st != PADA_OK) {
        cuda_release(d, *out);
        *out = NULL;
    }
    return st;
}

static int64_t image_bytes(const pada_device *d, pada_shape shape)
{
    return cuda_image_bytes(d, shape);
}

static int64_t channel_bytes(const pada_device *d, int channels)
{
    (void)d;
    return cuda_channel_bytes(channels);
}

/* ---- preparing ---- */

static pada_status grow(cuda_buffer *buffer, int64_t bytes)
{
    void *mem;

    if (bytes <= buffer->cap) return PADA_OK;
    PADA_TRY(cuda_status(cudaMalloc(&mem, (size_t)bytes), "device memory"));
    (void)cudaFree(
        buffer->data); /* waits for the kernels that use it; their failures are noted later */
    *buffer = (cuda_buffer){mem, bytes};
    return PADA_OK;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static pada_status cuda_prepare(pada_device *d, const pada_program *q)
{
    const int64_t n = q->n_images;
    int64_t dz = 0, floats = 0, doubles = 0;

    PADA_TRY(cuda_status(d->failure.error, d->failure.what));
    PADA_TRY(pada_cuda_check(q));
    for (int i = 0; i < q->n_instrs; i++) {
        const pada_instr *instr = &q->instrs[i];
        const pada_node *node = &q->nodes[instr->v];
        doubles = most(doubles, pada_cuda_sums_partial(node->shape.c, q->n_images));
        if (instr->code != PADA_CODE_CONV_BWD) continue;
        floats = most(floats, pada_cuda_conv_partial(&node->conv, q->n_images));
        if (instr->term >= 0) dz = most(dz, n * cuda_image_bytes(d, node->shape));
    }
    for (int v = 0; v < q->n_nodes; v++) {
        const pada_shape shape = q->nodes[v].shape;
        if (q->nodes[v].op != PADA_OP_INPUT) continue;
        PADA_TRY(grow(&d->planar, n * pada_shape_count(shape) * (int64_t)sizeof(float)));
        PADA_TRY(grow(&d->images, n * cuda_image_bytes(d, shape)));
    }
    PADA_TRY(grow(&d->picks, n * (int64_t)sizeof(pada_pick)));
    PADA_TRY(grow(&d->labels, n * (int64_t)sizeof(int32_t)));
    PADA_TRY(grow(&d->weights, n * (int64_t)sizeof(float)));
    PADA_TRY(grow(&d->local, n * q->local_bytes));
    PADA_TRY(grow(&d->dz, dz));
    PADA_TRY(pada_cuda_match(&d->match, q, d->tiles));
    PADA_TRY(grow(&d->fixed, d->match.n_sums * (int64_t)sizeof(int64_t)));
    PADA_TRY(grow(&d->fragments, d->match.fragment_bytes));
    PADA_TRY(grow(&d->shares, d->match.partial_floats * (int64_t)sizeof(float)));
    return grow(&d->partial,
                most(floats * (int64_t)sizeof(float), doubles * (int64_t)sizeof(double)));
}

/* ---- vectors ---- */

/* The next ranges for one launch, from *first on; false when there are none left. */
static bool next_ranges(cuda_ranges *to, const pada_range *ranges, int n, int *first)
{
    to->n = n - *first < CUDA_MAX_RANGES ? n - *first : CUDA_MAX_RANGES;
    if (to->n <= 0) return false;
    for (int k = 0; k < to->n; k++)
        to->at[k] = ranges[*first + k];
    *first += to->n;
    return true;
}

static void cuda_fill_zero(pada_device *d, void *x, const pada_range *ranges, int n)
{
    cuda_ranges some;

    for (int first = 0; next_ranges(&some, ranges, n, &first);)
        cuda_note(&d->failure, pada_cuda_fill_zero(d->stream, x, &some), "fill_zero");
}

static void cuda_dot(pada_device *d, const void *x, const void *y, const pada_range *ranges, int n,
                     double *sums)
{
    for (int at = 0; at < n; at += CUDA_MAX_SUMS) {
        const int count = n - at < CUDA_MAX_SUMS ? n - at : CUDA_MAX_SUMS;
        cuda_ranges some;
        for (int first = 0, start = 0; next_ranges(&some, ranges + at, count, &first);
             start = first)
            cuda_note(&d->failure, pada_cuda_dot(d->stream, x, y, &some, d->sums + start), "dot");
        const double *down = pada_cuda_fetch(d, d->sums, count * (int64_t)sizeof *sums);
        for (int k = 0; k < count; k++)
            sums[at + k] = down ? down[k] : NAN;
    }
}

static void cuda_sum_squares(pada_device *d, const void *x, const pada_range *ranges, int n,
                             double *sums)
{
    cuda_dot(d, x, x, ranges, n, sums);
}

static cuda_update_job update_job(const pada_update_buffers *buffers, const pada_update *by)
{
    return (cuda_update_job){.rule = by->rule,
                             .w = buffers->weights,
                             .g = buffers->grads,
                             .s0 = buffers->states[0],
                             .s1 = buffers->states[1],
                             .by = {.lr = (float)by->lr,
                                    .momentum = (float)by->momentum,
                                    .weight_decay = (float)by->weight_decay,
                                    .grad_scale = (float)by->grad_scale,
                                    .decay = (float)by->decay,
                                    .fresh_mean = (float)(1 - by->momentum),
                                    .fresh = (float)(1 - by->decay),
                                    .epsilon = (float)by->epsilon,
                                    .nesterov = by->nesterov}};
}

/* What ADAM wants to know about each range. */
static void find_rates(const pada_update *by, const int64_t *counts, int n, cuda_shares *rates,
                       cuda_shares *roots)
{
    for (int k = 0; k < n; k++) {
        rates->at[k] = (float)(by->lr / pada_bias_correction(by->momentum, counts[k]));
        roots->at[k] = (float)(1 / sqrt(pada_bias_correction(by->decay, counts[k])));
    }
}

/* Ranges that all have the weight decay of `by`. clip NULL: none. */
static void move_alike(pada_device *d, const pada_update_buffers *buffers,
                       const pada_update_ranges *moved, const pada_update *by, cuda_clip *clip)
{
    cuda_update_job job = update_job(buffers, by);
    cuda_shares rates, roots;
    cuda_ranges some;

    job.rates = &rates;
    job.roots = &roots;
    for (int first = 0, start = 0; next_ranges(&some, moved->at, moved->n, &first); start = first) {
        if (moved->counts) find_rates(by, moved->counts + start, some.n, &rates, &roots);
        if (clip) {
            cuda_note(&d->failure, pada_cuda_clip_update(d->stream, &job, clip, &some),
                      "clip_update");
            clip->record = NULL; /* the first launch has written it */
        } else {
            cuda_note(&d->failure, pada_cuda_update(d->stream, &job, &some), "update");
        }
    }
}

static void move(pada_device *d, const pada_update_buffers *buffers,
                 const pada_update_ranges *moved, const pada_update *by, cuda_clip *clip)
{
    const int n = moved->n - moved->n_spared;
    const pada_update_ranges decayed = {.at = moved->at, .counts = moved->counts, .n = n};
    const pada_update_ranges spared = {.at = moved->at + n,
                                       .counts = moved->counts ? moved->counts + n : NULL,
                                       .n = moved->n_spared};
    pada_update without = *by;

    without.weight_decay = 0;
    move_alike(d, buffers, &decayed, by, clip);
    move_alike(d, buffers, &spared, &without, clip);
}

static void cuda_update(pada_device *d, const pada_update_buffers *buffers,
                        const pada_update_ranges *ranges, const pada_update *update)
{
    move(d, buffers, ranges, update, NULL);
}

static void cuda_clip_update(pada_device *d, const pada_update_buffers *buffers,
                             const pada_clip_step *step, void *record)
{
    cuda_clip clip = {d->sums, step->n_active, step->clip, record};
    cuda_ranges some;

    PADA_ASSERT(step->n_active <= CUDA_MAX_SUMS);
    for (int first = 0, start = 0; next_ranges(&some, step->active, step->n_active, &first);
         start = first)
        cuda_note(&d->failure,
                  pada_cuda_sum_squares(d->stream, buffers->grads, &some, d->sums + start),
                  "sum_squares");
    move(d, buffers, &step->moved, &step->update, &clip);
}

static void cuda_copy(pada_device *d, void *to, const void *from, const pada_range *ranges, int n)
{
    cuda_ranges some;

    for (int first = 0; next_ranges(&some, ranges, n, &first);)
        cuda_note(&d->failure, pada_cuda_copy(d->stream, to, from, &some), "copy");
}

static void cuda_axpy(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                      int n)
{
    cuda_ranges some;

    for (int first = 0; next_ranges(&some, ranges, n, &first);)
        cuda_note(&d->failure, pada_cuda_axpy(d->stream, y, (float)a, x, &some), "axpy");
}

static void cuda_blend(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                       int n)
{
    cuda_ranges some;

    for (int first = 0; next_ranges(&some, ranges, n, &first);)
        cuda_note(&d->failure, pada_cuda_blend(d->stream, y, a, x, &some), "blend");
}

static void cuda_welford(pada_device *d, void *mean, void *spread, const void *x,
                         const pada_range *ranges, const int64_t *counts, int n)
{
    cuda_ranges some;
    cuda_shares shares;

    for (int first = 0, start = 0; next_ranges(&some, ranges, n, &first); start = first) {
        for (int k = 0; k < some.n; k++)
            shares.at[k] = 1.0f / (float)counts[start + k];
        cuda_note(&d->failure, pada_cuda_welford(d->stream, mean, spread, x, &some, &shares),
                  "welford");
    }
}

#define CUDA_BACKEND                                                                               \
    .dtype = PADA_F32, .gather = true, .in_flight = 3, .close = cuda_close,                        \
    .describe = cuda_describe, .adopt = cuda_adopt, .finish = cuda_finish, .alloc = cuda_alloc,    \
    .release = cuda_release, .write = pada_cuda_write, .read = pada_cuda_read,                     \
    .read_i32 = pada_cuda_read_i32, .write_i32 = pada_cuda_write_i32,                              \
    .read_raw = pada_cuda_read_raw, .write_raw = pada_cuda_write_raw, .image_bytes = image_bytes,  \
    .channel_bytes = channel_bytes, .unpack = pada_cuda_unpack, .pack = pada_cuda_pack,            \
    .hold = cuda_hold, .prepare = cuda_prepare, .run = pada_cuda_run, .fill_zero = cuda_fill_zero, \
    .sum_squares = cuda_sum_squares, .dot = cuda_dot, .update = cuda_update,                       \
    .clip_update = cuda_clip_update, .copy = cuda_copy, .axpy = cuda_axpy, .blend = cuda_blend,    \
    .welford = cuda_welford

extern const pada_backend pada_backend_cuda, pada_backend_cuda_fp32;
const pada_backend pada_backend_cuda = {
    .name = "cuda",
    .summary = "bfloat16 kernels for NVIDIA GPUs, float32 weights and sums",
    .half = true,
    .present = half_present,
    .open = open_half,
    CUDA_BACKEND,
};
const pada_backend pada_backend_cuda_fp32 = {
    .name = "cuda-fp32",
    .summary = "float32 kernels for NVIDIA GPUs",
    .present = single_present,
    .open = open_single,
    CUDA_BACKEND,
};
