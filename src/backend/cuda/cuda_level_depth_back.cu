/* cuda_level_depth_back.cu - both gradients of depthwise convolutions of a level.
 *
 * A tile is of the gradient of x, its window of dz. A thread has a patch: each value of dz that it reads is used for the
 * gradient of x, with the weight of a tap, and for that of this weight, with x, which the patch needs anyway for the
 * slope of the activation. Sums of weights stay in registers over all tiles of a block; then the slots of the block
 * are added up in order. Design note 0025. */
#include "backend/cuda/cuda_level_depth_patch.cuh"

enum {
    SPLITS = 4 * DEPTH_DEVICE, /* at most: partial sums have to be added up */
    TAPS_AT_ONCE = 32          /* added up */
};

/* Allows a kernel as much shared memory as its blocks want. */
static cudaError_t allow(const void *kernel, int bytes)
{
    return bytes > 48 * 1024
               ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)
               : cudaSuccess;
}

/* As many blocks as run at a time, where there are enough tiles. */
int pada_cuda_level_depth_splits(const pada_conv *conv, pada_shape in, int n_images, double share)
{
    cuda_level_conv j = {}; /* what plans depend on */

    j.conv = *conv;
    j.in = in;
    j.n_images = n_images;
    const depth_plan plan = depth_make_plan(j, true);
    const int threads = depth_threads(plan.chunks);
    const int per_sm = min(depth_per_sm(conv->kernel, threads),
                           DEPTH_SHARED / (depth_back_bytes(plan, threads) + DEPTH_RESERVED));
    const int blocks = (int)(share * DEPTH_DEVICE * per_sm) / plan.chunks.n;
    return min(max(1, min(blocks, (int)SPLITS)), plan.tiles.n);
}

/* ---- blocks ---- */

/* Adds up the sums of weights of all slots, TAPS_AT_ONCE at a time, as [tap][slot][lane]. */
template <int MOST>
static __device__ __forceinline__ void put_weights(const cuda_level_conv &j, const depth_block &b,
                                                   const depth_pair *dw, depth_pair *shared)
{
    const int taps = b.plan.taps, threads = (int)blockDim.x, thread = (int)threadIdx.x;

#pragma unroll
    for (int first = 0; first < MOST * MOST; first += TAPS_AT_ONCE) {
        __syncthreads(); /* what was there has been read */
#pragma unroll
        for (int t = first; t < MOST * MOST && t < first + TAPS_AT_ONCE; t++)
            shared[(t - first) * threads + thread] = dw[t];
        __syncthreads();
        const int n = min(taps - first, (int)TAPS_AT_ONCE);
        for (int i = thread; i < n * b.channels; i += threads) {
            const int t = i / b.channels, c = i - t * b.channels;
            const float *of = (const float *)(shared + t * threads) + c;
            float sum = 0;
            for (int s = 0; s < b.slots; s++)
                sum += of[s * b.channels];
            /* taps were from the last to the first */
            j.partial[((int64_t)b.turn * j.conv.c_in + b.first + c) * taps + taps - 1 - first - t] =
                sum;
        }
    }
}

/* Threads, and blocks of a multiprocessor. */
template <int MOST>
__global__ static void __launch_bounds__(MOST == 5 ? 192 : 256, MOST == 7 ? 1 : 2)
    depth_back_kernel(const __grid_constant__ depth_jobs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ depth_block b;
    const int k = cuda_find_job(jobs.convs);
    const cuda_level_conv &j = jobs.convs.at[k];
    const int half = j.conv.stride - 1; /* >> half: divided by the stride */
    depth_pair dw[MOST * MOST] = {};
    cuda_tally<2> tally = {};

    depth_begin(j, jobs.plans[k], (int)blockIdx.x - jobs.convs.first[k], &b);
    const depth_part part = depth_locate(b);
    const company with = {(uint32_t *)(shared + b.met) + threadIdx.x, (int)blockDim.x,
                          b.plan.z_is_x};
    cuda_begin_beside(jobs.convs.beside);
    uint64_t is = depth_copy(j, b, part, b.turn, shared);
    depth_stage<true>(j, b, shared);
    const cuda_norm<2> norm = cuda_read_norm<2>(j.x, part.c, part.slot < 0 ? 0 : 2);
    for (int t = b.turn; t < b.plan.tiles.n; t += j.splits) {
        const depth_corner corner = depth_find_tile(b, t);
        const int patches = depth_count_patches(b.plan.tiles, corner.w, j.in.w);
        int i = part.slot < 0 ? patches : part.slot;
        uint32_t raw_x[DEPTH_PATCH];
        patch at;
        if (i < patches) {
            at = find_patch(j, b.plan.tiles, corner, i, part.c);
            if (at.in_rows)
                fetch_x(j, at, raw_x);
            else
                i = patches; /* all of this slot are below the image */
        }
        cuda_wait_all_copies();
        __syncthreads(); /* coefficients are there, the window before has been read */
        depth_convert(j, b, part, is, shared);
        is = depth_copy(j, b, part, t + j.splits, shared);
        __syncthreads(); /* the window is there */
        while (i < patches) {
            const int pitch = b.plan.window.pitch;
            depth_pair x[DEPTH_PATCH], dx[DEPTH_PATCH] = {};
            const bool full = at.is == DEPTH_ALL;
            if (full) {
                bring_company<true>(j.to, j.in.w, at, with);
                see_patch<true>(j.x.act, norm, at, raw_x, x);
            } else {
                bring_company<false>(j.to, j.in.w, at, with);
                see_patch<false>(j.x.act, norm, at, raw_x, x);
            }
            correlate_any<MOST>(b.kind,
                                (const float *)shared + (at.row >> half) * pitch +
                                    (at.column >> half) * DEPTH_PIXEL + 2 * part.lane,
                                pitch, depth_weights(b, shared) + 2 * part.lane, x, dx, dw);
            if (j.to.data) {
                cuda_wait_all_copies();
                if (full)
                    write_patch<true>(j, at, with, x, dx);
                else
                    write_patch<false>(j, at, with, x, dx);
                count_patch(j.to, with, raw_x, dx, &tally);
            }
            i += b.slots;
            if (i >= patches) break;
            /* slots are whole columns of patches */
            move_patch(&at, (b.slots >> b.plan.tiles.log) * DEPTH_STRIP, corner.w, j.in.w);
            fetch_x(j, at, raw_x);
        }
    }
    put_weights<MOST>(j, b, dw, (depth_pair *)shared);
    __syncthreads();
    if (j.to.data)
        cuda_end_results<2>(j.to, j.conv.c_in, b.first, part.lane, b.lanes,
                            part.slot < 0 ? b.slots : part.slot, b.slots,
                            j.splits * b.plan.chunks.n, tally, (float *)shared);
    cuda_end(jobs.convs.beside);
}

/* Whether the operand of the first norm of the results is what x is before its norm. */
static bool reads_x(const cuda_level_conv &j)
{
    const cuda_finish &f = j.to.finishes[0];

    return j.to.data && j.to.n_finishes > 0 && f.z == j.x.data && f.z_image == j.x.image &&
           j.to.pitch == j.x.pitch;
}

/* How many channels of dz can be loaded at once. */
static int choose_vector(const cuda_level_conv &j, int most)
{
    const int vector = depth_aligned(j.dz.dy, j.dz.dy_image, j.dz.dy_pitch, most);

    return j.dz.z ? depth_aligned(j.dz.z, j.dz.z_image, j.dz.z_pitch, vector) : vector;
}

cudaError_t pada_cuda_level_depth_back(cudaStream_t stream, const cuda_level_convs *from)
{
    depth_jobs jobs;
    int bytes = 4 * cuda_tally_floats<2>(DEPTH_THREADS), kernel = 0, threads = 0;

    jobs.convs = *from;
    jobs.convs.first[0] = 0;
    for (int k = 0; k < from->n; k++) {
        const cuda_level_conv &j = from->at[k];
        depth_plan *plan = &jobs.plans[k];
        *plan = depth_make_plan(j, true);
        plan->vector = (uint8_t)choose_vector(j, plan->vector);
        plan->z_is_x = reads_x(j);
        kernel = max(kernel, j.conv.kernel);
        threads = max(threads, depth_threads(plan->chunks));
        jobs.convs.first[k + 1] = jobs.convs.first[k] + plan->chunks.n * j.splits;
    }
    for (int k = 0; k < from->n; k++)
        bytes = max(bytes, depth_back_bytes(jobs.plans[k], threads));
    bytes = max(bytes, 4 * min(kernel * kernel, (int)TAPS_AT_ONCE) * threads * 2);
    const auto chosen = kernel == 3   ? depth_back_kernel<3>
                        : kernel == 5 ? depth_back_kernel<5>
                                      : depth_back_kernel<7>;
    const cudaError_t error = allow((const void *)chosen, bytes);
    return error == cudaSuccess ? cuda_launch(chosen, (unsigned)jobs.convs.first[from->n],
                                              (unsigned)threads, (size_t)bytes, stream, jobs)
                                : error;
}
