/* cuda_level_depth.cu - depthwise convolutions of a level.
 *
 * A thread has a patch of results: each value of the window is read once for all rows and taps of the patch that meet
 * it. Design note 0025. */
#include "backend/cuda/cuda_level_depth_load.cuh"

enum { WARPS = 25 /* that a multiprocessor has registers for */ };

bool pada_cuda_level_depth_fits(const pada_conv *conv)
{
    return pada_cuda_depth_fits(conv);
}

/* The sums of a patch. `from` is the first word of its window, `weights` those of this lane. */
template <int K, int STRIDE, int DILATION>
static __device__ __forceinline__ void convolve(const float *from, int pitch, const float *weights,
                                                depth_pair sums[DEPTH_PATCH])
{
    constexpr int ROWS = (DEPTH_HIGH - 1) * STRIDE + (K - 1) * DILATION + 1;
    constexpr int N = (DEPTH_STRIP - 1) * STRIDE + (K - 1) * DILATION + 1;

#pragma unroll
    for (int i = 0; i < ROWS; i++, from += pitch) {
        depth_pair x[N];
        depth_read<N>(from, x);
#pragma unroll
        for (int r = 0; r < DEPTH_HIGH; r++) {
            const int ahead = i - r * STRIDE, kh = ahead / DILATION;
            if (ahead < 0 || ahead % DILATION != 0 || kh >= K) continue;
#pragma unroll
            for (int kw = 0; kw < K; kw++) {
                const depth_pair w = depth_weight(weights, kh * K + kw);
#pragma unroll
                for (int p = 0; p < DEPTH_STRIP; p++) {
                    const depth_pair v = x[p * STRIDE + kw * DILATION];
                    sums[r * DEPTH_STRIP + p].a += w.a * v.a;
                    sums[r * DEPTH_STRIP + p].b += w.b * v.b;
                }
            }
        }
    }
}

static __device__ __forceinline__ void convolve_any(int kind, const float *from, int pitch,
                                                    const float *weights,
                                                    depth_pair sums[DEPTH_PATCH])
{
    switch (kind) {
#define CASE(K, STRIDE, DILATION)                                  \
    case depth_kind(K, STRIDE, DILATION):                          \
        convolve<K, STRIDE, DILATION>(from, pitch, weights, sums); \
        break;
        DEPTH_KINDS(CASE, 3)
        DEPTH_KINDS(CASE, 5)
        DEPTH_KINDS(CASE, 7)
#undef CASE
    default: break;
    }
}

/* Writes a patch that begins at (h, w), and adds it to the sums of its channels. FULL: all of it is there. */
template <bool FULL>
static __device__ __forceinline__ void write_patch(const cuda_level_conv &j, int image, int h,
                                                   int w, int c, const depth_pair *v,
                                                   cuda_tally<2> *tally)
{
    const int pitch = j.to.pitch, width = j.out.w;
    const bool counts = j.to.n_finishes > 0;
    char *first = depth_find_image(j.to.data, j.to.image, image, (h * width + w) * pitch + c);
    char *second = first + (int64_t)width * (2 * pitch);

    depth_pin(&first);
    depth_pin(&second);
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        const int row = p / DEPTH_STRIP, column = p % DEPTH_STRIP;
        if (!FULL && (h + row >= j.out.h || w + column >= width)) continue;
        *(uint32_t *)((row ? second : first) + (int64_t)pitch * (2 * column)) =
            cuda_pair(v[p].a, v[p].b);
    }
    if (!counts) return;
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        const int row = p / DEPTH_STRIP, column = p % DEPTH_STRIP;
        if (!FULL && (h + row >= j.out.h || w + column >= width)) continue;
        tally->u[0] += v[p].a;
        tally->u[1] += v[p].b;
        tally->product[0][0] += v[p].a * v[p].a;
        tally->product[0][1] += v[p].b * v[p].b;
    }
}

__global__ static void __launch_bounds__(256, 3)
    depth_kernel(const __grid_constant__ depth_jobs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ depth_block b;
    const int k = cuda_find_job(jobs.convs);
    const int blocks = jobs.convs.first[k + 1] - jobs.convs.first[k];
    const cuda_level_conv &j = jobs.convs.at[k];
    cuda_tally<2> tally = {};

    depth_begin(j, jobs.plans[k], (int)blockIdx.x - jobs.convs.first[k], &b);
    const depth_part part = depth_locate(b);
    const int turns = blocks / b.plan.chunks.n;
    cuda_begin_beside(jobs.convs.beside);
    depth_stage<false>(j, b, shared);
    for (int t = b.turn; t < b.plan.tiles.n; t += turns) {
        const depth_corner corner = depth_find_tile(b, t);
        const int pitch = b.plan.window.pitch, stride = j.conv.stride;
        const int patches = depth_count_patches(b.plan.tiles, corner.w, j.out.w);
        __syncthreads(); /* coefficients are there, the window before has been read */
        depth_load(j, b, part, corner, shared);
        __syncthreads();
        for (int i = part.slot < 0 ? patches : part.slot; i < patches; i += b.slots) {
            const depth_spot at = depth_find_patch(b.plan.tiles, i);
            depth_pair sums[DEPTH_PATCH] = {};
            if (corner.h + at.row >= j.out.h) continue;
            convolve_any(b.kind,
                         (const float *)shared + at.row * stride * pitch +
                             at.column * stride * DEPTH_PIXEL + 2 * part.lane,
                         pitch, depth_weights(b, shared) + 2 * part.lane, sums);
            const int h = corner.h + at.row, w = corner.w + at.column;
            if (h + DEPTH_HIGH <= j.out.h && w + DEPTH_STRIP <= j.out.w)
                write_patch<true>(j, corner.image, h, w, part.c, sums, &tally);
            else
                write_patch<false>(j, corner.image, h, w, part.c, sums, &tally);
        }
    }
    __syncthreads();
    cuda_end_results<2>(j.to, j.conv.c_in, b.first, part.lane, b.lanes,
                        part.slot < 0 ? b.slots : part.slot, b.slots, blocks, tally,
                        (float *)shared);
    cuda_end(jobs.convs.beside);
}

cudaError_t pada_cuda_level_depth_forward(cudaStream_t stream, const cuda_level_convs *from)
{
    level_work work[CUDA_LEVEL_CONVS];
    depth_jobs jobs;
    int bytes = 4 * cuda_tally_floats<2>(DEPTH_THREADS), threads = 0;

    jobs.convs = *from;
    for (int k = 0; k < from->n; k++) {
        const cuda_level_conv &j = from->at[k];
        depth_plan *plan = &jobs.plans[k];
        *plan = depth_make_plan(j, false);
        plan->vector = (uint8_t)depth_aligned(j.x.data, j.x.image, j.x.pitch, plan->vector);
        threads = max(threads, depth_threads(plan->chunks));
        bytes = max(bytes, 4 * depth_words(*plan));
        work[k] = {plan->chunks.n, plan->tiles.n, 10 + plan->taps};
    }
    level_place_blocks(work, from->n, DEPTH_DEVICE * (WARPS / (threads / 32)), jobs.convs.first);
    return cuda_launch(depth_kernel, (unsigned)jobs.convs.first[from->n], (unsigned)threads,
                       (size_t)bytes, stream, jobs);
}
