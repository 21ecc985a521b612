/* emulate.h - runs CUDA kernels on the CPU, so that their index arithmetic and their barriers are
 * tested where there is no device, also under sanitizers.
 *
 * rewrite.py turns kernel<<<grid, block, shared, stream>>>(..) into
 * emulate_launch(kernel, grid, block, shared, stream)(..). Blocks run one after the other. The
 * threads of a block run one after the other, too, each on a stack of its own from the first
 * barrier on: emulate.cc. Operations of a whole warp (cuda_mma.cuh) are meetings: every lane puts its
 * operands down and waits for the others. With another order of warps (CUDA_EMULATE_ORDER) many a
 * missing barrier shows. What this cannot show: other races, memory order, anything asynchronous. */
#ifndef PADA_TESTS_CUDA_EMULATE_EMULATE_H
#define PADA_TESTS_CUDA_EMULATE_EMULATE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __shared__      static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

struct uint2 {
    uint32_t x, y;
};
struct uint4 {
    uint32_t x, y, z, w;
};
struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};

static inline uint2 make_uint2(uint32_t x, uint32_t y)
{
    return {x, y};
}

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}

static inline float2 make_float2(float x, float y)
{
    return {x, y};
}

static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

void __syncthreads(void);
/* Barrier `id` of `threads` threads: arrives there, and waits or goes on. */
void emulate_barrier(int id, int threads, bool waits);
/* The dynamic shared memory of the running block, full of NaN when it starts. */
char *emulate_shared(void);
/* The address of a row of ldmatrix: a multiple of 16, inside what the launch asked for. */
void emulate_check_row(uint32_t address);
/* Puts `words` words of this lane down; returns those of all 32 lanes, [lane][EMULATE_WORDS], when the
 * last lane of the warp has come. */
enum { EMULATE_WORDS = 8 };
const uint32_t *emulate_meet(const uint32_t *mine, int words);
void emulate_run(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &thread);

static inline int min(int a, int b)
{
    return a < b ? a : b;
}

static inline int max(int a, int b)
{
    return a > b ? a : b;
}

static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}

static inline double rsqrt(double x)
{
    return 1 / sqrt(x);
}

template <typename... Params> struct emulated_kernel {
    void (*kernel)(Params...);
    dim3 grid, block;
    size_t shared_bytes;

    void operator()(Params... params) const
    {
        emulate_run(grid, block, shared_bytes, [&] { kernel(params...); });
    }
};

template <typename... Params>
emulated_kernel<Params...> emulate_launch(void (*kernel)(Params...), dim3 grid, dim3 block,
                                          size_t shared_bytes, cudaStream_t)
{
    return {kernel, grid, block, shared_bytes};
}

#endif
