/* cuda_level_depth_back.cu - both gradients of depthwise convolutions of a level.
 *
 * A tile is of the gradient of x, its window of dz. A thread has a patch: each value of dz that it reads is used for the
 * gradient of x, with the weight of a tap, and for that of this weight, with x, which the patch needs anyway for the
 * slope of the activation. Sums of weights stay in registers over all tiles of a block; then the slots of the block
 * are added up in order. Design note 0025. */
#include "backend/cuda/cuda_level_depth_patch.cuh"

enum {
    SPLITS = 4 * DEPTH_DEVICE, /* at most: partial sums have to be added up */
    TAPS_AT_ONCE = 32,         /* added up */
    SUM_WORDS = TAPS_AT_ONCE * DEPTH_THREADS * 2
};

static_assert((int)SUM_WORDS <= (int)DEPTH_WORDS, "sums of taps fit");

/* Sums of weights take registers: warps of a multiprocessor. */
static constexpr int warps_of(int kernel)
{
    return kernel == 3 ? 16 : kernel == 5 ? 12 : 8;
}

/* As many blocks as run at a time, where there are enough tiles. */
static int count_splits(const depth_plan &plan, int kernel)
{
    const int blocks = DEPTH_DEVICE * (warps_of(kernel) / (depth_threads(plan.chunks) / 32));
    const int wanted = min(SPLITS, max(1, blocks / plan.chunks.n));

    return min(wanted, plan.tiles.n);
}

int pada_cuda_level_depth_splits(const pada_conv *conv, pada_shape in, int n_images)
{
    cuda_level_conv j = {}; /* what plans depend on */

    j.conv = *conv;
    j.in = in;
    j.n_images = n_images;
    return count_splits(depth_make_plan(j, true), conv->kernel);
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
    const int before = j.conv.pad - (j.conv.kernel - 1) * j.conv.dilation;
    depth_pair dw[MOST * MOST] = {};
    cuda_tally<2> tally = {};

    depth_begin(j, true, (int)blockIdx.x - jobs.convs.first[k], jobs.vectors[k], &b);
    const depth_part part = depth_locate(b);
    cuda_begin_beside(jobs.convs.beside);
    depth_stage<true>(j, b, shared);
    const cuda_norm<2> norm = cuda_read_norm<2>(j.x, part.c, part.slot < 0 ? 0 : 2);
    for (int t = b.turn; t < b.plan.tiles.n; t += j.splits) {
        const depth_corner corner = depth_find_tile(b, t);
        const int patches = depth_count_patches(b.plan.tiles, corner.w, j.in.w);
        int i = part.slot < 0 ? patches : part.slot;
        patch at;
        company with; /* the first z is x, as it lies in memory, until the products are made */
        if (i < patches) {
            at = find_patch(j, b.plan.tiles, corner, i, part.c);
            if (at.in_rows)
                fetch_x(j, at, with.z[0]);
            else
                i = patches; /* all of this slot are below the image */
        }
        const int row = (corner.h + before) >> half, column = (corner.w + before) >> half;
        __syncthreads(); /* coefficients are there, the window before has been read */
        depth_load<true>(j, b, part, corner.image, row, column, shared);
        __syncthreads(); /* the window is there */
        while (i < patches) {
            const int pitch = b.plan.window.pitch;
            depth_pair x[DEPTH_PATCH], dx[DEPTH_PATCH] = {};
            if (at.is == DEPTH_ALL)
                see_patch<true>(j.x.act, norm, at, with.z[0], x);
            else
                see_patch<false>(j.x.act, norm, at, with.z[0], x);
            correlate_any<MOST>(b.kind,
                                (const float *)shared + (at.row >> half) * pitch +
                                    (at.column >> half) * DEPTH_PIXEL + 2 * part.lane,
                                pitch, depth_weights(b, shared) + 2 * part.lane, x, dx, dw);
            if (j.to.data) {
                if (at.is == DEPTH_ALL)
                    write_patch<true>(j, at, jobs.z_is_x[k], x, &with, dx);
                else
                    write_patch<false>(j, at, jobs.z_is_x[k], x, &with, dx);
                count_patch(j.to, with, dx, &tally);
            }
            i += b.slots;
            if (i >= patches) break;
            /* slots are whole columns of patches */
            move_patch(&at, (b.slots >> b.plan.tiles.log) * DEPTH_STRIP, corner.w, j.in.w);
            fetch_x(j, at, with.z[0]);
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
static int choose_vector(const cuda_level_conv &j, int channels)
{
    const int vector = depth_aligned(j.dz.dy, j.dz.dy_image, j.dz.dy_pitch, depth_vector(channels));

    return j.dz.z ? depth_aligned(j.dz.z, j.dz.z_image, j.dz.z_pitch, vector) : vector;
}

cudaError_t pada_cuda_level_depth_back(cudaStream_t stream, const cuda_level_convs *from)
{
    depth_jobs jobs;
    int words = cuda_tally_floats<2>(DEPTH_THREADS), kernel = 0, threads = 0;

    jobs.convs = *from;
    jobs.convs.first[0] = 0;
    for (int k = 0; k < from->n; k++) {
        const cuda_level_conv &j = from->at[k];
        const depth_plan plan = depth_make_plan(j, true);
        words = max(words, depth_words(plan));
        kernel = max(kernel, j.conv.kernel);
        threads = max(threads, depth_threads(plan.chunks));
        jobs.vectors[k] = (uint8_t)choose_vector(j, j.conv.c_in);
        jobs.z_is_x[k] = reads_x(j);
        jobs.convs.first[k + 1] = jobs.convs.first[k] + plan.chunks.n * j.splits;
    }
    words = max(words, min(kernel * kernel, (int)TAPS_AT_ONCE) * threads * 2);
    const auto chosen = kernel == 3   ? depth_back_kernel<3>
                        : kernel == 5 ? depth_back_kernel<5>
                                      : depth_back_kernel<7>;
    return cuda_launch(chosen, (unsigned)jobs.convs.first[from->n], (unsigned)threads,
                       (size_t)words * 4, stream, jobs);
}
