/* cuda_level_depth.cu - depthwise convolutions of a level.
 *
 * A thread has a strip of results: for each row of taps it reads the row of the window that belongs to it, and each value
 * is used by all taps that meet it. Design note 0025. */
#include "backend/cuda/cuda_level_depth.cuh"

enum { BLOCKS = 8 * 132 /* of a launch: as many as an H200 runs at a time */ };

bool pada_cuda_level_depth_fits(const pada_conv *conv)
{
    return pada_cuda_depth_fits(conv);
}

/* The sums of a strip. `from` is the first word of its window, `weights` those of this lane. */
template <int K, int STRIDE, int DILATION>
static __device__ __forceinline__ void convolve(const uint32_t *from, int pitch,
                                                const depth_pair *weights,
                                                depth_pair sums[DEPTH_STRIP])
{
    constexpr int N = (DEPTH_STRIP - 1) * STRIDE + (K - 1) * DILATION + 1;

    /* Rows are not unrolled: code that does not fit the instruction cache is what a level would wait for. */
#pragma unroll 1
    for (int kh = 0; kh < K; kh++, from += DILATION * pitch, weights += K * DEPTH_LANES) {
        depth_pair x[N];
        depth_read<N>(from, x);
#pragma unroll
        for (int kw = 0; kw < K; kw++) {
            const depth_pair w = weights[kw * DEPTH_LANES];
#pragma unroll
            for (int p = 0; p < DEPTH_STRIP; p++) {
                sums[p].a += w.a * x[p * STRIDE + kw * DILATION].a;
                sums[p].b += w.b * x[p * STRIDE + kw * DILATION].b;
            }
        }
    }
}

static __device__ __forceinline__ void convolve_any(const pada_conv &conv, const uint32_t *from,
                                                    int pitch, const depth_pair *weights,
                                                    depth_pair sums[DEPTH_STRIP])
{
    switch (depth_kind(conv.kernel, conv.stride, conv.dilation)) {
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

/* Writes a strip that begins at (h, w), and adds it to the sums of its channels. */
static __device__ __forceinline__ void write_strip(const cuda_level_conv &j, int image, int h,
                                                   int w, int c, const depth_pair *v,
                                                   cuda_tally<2> *tally)
{
    uint16_t *to =
        (uint16_t *)j.to.data + image * j.to.image + (int64_t)(h * j.out.w + w) * j.to.pitch + c;

    if (h >= j.out.h) return;
#pragma unroll
    for (int p = 0; p < DEPTH_STRIP; p++) {
        if (w + p >= j.out.w) break;
        *(uint32_t *)(to + p * j.to.pitch) = cuda_pair(v[p].a, v[p].b);
        tally->u[0] += v[p].a;
        tally->u[1] += v[p].b;
        tally->product[0][0] += v[p].a * v[p].a;
        tally->product[0][1] += v[p].b * v[p].b;
    }
}

__global__ static void __launch_bounds__(DEPTH_THREADS, 8)
    depth_kernel(const __grid_constant__ depth_jobs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ depth_block b;
    const int k = cuda_find_job(jobs.convs);
    const int blocks = jobs.convs.first[k + 1] - jobs.convs.first[k];
    const cuda_level_conv &j = jobs.convs.at[k];
    const depth_tiles &tiles = b.plan.tiles;
    cuda_tally<2> tally = {};

    depth_begin(j, false, (int)blockIdx.x - jobs.convs.first[k], jobs.vectors[k], &b);
    const depth_part part = depth_locate(b);
    const int turns = blocks / b.plan.chunks.n;
    cuda_begin_beside(jobs.convs.beside);
    depth_stage<false>(j, b, shared);
    for (int t = b.turn; t < tiles.n; t += turns) {
        const depth_corner corner = depth_find_tile(tiles, t);
        __syncthreads(); /* coefficients are there, the window before has been read */
        depth_load<false>(j, b, part, corner.image, corner.h * j.conv.stride - j.conv.pad,
                          corner.w * j.conv.stride - j.conv.pad, shared);
        __syncthreads();
        for (int s = part.slot; s >= 0 && s < tiles.height * tiles.strips; s += b.slots) {
            const depth_strip at = depth_find_strip(tiles, s);
            depth_pair sums[DEPTH_STRIP] = {};
            convolve_any(j.conv,
                         (const uint32_t *)shared + at.row * j.conv.stride * b.plan.window.pitch +
                             at.column * j.conv.stride * DEPTH_LANES + part.lane,
                         b.plan.window.pitch,
                         (const depth_pair *)depth_weights(b, shared) + part.lane, sums);
            write_strip(j, corner.image, corner.h + at.row, corner.w + at.column, part.c, sums,
                        &tally);
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
    int words = cuda_tally_floats<2>(DEPTH_THREADS);

    jobs.convs = *from;
    for (int k = 0; k < from->n; k++) {
        const cuda_level_conv &j = from->at[k];
        const depth_plan plan = depth_make_plan(j, false);
        words = max(words, depth_words(plan));
        work[k] = {plan.chunks.n, plan.tiles.n, 10 + plan.taps};
        jobs.vectors[k] = depth_aligned(j.x.data, j.x.image, j.x.pitch, depth_vector(j.conv.c_in));
    }
    level_place_blocks(work, from->n, BLOCKS, jobs.convs.first);
    return cuda_launch(depth_kernel, (unsigned)jobs.convs.first[from->n], DEPTH_THREADS,
                       (size_t)words * 4, stream, jobs);
}
