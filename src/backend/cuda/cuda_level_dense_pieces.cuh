/* cuda_level_dense_pieces.cuh - tiles of tensors whose pixels lie in one piece, on their way to the tensor cores.
 *
 * A tile of a tensor is cut into pieces of 8 channels, 16 bytes, from its first pixel to its last, also where a pixel ends
 * within a piece: channels come by fours, so that a half of a piece lies in one pixel. As many threads take part as make
 * whole pixels; a thread has every `step`-th piece, and so the same channels of pixels that are `rows` apart. It uses the
 * pieces that it copied, so that it waits for nobody. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_PIECES_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_PIECES_CUH

#include "backend/cuda/cuda_level_dense.cuh"

enum { DENSE_NOWHERE = 1 << 24 /* behind all pieces */ };

/* Channels until pieces begin at the first one again. */
static __host__ __device__ inline int dense_period(int channels)
{
    return channels % 8 == 0 ? channels : 2 * channels;
}

/* How the tile of a tensor is spread over threads. */
struct dense_spread {
    int step; /* pieces from one of a thread to its next */
    int rows; /* pixels, likewise */
};

/* The first piece of a thread. */
struct dense_piece {
    int first;        /* number */
    int row, channel; /* of its first half */
    int coefs;        /* where it begins in the coefficients of a period */
    bool divided;     /* the other half is of the next pixel */
};

/* Over all threads of a block. */
static __host__ __device__ inline dense_spread dense_spread_out(int channels, int threads)
{
    const int pieces = dense_period(channels) / 8, step = threads / pieces * pieces;

    return {step, step * 8 / channels};
}

/* `row` is the quotient of the elements before it and the channels. */
static __device__ __forceinline__ dense_piece dense_find_piece(int channels, int row,
                                                               const dense_spread &s)
{
    const int thread = (int)threadIdx.x, channel = 8 * thread - row * channels;
    const int before = channels % 8 == 0 ? 0 : row % 2 * channels;

    return {thread < s.step ? thread : DENSE_NOWHERE, row, channel, before + channel,
            channel + 4 == channels};
}

/* Elements from its first half to the other one. */
static __device__ __forceinline__ int dense_find_half(int channels, const dense_piece &at,
                                                      int pitch)
{
    return at.divided ? pitch - channels + 4 : 4;
}

/* Where a tile of a tensor is in memory. */
struct dense_place {
    const void *data;
    int64_t row; /* the first */
    int pitch, channel;
    bool wide; /* both halves of a piece can be moved at once */
};

static __device__ __forceinline__ const char *dense_find_first(const dense_place &from,
                                                               const dense_piece &at)
{
    return (const char *)from.data +
           2 * ((from.row + at.row) * from.pitch + from.channel + at.channel);
}

/* Copies the pieces of this thread to `to`, up to so many bytes of the tile of so many channels. */
static __device__ __forceinline__ void dense_fetch_pieces(const dense_place &from, int channels,
                                                          const dense_spread &s,
                                                          const dense_piece &at, int bytes,
                                                          char *to)
{
    const char *data = dense_find_first(from, at);
    const int half = 2 * dense_find_half(channels, at, from.pitch), step = 16 * s.step;
    const int64_t next = 2 * (int64_t)s.rows * from.pitch;
    const uint32_t shared = cuda_shared_address(to);

    int i = 16 * at.first;

    for (; from.wide && i + 16 <= bytes; i += step, data += next)
        cuda_copy_ahead<16>(shared + (uint32_t)i, data);
    for (; i < bytes; i += step, data += next) {
        cuda_copy_ahead<8>(shared + (uint32_t)i, data);
        if (i + 16 <= bytes)
            cuda_copy_ahead<8>(shared + (uint32_t)i + 8, data + half);
        else /* the last piece of all is a half */
            *(uint2 *)(to + i + 8) = make_uint2(0, 0);
    }
}

/* Whether pieces of a tensor can be moved at once. */
static inline bool dense_is_whole(const void *data, int pitch, int channels, int columns)
{
    return (uintptr_t)data % 16 == 0 &&
           (channels % 8 == 0 ? pitch % 8 == 0 : pitch == channels && columns == channels);
}

/* ---- what becomes of pieces ---- */

static __device__ __forceinline__ cuda_raw<8> dense_read_piece(const char *from)
{
    const uint4 all = *(const uint4 *)from;

    return {{all.x, all.y, all.z, all.w}};
}

static __device__ __forceinline__ void dense_limit_piece(cuda_raw<8> *piece)
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        piece->pair[k] = dense_limit6(piece->pair[k]);
}

/* The activation of 8 channels; one decision for all of them. */
static __device__ __forceinline__ cuda_raw<8> dense_pack_piece(pada_act act, const float v[8])
{
    cuda_raw<8> piece;

    if (act == PADA_ACT_NONE) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            piece.pair[k] = cuda_pair(v[2 * k], v[2 * k + 1]);
        return piece;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        piece.pair[k] = dense_pair_relu(v[2 * k], v[2 * k + 1]);
    if (act == PADA_ACT_RELU6) dense_limit_piece(&piece);
    return piece;
}

/* act(factor x + shift), or a dy + b z + c; `b` is not read forward. */
template <bool BACK>
static __device__ __forceinline__ cuda_raw<8> dense_convert_piece(pada_act act,
                                                                  const cuda_slope<8> &s,
                                                                  const cuda_raw<8> &value,
                                                                  const cuda_raw<8> &other)
{
    float v[8], z[8];

    cuda_unpack<8>(value, v);
    if (BACK) cuda_unpack<8>(other, z);
#pragma unroll
    for (int k = 0; k < 8; k++)
        v[k] = s.a[k] * v[k] + (BACK ? s.b[k] * z[k] + s.c[k] : s.c[k]);
    return dense_pack_piece(act, v);
}

/* What is not normed. */
static __device__ __forceinline__ void dense_act_piece(pada_act act, cuda_raw<8> *piece)
{
    if (act == PADA_ACT_NONE) return;
#pragma unroll
    for (int k = 0; k < 4; k++)
        piece->pair[k] = cuda_relu2(piece->pair[k]);
    if (act == PADA_ACT_RELU6) dense_limit_piece(piece);
}

/* A piece that has arrived, as products read it. `others`: of z, not read forward. */
template <bool BACK>
static __device__ __forceinline__ cuda_raw<8> dense_prepare_piece(bool normed, pada_act act,
                                                                  const cuda_slope<8> &slope,
                                                                  const char *values,
                                                                  const char *others)
{
    cuda_raw<8> value = dense_read_piece(values), other = {};

    if (normed) {
        if (BACK) other = dense_read_piece(others);
        return dense_convert_piece<BACK>(act, slope, value, other);
    }
    if (!BACK) dense_act_piece(act, &value);
    return value;
}

#endif
