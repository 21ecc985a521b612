/* cuda_node_backward.cu - one node of a cell, backward: the gradients of all convolutions that read it and
 * of their weights, the gradient of the node, and what its own batch norms need to know about it.
 *
 * For each convolution dz is formed in shared memory from dy and z of the sum behind it; from that tile come
 * the gradient of the input (a convolution with the transposed weights, accumulated in registers over all
 * convolutions) and of the weights (dz times act(y), partial sums per block). Then the activation's mask,
 * identities and transposed pools, the store, and the sums of dy and dy z for each incoming batch norm.
 *
 *   dynamic   [ dz, later the masked gradient | act(y) | partial sums of warps ]   in 87 + 24, 54 + 24, 80 KB
 *   coef      [conv, last: flow through a batch norm][channel] a, b, c of dz = a dy + b z + c
 *   room      sums of warps
 */
#include "backend/cuda/cuda_node.cuh"

/* How the weight gradient is divided: a warp has 16x16 channels and a part of the pixels. */
template <class T> struct weight_split {
    static constexpr int SIDE = T::C / 16, PAIRS = SIDE * SIDE; /* blocks of 16x16 channels */
    static constexpr int PARTS = T::WARPS / PAIRS;              /* of the rows of all strips */
    static constexpr int STEPS = T::STRIPS * T::SIZE / PARTS;   /* rows of one part */
    static constexpr int ROOM =
        PARTS > 1 ? T::WARPS * 6 * 32 * 16 : 0; /* bytes for adding them up */
    static_assert(PARTS * PAIRS == T::WARPS, "warps");
};

template <class T> static constexpr int shared_bytes(void)
{
    return 2 * T::BYTES + weight_split<T>::ROOM;
}

/* Partial sums of one block: dz^T times act(y), shifted by every tap. Accumulators are stored as lanes
 * hold them: [pair][tap][8 channels in][lane] float4. One column of the kernel at a time: a row of act(y)
 * is loaded once and meets the rows of dz that its taps need, which stay in registers. */
template <class T, int TAPS>
static __device__ __forceinline__ void weight_gradient(uint32_t dz, uint32_t x, float4 *room,
                                                       float4 *partial, const node_thread<T> &t)
{
    using S = weight_split<T>;
    constexpr int WIDE = TAPS == 9 ? 3 : 1, TOTAL = S::PAIRS * WIDE * 64;
    const int pair = t.warp % S::PAIRS, part = t.warp / S::PAIRS;
    const int strip = part * S::STEPS / T::SIZE, row = part * S::STEPS % T::SIZE;
    /* A is dz transposed: rows are channels out, columns pixels. B: rows pixels, columns channels in. */
    const int pixel_a =
        T::padded(strip, (t.lane & 7) + (t.lane >> 4) * 8) + (row + 1) * T::PITCH + 1;
    const int pixel_b = T::padded(strip, t.lane & 15) + (TAPS == 9 ? row : row + 1) * T::PITCH;
    const uint32_t a_at = dz + T::offset(pixel_a, pair / S::SIDE * 2 + (t.lane >> 3 & 1));

#pragma unroll 1
    for (int dx = 0; dx < WIDE; dx++) {
        const uint32_t b_at = x + T::offset(pixel_b + (TAPS == 9 ? dx : 1),
                                            pair % S::SIDE * 2 + (t.lane >> 4));
        float sum[WIDE][2][4] = {};
        uint32_t a[WIDE][4];
#pragma unroll
        for (int i = 0; i < S::STEPS + WIDE - 1; i++) {
            uint32_t b[4];
            if (i < S::STEPS)
                cuda_load_transposed(a[i % WIDE], a_at + (uint32_t)(i * T::ROW_BYTES));
            cuda_load_transposed(b, b_at + (uint32_t)(i * T::ROW_BYTES));
#pragma unroll
            for (int dy = 0; dy < WIDE; dy++) {
                if (i - dy < 0 || i - dy >= S::STEPS) continue;
                cuda_mma(sum[dy][0], a[(i - dy) % WIDE], b[0], b[1]);
                cuda_mma(sum[dy][1], a[(i - dy) % WIDE], b[2], b[3]);
            }
        }
#pragma unroll
        for (int dy = 0; dy < WIDE; dy++)
#pragma unroll
            for (int n = 0; n < 2; n++) {
                const float4 v =
                    make_float4(sum[dy][n][0], sum[dy][n][1], sum[dy][n][2], sum[dy][n][3]);
                if (S::PARTS == 1)
                    partial[((pair * TAPS + dy * 3 + dx) * 2 + n) * 32 + t.lane] = v;
                else
                    room[part * TOTAL + ((pair * WIDE + dy) * 2 + n) * 32 + t.lane] = v;
            }
        if (S::PARTS == 1) continue;
        __syncthreads();
        for (int i = t.tid; i < TOTAL; i += T::THREADS) {
            float4 s = make_float4(0, 0, 0, 0);
#pragma unroll
            for (int k = 0; k < S::PARTS; k++) {
                const float4 v = room[k * TOTAL + i];
                s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
            }
            const int of = i / (WIDE * 64), dy = i / 64 % WIDE;
            partial[(of * TAPS + dy * 3 + dx) * 64 + i % 64] = s;
        }
        __syncthreads();
    }
}

/* dz of one convolution into shared memory. */
template <class T>
static __device__ __forceinline__ void form_dz(const cuda_node_back_conv &conv,
                                               const float (*coef)[3], char *to,
                                               const node_thread<T> &t)
{
    constexpr int BATCH = T::ROWS > 4 ? 4 : T::ROWS; /* rows in flight */
    float a[8], b[8], c[8];

#pragma unroll
    for (int k = 0; k < 8; k++) {
        a[k] = coef[t.chunk * 8 + k][0];
        b[k] = coef[t.chunk * 8 + k][1];
        c[k] = coef[t.chunk * 8 + k][2];
    }
#pragma unroll
    for (int first = 0; first < T::ROWS; first += BATCH) {
        uint4 dy[BATCH], z[BATCH];
#pragma unroll
        for (int r = 0; r < BATCH; r++) {
            dy[r] = t.load(conv.dy, first + r);
            z[r] = conv.z ? t.load(conv.z, first + r) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int r = 0; r < BATCH; r++) {
            float g[8], v[8];
            cuda_unpack8(dy[r], g);
            cuda_unpack8(z[r], v);
#pragma unroll
            for (int k = 0; k < 8; k++)
                g[k] = t.valid ? g[k] * a[k] + v[k] * b[k] + c[k] : 0;
            *t.shared(to, first + r) = make_uint4(cuda_pair(g[0], g[1]), cuda_pair(g[2], g[3]),
                                                  cuda_pair(g[4], g[5]), cuda_pair(g[6], g[7]));
        }
    }
}

/* Both gradients of one convolution; `sum` collects that of its input. */
template <class T, int TAPS>
static __device__ __forceinline__ void back_conv(float (&sum)[T::OUT_ROWS][T::TILES][4],
                                                 const cuda_node_back_conv &conv, bool want_input,
                                                 char *shared, const node_thread<T> &t)
{
    const uint32_t dz = cuda_shared_address(shared);
    float4 *partial = (float4 *)conv.partial + (size_t)blockIdx.x * (TAPS * T::C * T::C / 4);

    if (want_input) {
        node_weights<T, TAPS> w;
        node_load_weights<T, TAPS>(w, conv.weight, t);
        node_conv<T, TAPS>(sum, dz, w, t);
    }
    weight_gradient<T, TAPS>(dz, dz + T::BYTES, (float4 *)(shared + 2 * T::BYTES), partial, t);
}

/* The gradient through the activation, from strips to columns by way of shared memory. */
template <class T>
static __device__ __forceinline__ void mask_gradient(const float (&sum)[T::OUT_ROWS][T::TILES][4],
                                                     bool relu, char *shared,
                                                     const node_thread<T> &t)
{
    const int g = t.lane >> 2, q = t.lane & 3;
    const int c = T::TILES == 2 ? t.group * 16 + 4 * q : t.group * 8 + 2 * q;
    const char *x = shared + T::BYTES;

#pragma unroll
    for (int r = 0; r < T::OUT_ROWS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int p =
                T::padded(t.strip, g + 8 * h) + (t.slice * T::OUT_ROWS + r + 1) * T::PITCH + 1;
            const uint32_t at = T::offset(p, c >> 3) + (uint32_t)(c & 7) * 2;
#pragma unroll
            for (int n = 0; n < T::TILES; n++) {
                const uint32_t y = *(const uint32_t *)(x + at + 4 * n);
                const bool low = !relu || (y & 0xffffu), high = !relu || y >> 16;
                *(uint32_t *)(shared + at + 4 * n) =
                    cuda_pair(low ? sum[r][n][2 * h] : 0, high ? sum[r][n][2 * h + 1] : 0);
            }
        }
}

/* sum += the gradients of sums that read the node directly. */
template <class T>
static __device__ __forceinline__ void add_flows(float (&sum)[T::ROWS][8],
                                                 const cuda_node_backward_job &j,
                                                 const float (*coef)[3], const node_thread<T> &t)
{
#pragma unroll 1
    for (int e = 0; e < j.n_flows; e++) {
        const cuda_node_flow &flow = j.flows[e];
        if (flow.pool) {
            node_add_pool<T, true>(sum, t, flow.dy);
            continue;
        }
        uint4 u[T::ROWS];
#pragma unroll
        for (int r = 0; r < T::ROWS; r++)
            u[r] = t.load(flow.dy, r);
#pragma unroll
        for (int r = 0; r < T::ROWS; r++) {
            float x[8];
            cuda_unpack8(u[r], x);
            if (flow.z && t.valid) {
                float z[8];
                cuda_unpack8(t.load(flow.z, r), z);
#pragma unroll
                for (int k = 0; k < 8; k++) {
                    const float *abc = coef[t.chunk * 8 + k];
                    x[k] = x[k] * abc[0] + z[k] * abc[1] + abc[2];
                }
            }
#pragma unroll
            for (int k = 0; k < 8; k++)
                sum[r][k] += x[k];
        }
    }
}

/* sum(dy) and sum(dy z) of every batch norm among the node's terms. */
template <class T>
static __device__ __forceinline__ void add_norms(const float (&dy)[T::ROWS][8],
                                                 const cuda_node_backward_job &j, float *room,
                                                 const node_thread<T> &t)
{
#pragma unroll 1
    for (int e = 0; e < j.n_norms; e++) {
        float first[8] = {0}, second[8] = {0};
        uint4 u[T::ROWS];
#pragma unroll
        for (int r = 0; r < T::ROWS; r++)
            u[r] = t.load(j.norms[e].z, r);
#pragma unroll
        for (int r = 0; r < T::ROWS; r++) {
            float z[8];
            cuda_unpack8(u[r], z);
#pragma unroll
            for (int k = 0; k < 8; k++)
                first[k] += dy[r][k], second[k] += dy[r][k] * z[k];
        }
        node_add_sums<T>(first, second, room, j.norms[e].sums, t);
    }
}

template <class T>
static __device__ __forceinline__ void node_backward(const cuda_node_backward_job &j, char *shared,
                                                     float (*coef)[T::C][3], float *room)
{
    const node_thread<T> t(j.n_images);
    const bool want_input = j.dy || j.n_norms > 0;
    float of_convs[T::OUT_ROWS][T::TILES][4] = {}, dy[T::ROWS][8] = {};

    if (j.n_convs > 0) {
        node_clear_ring<T>(shared);
        node_clear_ring<T>(shared + T::BYTES);
    }
    cuda_begin();
    for (int e = 0; e < j.n_flows; e++)
        if (j.flows[e].z && t.tid < T::C)
            cuda_read_slopes(&j.flows[e].slopes, T::C, t.tid,
                             (double)j.n_images * (T::SIZE * T::SIZE),
                             coef[CUDA_NODE_CONVS][t.tid]);
    if (j.n_convs > 0) {
        uint4 u[T::ROWS];
#pragma unroll
        for (int r = 0; r < T::ROWS; r++)
            u[r] = t.load(j.y, r);
        for (int i = t.tid; i < j.n_convs * T::C; i += T::THREADS) {
            const int e = i / T::C, c = i % T::C;
            coef[e][c][0] = 1, coef[e][c][1] = coef[e][c][2] = 0;
            if (!j.convs[e].z) continue;
            cuda_read_slopes(&j.convs[e].slopes, T::C, c, (double)j.n_images * (T::SIZE * T::SIZE),
                             coef[e][c]);
        }
#pragma unroll
        for (int r = 0; r < T::ROWS; r++) {
            if (j.relu)
                u[r] = make_uint4(cuda_relu2(u[r].x), cuda_relu2(u[r].y), cuda_relu2(u[r].z),
                                  cuda_relu2(u[r].w));
            *t.shared(shared + T::BYTES, r) = u[r];
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int e = 0; e < j.n_convs; e++) {
        form_dz<T>(j.convs[e], coef[e], shared, t);
        __syncthreads();
        if (j.convs[e].taps == 9)
            back_conv<T, 9>(of_convs, j.convs[e], want_input, shared, t);
        else
            back_conv<T, 1>(of_convs, j.convs[e], want_input, shared, t);
        __syncthreads();
    }
    if (!want_input) return;
    if (j.n_convs > 0) {
        mask_gradient<T>(of_convs, j.relu, shared, t);
        __syncthreads();
#pragma unroll
        for (int r = 0; r < T::ROWS; r++)
            cuda_unpack8(*t.shared(shared, r), dy[r]);
    }
    add_flows<T>(dy, j, coef[CUDA_NODE_CONVS], t);
#pragma unroll
    for (int r = 0; r < T::ROWS; r++) {
        const uint4 v = make_uint4(cuda_pair(dy[r][0], dy[r][1]), cuda_pair(dy[r][2], dy[r][3]),
                                   cuda_pair(dy[r][4], dy[r][5]), cuda_pair(dy[r][6], dy[r][7]));
        if (j.dy) t.store(j.dy, r, v);
        cuda_unpack8(v, dy[r]); /* the sums are those of what is stored */
    }
    add_norms<T>(dy, j, room, t);
}

template <class T>
__global__ static void __launch_bounds__(T::THREADS, 512 / T::THREADS)
    node_backward_kernel(const __grid_constant__ cuda_node_backward_job j)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ float coef[CUDA_NODE_CONVS + 1][T::C][3];
    __shared__ float room[T::WARPS * T::C * 2];

    node_backward<T>(j, shared, coef, room);
}

template <class T> static cudaError_t raise_limit(void)
{
    return cudaFuncSetAttribute((const void *)node_backward_kernel<T>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes<T>());
}

cudaError_t pada_cuda_node_backward_init(void)
{
    cudaError_t error = raise_limit<node_tile16>();

    if (error == cudaSuccess) error = raise_limit<node_tile32>();
    return error == cudaSuccess ? raise_limit<node_tile64>() : error;
}

template <class T> static cudaError_t launch(cudaStream_t stream, const cuda_node_backward_job *job)
{
    const unsigned blocks = (unsigned)((job->n_images + T::IMAGES - 1) / T::IMAGES);

    return cuda_launch(node_backward_kernel<T>, blocks, T::THREADS,
                       job->n_convs > 0 ? shared_bytes<T>() : 0, stream, *job);
}

cudaError_t pada_cuda_node_backward(cudaStream_t stream, const cuda_node_backward_job *job)
{
    PADA_ASSERT(pada_cuda_node_fits(job->shape));
    if (job->shape.c == 16) return launch<node_tile16>(stream, job);
    if (job->shape.c == 32) return launch<node_tile32>(stream, job);
    return launch<node_tile64>(stream, job);
}
