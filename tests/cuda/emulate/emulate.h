/* emulate.h - runs CUDA kernels on the CPU, so that their index arithmetic and their barriers are
 * tested where there is no device, also under sanitizers.
 *
 * rewrite.py turns kernel<<<grid, block, shared, stream>>>(..) into
 * emulate_launch(kernel, grid, block, shared, stream)(..). Blocks run one after the other. The
 * threads of a block run one after the other, too, each on a stack of its own from the first
 * barrier on: emulate.cc. What this cannot show: races, memory order, anything asynchronous. */
#ifndef PADA_TESTS_CUDA_EMULATE_EMULATE_H
#define PADA_TESTS_CUDA_EMULATE_EMULATE_H

#include <math.h>
#include <stdint.h>

#include <functional>

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads(void);
void emulate_run(dim3 grid, dim3 block, const std::function<void()> &thread);

static inline int min(int a, int b)
{
    return a < b ? a : b;
}

template <typename... Params> struct emulated_kernel {
    void (*kernel)(Params...);
    dim3 grid, block;

    void operator()(Params... params) const
    {
        emulate_run(grid, block, [&] { kernel(params...); });
    }
};

template <typename... Params>
emulated_kernel<Params...> emulate_launch(void (*kernel)(Params...), dim3 grid, dim3 block, int,
                                          cudaStream_t)
{
    return {kernel, grid, block};
}

#endif
