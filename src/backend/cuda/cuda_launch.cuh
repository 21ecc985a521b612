/* cuda_launch.cuh - launches that overlap: a kernel may start while the one in front of it in the stream ends.
 *
 * A kernel that is launched with these functions calls cuda_begin before it touches memory of the device: there it
 * waits until the kernel in front of it is over and what it wrote can be seen, and lets the next one start. Every
 * kernel waits, so that when one is over, all before it are. Pointers are not __restrict__: what is declared to be
 * read only could be loaded before the wait.
 *
 * A kernel that needs nothing from the one in front of it, only from those before that one, may run beside it: it
 * starts when all blocks of the other have begun, that is, have waited, and waits at its own end instead. */
#ifndef PADA_BACKEND_CUDA_CUDA_LAUNCH_CUH
#define PADA_BACKEND_CUDA_CUDA_LAUNCH_CUH

#include <cuda_runtime_api.h>

#ifdef __CUDACC__

static __device__ __forceinline__ void cuda_begin(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* The same for a kernel that may run beside the one in front of it. All threads call cuda_end last. */
static __device__ __forceinline__ void cuda_begin_beside(bool beside)
{
#if __CUDA_ARCH__ >= 900
    if (!beside) asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

static __device__ __forceinline__ void cuda_end(bool beside)
{
#if __CUDA_ARCH__ >= 900
    if (beside) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Whether the code that runs here has those instructions: with code of an earlier architecture, also on a later
 * device, kernels run one after the other. The same for all kernels, so that one answer is kept. */
template <typename Kernel> static bool cuda_overlaps(Kernel kernel)
{
    static int known; /* 0: not asked yet, else 1 + the answer */
    cudaFuncAttributes attributes;

    if (known == 0)
        known = 1 + (cudaFuncGetAttributes(&attributes, (const void *)kernel) == cudaSuccess &&
                     attributes.ptxVersion >= 90);
    return known == 2;
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
    config.numAttrs = cuda_overlaps(kernel) ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, args...);
}

#else

static inline void cuda_begin(void)
{
}

static inline void cuda_begin_beside(bool)
{
}

static inline void cuda_end(bool)
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
