/* cuda_node.cuh - what the forward and the backward kernel of a node share: the tile of a block, and
 * convolutions of it on tensor cores.
 *
 * A block holds whole images (no halo): one of 16 channels and 32x32 pixels or of 32 and 16x16, or two
 * of 64 and 8x8 side by side. In shared memory an image has a ring of zeros around it and rows of
 * PITCH pixels, a multiple of 8; the 16-byte chunks of a pixel (8 channels) are exchanged by an XOR with
 * bits of the pixel's number, so that the eight rows of an ldmatrix lie in different banks, and so that
 * all addresses of a thread are one base plus constants.
 *
 *   pixel p, chunk c    at byte (p * CHUNKS + (c ^ twist(p))) * 16,   p = image * PIXELS + row * PITCH + column
 *
 * Two views of a tile:
 *   columns    a thread has one chunk of one column of an image, ROWS rows of it (loads, sums of terms, stores)
 *   strips     a warp has 16 columns (a strip) of OUT_ROWS rows and 8 * TILES channels (convolutions)
 */
#ifndef PADA_BACKEND_CUDA_CUDA_NODE_CUH
#define PADA_BACKEND_CUDA_CUDA_NODE_CUH

#include "backend/cuda/cuda_mma.cuh"

template <int CHANNELS, int N_IMAGES, int N_THREADS> struct node_tile {
    static constexpr int C = CHANNELS, IMAGES = N_IMAGES, THREADS = N_THREADS;
    static constexpr int SIZE = 512 / C, COUNT = SIZE * SIZE * C; /* pixels a side, elements */
    static constexpr int PITCH = (SIZE + 2 + 7) / 8 * 8, PIXELS = (SIZE + 2) * PITCH;
    static constexpr int CHUNKS = C / 8, WARPS = THREADS / 32, ROW_BYTES = PITCH * CHUNKS * 16;
    static constexpr int BYTES = IMAGES * PIXELS * C * 2;
    /* columns */
    static constexpr int COLUMNS = IMAGES * SIZE * CHUNKS, ROWS = SIZE / (THREADS / COLUMNS);
    /* strips */
    static constexpr int STRIPS = IMAGES * SIZE / 16, TILES = C == 64 ? 1 : 2;
    static constexpr int GROUPS = C / 8 / TILES, SLICES = WARPS / (STRIPS * GROUPS);
    static constexpr int OUT_ROWS = SIZE / SLICES, DEPTH = C / 16;
    static_assert(SLICES * STRIPS * GROUPS == WARPS, "warps");
    static_assert(THREADS % COLUMNS == 0, "columns");

    static __device__ __forceinline__ int twist(int p)
    {
        return C == 16 ? p >> 2 & 1 : C == 32 ? p >> 1 & 3 : p & 7;
    }

    static __device__ __forceinline__ uint32_t offset(int p, int chunk)
    {
        return (uint32_t)((p * CHUNKS + (chunk ^ twist(p))) * 16);
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

/* Where a thread is in its block. */
template <class T> struct node_thread {
    int tid, lane, warp;
    int image, column, chunk, row; /* columns */
    int group, strip, slice;       /* strips */
    bool valid;                    /* the image exists */
    uint32_t tile, first;          /* elements before the block's images, before this thread's */

    __device__ __forceinline__ node_thread(int n_images)
    {
        tid = (int)threadIdx.x, lane = tid & 31, warp = tid >> 5;
        group = warp % T::GROUPS, strip = warp / T::GROUPS % T::STRIPS;
        slice = warp / (T::GROUPS * T::STRIPS);
        const int at = tid % T::COLUMNS, in_row = at % (T::SIZE * T::CHUNKS);
        image = at / (T::SIZE * T::CHUNKS), column = in_row / T::CHUNKS, chunk = in_row % T::CHUNKS;
        row = tid / T::COLUMNS * T::ROWS;
        tile = blockIdx.x * (uint32_t)(T::IMAGES * T::COUNT);
        first = tile + (uint32_t)(image * T::COUNT + in_row * 8);
        valid = T::IMAGES == 1 || (int)blockIdx.x * T::IMAGES + image < n_images;
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
        return (uint4 *)(buffer + T::offset(p, chunk));
    }
};

/* The ring around the images. */
template <class T> static __device__ __forceinline__ void node_clear_ring(char *buffer)
{
    constexpr int across = T::SIZE + 2, ring = 2 * across + 2 * T::SIZE;

    for (int i = (int)threadIdx.x; i < T::IMAGES * ring * T::CHUNKS; i += T::THREADS) {
        const int chunk = i % T::CHUNKS, k = i / T::CHUNKS % ring, image = i / (T::CHUNKS * ring);
        int p;
        if (k < across)
            p = k;
        else if (k < 2 * across)
            p = (T::SIZE + 1) * T::PITCH + k - across;
        else
            p = ((k - 2 * across) / 2 + 1) * T::PITCH + (k % 2 ? T::SIZE + 1 : 0);
        *(uint4 *)(buffer + T::offset(image * T::PIXELS + p, chunk)) = make_uint4(0, 0, 0, 0);
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

/* The weights that a warp needs: fragments of B, one per tap, 16 channels in, 8 channels out. */
template <class T, int TAPS> struct node_weights {
    uint2 b[TAPS][T::DEPTH][T::TILES];
};

template <class T, int TAPS, int ROOM>
static __device__ __forceinline__ void node_load_weights(node_weights<T, ROOM> &w, const void *from,
                                                         const node_thread<T> &t)
{
#pragma unroll
    for (int tap = 0; tap < TAPS; tap++)
#pragma unroll
        for (int k = 0; k < T::DEPTH; k++)
#pragma unroll
            for (int n = 0; n < T::TILES; n++)
                w.b[tap][k][n] =
                    ((const uint2 *)
                         from)[((((t.group * T::TILES + n) * TAPS + tap) * T::DEPTH) + k) * 32 +
                               t.lane];
}

/* sum += convolution of the padded images at `shared`. A row of pixels is loaded once per column of the
 * kernel and used for all its rows. */
template <class T, int TAPS, int ROOM>
static __device__ __forceinline__ void node_conv(float (&sum)[T::OUT_ROWS][T::TILES][4],
                                                 uint32_t shared, const node_weights<T, ROOM> &w,
                                                 const node_thread<T> &t)
{
    const int p = T::padded(t.strip, t.lane & 15) + t.slice * T::OUT_ROWS * T::PITCH;

#pragma unroll
    for (int dx = TAPS == 9 ? 0 : 1; dx < (TAPS == 9 ? 3 : 2); dx++) {
        const uint32_t base = shared + T::offset(p + dx, t.lane >> 4);
#pragma unroll
        for (int k = 0; k < T::DEPTH; k++) {
            const uint32_t at = base ^ (uint32_t)(k * 32); /* chunk 2 k further */
#pragma unroll
            for (int r = TAPS == 9 ? 0 : 1; r < T::OUT_ROWS + (TAPS == 9 ? 2 : 1); r++) {
                uint32_t a[4];
                cuda_load_matrices(a, at + (uint32_t)(r * T::ROW_BYTES));
#pragma unroll
                for (int dy = TAPS == 9 ? 0 : 1; dy < (TAPS == 9 ? 3 : 2); dy++) {
                    if (r - dy < 0 || r - dy >= T::OUT_ROWS) continue;
#pragma unroll
                    for (int n = 0; n < T::TILES; n++) {
                        const uint2 b = w.b[TAPS == 9 ? dy * 3 + dx : 0][k][n];
                        cuda_mma(sum[r - dy][n], a, b.x, b.y);
                    }
                }
            }
        }
    }
}

/* ---- sums over the batch ---- */

/* Adds sums over this block's pixels of first[8] and second[8], the thread's chunk of channels, to
 * `sums`. `room` is WARPS * C * 2 floats of shared memory that nobody else uses until the next barrier
 * but one. */
template <class T>
static __device__ __forceinline__ void node_add_sums(float (&first)[8], float (&second)[8],
                                                     float *room, int64_t *sums,
                                                     const node_thread<T> &t)
{
#pragma unroll
    for (int mask = T::CHUNKS; mask < 32; mask *= 2)
#pragma unroll
        for (int k = 0; k < 8; k++) {
            first[k] += cuda_exchange(first[k], mask);
            second[k] += cuda_exchange(second[k], mask);
        }
    if (t.lane < T::CHUNKS) {
#pragma unroll
        for (int k = 0; k < 8; k++) {
            room[(t.warp * T::C + t.lane * 8 + k) * 2] = first[k];
            room[(t.warp * T::C + t.lane * 8 + k) * 2 + 1] = second[k];
        }
    }
    __syncthreads();
    for (int i = t.tid; i < 2 * T::C; i += T::THREADS) {
        float share = 0;
#pragma unroll
        for (int w = 0; w < T::WARPS; w++)
            share += room[w * T::C * 2 + i];
        cuda_add_share(sums, T::C, i, share);
    }
    __syncthreads();
}

/* The tiles that exist. */
using node_tile16 = node_tile<16, 1, 256>;
using node_tile32 = node_tile<32, 1, 256>;
using node_tile64 = node_tile<64, 2, 512>;

#endif
