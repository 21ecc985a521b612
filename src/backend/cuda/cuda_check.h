/* cuda_check.h - failures of the CUDA runtime, and the one place that makes statuses of them.
 *
 * Work is queued and fails later, in calls that return nothing. The first failure stays with the
 * device: what follows from it tells less. It is reported by the next call that returns a status. */
#ifndef PADA_BACKEND_CUDA_CUDA_CHECK_H
#define PADA_BACKEND_CUDA_CUDA_CHECK_H

#include <cuda_runtime_api.h>

#include "base/status.h"

typedef struct cuda_failure {
    cudaError_t error; /* cudaSuccess: none yet */
    const char *what;  /* the call; borrowed, a literal */
} cuda_failure;

static inline void cuda_note(cuda_failure *failure, cudaError_t error, const char *what)
{
    if (error == cudaSuccess || failure->error != cudaSuccess) return;
    failure->error = error;
    failure->what = what;
}

static inline pada_status cuda_status(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return PADA_OK;
    (void)cudaGetLastError(); /* one that does not spoil the context is over when it is reported */
    return PADA_FAIL(error == cudaErrorMemoryAllocation ? PADA_ENOMEM : PADA_EDEVICE,
                     "cuda: %s: %s", what, cudaGetErrorString(error));
}

#endif
