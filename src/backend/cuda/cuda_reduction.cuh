/* cuda_reduction.cuh - what the kernels of the block between two stages share.
 *
 * A block of threads has one image: IN is the tile of y (C channels, 2 SIZE pixels a side), OUT that of the
 * convolutions' results (2 C channels, SIZE pixels a side); cuda_node.cuh says how tiles lie in shared
 * memory. Results are pixels o = row * SIZE + column, 16 of them make the rows of an mma. A warp has
 * M_TILES of these and N_TILES times 8 channels. */
#ifndef PADA_BACKEND_CUDA_CUDA_REDUCTION_CUH
#define PADA_BACKEND_CUDA_CUDA_REDUCTION_CUH

#include "backend/cuda/cuda_node.cuh"

/* CHANNELS: of the results of a product, IN::C or OUT::C. */
template <class IN, int CHANNELS> struct reduction_split {
    static constexpr int SIZE = IN::SIZE / 2, ALL_M = SIZE * SIZE / 16;
    static constexpr int HALVES = ALL_M < IN::WARPS ? IN::WARPS / ALL_M : 1; /* of the channels */
    static constexpr int M_TILES = ALL_M * HALVES / IN::WARPS, N_TILES = CHANNELS / 8 / HALVES;
    static_assert(N_TILES % 2 == 0, "tiles go in pairs: cuda_weights.cu");

    static __device__ __forceinline__ int first_m(int warp)
    {
        return warp / HALVES * M_TILES;
    }

    static __device__ __forceinline__ int first_n(int warp)
    {
        return warp % HALVES * N_TILES;
    }

    /* Of column pair q in tile n of a warp: the first of two channels, counted from those of the warp. */
    static __device__ __forceinline__ int channel(int n, int q)
    {
        return n / 2 * 16 + 4 * q + n % 2 * 2;
    }
};

using reduction_out16 = node_tile32; /* behind a tile of 16 channels */
using reduction_out32 = node_tile64;

#endif
