/* cuda_node_backward.cu - one node of a cell, backward: the gradients of all convolutions that read it and
 * of their weights, the gradient of the node, and what its own batch norms need to know about it.
 *
 * For each convolution dz is formed in shared memory from dy and z of the sum behind it; from that tile come
 * the gradient of the input (a convolution with the transposed weights, accumulated in registers over all
 * convolutions) and of the weights (dz times act(y), partial sums per block). Then the activation's mask,
 * identities and transposed pools, the store, and the sums of dy and dy z for each incoming batch norm.
 *
 *   dynamic   [ dz, later the masked gradient | act(y) | sums of warps ] of each team, [ what a team leaves ]
 *   coef      [conv, last: flow through a batch norm][channel] a, b, c of dz = a dy + b z + c
 */
#include "backend/cuda/cuda_node.cuh"

/* How the weight gradient is divided: a warp has 16x16 channels and a part of the pixels. */
template <class T> struct weight_split {
    static constexpr int IN = T::OWN / 16, PAIRS = T::C / 16 * IN; /* blocks of 16x16 channels */
    static constexpr int PARTS = T::WARPS / PAIRS;                 /* of the rows of all strips */
    static constexpr int ALL = T::STRIPS * T::SIZE / PARTS;        /* rows of one part, .. */
    static constexpr int STEPS = ALL < T::SIZE ? ALL : T::SIZE;    /* .. those in one strip */
    static constexpr int ROOM = PARTS > 1 ? T::WARPS * 6 * 32 * 16 : 0; /* bytes for the parts */
    static_assert(PARTS * PAIRS == T::WARPS, "warps");
    static_assert(PARTS == 1 || T::SHARES == 1, "pairs are added up where they are all");
    static_assert(PARTS == 1 || T::TEAMS == 1, "one way of adding up");
};

/* Bytes of shared memory. A team has dz, act(y) and room for sums of its warps: partial ones of weight gradients, later
 * those of batch norms. Behind that of all teams is what the second one leaves for the first: of each warp, column of the kernel
 * and lane. */
template <class T> struct layout {
    static constexpr int NORMS = CUDA_NODE_TERMS * T::SUMS * (int)sizeof(float);
    static constexpr int ROOM = weight_split<T>::ROOM > NORMS ? weight_split<T>::ROOM : NORMS;
    static constexpr int TEAM = T::BYTES + T::OWN_BYTES + ROOM;
    static constexpr int LEFT = (T::TEAMS - 1) * T::WARPS * 3 * 6 * 32 * (int)sizeof(float4);
    static constexpr int BLOCK = T::TEAMS * TEAM + LEFT;
    static constexpr int WITHOUT_CONVS = T::TEAMS * ROOM;
};

/* Weight gradients of a column of the kernel, of both teams: a warp of the second one leaves its own for the warp
 * of the first one that has the same channels. Returns whether v is the sum now. */
template <class T, int N>
static __device__ __forceinline__ bool join_teams(float4 (&v)[N], float4 *left, int dx,
                                                  const node_thread<T> &t)
{
    const int barrier = 1 + T::TEAMS + t.warp * 3 + dx;

    static_assert(T::TEAMS <= 2 && 1 + T::TEAMS + T::WARPS * 3 <= 16, "barriers");
    left += (t.warp * 3 + dx) * 6 * 32 + t.lane;
    if (T::team() > 0) {
#pragma unroll
        for (int i = 0; i < N; i++)
            left[i * 32] = v[i];
        cuda_arrive(barrier, 64);
        return false;
    }
    cuda_wait(barrier, 64);
#pragma unroll
    for (int i = 0; i < N; i++) {
        const float4 u = left[i * 32];
        v[i].x += u.x, v[i].y += u.y, v[i].z += u.z, v[i].w += u.w;
    }
    return true;
}

/* Partial sums of one block: dz^T times act(y), shifted by every tap. Accumulators are stored as lanes
 * hold them: [pair][tap][8 channels in][lane] float4. One column of the kernel at a time: a row of act(y)
 * is loaded once and meets the rows of dz that its taps need, which stay in registers. */
template <class T, int TAPS>
static __device__ __forceinline__ void weight_gradient(uint32_t dz, uint32_t x, float4 *room,
                                                       float4 *left, float4 *partial,
                                                       const node_thread<T> &t)
{
    using S = weight_split<T>;
    constexpr int WIDE = TAPS == 9 ? 3 : 1, TOTAL = S::PAIRS * WIDE * 64;
    const int pair = t.warp % S::PAIRS, part = t.warp / S::PAIRS;
    const int out = pair / S::IN, in = pair % S::IN;
    const int to = out * T::DEPTH + t.share * S::IN + in; /* the pair among all */

#pragma unroll 1
    for (int dx = 0; dx < WIDE; dx++) {
        float sum[WIDE][2][4] = {};
#pragma unroll
        for (int first = 0; first < S::ALL; first += S::STEPS) {
            const int at = part * S::ALL + first, strip = at / T::SIZE, row = at % T::SIZE;
            /* A is dz transposed: rows are channels out, columns pixels. B: rows pixels, columns channels in. */
            const int pixel_a =
                T::padded(strip, (t.lane & 7) + (t.lane >> 4) * 8) + (row + 1) * T::PITCH + 1;
            const int pixel_b = T::padded(strip, t.lane & 15) +
                                (TAPS == 9 ? row * T::PITCH + dx : (row + 1) * T::PITCH + 1);
            const uint32_t a_at = dz + T::offset(pixel_a, out * 2 + (t.lane >> 3 & 1));
            const uint32_t b_at =
                x + T::template offset<T::OWN_CHUNKS>(pixel_b, in * 2 + (t.lane >> 4));
            uint32_t a[WIDE][4];
#pragma unroll
            for (int i = 0; i < S::STEPS + WIDE - 1; i++) {
                uint32_t b[4];
                if (i < S::STEPS)
                    cuda_load_transposed(a[i % WIDE], a_at + (uint32_t)(i * T::ROW_BYTES));
                cuda_load_transposed(b, b_at + (uint32_t)(i * T::OWN_ROW_BYTES));
#pragma unroll
                for (int dy = 0; dy < WIDE; dy++) {
                    if (i - dy < 0 || i - dy >= S::STEPS) continue;
                    cuda_mma(sum[dy][0], a[(i - dy) % WIDE], b[0], b[1]);
                    cuda_mma(sum[dy][1], a[(i - dy) % WIDE], b[2], b[3]);
                }
            }
        }
        if (S::PARTS > 1 && dx > 0) T::wait_for_team(); /* the room has been read */
        float4 v[WIDE * 2];
#pragma unroll
        for (int i = 0; i < WIDE * 2; i++) {
            const float(&s)[4] = sum[i / 2][i % 2];
            v[i] = make_float4(s[0], s[1], s[2], s[3]);
        }
        if constexpr (T::TEAMS > 1) {
            if (!join_teams<T>(v, left, dx, t)) continue;
        }
#pragma unroll
        for (int i = 0; i < WIDE * 2; i++) {
            const int dy = i / 2, n = i % 2;
            if (S::PARTS == 1)
                partial[((to * TAPS + dy * 3 + dx) * 2 + n) * 32 + t.lane] = v[i];
            else
                room[part * TOTAL + ((pair * WIDE + dy) * 2 + n) * 32 + t.lane] = v[i];
        }
        if (S::PARTS == 1) continue;
        T::wait_for_team();
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
    }
}

/* Both gradients of one convolution; `sum` collects that of its input. */
template <class T, int TAPS>
static __device__ __forceinline__ void back_conv(float (&sum)[T::OUT_ROWS][T::TILES][4],
                                                 const cuda_node_back_conv &conv, bool want_input,
                                                 char *shared, float4 *left,
                                                 const node_thread<T> &t)
{
    const uint32_t dz = cuda_shared_address(shared);
    float4 *partial =
        (float4 *)conv.partial + (size_t)(blockIdx.x / T::SHARES) * (TAPS * T::C * T::C / 4);

    if (want_input) node_conv<T, TAPS>(sum, dz, conv.weight, t);
    weight_gradient<T, TAPS>(dz, dz + T::BYTES, (float4 *)(shared + T::BYTES + T::OWN_BYTES), left,
                             partial, t);
}

/* What dz of a convolution is made of: rows of the thread's column, all channels. */
template <class T, int N> struct dz_rows {
    using columns = node_columns<T, T::CHUNKS>;
    uint4 dy[N], z[N];

    __device__ __forceinline__ void load(const cuda_node_back_conv &conv, int first,
                                         const columns &t)
    {
#pragma unroll
        for (int r = 0; r < N; r++) {
            dy[r] = t.load(conv.dy, first + r);
            z[r] = conv.z ? t.load(conv.z, first + r) : make_uint4(0, 0, 0, 0);
        }
    }

    /* dz, into shared memory. */
    __device__ __forceinline__ void store(const float (*coef)[3], char *to, int first,
                                          const columns &t) const
    {
        float abc[8][3];

#pragma unroll
        for (int k = 0; k < 8; k++)
#pragma unroll
            for (int i = 0; i < 3; i++)
                abc[k][i] = coef[t.channel + k][i];
#pragma unroll
        for (int r = 0; r < N; r++) {
            float g[8], v[8];
            cuda_unpack8(dy[r], g);
            cuda_unpack8(z[r], v);
#pragma unroll
            for (int k = 0; k < 8; k++)
                g[k] = t.valid ? g[k] * abc[k][0] + v[k] * abc[k][1] + abc[k][2] : 0;
            *t.shared(to, first + r) = make_uint4(cuda_pair(g[0], g[1]), cuda_pair(g[2], g[3]),
                                                  cuda_pair(g[4], g[5]), cuda_pair(g[6], g[7]));
        }
    }
};

/* All convolutions in turn. Where registers allow it, what the next dz is made of is on its way meanwhile. */
template <class T>
static __device__ __forceinline__ void back_convs(float (&sum)[T::OUT_ROWS][T::TILES][4],
                                                  const cuda_node_backward_job &j,
                                                  const float (*coef)[T::C][3], bool want_input,
                                                  char *shared, float4 *left,
                                                  const node_thread<T> &t)
{
    constexpr bool AHEAD = T::C > 16; /* else registers are short */
    constexpr int ROWS = node_columns<T, T::CHUNKS>::ROWS, N = AHEAD ? ROWS : 4;
    const node_columns<T, T::CHUNKS> all(j.n_images);
    dz_rows<T, N> rows;

    if (AHEAD) rows.load(j.convs[0], 0, all);
#pragma unroll 1
    for (int e = 0; e < j.n_convs; e++) {
#pragma unroll
        for (int first = 0; first < ROWS; first += N) {
            if (!AHEAD) rows.load(j.convs[e], first, all);
            rows.store(coef[e], shared, first, all);
        }
        T::wait_for_team();
        if (AHEAD && e + 1 < j.n_convs) rows.load(j.convs[e + 1], 0, all);
        if (j.convs[e].taps == 9)
            back_conv<T, 9>(sum, j.convs[e], want_input, shared, left, t);
        else
            back_conv<T, 1>(sum, j.convs[e], want_input, shared, left, t);
        __syncthreads(); /* all teams: what is left has been added */
    }
}

/* The gradient through the activation, from strips to columns by way of shared memory. */
template <class T>
static __device__ __forceinline__ void mask_gradient(const float (&sum)[T::OUT_ROWS][T::TILES][4],
                                                     bool relu, char *shared,
                                                     const node_thread<T> &t)
{
    const int g = t.lane >> 2, q = t.lane & 3;
    const int c = t.group * 16 + 4 * q;
    const char *x = shared + T::BYTES;

#pragma unroll
    for (int r = 0; r < T::OUT_ROWS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int p =
                T::padded(t.strip, g + 8 * h) + (t.slice * T::OUT_ROWS + r + 1) * T::PITCH + 1;
            const uint32_t at =
                T::template offset<T::OWN_CHUNKS>(p, c >> 3) + (uint32_t)(c & 7) * 2;
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
                    const float *abc = coef[t.channel + k];
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
        node_keep_sums<T>(first, second, room + e * T::SUMS, t);
    }
    T::wait_for_team();
    for (int i = t.tid; i < j.n_norms * 2 * T::OWN; i += T::THREADS) {
        const int e = i / (2 * T::OWN);
        node_add_sum<T>(room + e * T::SUMS, i % (2 * T::OWN), j.norms[e].sums, t);
    }
}

template <class T>
static __device__ __forceinline__ void node_backward(const cuda_node_backward_job &j, char *shared,
                                                     float4 *left, float (*coef)[T::C][3])
{
    const node_thread<T> t(j.n_images);
    float *room = (float *)(shared + (j.n_convs > 0 ? T::BYTES + T::OWN_BYTES : 0));
    const bool want_input = j.dy || j.n_norms > 0;
    float of_convs[T::OUT_ROWS][T::TILES][4] = {}, dy[T::ROWS][8] = {};

    if (j.n_convs > 0) {
        node_clear_ring<T, T::CHUNKS>(shared);
        node_clear_ring<T, T::OWN_CHUNKS>(shared + T::BYTES);
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
    T::wait_for_team();
    if (j.n_convs > 0) back_convs<T>(of_convs, j, coef, want_input, shared, left, t);
    if (!want_input) return;
    if (j.n_convs > 0) {
        mask_gradient<T>(of_convs, j.relu, shared, t);
        T::wait_for_team();
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
__global__ static void __launch_bounds__(T::BLOCK, T::BLOCK_IMAGES == 1 ? 2 : 1)
    node_backward_kernel(const __grid_constant__ cuda_node_backward_job j)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ float coef[T::TEAMS][CUDA_NODE_CONVS + 1][T::C][3];
    const int bytes = j.n_convs > 0 ? layout<T>::TEAM : layout<T>::ROOM;

    node_backward<T>(j, shared + T::team() * bytes, (float4 *)(shared + T::TEAMS * bytes),
                     coef[T::team()]);
}

/* Several images per block mean fewer partial sums of weight gradients, of which 32 and 64 channels have many. */
using back_tile32 = node_tile<32, 1, 128, 1, 2>;
using back_tile64 = node_tile<64, 4, 256, 2>;

int pada_cuda_node_partials(pada_shape shape, int n_images)
{
    const int images = shape.c == 64   ? back_tile64::BLOCK_IMAGES
                       : shape.c == 32 ? back_tile32::BLOCK_IMAGES
                                       : node_tile16::BLOCK_IMAGES;

    return (n_images + images - 1) / images;
}

template <class T> static cudaError_t raise_limit(void)
{
    return cudaFuncSetAttribute((const void *)node_backward_kernel<T>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, layout<T>::BLOCK);
}

cudaError_t pada_cuda_node_backward_init(void)
{
    cudaError_t error = raise_limit<node_tile16>();

    if (error == cudaSuccess) error = raise_limit<node_tile32>();
    if (error == cudaSuccess) error = raise_limit<back_tile32>();
    return error == cudaSuccess ? raise_limit<back_tile64>() : error;
}

template <class T> static cudaError_t launch(cudaStream_t stream, const cuda_node_backward_job *job)
{
    const unsigned groups = (unsigned)((job->n_images + T::BLOCK_IMAGES - 1) / T::BLOCK_IMAGES);

    return cuda_launch(node_backward_kernel<T>, groups * T::SHARES, T::BLOCK,
                       job->n_convs > 0 ? layout<T>::BLOCK : layout<T>::WITHOUT_CONVS, stream,
                       *job);
}

cudaError_t pada_cuda_node_backward(cudaStream_t stream, const cuda_node_backward_job *job)
{
    PADA_ASSERT(pada_cuda_node_fits(job->shape));
    if (job->shape.c == 16) return launch<node_tile16>(stream, job);
    if (job->shape.c == 64) return launch<back_tile64>(stream, job);
    return job->n_convs > 0 ? launch<back_tile32>(stream, job) : launch<node_tile32>(stream, job);
}
