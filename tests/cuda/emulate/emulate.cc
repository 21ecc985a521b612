/* emulate.cc - the threads of emulate.h, and a CUDA runtime without a device.
 *
 * A worker is a stack. A worker runs threads to their ends, one after the other. When one waits at a
 * barrier or for its warp, its worker is parked and the next worker goes on with the next thread; when
 * all are over or parked, those whose wait is over go on. So kernels without barriers need a single
 * worker. Workers are made as contexts, once, and switched by jumps of the compiler: swapcontext needs
 * system calls, and so does longjmp where AddressSanitizer takes it for the end of functions. */
#include "emulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

/* How the warps of a block take turns. A kernel that forgets a barrier may be right in one order and wrong in
 * another. CUDA_EMULATE_ORDER: "first" or "last" (the default is together). */
enum turns {
    TOGETHER,
    FIRST_AHEAD,
    LAST_AHEAD /* one warp goes as far as it can, then the next */
};

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{
enum {
    STACK = 64 * 1024,
    LANES = 32,
    SHARED = 228 * 1024,
    MAX_WARPS = 1024 / LANES,
    BARRIERS = 16
};

/* Where threads wait for each other. `rounds` counts the meetings that have taken place. */
struct meeting {
    unsigned expected, arrived, rounds;

    void check()
    {
        if (arrived == 0 || arrived < expected) return;
        arrived = 0;
        rounds++;
    }
};

typedef void *place[5]; /* on a stack, for the compiler's jumps */

struct worker {
    place here;
    std::vector<char> stack;
    dim3 thread;
    unsigned index; /* of the thread in its block */
    bool parked;
    meeting *at;    /* parked: waiting there until .. */
    unsigned round; /* .. so many rounds are over */
};

std::vector<std::unique_ptr<worker>> workers;
turns order;
place scheduler;
worker *current;
unsigned next_thread, n_threads;
size_t n_shared;
const std::function<void()> *body;
meeting block_meeting, barriers[BARRIERS], warp_meetings[MAX_WARPS];
/* What lanes put down: in turns, because a quick lane may come to the next meeting before a slow one
 * has read what the last one brought. */
uint32_t slots[MAX_WARPS][2][LANES][EMULATE_WORDS];
alignas(128) char shared[SHARED];

/* The jump is in a function of its own, as the compiler wants it. Callers must take all registers for changed (noipa):
 * other threads run meanwhile. No stack is given up, which is what the sanitizer would prepare for. */
__attribute__((noipa, no_sanitize_address)) void jump(void **there)
{
    __builtin_longjmp(there, 1);
}

/* Goes on there; returns when somebody comes back to `here`. */
__attribute__((noipa, no_sanitize_address)) void switch_to(void **there, void **here)
{
    if (__builtin_setjmp(here) == 0) jump(there);
}

/* Threads of the block that are left. */
void run_threads(void)
{
    while (next_thread < n_threads) {
        const unsigned t = order == LAST_AHEAD ? n_threads - 1 - next_thread : next_thread;
        next_thread++;
        current->index = t;
        current->thread =
            dim3(t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y);
        threadIdx = current->thread;
        (*body)();
        /* A thread that has ended does not hold up a barrier, as on a device. */
        block_meeting.expected--;
        block_meeting.check();
        warp_meetings[current->index / LANES].expected--;
    }
    current->parked = false;
}

/* A worker's life: it is left only by jumps. */
void work(void)
{
    for (;;) {
        run_threads();
        switch_to(scheduler, current->here);
    }
}

void resume(worker *w)
{
    current = w;
    w->parked = false;
    threadIdx = w->thread;
    switch_to(w->here, scheduler);
}

/* Makes a worker, and has it run threads. */
__attribute__((noipa, no_sanitize_address)) void make_worker(void)
{
    ucontext_t context, unused;

    workers.emplace_back(new worker());
    current = workers.back().get();
    current->stack.resize(STACK);
    getcontext(&context);
    context.uc_stack.ss_sp = current->stack.data();
    context.uc_stack.ss_size = current->stack.size();
    context.uc_link = NULL;
    makecontext(&context, work, 0);
    if (__builtin_setjmp(scheduler) == 0) swapcontext(&unused, &context);
}

/* Has worker i, which is not parked, run threads. */
const worker *start_worker(size_t i)
{
    if (i == workers.size()) {
        make_worker();
    } else {
        current = workers[i].get();
        switch_to(current->here, scheduler);
    }
    return workers[i].get();
}

void wait_at(meeting *m)
{
    worker *self = current;

    self->at = m;
    self->round = m->rounds + 1;
    m->arrived++;
    m->check();
    self->parked = true;
    switch_to(scheduler, self->here);
}

turns wanted_order(void)
{
    const char *named = getenv("CUDA_EMULATE_ORDER");

    if (!named) return TOGETHER;
    if (strcmp(named, "first") == 0) return FIRST_AHEAD;
    if (strcmp(named, "last") == 0) return LAST_AHEAD;
    fprintf(stderr, "emulate: CUDA_EMULATE_ORDER is %s, not first or last\n", named);
    abort();
}

bool can_go_on(const worker *w)
{
    return w->parked && w->round <= w->at->rounds;
}

/* Lets the threads of the warp of worker `first` go on; its other workers are behind that one. Returns where they end. */
size_t run_warp(size_t first, size_t n, bool *moved)
{
    const unsigned warp = workers[first]->index / LANES;
    size_t end = first;
    bool again;

    while (end < n && workers[end]->index / LANES == warp)
        end++;
    do {
        again = false;
        for (size_t i = first; i < end; i++)
            if (can_go_on(workers[i].get())) {
                resume(workers[i].get());
                *moved = true;
                again = order != TOGETHER;
            }
    } while (again);
    return end;
}

/* Lets warps go on until none can: in turns, or in an order, always the first one that can. */
void run_warps(size_t n)
{
    bool moved;

    do {
        moved = false;
        for (size_t i = 0; i < n && (order == TOGETHER || !moved);)
            i = run_warp(i, n, &moved);
    } while (moved);
}

void run_block(void)
{
    size_t n_parked = 0; /* workers */

    next_thread = 0;
    block_meeting = {n_threads, 0, 0};
    for (meeting &b : barriers)
        b = {0, 0, 0};
    for (unsigned w = 0; w * LANES < n_threads; w++)
        warp_meetings[w] = {std::min<unsigned>(n_threads - w * LANES, LANES), 0, 0};
    memset(shared, 0xff, n_shared);
    do {
        n_parked += start_worker(n_parked)->parked;
        if (order != TOGETHER && next_thread % LANES == 0) run_warps(n_parked);
    } while (next_thread < n_threads);
    run_warps(n_parked);
    for (size_t i = 0; i < n_parked; i++)
        if (workers[i]->parked) {
            fprintf(stderr, "emulate: the threads of a block wait for each other\n");
            abort();
        }
}
} // namespace

void __syncthreads(void)
{
    wait_at(&block_meeting);
}

void emulate_barrier(int id, int threads, bool waits)
{
    meeting *b = &barriers[id];

    if (id < 1 || id >= BARRIERS || threads % LANES != 0 ||
        (b->arrived > 0 && b->expected != (unsigned)threads)) {
        fprintf(stderr, "emulate: barrier %d of %d threads, %u of %u have come\n", id, threads,
                b->arrived, b->expected);
        abort();
    }
    b->expected = (unsigned)threads;
    if (waits) {
        wait_at(b);
        return;
    }
    b->arrived++;
    b->check();
}

char *emulate_shared(void)
{
    return shared;
}

void emulate_check_row(uint32_t address)
{
    if (address % 16 == 0 && address + 16 <= n_shared) return;
    fprintf(stderr, "emulate: ldmatrix reads address %u of %zu bytes\n", address, n_shared);
    abort();
}

const uint32_t *emulate_meet(const uint32_t *mine, int words)
{
    const unsigned warp = current->index / LANES, lane = current->index % LANES;
    uint32_t(*turn)[EMULATE_WORDS] = slots[warp][warp_meetings[warp].rounds % 2];

    if (warp_meetings[warp].expected != LANES) {
        fprintf(stderr, "emulate: an operation of a warp that has lost threads\n");
        abort();
    }
    memcpy(turn[lane], mine, (size_t)words * sizeof *mine);
    wait_at(&warp_meetings[warp]);
    return turn[0];
}

/* A number of the environment. */
static int setting(const char *name, int usual)
{
    const char *given = getenv(name);

    return given ? atoi(given) : usual;
}

static int most_shared(void)
{
    return setting("CUDA_EMULATE_SHARED", 227 * 1024);
}

void emulate_run(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &thread)
{
    /* Several streams may have threads of their own; kernels run one after the other. */
    static std::mutex device;
    const std::lock_guard<std::mutex> lock(device);

    order = wanted_order();
    n_shared = shared_bytes;
    body = &thread;
    gridDim = grid;
    blockDim = block;
    n_threads = block.x * block.y * block.z;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || n_threads == 0 || n_threads > 1024 ||
        shared_bytes > (size_t)most_shared()) {
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
    properties->major = setting("CUDA_EMULATE_MAJOR", 9);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int)
{
    *value = setting("CUDA_EMULATE_MAJOR", 9);
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int bytes)
{
    return bytes <= most_shared() ? cudaSuccess : cudaErrorInvalidValue;
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
