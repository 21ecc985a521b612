/* cuda_node.cuh - what the forward and the backward kernel of a node share: the tile of a block, and
 * convolutions of it on tensor cores.
 *
 * A block holds whole images (no halo), of 16 channels and 32x32 pixels, of 32 and 16x16, or of 64 and 8x8,
 * these two by two side by side. In shared memory an image has a ring of zeros around it and rows of
 * PITCH pixels, a multiple of 8; the 16-byte chunks of a pixel (8 channels) are exchanged by an XOR with
 * bits of the pixel's number, so that the eight rows of an ldmatrix lie in different banks, and so that
 * all addresses of a thread are one base plus constants.
 *
 *   pixel p, chunk c of n    at byte (p * n + (c ^ twist<n>(p))) * 16,   p = image * PIXELS + row * PITCH + column
 *
 * SHARES blocks in a row may have the same images: each reads all channels of what the convolutions give and makes
 * OWN channels of its result. A block may have TEAMS of THREADS threads with images and shared memory of their own, which
 * wait for each other only where they have something to add up.
 *
 * Two views of a tile:
 *   columns    a thread has one chunk of one column of an image, ROWS rows of it (loads, sums of terms, stores)
 *   strips     a warp has 16 columns (a strip) of OUT_ROWS rows and 16 channels (convolutions)
 */
#ifndef PADA_BACKEND_CUDA_CUDA_NODE_CUH
#define PADA_BACKEND_CUDA_CUDA_NODE_CUH

#include "backend/cuda/cuda_mma.cuh"

template <int CHANNELS, int N_IMAGES, int N_THREADS, int N_SHARES = 1, int N_TEAMS = 1>
struct node_tile {
    static constexpr int C = CHANNELS, IMAGES = N_IMAGES, THREADS = N_THREADS, SHARES = N_SHARES;
    static constexpr int TEAMS = N_TEAMS, BLOCK = TEAMS * THREADS, BLOCK_IMAGES = TEAMS * IMAGES;
    static constexpr int OWN = C / SHARES, SIZE = 512 / C; /* channels, pixels a side */
    static constexpr int COUNT = SIZE * SIZE * C;          /* elements of an image */
    static constexpr int PITCH = (SIZE + 2 + 7) / 8 * 8, PIXELS = (SIZE + 2) * PITCH;
    static constexpr int CHUNKS = C / 8, OWN_CHUNKS = OWN / 8, WARPS = THREADS / 32;
    static constexpr int ROW_BYTES = PITCH * C * 2, OWN_ROW_BYTES = PITCH * OWN * 2;
    static constexpr int BYTES = IMAGES * PIXELS * C * 2, OWN_BYTES = IMAGES * PIXELS * OWN * 2;
    /* columns */
    static constexpr int ROWS = SIZE * IMAGES * SIZE * OWN_CHUNKS / THREADS;
    /* strips */
    static constexpr int STRIPS = IMAGES * SIZE / 16, TILES = 2;
    static constexpr int GROUPS = OWN / 8 / TILES, SLICES = WARPS / (STRIPS * GROUPS);
    static constexpr int OUT_ROWS = SIZE / SLICES, DEPTH = C / 16;
    static_assert(SLICES * STRIPS * GROUPS == WARPS, "warps");
    static constexpr int SUMS = WARPS * OWN * 2; /* two per channel, of every warp */

    static __device__ __forceinline__ int team(void)
    {
        return TEAMS == 1 ? 0 : (int)threadIdx.x / THREADS;
    }

    static __device__ __forceinline__ int thread(void) /* of the team */
    {
        return TEAMS == 1 ? (int)threadIdx.x : (int)threadIdx.x % THREADS;
    }

    static __device__ __forceinline__ int first_image(void)
    {
        return (int)blockIdx.x / SHARES * BLOCK_IMAGES + team() * IMAGES;
    }

    static __device__ __forceinline__ void wait_for_team(void) /* barriers 1 .. TEAMS */
    {
        if (TEAMS == 1)
            __syncthreads();
        else
            cuda_wait(1 + team(), THREADS);
    }

    template <int N> static __device__ __forceinline__ int twist(int p)
    {
        return N == 2 ? p >> 2 & 1 : N == 4 ? p >> 1 & 3 : p & 7;
    }

    template <int N = CHUNKS> static __device__ __forceinline__ uint32_t offset(int p, int chunk)
    {
        return (uint32_t)((p * N + (chunk ^ twist<N>(p))) * 16);
    }

    /* Column k (0..15) of a strip: its pixel in padded row and column 0 .. */
    static __device__ __forceinline__ int padded(int strip, int k)
    {
        if (C == 16) return (strip >> 1) * PIXELS + (strip & 1) * 16 + k;
        if (C == 32) return strip * PIXELS + k;
        return (2 * strip + (k >> 3)) * PIXELS + (k & 7);
    }

    /* .. the image it belongs to, and its pixel in row r of that. */
    static __device__ __forceinline__ int image_of(int strip, int k)
    {
        return C == 16 ? strip >> 1 : C == 32 ? strip : 2 * strip + (k >> 3);
    }

    static __device__ __forceinline__ int pixel(int strip, int k, int r)
    {
        return r * SIZE + (C == 16 ? (strip & 1) * 16 + k : C == 32 ? k : k & 7);
    }
};

/* A thread's column of N chunks per pixel: all of them, or the block's own. */
template <class T, int N> struct node_columns {
    static constexpr int COLUMNS = T::IMAGES * T::SIZE * N, ROWS = T::SIZE * COLUMNS / T::THREADS;
    int column, chunk, row; /* the column, the chunk of the block, the first row */
    int channel;            /* the first one of the chunk */
    bool valid;             /* the image exists */
    uint32_t first;         /* elements before this thread's */
    int image;              /* of the block */
    static_assert(T::THREADS % COLUMNS == 0, "columns");

    __device__ __forceinline__ node_columns(int n_images)
    {
        const int tid = T::thread(), at = tid % COLUMNS, share = (int)blockIdx.x % T::SHARES;
        image = at / (T::SIZE * N), column = at / N % T::SIZE, chunk = at % N;
        row = tid / COLUMNS * ROWS;
        channel = (N == T::CHUNKS ? 0 : share * T::OWN) + chunk * 8;
        first = (uint32_t)((T::first_image() + image) * T::COUNT + column * T::C + channel);
        valid = T::BLOCK_IMAGES == 1 || T::first_image() + image < n_images;
    }

    /* Chunk r of this thread's column in a tensor, and in a buffer of shared memory. */
    __device__ __forceinline__ uint4 load(const void *x, int r) const
    {
        const uint16_t *at = (const uint16_t *)x + first + (uint32_t)((row + r) * T::SIZE * T::C);
        return valid ? *(const uint4 *)at : make_uint4(0, 0, 0, 0);
    }

    __device__ __forceinline__ void store(void *x, int r, uint4 u) const
    {
        uint16_t *at = (uint16_t *)x + first + (uint32_t)((row + r) * T::SIZE * T::C);
        if (valid) *(uint4 *)at = u;
    }

    __device__ __forceinline__ uint4 *shared(char *buffer, int r) const
    {
        const int p = image * T::PIXELS + (row + r + 1) * T::PITCH + column + 1;
        return (uint4 *)(buffer + T::template offset<N>(p, chunk));
    }
};

/* Where a thread is in its block. */
template <class T> struct node_thread : node_columns<T, T::OWN_CHUNKS> {
    int tid, lane, warp;
    int group, strip, slice; /* strips; groups are of 16 of the block's own channels */
    int share;               /* of the blocks with the same images */

    __device__ __forceinline__ node_thread(int n_images) : node_columns<T, T::OWN_CHUNKS>(n_images)
    {
        tid = T::thread(), lane = tid & 31, warp = tid >> 5;
        group = warp % T::GROUPS, strip = warp / T::GROUPS % T::STRIPS;
        slice = warp / (T::GROUPS * T::STRIPS);
        share = (int)blockIdx.x % T::SHARES;
    }
};

/* The ring around the images of a buffer with N chunks per pixel. */
template <class T, int N> static __device__ __forceinline__ void node_clear_ring(char *buffer)
{
    constexpr int across = T::SIZE + 2, ring = 2 * across + 2 * T::SIZE;

    for (int i = T::thread(); i < T::IMAGES * ring * N; i += T::THREADS) {
        const int chunk = i % N, k = i / N % ring, image = i / (N * ring);
        int p;
        if (k < across)
            p = k;
        else if (k < 2 * across)
            p = (T::SIZE + 1) * T::PITCH + k - across;
        else
            p = ((k - 2 * across) / 2 + 1) * T::PITCH + (k % 2 ? T::SIZE + 1 : 0);
        *(uint4 *)(buffer + T::template offset<N>(image * T::PIXELS + p, chunk)) =
            make_uint4(0, 0, 0, 0);
    }
}

/* ---- pools ---- */

/* Pixels of a side of n that a 3-wide window around i covers, as a factor. */
static __device__ __forceinline__ float node_share(int i, int n)
{
    return i == 0 || i == n - 1 ? 0.5f : 1.0f / 3;
}

/* sum[r] += the 3x3 mean of x around the thread's pixels, or (BACKWARD) its transpose. */
template <class T, bool BACKWARD>
static __device__ __forceinline__ void node_add_pool(float (&sum)[T::ROWS][8],
                                                     const node_thread<T> &t, const void *x)
{
    const bool has_left = t.column > 0, has_right = t.column < T::SIZE - 1;
    const float here = node_share(t.column, T::SIZE);
    const float left = BACKWARD ? node_share(t.column - 1, T::SIZE) : 1.0f;
    const float right = BACKWARD ? node_share(t.column + 1, T::SIZE) : 1.0f;
    const uint16_t *from = (const uint16_t *)x + t.first;

    if (!t.valid) return;
#pragma unroll
    for (int i = -1; i <= T::ROWS; i++) {
        const int row = t.row + i;
        if (row < 0 || row >= T::SIZE) continue;
        const uint16_t *at = from + (size_t)row * T::SIZE * T::C;
        const uint4 u = *(const uint4 *)at;
        uint4 l = make_uint4(0, 0, 0, 0), r = l;
        float line[8], side[8];
        if (has_left) l = *(const uint4 *)(at - T::C);
        if (has_right) r = *(const uint4 *)(at + T::C);
        cuda_unpack8(u, line);
        if (BACKWARD) {
#pragma unroll
            for (int k = 0; k < 8; k++)
                line[k] *= here;
        }
        cuda_unpack8(l, side);
#pragma unroll
        for (int k = 0; k < 8; k++)
            line[k] += BACKWARD ? side[k] * left : side[k];
        cuda_unpack8(r, side);
#pragma unroll
        for (int k = 0; k < 8; k++)
            line[k] += BACKWARD ? side[k] * right : side[k];
        if (BACKWARD) {
            const float share = node_share(row, T::SIZE);
#pragma unroll
            for (int k = 0; k < 8; k++)
                line[k] *= share;
        }
#pragma unroll
        for (int o = i - 1; o <= i + 1; o++) {
            if (o < 0 || o >= T::ROWS) continue;
            const float share = BACKWARD ? 1.0f : here * node_share(t.row + o, T::SIZE);
#pragma unroll
            for (int k = 0; k < 8; k++)
                sum[o][k] += line[k] * share;
        }
    }
}

/* ---- convolutions ---- */

/* Fragments of B for one step of a convolution, a column of the kernel and 16 channels in: one per row of the kernel
 * and 8 channels out. */
template <class T, int TAPS>
static __device__ __forceinline__ void node_load_weights(uint2 (&w)[TAPS == 9 ? 3 : 1][T::TILES],
                                                         const void *from, int step,
                                                         const node_thread<T> &t)
{
    constexpr int WIDE = TAPS == 9 ? 3 : 1;
    const int dx = step / T::DEPTH, k = step % T::DEPTH;

#pragma unroll
    for (int dy = 0; dy < WIDE; dy++)
#pragma unroll
        for (int n = 0; n < T::TILES; n++) {
            const int tile = (t.share * T::GROUPS + t.group) * T::TILES + n;
            const int tap = dy * WIDE + dx;
            w[dy][n] = ((const uint2 *)from)[((tile * TAPS + tap) * T::DEPTH + k) * 32 + t.lane];
        }
}

/* sum += convolution of the padded images at `shared`. A row of pixels is loaded once per column of the
 * kernel and used for all its rows; weights are on their way some steps ahead. */
template <class T, int TAPS>
static __device__ __forceinline__ void node_conv(float (&sum)[T::OUT_ROWS][T::TILES][4],
                                                 uint32_t shared, const void *weight,
                                                 const node_thread<T> &t)
{
    constexpr int WIDE = TAPS == 9 ? 3 : 1, STEPS = WIDE * T::DEPTH, MARGIN = TAPS == 9 ? 0 : 1;
    constexpr int KEPT = T::DEPTH == 1 ? 3 : 2; /* steps with weights in registers */
    const int p =
        T::padded(t.strip, t.lane & 15) + (t.slice * T::OUT_ROWS + MARGIN) * T::PITCH + MARGIN;
    uint2 w[KEPT][WIDE][T::TILES];

#pragma unroll
    for (int i = 0; i < KEPT - 1 && i < STEPS; i++)
        node_load_weights<T, TAPS>(w[i], weight, i, t);
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const uint32_t at = (shared + T::offset(p + i / T::DEPTH, t.lane >> 4)) ^
                            (uint32_t)(i % T::DEPTH * 32); /* chunk 2 k further */
        if (i + KEPT - 1 < STEPS)
            node_load_weights<T, TAPS>(w[(i + KEPT - 1) % KEPT], weight, i + KEPT - 1, t);
#pragma unroll
        for (int r = 0; r < T::OUT_ROWS + WIDE - 1; r++) {
            uint32_t a[4];
            cuda_load_matrices(a, at + (uint32_t)(r * T::ROW_BYTES));
#pragma unroll
            for (int dy = 0; dy < WIDE; dy++) {
                if (r - dy < 0 || r - dy >= T::OUT_ROWS) continue;
#pragma unroll
                for (int n = 0; n < T::TILES; n++)
                    cuda_mma(sum[r - dy][n], a, w[i % KEPT][dy][n].x, w[i % KEPT][dy][n].y);
            }
        }
    }
}

/* ---- sums over the batch ----
 *
 * Warps leave their sums in shared memory, SUMS floats; after a barrier threads add them up and then to those of other blocks. */

/* Leaves the warp's sums of first[8] and second[8], the thread's chunk of channels. */
template <class T>
static __device__ __forceinline__ void node_keep_sums(float (&first)[8], float (&second)[8],
                                                      float *room, const node_thread<T> &t)
{
#pragma unroll
    for (int mask = T::OWN_CHUNKS; mask < 32; mask *= 2)
#pragma unroll
        for (int k = 0; k < 8; k++) {
            first[k] += cuda_exchange(first[k], mask);
            second[k] += cuda_exchange(second[k], mask);
        }
    if (t.lane >= T::OWN_CHUNKS) return;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        room[(t.warp * T::OWN + t.lane * 8 + k) * 2] = first[k];
        room[(t.warp * T::OWN + t.lane * 8 + k) * 2 + 1] = second[k];
    }
}

/* Adds sum i of 2 OWN that the warps have left. */
template <class T>
static __device__ __forceinline__ void node_add_sum(const float *room, int i, int64_t *sums,
                                                    const node_thread<T> &t)
{
    float share = 0;

#pragma unroll
    for (int w = 0; w < T::WARPS; w++)
        share += room[w * T::OWN * 2 + i];
    cuda_add_share(sums, T::C, t.share * 2 * T::OWN + i, share);
}

using node_tile16 = node_tile<16, 1, 256>;
using node_tile32 = node_tile<32, 1, 256>;
using node_tile64 = node_tile<64, 2, 256>;

#endif
