/* cpu_team.c - the images of a batch divided among processes: who has which, and the upper part of the tree of sums.
 *
 * A process has chunks that are one node of the tree (docs/design/0012-same-bits.md). Where a batch has fewer chunks than
 * there are processes, several have the same chunk, do the same, and talk to their like: nobody is left without sums. */
#include <string.h>

#include "backend/cpu/cpu_device.h"

enum { N_RESULTS = 4 }; /* numbers per image */

pada_status pada_cpu_divide(pada_device *d, pada_team *team, bool local_norms)
{
    const int size = pada_team_size(team);

    if (size > CPU_MAX_CHUNKS || (size & (size - 1)) != 0)
        return PADA_FAIL(PADA_EUNSUPPORTED, "%d processes: a batch is divided among 2, 4, 8 or 16",
                         size);
    d->team = team;
    d->local_norms = team && local_norms;
    return PADA_OK;
}

bool pada_cpu_has_local_norms(const pada_device *d, const pada_program *q)
{
    return d->local_norms && q->n_stages > q->n_forward;
}

static cpu_share share_of(const pada_device *d, int n_images)
{
    const int size = pada_team_size(d->team), n = cpu_chunk_count(n_images);
    cpu_share share = {.n_chunks = n, .n_images = n_images};

    share.first_chunk = pada_team_rank(d->team) * n / size;
    share.end_chunk = share.first_chunk + (n > size ? n / size : 1);
    share.first = cpu_share_chunk(&share, share.first_chunk);
    share.end = cpu_share_chunk(&share, share.end_chunk);
    share.n_normed = n_images;
    return share;
}

cpu_share pada_cpu_share(const pada_device *d, const pada_program *q)
{
    cpu_share share = share_of(d, q->n_images);

    if (pada_cpu_has_local_norms(d, q)) share.n_normed = share.end - share.first;
    return share;
}

void pada_cpu_share_of(const pada_device *d, int n_images, int *first, int *end)
{
    const cpu_share share = share_of(d, n_images);

    *first = share.first;
    *end = share.end;
}

pada_status pada_cpu_finish(pada_device *d)
{
    return pada_team_failure(d->team);
}

static void add_doubles(void *to, const void *from, int64_t n)
{
    double *a = to;
    const double *b = from;

    for (int64_t i = 0; i < n; i++)
        a[i] += b[i];
}

static void add_floats(void *to, const void *from, int64_t n)
{
    float *a = to;
    const float *b = from;

    for (int64_t i = 0; i < n; i++)
        a[i] += b[i];
}

/* Level by level: both of a pair add what the other one has. After a failure, which stays with the team, the sums mean
 * nothing. */
static void join(pada_device *d, const cpu_share *share, void *sums, int64_t n, size_t size,
                 void (*add)(void *to, const void *from, int64_t n))
{
    const int n_processes = pada_team_size(d->team), rank = pada_team_rank(d->team);
    int distance = n_processes > share->n_chunks ? n_processes / share->n_chunks : 1;

    for (int n_chunks = share->end_chunk - share->first_chunk; n_chunks < share->n_chunks;
         n_chunks *= 2, distance *= 2) {
        if (pada_team_exchange(d->team, rank ^ distance, sums, d->incoming.data,
                               (size_t)n * size) != PADA_OK)
            return;
        add(sums, d->incoming.data, n);
    }
}

void pada_cpu_join_doubles(pada_device *d, const cpu_share *share, double *sums, int64_t n)
{
    join(d, share, sums, n, sizeof *sums, add_doubles);
}

void pada_cpu_join_floats(pada_device *d, const cpu_share *share, float *sums, int64_t n)
{
    join(d, share, sums, n, sizeof *sums, add_floats);
}

/* Images from `first` on of a process: that of another one with the same chunk begins where its own ends. */
static size_t first_result(const cpu_share *share, int rank, int n_processes)
{
    const int n = share->n_chunks;
    const int chunk = (int)(((int64_t)rank * n + n_processes - 1) / n_processes); /* rounded up */

    return (size_t)cpu_share_chunk(share, chunk) * N_RESULTS * sizeof(float);
}

static void pack_results(const pada_results *from, bool aligns, int i, float *to)
{
    to[0] = ((const float *)from->loss)[i];
    to[1] = ((const float *)from->norm)[i];
    memcpy(&to[2], &from->rank[i], sizeof to[2]);
    to[3] = aligns ? ((const float *)from->align)[i] : 0;
}

static void unpack_results(const pada_results *to, bool aligns, int i, const float *from)
{
    ((float *)to->loss)[i] = from[0];
    ((float *)to->norm)[i] = from[1];
    memcpy(&to->rank[i], &from[2], sizeof to->rank[i]);
    if (aligns) ((float *)to->align)[i] = from[3];
}

void pada_cpu_join_results(pada_device *d, const pada_program *q, const pada_bindings *b)
{
    const cpu_share share = share_of(d, q->n_images);
    const bool aligns = q->n_taps > 0 && b->results.align;
    const int size = pada_team_size(d->team);
    size_t first[CPU_MAX_CHUNKS + 1];

    for (int k = 0; k <= size; k++)
        first[k] = first_result(&share, k, size);
    for (int i = share.first; i < share.end; i++)
        pack_results(&b->results, aligns, i, d->outcome.data + i * N_RESULTS);
    if (pada_team_fill(d->team, d->outcome.data, first) != PADA_OK) return;
    for (int i = 0; i < q->n_images; i++)
        unpack_results(&b->results, aligns, i, d->outcome.data + i * N_RESULTS);
}

/* Copies the running statistics that a program moves to `packed`, or back; returns how many numbers. `packed` NULL: counts
 * them. */
static int64_t copy_statistics(const pada_program *q, const pada_bindings *b, float *packed,
                               bool back)
{
    int64_t n = 0;

    for (int t = 0; t < q->n_terms; t++) {
        const pada_norm *norm = &q->terms[t].norm;
        if (q->terms[t].kind != PADA_TERM_BATCHNORM || norm->mean < 0) continue;
        for (int which = 0; which < 2; which++) {
            const int channels = q->nodes[q->terms[t].x].shape.c;
            const int64_t at = which == 0 ? norm->mean : norm->variance;
            float *kept = packed ? (float *)b->statistics + at : NULL;
            if (packed)
                memcpy(back ? kept : packed + n, back ? packed + n : kept,
                       (size_t)channels * sizeof *kept);
            n += channels;
        }
    }
    return n;
}

int64_t pada_cpu_count_statistics(const pada_program *q)
{
    return copy_statistics(q, NULL, NULL, false);
}

void pada_cpu_join_statistics(pada_device *d, const pada_program *q, const pada_bindings *b)
{
    const int64_t n = copy_statistics(q, b, d->incoming.data, false);

    if (n == 0 ||
        pada_team_broadcast(d->team, d->incoming.data, (size_t)n * sizeof(float), 0) != PADA_OK)
        return;
    copy_statistics(q, b, d->incoming.data, true);
}
