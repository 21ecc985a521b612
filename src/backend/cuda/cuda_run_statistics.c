/* cuda_run_statistics.c - running statistics of the batch norms of a program: read before it, kept behind its forward
 * part. */
#include "backend/cuda/cuda_run.h"

static void launch(const cuda_run *r, cuda_statistics_jobs *jobs)
{
    if (jobs->n == 0) return;
    if (r->q->fixed_norms)
        cuda_run_note(r, pada_cuda_fix_norms(r->d->stream, jobs), "fix_norms");
    else
        cuda_run_note(r, pada_cuda_keep_statistics(r->d->stream, jobs, r->b->momentum),
                      "keep_statistics");
    jobs->n = 0;
}

/* All batch norms that have running statistics, in as many launches as they take. */
static void launch_all(const cuda_run *r)
{
    cuda_statistics_jobs jobs = {.n = 0};
    float *kept = r->b->statistics;

    for (int t = 0; t < r->q->n_terms; t++) {
        const pada_term *term = &r->q->terms[t];
        const pada_shape shape = r->q->nodes[term->x].shape;
        if (term->kind != PADA_TERM_BATCHNORM || term->norm.mean < 0) continue;
        if (jobs.n == CUDA_MAX_STATISTICS) launch(r, &jobs);
        jobs.at[jobs.n++] =
            (cuda_statistics_job){.moments = pada_cuda_moments_of(r, t),
                                  .channels = shape.c,
                                  .count = (double)r->q->n_images * shape.h * shape.w,
                                  .mean = kept + term->norm.mean,
                                  .variance = kept + term->norm.variance};
    }
    launch(r, &jobs);
}

void pada_cuda_begin_statistics(const cuda_run *r)
{
    if (r->q->fixed_norms) launch_all(r);
}

void pada_cuda_end_statistics(const cuda_run *r)
{
    if (!r->q->fixed_norms && r->b->statistics) launch_all(r);
}
