/* cuda_reduction_backward.cu - the block between two stages, backward: one of its convolutions, one image per
 * block of threads.
 *
 * dz is formed in shared memory. A pixel of x with row 2 i + py and column 2 j + px is read by the convolution
 * with stride 2 through one, two or four taps, which are the same for all pixels of one parity (py, px): four
 * products of matrices, whose rows are the pixels of one parity. The 1x1 convolution is the case of one tap.
 *
 *   dynamic   [ x or relu(x), with a ring where it has 9 taps | dz, with a ring | partial sums of warps ]
 *   coef      [channel] a, b, c of dz = a dy + b z + c
 */
#include "backend/cuda/cuda_reduction.cuh"

/* How the weight gradient is divided: a warp has 16x16 channels and a part of the pixels. */
template <class IN, class OUT, int TAPS> struct weight_split {
    static constexpr int SIDE = IN::C / 16, PAIRS = SIDE * OUT::C / 16;
    static constexpr int PARTS = IN::WARPS / PAIRS, STEPS = IN::SIZE * IN::SIZE / 64 / PARTS;
    static constexpr int WIDE = TAPS == 9 ? 3 : 1; /* taps at a time */
    static constexpr int ROOM = PARTS > 1 ? IN::WARPS *WIDE * 2 * 32 * 16 : 0;
};

/* Shared memory, in bytes. */
template <class IN, class OUT, int TAPS> struct layout {
    static constexpr int X = TAPS == 9 ? IN::BYTES : IN::COUNT / 4 * 2;
    static constexpr int DZ = OUT::PIXELS * OUT::C * 2;
    static constexpr int ALL = X + DZ + weight_split<IN, OUT, TAPS>::ROOM;
};

/* The pixel of x in shared memory that tap reads for result o. */
template <class IN, int TAPS> static __device__ __forceinline__ int x_pixel(int o, int tap)
{
    constexpr int size = IN::SIZE / 2;

    if (TAPS == 1) return o;
    return (o / size * 2 + tap / 3) * IN::PITCH + o % size * 2 + tap % 3;
}

template <class IN, class OUT>
static __device__ __forceinline__ int dz_pixel(int o, int down, int right)
{
    constexpr int size = IN::SIZE / 2;

    return (o / size + 1 + down) * OUT::PITCH + o % size + 1 + right;
}

/* The ring around the one image of dz. */
template <class IN, class OUT> static __device__ __forceinline__ void clear_ring(char *dz)
{
    constexpr int size = IN::SIZE / 2, across = size + 2;

    for (int i = (int)threadIdx.x; i < across * across * OUT::CHUNKS; i += IN::THREADS) {
        const int row = i / OUT::CHUNKS / across, column = i / OUT::CHUNKS % across;
        if (row != 0 && column != 0 && row <= size && column <= size) continue;
        *(uint4 *)(dz + OUT::offset(row * OUT::PITCH + column, i % OUT::CHUNKS)) =
            make_uint4(0, 0, 0, 0);
    }
}

template <class IN, class OUT>
static __device__ __forceinline__ void form_dz(const cuda_node_back_conv &conv,
                                               const float (*coef)[3], char *to)
{
    constexpr int size = IN::SIZE / 2, each = size * size * OUT::CHUNKS / IN::THREADS;
    const size_t image = (size_t)blockIdx.x * OUT::COUNT;
    const int chunk = (int)threadIdx.x % OUT::CHUNKS, first = (int)threadIdx.x / OUT::CHUNKS;
    uint4 dy[each], z[each];

#pragma unroll
    for (int i = 0; i < each; i++) {
        const int o = first + i * (IN::THREADS / OUT::CHUNKS);
        const size_t at = image + o * OUT::C + chunk * 8;
        dy[i] = *(const uint4 *)((const uint16_t *)conv.dy + at);
        z[i] = conv.z ? *(const uint4 *)((const uint16_t *)conv.z + at) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < each; i++) {
        const int o = first + i * (IN::THREADS / OUT::CHUNKS);
        float g[8], v[8];
        cuda_unpack8(dy[i], g);
        cuda_unpack8(z[i], v);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const float *abc = coef[chunk * 8 + k];
            g[k] = g[k] * abc[0] + v[k] * abc[1] + abc[2];
        }
        *(uint4 *)(to + OUT::offset(dz_pixel<IN, OUT>(o, 0, 0), chunk)) =
            make_uint4(cuda_pair(g[0], g[1]), cuda_pair(g[2], g[3]), cuda_pair(g[4], g[5]),
                       cuda_pair(g[6], g[7]));
    }
}

/* x of this block to shared memory. */
template <class IN, int TAPS>
static __device__ __forceinline__ void load_x(const cuda_reduction_backward_job &j, char *to)
{
    if (TAPS == 9) {
        const node_thread<IN> t(j.n_images);
        uint4 u[IN::ROWS];
#pragma unroll
        for (int r = 0; r < IN::ROWS; r++)
            u[r] = t.load(j.x, r);
#pragma unroll
        for (int r = 0; r < IN::ROWS; r++)
            *t.shared(to, r) = make_uint4(cuda_relu2(u[r].x), cuda_relu2(u[r].y),
                                          cuda_relu2(u[r].z), cuda_relu2(u[r].w));
        return;
    }
    const uint4 *from = (const uint4 *)j.x + (size_t)blockIdx.x * (IN::COUNT / 4 / 8);
#pragma unroll
    for (int i = (int)threadIdx.x; i < IN::COUNT / 4 / 8; i += IN::THREADS)
        *(uint4 *)(to + IN::offset(i / IN::CHUNKS, i % IN::CHUNKS)) = from[i];
}

/* dx at the pixels of one parity; the tap in the middle is the only one of parity (0, 0). */
template <class IN, class OUT, int TAPS>
static __device__ __forceinline__ void input_gradient(const cuda_reduction_backward_job &j,
                                                      const char *x, uint32_t dz, int py, int px)
{
    using S = reduction_split<IN, IN::C>;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5, g = lane >> 2;
    const int q = lane & 3, first_m = S::first_m(warp), first_n = S::first_n(warp);
    const uint2 *weight = (const uint2 *)j.conv.weight + lane;
    float sum[S::M_TILES][S::N_TILES][4] = {};

#pragma unroll
    for (int dy = 0; dy <= py; dy++)
#pragma unroll
        for (int dx = 0; dx <= px; dx++) {
            /* row 2 i + py of x is row i + dy of dz at distance kh = py + 1 - 2 dy of the kernel */
            const int tap = TAPS == 1 ? 0 : (py + 1 - 2 * dy) * 3 + px + 1 - 2 * dx;
#pragma unroll
            for (int k = 0; k < OUT::DEPTH; k++) {
                uint2 b[S::N_TILES];
#pragma unroll
                for (int n = 0; n < S::N_TILES; n++)
                    b[n] = weight[(((first_n + n) * TAPS + TAPS - 1 - tap) * OUT::DEPTH + k) * 32];
#pragma unroll
                for (int m = 0; m < S::M_TILES; m++) {
                    const int p = dz_pixel<IN, OUT>((first_m + m) * 16 + (lane & 15), dy, dx);
                    uint32_t a[4];
                    cuda_load_matrices(a, dz + OUT::offset(p, 2 * k + (lane >> 4)));
#pragma unroll
                    for (int n = 0; n < S::N_TILES; n++)
                        cuda_mma(sum[m][n], a, b[n].x, b[n].y);
                }
            }
        }
#pragma unroll
    for (int m = 0; m < S::M_TILES; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int o = (first_m + m) * 16 + g + 8 * h;
#pragma unroll
            for (int n = 0; n < S::N_TILES; n += 2) {
                const int c = first_n * 8 + S::channel(n, q);
                float v[4] = {sum[m][n][2 * h], sum[m][n][2 * h + 1], sum[m][n + 1][2 * h],
                              sum[m][n + 1][2 * h + 1]};
                size_t to = (size_t)blockIdx.x * (IN::COUNT / 4) + o * IN::C + c;
                if (TAPS == 9) {
                    const int row = o / S::SIZE * 2 + py, column = o % S::SIZE * 2 + px;
                    const int p = (row + 1) * IN::PITCH + column + 1;
                    const uint2 y =
                        *(const uint2 *)(x + IN::offset(p, c >> 3) + (uint32_t)(c & 7) * 2);
                    uint2 mean = make_uint2(0, 0);
                    if (j.pooled) mean = *(const uint2 *)((const uint16_t *)j.pooled + to);
                    v[0] = (y.x & 0xffffu ? v[0] : 0) + cuda_low(mean.x) / 4;
                    v[1] = (y.x >> 16 ? v[1] : 0) + cuda_high(mean.x) / 4;
                    v[2] = (y.y & 0xffffu ? v[2] : 0) + cuda_low(mean.y) / 4;
                    v[3] = (y.y >> 16 ? v[3] : 0) + cuda_high(mean.y) / 4;
                    to = (size_t)blockIdx.x * IN::COUNT + (row * IN::SIZE + column) * IN::C + c;
                }
                *(uint2 *)((uint16_t *)j.dx + to) =
                    make_uint2(cuda_pair(v[0], v[1]), cuda_pair(v[2], v[3]));
            }
        }
}

/* Partial sums of one block, as lanes hold them: [pair][tap][8 channels in][lane] float4. One row of the kernel
 * at a time. */
template <class IN, class OUT, int TAPS>
static __device__ __forceinline__ void weight_gradient(uint32_t x, uint32_t dz, float4 *room,
                                                       float4 *partial)
{
    using S = weight_split<IN, OUT, TAPS>;
    constexpr int TOTAL = S::PAIRS * S::WIDE * 64;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5;
    const int pair = warp % S::PAIRS, part = warp / S::PAIRS;
    const int chunk_a = pair / S::SIDE * 2 + (lane >> 3 & 1);
    const int chunk_b = pair % S::SIDE * 2 + (lane >> 4);

#pragma unroll 1
    for (int kh = 0; kh < S::WIDE; kh++) {
        float sum[S::WIDE][2][4] = {};
#pragma unroll
        for (int i = 0; i < S::STEPS; i++) {
            const int o = (part * S::STEPS + i) * 16;
            uint32_t a[4], b[4];
            /* A is dz transposed: rows are channels out, columns pixels. B: rows pixels, columns channels in. */
            cuda_load_transposed(
                a, dz + OUT::offset(dz_pixel<IN, OUT>(o + (lane & 7) + (lane >> 4) * 8, 0, 0),
                                    chunk_a));
#pragma unroll
            for (int kw = 0; kw < S::WIDE; kw++) {
                const int p = x_pixel<IN, TAPS>(o + (lane & 15), kh * 3 + kw);
                cuda_load_transposed(b, x + IN::offset(p, chunk_b));
                cuda_mma(sum[kw][0], a, b[0], b[1]);
                cuda_mma(sum[kw][1], a, b[2], b[3]);
            }
        }
#pragma unroll
        for (int kw = 0; kw < S::WIDE; kw++)
#pragma unroll
            for (int n = 0; n < 2; n++) {
                const float4 v =
                    make_float4(sum[kw][n][0], sum[kw][n][1], sum[kw][n][2], sum[kw][n][3]);
                if (S::PARTS == 1)
                    partial[((pair * TAPS + kh * 3 + kw) * 2 + n) * 32 + lane] = v;
                else
                    room[part * TOTAL + ((pair * S::WIDE + kw) * 2 + n) * 32 + lane] = v;
            }
        if (S::PARTS == 1) continue;
        __syncthreads();
        for (int i = (int)threadIdx.x; i < TOTAL; i += IN::THREADS) {
            float4 s = room[i];
#pragma unroll
            for (int k = 1; k < S::PARTS; k++) {
                const float4 v = room[k * TOTAL + i];
                s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
            }
            const int of = i / (S::WIDE * 64), rest = i % (S::WIDE * 64);
            partial[(of * TAPS + kh * 3) * 64 + rest] = s;
        }
        __syncthreads();
    }
}

template <class IN, class OUT, int TAPS>
__global__ static void __launch_bounds__(IN::THREADS, 2)
    reduction_backward_kernel(const __grid_constant__ cuda_reduction_backward_job j)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ float coef[OUT::C][3];
    using L = layout<IN, OUT, TAPS>;
    char *dz = shared + L::X;
    const uint32_t x_at = cuda_shared_address(shared), dz_at = cuda_shared_address(dz);

    if (TAPS == 9) node_clear_ring<IN, IN::CHUNKS>(shared);
    clear_ring<IN, OUT>(dz);
    cuda_begin();
    for (int c = (int)threadIdx.x; c < OUT::C; c += IN::THREADS) {
        coef[c][0] = 1, coef[c][1] = coef[c][2] = 0;
        if (!j.conv.z) continue;
        cuda_read_slopes(&j.conv.slopes, OUT::C, c, (double)j.n_images * (OUT::SIZE * OUT::SIZE),
                         coef[c]);
    }
    load_x<IN, TAPS>(j, shared);
    __syncthreads();
    form_dz<IN, OUT>(j.conv, coef, dz);
    __syncthreads();
    if (TAPS == 1) {
        input_gradient<IN, OUT, TAPS>(j, shared, dz_at, 0, 0);
    } else {
        input_gradient<IN, OUT, TAPS>(j, shared, dz_at, 0, 0);
        input_gradient<IN, OUT, TAPS>(j, shared, dz_at, 0, 1);
        input_gradient<IN, OUT, TAPS>(j, shared, dz_at, 1, 0);
        input_gradient<IN, OUT, TAPS>(j, shared, dz_at, 1, 1);
    }
    weight_gradient<IN, OUT, TAPS>(x_at, dz_at, (float4 *)(dz + L::DZ),
                                   (float4 *)j.conv.partial +
                                       (size_t)blockIdx.x * (TAPS * IN::C * OUT::C / 4));
}

template <class IN, class OUT, int TAPS> static cudaError_t raise_limit(void)
{
    return cudaFuncSetAttribute((const void *)reduction_backward_kernel<IN, OUT, TAPS>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                layout<IN, OUT, TAPS>::ALL);
}

cudaError_t pada_cuda_reduction_backward_init(void)
{
    cudaError_t error = raise_limit<node_tile16, reduction_out16, 9>();

    if (error == cudaSuccess) error = raise_limit<node_tile16, reduction_out16, 1>();
    if (error == cudaSuccess) error = raise_limit<node_tile32, reduction_out32, 9>();
    return error == cudaSuccess ? raise_limit<node_tile32, reduction_out32, 1>() : error;
}

template <class IN, class OUT, int TAPS>
static cudaError_t launch(cudaStream_t stream, const cuda_reduction_backward_job *job)
{
    return cuda_launch(reduction_backward_kernel<IN, OUT, TAPS>, (unsigned)job->n_images,
                       IN::THREADS, layout<IN, OUT, TAPS>::ALL, stream, *job);
}

cudaError_t pada_cuda_reduction_backward(cudaStream_t stream,
                                         const cuda_reduction_backward_job *job)
{
    const bool strided = job->conv.taps == 9;

    PADA_ASSERT(pada_cuda_reduction_fits(job->shape));
    if (job->shape.c == 16 && strided) return launch<node_tile16, reduction_out16, 9>(stream, job);
    if (job->shape.c == 16) return launch<node_tile16, reduction_out16, 1>(stream, job);
    if (strided) return launch<node_tile32, reduction_out32, 9>(stream, job);
    return launch<node_tile32, reduction_out32, 1>(stream, job);
}
