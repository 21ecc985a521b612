/* cuda_level_dense_weights.cu - gradients of the weights of dense convolutions of levels, on tensor cores: of those with taps,
 * of images, and of those whose pixels do not lie in one piece (the others: cuda_level_dense_points.cu).
 *
 * A block sums a tile of up to SIDE x SIDE weights over a share of the pixels of dz, a chunk of pixels at a time. All of
 * its threads read what a chunk needs, once, and put it into shared memory as bfloat16:
 *
 *   dz  [pixels][out]   behind the batch norm
 *   x   [pixels][in]    behind norm and activation, for each pixel of dz the one that a tap reads there
 *
 * A column of x is a channel at a tap, or one of the numbers that a convolution of images reads. Some warps read dz, the
 * others x. A thread has W neighbouring columns of every so many-th pixel, whose coefficients it keeps; what it reads of
 * the next chunk comes to slots of its own in shared memory meanwhile. Then warps multiply (cuda_level_dense_squares.cuh).
 * There is room for two chunks of each form, so that one barrier for each chunk is enough. */
#include "backend/cuda/cuda_level_dense_squares.cuh"

enum {
    WARPS = SQUARES_WARPS,
    THREADS = SQUARES_THREADS,
    SIDE = SQUARES_SIDE,
    CHUNK = 8192, /* elements of a chunk, at most */
    SEVERAL = 8,  /* chunks */
    PER_SM = 2,
    BLOCKS = PER_SM * 132, /* of a job, at most */
    PAD = 8 /* elements behind a row, so that eight rows of a matrix lie in different banks */
};

/* What a job reads: taps of pixels, or the numbers of images. */
enum kind { TAPS, IMAGES };

/* ---- how the work is divided ---- */

struct tiling {
    int channels;   /* columns of a tap: channels of x, rounded up */
    int outs, out;  /* tiles along the channels of dz, and rows of a tile, a multiple of 16 */
    int ins, in;    /* the same along columns */
    int pixels;     /* of a chunk */
    int dz_threads; /* that read dz, whole warps */
    dense_squares squares;
};

static __host__ __device__ inline int lane_channels(const pada_conv *conv)
{
    return !dense_is_image(conv) && conv->c_in % 8 == 0 && conv->c_out % 8 == 0 ? 8 : 4;
}

static __host__ __device__ inline tiling divide(const pada_conv *conv)
{
    tiling t;

    t.channels = dense_round(dense_depth(conv), lane_channels(conv));
    const int columns = t.channels * dense_turns(conv);
    t.outs = dense_divide_up(conv->c_out, SIDE);
    t.out = dense_round(dense_divide_up(conv->c_out, t.outs), 16);
    t.ins = dense_divide_up(columns, SIDE);
    t.in = dense_round(dense_divide_up(columns, t.ins), 16);
    t.squares = dense_divide_squares(t.out, t.in);
    while (t.squares.slices > 1 && 16 * t.squares.slices * (t.out + t.in) > CHUNK)
        t.squares.slices /= 2;
    const int unit = 16 * t.squares.slices;
    t.pixels = CHUNK / (t.out + t.in) / unit * unit;
    /* dz comes in two parts; what images are read by takes longer still */
    const int x = dense_is_image(conv) ? 8 * t.in : t.in, all = 2 * t.out + x;
    const int share = (WARPS * 2 * t.out + all / 2) / all;
    t.dz_threads = 32 * (share < 1 ? 1 : share < WARPS ? share : WARPS - 1);
    return t;
}

/* Blocks begin and end slowly: each gets several chunks where that leaves enough blocks, as many as the device runs at a
 * time at most. Partial sums are no more than half of what is read. */
int pada_cuda_level_dense_splits(const pada_conv *conv, pada_shape out, int n_images, double share)
{
    if (dense_has_pieces(conv)) return pada_cuda_dense_points_splits(conv, out, n_images, share);
    const tiling t = divide(conv);
    const int tiles = t.outs * t.ins, blocks = (int)(share * BLOCKS);
    const int64_t rows = (int64_t)n_images * out.h * out.w, chunks = (rows - 1) / t.pixels + 1;
    const int64_t bytes = rows * (4 * conv->c_out + 2 * dense_depth(conv));
    int64_t splits = chunks / SEVERAL;

    if (splits * tiles < blocks / PER_SM) splits = blocks / PER_SM / tiles;
    if (splits > chunks) splits = chunks;
    if (splits * tiles > blocks) splits = blocks / tiles;
    if (splits > bytes / (8 * pada_conv_weights(conv)))
        splits = bytes / (8 * pada_conv_weights(conv));
    return splits < 1 ? 1 : (int)splits;
}

/* This block's share. */
struct share {
    tiling t;
    int out, in; /* first row and column of the tile */
    int split, begin, end;
    int z_slots, x_slots, slots; /* where those of z and of x begin, and of a chunk in all */
    dense_rows rows;
};

/* Threads that stage an operand, and how many pixels each of them has in a chunk, at most. */
static __host__ __device__ inline int count_threads(const tiling &t, bool is_dz)
{
    return is_dz ? t.dz_threads : THREADS - t.dz_threads;
}

template <int W> static __host__ __device__ inline int count_slots(const tiling &t, bool is_dz)
{
    const int threads = count_threads(t, is_dz);

    return dense_divide_up(t.pixels, threads / ((is_dz ? t.out : t.in) / W)) * threads;
}

template <int W> static __device__ inline share find_share(const cuda_level_conv &j, int block)
{
    share s;

    s.t = divide(&j.conv);
    const int tiles = s.t.outs * s.t.ins, tile = block % tiles;
    s.split = block / tiles;
    s.out = tile % s.t.outs * s.t.out;
    s.in = tile / s.t.outs * s.t.in;
    s.rows = dense_count(j, j.out);
    const int each = dense_round(dense_divide_up(s.rows.n, j.splits), s.t.pixels);
    s.begin = s.split * each;
    s.end = min(s.begin + each, s.rows.n);
    s.z_slots = count_slots<W>(s.t, true);
    s.x_slots = 2 * s.z_slots;
    s.slots = s.x_slots + count_slots<W>(s.t, false);
    return s;
}

/* What a thread stages: W columns of dz or of x. */
template <int W> struct part {
    bool is_dz;
    int column, valid;      /* of the tile; how many of W there are */
    int tap, channel;       /* of x */
    int pixel, stride;      /* of the chunk: the first, and to the next */
    int thread;             /* among those that stage the same operand */
    float a[W], b[W], c[W]; /* a dy + b z + c, or act(a x + c) */
};

template <int W>
static __device__ __forceinline__ part<W> find_part(const cuda_level_conv &j, const share &s)
{
    part<W> p;

    p.is_dz = (int)threadIdx.x < s.t.dz_threads;
    p.thread = (int)threadIdx.x - (p.is_dz ? 0 : s.t.dz_threads);
    const int lanes = (p.is_dz ? s.t.out : s.t.in) / W;
    p.stride = count_threads(s.t, p.is_dz) / lanes;
    p.pixel = p.thread / lanes;
    p.column = p.thread % lanes * W;
    if (p.pixel >= p.stride) p.pixel = s.t.pixels; /* threads that are left over */
    p.tap = (s.in + p.column) / s.t.channels;
    p.channel = (s.in + p.column) % s.t.channels;
    p.valid = p.is_dz                        ? j.conv.c_out - s.out - p.column
              : p.tap < dense_turns(&j.conv) ? dense_depth(&j.conv) - p.channel
                                             : 0;
    return p;
}

template <int W>
static __device__ __forceinline__ void read_coefs(const cuda_level_conv &j, const share &s,
                                                  part<W> *p)
{
    if (p->is_dz) {
        const cuda_slope<W> slope = cuda_read_slope<W>(j.dz, s.out + p->column, p->valid);
#pragma unroll
        for (int k = 0; k < W; k++)
            p->a[k] = slope.a[k], p->b[k] = slope.b[k], p->c[k] = slope.c[k];
    } else {
        const cuda_norm<W> norm = cuda_read_norm<W>(j.x, p->channel, p->valid);
#pragma unroll
        for (int k = 0; k < W; k++)
            p->a[k] = norm.factor[k], p->b[k] = 0, p->c[k] = norm.shift[k];
    }
}

/* ---- shared memory ---- */

struct room {
    uint16_t *dz, *x;            /* of the first chunk */
    int dz_pitch, x_pitch, next; /* elements of a row, and to the second chunk */
    char *slots;                 /* [chunk][dy, z, x][pixel][thread][W] */
};

template <int W> static inline size_t room_bytes(const tiling &t)
{
    return 4 * (size_t)t.pixels * (size_t)(t.out + t.in + 2 * PAD) +
           2 * (size_t)(2 * count_slots<W>(t, true) + count_slots<W>(t, false)) * 2 * W;
}

static __device__ __forceinline__ room divide_room(const tiling &t, char *shared)
{
    room r;

    r.dz = (uint16_t *)shared;
    r.dz_pitch = t.out + PAD;
    r.x_pitch = t.in + PAD;
    r.x = r.dz + t.pixels * r.dz_pitch;
    r.next = t.pixels * (r.dz_pitch + r.x_pitch);
    r.slots = (char *)(r.dz + 2 * r.next);
    return r;
}

/* The first slot of this thread, of chunk `at` of the two that there is room for; the others are count_threads apart. */
template <int W>
static __device__ __forceinline__ cuda_raw<W> *find_slots(const share &s, const room &r,
                                                          const part<W> &p, int at)
{
    return (cuda_raw<W> *)r.slots + at * s.slots + (p.is_dz ? 0 : s.x_slots) + p.thread;
}

/* ---- staging ---- */

/* Brings the W channels from element i on to a slot. */
template <int W>
static __device__ __forceinline__ void bring(cuda_raw<W> *slot, const void *data, int64_t i,
                                             int valid, bool wide)
{
    if (wide && valid >= W)
        cuda_copy_ahead<2 * W>(cuda_shared_address(slot), (const uint16_t *)data + i);
    else
        *slot = dense_fetch<W>(data, i, valid, wide);
}

/* dy and z of a row of dz; those of z lie `apart` slots behind. */
template <int W>
static __device__ __forceinline__ void bring_gradient(const cuda_level_conv &j, const share &s,
                                                      const part<W> &p, int row, int apart,
                                                      cuda_raw<W> *slot)
{
    const cuda_spot spot = dense_locate(row, s.end, s.rows);
    const bool wide = j.hints.wide_in;
    const int c = s.out + p.column;

    bring<W>(slot, j.dz.dy, dense_begin(false, row, spot, j.dz.dy_image, j.dz.dy_pitch) + c,
             p.valid, wide);
    if (j.dz.z)
        bring<W>(slot + apart, j.dz.z,
                 dense_begin(false, row, spot, j.dz.z_image, j.dz.z_pitch) + c, p.valid, wide);
}

/* The numbers of an image from the thread's first column on. */
template <int W>
static __device__ __forceinline__ cuda_raw<W> gather(const cuda_level_conv &j, const share &s,
                                                     const dense_number *numbers, int row)
{
    const dense_corner corner =
        dense_find_corner(j, dense_locate(row, s.end, s.rows), s.rows.width);
    cuda_raw<W> raw;

#pragma unroll
    for (int k = 0; k < W; k += 2)
        raw.pair[k / 2] = dense_read_number(j, corner, numbers[k]) |
                          dense_read_number(j, corner, numbers[k + 1]) << 16;
    return raw;
}

/* The pixel of x that a tap reads at a row of dz; false: it is outside of the image. */
template <int W, kind KIND>
static __device__ __forceinline__ bool bring_value(const cuda_level_conv &j, const share &s,
                                                   const part<W> &p, const dense_number *numbers,
                                                   int row, cuda_raw<W> *slot)
{
    if (KIND == IMAGES) {
        *slot = gather<W>(j, s, numbers, row);
    } else {
        const int kernel = j.conv.kernel;
        cuda_spot spot = dense_locate(row, s.end, s.rows);
        spot.pixel = dense_source<false>(j, spot, s.rows.width, p.tap / kernel, p.tap % kernel);
        if (spot.pixel < 0) return false;
        bring<W>(slot, j.x.data, dense_begin(false, row, spot, j.x.image, j.x.pitch) + p.channel,
                 p.valid, j.hints.wide_x);
    }
    return true;
}

/* What the thread reads of the chunk from row `first` on. A bit for each pixel that is there. */
template <int W, kind KIND>
static __device__ __forceinline__ uint32_t bring_all(const cuda_level_conv &j, const share &s,
                                                     const part<W> &p, const dense_number *numbers,
                                                     int first, cuda_raw<W> *slot)
{
    const int apart = count_threads(s.t, p.is_dz);
    uint32_t is = 0;

    if (p.valid <= 0) return 0;
    for (int i = 0, pixel = p.pixel; pixel < s.t.pixels && first + pixel < s.end;
         i++, pixel += p.stride, slot += apart) {
        bool there = true;
        if (p.is_dz)
            bring_gradient<W>(j, s, p, first + pixel, s.z_slots, slot);
        else
            there = bring_value<W, KIND>(j, s, p, numbers, first + pixel, slot);
        if (there) is |= 1u << i;
    }
    return is;
}

/* Zeros where there is nothing. */
template <int W>
static __device__ __forceinline__ void put(uint16_t *to, const cuda_raw<W> &raw, bool is)
{
    const uint32_t mask = is ? ~0u : 0u;

    if (W == 8)
        *(uint4 *)to = make_uint4(raw.pair[0] & mask, raw.pair[1] & mask,
                                  raw.pair[W / 2 - 2] & mask, raw.pair[W / 2 - 1] & mask);
    else
        *(uint2 *)to = make_uint2(raw.pair[0] & mask, raw.pair[1] & mask);
}

template <int W>
static __device__ __forceinline__ void put_gradients(const cuda_level_conv &j, const share &s,
                                                     const part<W> &p, int pitch, uint16_t *to,
                                                     uint32_t is, const cuda_raw<W> *slot)
{
    const int apart = s.t.dz_threads, to_z = s.z_slots;

    for (int pixel = p.pixel; pixel < s.t.pixels; pixel += p.stride, slot += apart, is >>= 1) {
        cuda_raw<W> raw = slot[0];
        if (j.dz.z) {
            float dy[W], z[W];
            cuda_unpack<W>(raw, dy);
            cuda_unpack<W>(slot[to_z], z);
#pragma unroll
            for (int k = 0; k < W; k++)
                dy[k] = p.a[k] * dy[k] + (p.b[k] * z[k] + p.c[k]);
#pragma unroll
            for (int k = 0; k < W; k += 2)
                raw.pair[k / 2] = cuda_pair(dy[k], dy[k + 1]);
        }
        put<W>(to + pixel * pitch + p.column, raw, is & 1);
    }
}

template <int W>
static __device__ __forceinline__ void put_values(const cuda_level_conv &j, const share &s,
                                                  const part<W> &p, int pitch, uint16_t *to,
                                                  uint32_t is, const cuda_raw<W> *slot)
{
    const int apart = THREADS - s.t.dz_threads;

    for (int pixel = p.pixel; pixel < s.t.pixels; pixel += p.stride, slot += apart, is >>= 1) {
        cuda_raw<W> raw = slot[0];
        float v[W];
        cuda_unpack<W>(raw, v);
#pragma unroll
        for (int k = 0; k < W; k += 2)
            raw.pair[k / 2] = j.x.mean ? dense_pair_act(j.x.act, p.a[k] * v[k] + p.c[k],
                                                        p.a[k + 1] * v[k + 1] + p.c[k + 1])
                                       : dense_act2(j.x.act, raw.pair[k / 2]);
        put<W>(to + pixel * pitch + p.column, raw, is & 1);
    }
}

/* ---- products ---- */

template <int W, kind KIND>
__global__ static void __launch_bounds__(THREADS, PER_SM)
    weights_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    const int job = cuda_find_job(jobs);
    __shared__ cuda_level_conv j; /* as a parameter, its fields would take registers all the time */
    for (int i = (int)threadIdx.x; i < (int)(sizeof j / 4); i += THREADS)
        ((uint32_t *)&j)[i] = ((const uint32_t *)&jobs.at[job])[i];
    __shared__ share s;
    __syncthreads();
    if (threadIdx.x == 0) s = find_share<W>(j, (int)blockIdx.x - jobs.first[job]);
    __syncthreads();
    part<W> p = find_part<W>(j, s);
    const room r = divide_room(s.t, shared);
    const dense_square q = dense_find_square(s.t.squares);
    dense_number numbers[KIND == IMAGES ? W : 1];
    float acc[SQUARES_HIGH][2 * SQUARES_WIDE][4] = {};
    uint32_t next = 0;
    int at = 0;

#pragma unroll
    for (int k = 0; k < W && KIND == IMAGES; k++)
        numbers[KIND == IMAGES ? k : 0] =
            dense_find_number(j, k < p.valid ? p.channel + k : DENSE_MOST);
    cuda_begin_beside(jobs.beside);
    if (s.begin < s.end)
        next = bring_all<W, KIND>(j, s, p, numbers, s.begin, find_slots(s, r, p, 0));
    cuda_end_copies();
    read_coefs<W>(j, s, &p);
    for (int first = s.begin; first < s.end; first += s.t.pixels, at = 1 - at) {
        const int after = first + s.t.pixels;
        const uint32_t is = next;
        if (after < s.end)
            next = bring_all<W, KIND>(j, s, p, numbers, after, find_slots(s, r, p, 1 - at));
        cuda_end_copies();
        cuda_wait_copies();
        if (p.is_dz)
            put_gradients<W>(j, s, p, r.dz_pitch, r.dz + at * r.next, is, find_slots(s, r, p, at));
        else
            put_values<W>(j, s, p, r.x_pitch, r.x + at * r.next, is, find_slots(s, r, p, at));
        __syncthreads();
        dense_multiply_squares(s.t.squares, q,
                               {r.dz + at * r.next, r.x + at * r.next, r.dz_pitch, r.x_pitch},
                               s.t.pixels, acc);
    }
    dense_add_slices(s.t.squares, (float4 *)shared, acc);
    dense_put_squares(j.conv, s.t.squares, q, s.out, s.in, s.t.channels,
                      j.partial + s.split * (int64_t)j.conv.c_out * dense_depth(&j.conv) *
                                      dense_turns(&j.conv),
                      acc);
    cuda_end(jobs.beside);
}

/* ---- launches ---- */

/* Those of the jobs whose threads have W columns, of one kind. `beside`: of the first launch; of the others it is
 * true. */
template <int W, kind KIND>
static cudaError_t launch_weights(cudaStream_t stream, const cuda_level_convs *jobs, bool *beside)
{
    const void *kernel = (const void *)weights_kernel<W, KIND>;
    cuda_level_convs placed;
    size_t bytes = SQUARES_SUMS;

    placed.n = placed.first[0] = 0;
    placed.beside = *beside;
    for (int k = 0; k < jobs->n; k++) {
        const cuda_level_conv &j = jobs->at[k];
        if (pada_cuda_dense_has_points(&j) || dense_is_image(&j.conv) != (KIND == IMAGES) ||
            lane_channels(&j.conv) != W)
            continue;
        const tiling t = divide(&j.conv);
        placed.at[placed.n] = j;
        placed.at[placed.n].hints = dense_hint(j, j.out, true, lane_channels(&j.conv));
        placed.first[placed.n + 1] = placed.first[placed.n] + j.splits * t.outs * t.ins;
        placed.n++;
        bytes = room_bytes<W>(t) > bytes ? room_bytes<W>(t) : bytes;
    }
    if (placed.n == 0) return cudaSuccess;
    *beside = true;
    const cudaError_t error =
        bytes > 48 * 1024
            ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)
            : cudaSuccess;
    if (error != cudaSuccess) return error;
    return cuda_launch(weights_kernel<W, KIND>, (unsigned)placed.first[placed.n], THREADS, bytes,
                       stream, placed);
}

cudaError_t pada_cuda_level_dense_weights(cudaStream_t stream, const cuda_level_convs *jobs)
{
    bool beside = jobs->beside;
    cudaError_t error = pada_cuda_dense_points(stream, jobs, &beside);

    if (error == cudaSuccess) error = launch_weights<4, IMAGES>(stream, jobs, &beside);
    if (error == cudaSuccess) error = launch_weights<8, TAPS>(stream, jobs, &beside);
    return error == cudaSuccess ? launch_weights<4, TAPS>(stream, jobs, &beside) : error;
}
