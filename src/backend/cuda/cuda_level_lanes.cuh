/* cuda_level_lanes.cuh - how channels and pixels of a job are divided among the blocks of a level and their threads.
 *
 * The channels are cut into even chunks of at most LEVEL_LANES words of W channels, so that a warp reads side by side;
 * a block has one chunk, and its slots take turns at what the blocks of that chunk share. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_LANES_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_LANES_CUH

#include "backend/cuda/cuda_level.cuh"

enum {
    LEVEL_THREADS = 256,
    LEVEL_LANES = 32,
    LEVEL_BLOCKS =
        2 *
        132 /* of a launch: as many as an H200 runs at a time, each of which adds to sums once */
};

typedef struct level_lanes {
    int chunks, lanes, slots;
} level_lanes;

static __host__ __device__ inline level_lanes level_divide(int channels, int width)
{
    const int words = (channels + width - 1) / width;
    const int chunks = (words + LEVEL_LANES - 1) / LEVEL_LANES;
    const int lanes = (words + chunks - 1) / chunks;

    return (level_lanes){chunks, lanes, LEVEL_THREADS / lanes};
}

/* A job of `n` things, one for each slot at a time. */
static inline level_work level_work_of(level_lanes d, int n, int cost)
{
    return {d.chunks, (n - 1) / d.slots + 1, cost};
}

/* Where a thread is in its job. */
typedef struct level_place {
    int lane, slot;
    int first; /* channel of the block */
    int c,
        valid; /* channel of the thread, and how many there are from it on; none for threads without work */
    int at, share; /* the first thing of this thread, and how far it is to the next */
} level_place;

/* For block `block` of the `blocks` of a job. */
static __device__ __forceinline__ level_place level_locate(level_lanes d, int width, int channels,
                                                           int block, int blocks)
{
    level_place p;

    p.lane = (int)threadIdx.x % d.lanes;
    p.slot = (int)threadIdx.x / d.lanes;
    p.first = block % d.chunks * d.lanes * width;
    p.c = p.first + p.lane * width;
    p.valid = p.slot < d.slots ? channels - p.c : 0;
    p.at = block / d.chunks * d.slots + p.slot;
    p.share = blocks / d.chunks * d.slots;
    return p;
}

#endif
