/* cuda_launch.cuh - launches that overlap: a kernel may start while the one in front of it in the stream ends.
 *
 * A kernel that is launched with these functions calls cuda_begin before it touches memory of the device: there it
 * waits until the kernel in front of it is over and what it wrote can be seen, and lets the next one start. Every
 * kernel waits, so that when one is over, all before it are. Pointers are not __restrict__: what is declared to be
 * read only could be loaded before the wait. */
#ifndef PADA_BACKEND_CUDA_CUDA_LAUNCH_CUH
#define PADA_BACKEND_CUDA_CUDA_LAUNCH_CUH

#include <cuda_runtime_api.h>

#ifdef __CUDACC__

static __device__ __forceinline__ void cuda_begin(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* Queues a kernel with `shared_bytes` of dynamic shared memory. */
template <typename Kernel, typename... Args>
static cudaError_t cuda_launch(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes,
                               cudaStream_t stream, const Args &...args)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute;

    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, args...);
}

#else

static inline void cuda_begin(void)
{
}

template <typename Kernel, typename... Args>
static cudaError_t cuda_launch(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes,
                               cudaStream_t stream, const Args &...args)
{
    emulate_launch(kernel, grid, block, shared_bytes, stream)(args...);
    return cudaSuccess;
}

#endif
#endif
