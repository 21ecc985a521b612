/* emulate.cc - the threads of emulate.h, and a CUDA runtime without a device.
 *
 * A worker is a stack. A worker runs threads to their ends, one after the other. When one waits at a
 * barrier, its worker is parked and the next worker goes on with the next thread; when all are over
 * or parked, the parked ones go on. So kernels without barriers need a single worker. Workers are
 * started as contexts and switched by jumps, which unlike swapcontext need no system calls. */
#include "emulate.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <memory>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{
enum { STACK = 64 * 1024 };

struct worker {
    jmp_buf place;
    std::vector<char> stack;
    dim3 thread;
    bool parked;
};

std::vector<std::unique_ptr<worker>> workers;
jmp_buf scheduler;
worker *current;
unsigned next_thread, n_threads;
const std::function<void()> *body;

void work(void)
{
    while (next_thread < n_threads) {
        const unsigned t = next_thread++;
        current->thread = dim3(t % blockDim.x, t / blockDim.x % blockDim.y,
                               t / blockDim.x / blockDim.y);
        threadIdx = current->thread;
        (*body)();
    }
    current->parked = false;
    _longjmp(scheduler, 1);
}

void resume(worker *w)
{
    current = w;
    w->parked = false;
    threadIdx = w->thread;
    if (_setjmp(scheduler) == 0) _longjmp(w->place, 1);
}

/* Runs worker i from the start of work(). */
const worker *start_worker(size_t i)
{
    ucontext_t context, unused;

    if (i == workers.size()) {
        workers.emplace_back(new worker());
        workers[i]->stack.resize(STACK);
    }
    current = workers[i].get();
    current->parked = false;
    getcontext(&context);
    context.uc_stack.ss_sp = current->stack.data();
    context.uc_stack.ss_size = current->stack.size();
    context.uc_link = NULL;
    makecontext(&context, work, 0);
    if (_setjmp(scheduler) == 0) swapcontext(&unused, &context);
    return workers[i].get();
}

void run_block(void)
{
    size_t n_parked = 0;

    next_thread = 0;
    do {
        n_parked += start_worker(n_parked)->parked;
    } while (next_thread < n_threads);
    /* A thread that has ended does not hold up a barrier, as on a device. */
    for (size_t left = n_parked; left > 0;) {
        left = 0;
        for (size_t i = 0; i < n_parked; i++) {
            if (!workers[i]->parked) continue;
            resume(workers[i].get());
            left += workers[i]->parked;
        }
    }
}
} // namespace

void __syncthreads(void)
{
    worker *self = current;

    self->parked = true;
    if (_setjmp(self->place) == 0) _longjmp(scheduler, 1);
}

void emulate_run(dim3 grid, dim3 block, const std::function<void()> &thread)
{
    body = &thread;
    gridDim = grid;
    blockDim = block;
    n_threads = block.x * block.y * block.z;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || n_threads == 0 || n_threads > 1024) {
        fprintf(stderr, "emulate: a grid of %ux%u blocks of %u threads\n", grid.x, grid.y,
                n_threads);
        abort();
    }
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = dim3(x, y, z);
                run_block();
            }
}

/* ---- the runtime ---- */

static cudaError_t allocate(void **out, size_t bytes)
{
    *out = malloc(bytes);
    if (*out) memset(*out, 0xff, bytes); /* fresh device memory holds anything */
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

extern "C" {
const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess                 ? "no error"
           : error == cudaErrorMemoryAllocation ? "out of memory"
                                                : "an illegal memory access was encountered";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int)
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int)
{
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "emulated device");
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, const void *)
{
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = NULL;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = NULL;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    return allocate(out, bytes);
}

cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    return allocate(out, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t)
{
    if (getenv("CUDA_EMULATE_FAIL")) return cudaErrorIllegalAddress;
    memcpy(to, from, bytes);
    return cudaSuccess;
}
}
