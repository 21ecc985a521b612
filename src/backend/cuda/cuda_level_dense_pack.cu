/* cuda_level_dense_pack.cu - weights of dense convolutions of levels in the order in which products read them.
 *
 *   [tap][16 channels that are read][16 channels of the result][lane][8]   bfloat16
 *
 * A lane's 8 are its fragments of two tiles of columns (cuda_level_dense.cuh). Channels that are read are padded to whole
 * chunks, those of the result to DENSE_COLUMNS. */
#include "backend/cuda/cuda_level_dense.cuh"

bool pada_cuda_level_dense_fits(const pada_conv *conv)
{
    const pada_conv_list list = {/* kernels */ PADA_ANY,
                                 /* strides */ PADA_ANY,
                                 /* pads */ PADA_ANY,
                                 /* dilations */ PADA_ANY,
                                 /* groupings */ PADA_ONE(PADA_DENSE),
                                 /* acts */ PADA_ONE(PADA_ACT_NONE) | PADA_ONE(PADA_ACT_RELU) |
                                     PADA_ONE(PADA_ACT_RELU6),
                                 /* offsets */ PADA_ANY};

    return pada_conv_in(&list, conv) && conv->c_out % 2 == 0 && conv->c_out <= DENSE_MOST &&
           dense_depth(conv) <= DENSE_MOST && (dense_is_image(conv) || conv->c_in % 2 == 0);
}

/* As one tap of so many channels, where a row of numbers is read. */
static cuda_dense_pack pack_of(const pada_conv *conv)
{
    return {0, 0, dense_depth(conv), conv->c_out, dense_turns(conv), dense_lane_channels(conv)};
}

/* Halves of a matrix, transposed or not. */
static __host__ __device__ inline int pack_count(const cuda_dense_pack *p, bool transposed)
{
    return p->taps * dense_round(transposed ? p->c_out : p->c_in, 4 * p->lane_channels) *
           dense_round(transposed ? p->c_in : p->c_out, DENSE_COLUMNS);
}

int64_t pada_cuda_dense_pack_half(const pada_conv *conv)
{
    const cuda_dense_pack p = pack_of(conv);

    return 2 * (int64_t)pack_count(&p, false);
}

int64_t pada_cuda_dense_pack_bytes(const pada_conv *conv)
{
    const cuda_dense_pack p = pack_of(conv);

    return pada_cuda_dense_pack_half(conv) + 2 * (int64_t)pack_count(&p, true);
}

/* The 8 weights of vector v of a packed matrix. */
static __device__ __forceinline__ uint4 find_weights(const cuda_dense_pack &p, const float *weight,
                                                     bool transposed, int v)
{
    const int w = p.lane_channels, depth = transposed ? p.c_out : p.c_in;
    const int columns = transposed ? p.c_in : p.c_out;
    const int vectors = dense_round(columns, DENSE_COLUMNS) / 16,
              steps = dense_round(depth, 4 * w) / 16;
    const int lane = v % 32, block = v / 32;
    const int vector = block % vectors, step = block / vectors % steps,
              tap = block / vectors / steps;
    const int per_chunk = w / 4, per_set = w / 4, g = lane / 4;
    const int k = step / per_chunk * 4 * w + lane % 4 * w + step % per_chunk * 4;
    const int n = vector / per_set * 4 * w + g / 2 * w + vector % per_set * 4 + g % 2;
    /* from one to the next of four channels that are read, and to the other tile of columns */
    const int along = (transposed ? p.c_in : 1) * p.taps;
    const int across = (transposed ? 1 : p.c_in) * p.taps;
    const float *from = weight + (int64_t)k * along + (int64_t)n * across + tap;
    float is[8];

#pragma unroll
    for (int e = 0; e < 8; e++)
        is[e] = k + e % 4 < depth && n + e / 4 * 2 < columns
                    ? from[e % 4 * along + e / 4 * 2 * across]
                    : 0;
    return make_uint4(cuda_pair(is[0], is[1]), cuda_pair(is[2], is[3]), cuda_pair(is[4], is[5]),
                      cuda_pair(is[6], is[7]));
}

/* blockIdx.y is the convolution. */
__global__ static void pack_kernel(const __grid_constant__ cuda_dense_packs jobs,
                                   const float *params, char *fragments)
{
    cuda_begin();
    const cuda_dense_pack &p = jobs.at[blockIdx.y];
    uint4 *to = (uint4 *)(fragments + p.to);

    for (int half = 0; half < 2; half++) {
        const int n = pack_count(&p, half) / 8;
        for (int v = (int)(blockIdx.x * blockDim.x + threadIdx.x); v < n;
             v += (int)(gridDim.x * blockDim.x))
            to[v] = find_weights(p, params + p.weight, half, v);
        to += n;
    }
}

cuda_dense_pack pada_cuda_dense_pack_job(const pada_conv *conv, int64_t weight, int64_t to)
{
    cuda_dense_pack p = pack_of(conv);

    p.weight = weight;
    p.to = to;
    return p;
}

cudaError_t pada_cuda_dense_pack(cudaStream_t stream, const float *params,
                                 const cuda_dense_packs *jobs, void *fragments)
{
    return cuda_launch(pack_kernel, dim3(32, (unsigned)jobs->n), CUDA_BLOCK, 0, stream, *jobs,
                       params, (char *)fragments);
}
