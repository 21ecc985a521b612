/* cuda_statistics.cu - running statistics of batch norms: kept in training, read in evaluation. */
#include "backend/cuda/cuda_mma.cuh"

enum { THREADS = 64 };

/* blockIdx.x is the batch norm, in both kernels. */
__global__ static void keep_kernel(const __grid_constant__ cuda_statistics_jobs jobs,
                                   double momentum)
{
    cuda_begin();
    const cuda_statistics_job &j = jobs.at[blockIdx.x];

    for (int c = (int)threadIdx.x; c < j.channels; c += (int)blockDim.x) {
        double mean, rstd;
        cuda_read_moments(&j.moments, j.channels, c, j.count, &mean, &rstd);
        const double biased = fmax(1 / (rstd * rstd) - j.moments.epsilon, 0.0);
        const double variance = j.count > 1 ? biased * j.count / (j.count - 1) : biased;
        j.mean[c] = (float)((1 - momentum) * j.mean[c] + momentum * mean);
        j.variance[c] = (float)((1 - momentum) * j.variance[c] + momentum * variance);
    }
}

__global__ static void fix_kernel(const __grid_constant__ cuda_statistics_jobs jobs)
{
    cuda_begin();
    const cuda_statistics_job &j = jobs.at[blockIdx.x];

    for (int c = (int)threadIdx.x; c < j.channels; c += (int)blockDim.x) {
        ((float *)j.moments.mean)[c] = j.mean[c];
        ((float *)j.moments.rstd)[c] = (float)(1 / sqrt((double)j.variance[c] + j.moments.epsilon));
    }
}

cudaError_t pada_cuda_keep_statistics(cudaStream_t stream, const cuda_statistics_jobs *jobs,
                                      double momentum)
{
    return cuda_launch(keep_kernel, (unsigned)jobs->n, THREADS, 0, stream, *jobs, momentum);
}

cudaError_t pada_cuda_fix_norms(cudaStream_t stream, const cuda_statistics_jobs *jobs)
{
    return cuda_launch(fix_kernel, (unsigned)jobs->n, THREADS, 0, stream, *jobs);
}
