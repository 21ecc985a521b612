/* cpu_team.c - the images of a batch divided among processes: who has which, and the upper part of the tree of sums.
 *
 * A process has chunks that are one node of the tree (docs/design/0012-same-bits.md). Where a batch has fewer chunks than
 * there are processes, several have the same chunk, do the same, and talk to their like: nobody is left without sums. */
#include <string.h>

#include "backend/cpu/cpu_device.h"

enum { N_RESULTS = 4 }; /* numbers per image */

pada_status pada_cpu_divide(pada_device *d, pada_team *team)
{
    const int size = pada_team_size(team);

    if (size > CPU_MAX_CHUNKS || (size & (size - 1)) != 0)
        return PADA_FAIL(PADA_EUNSUPPORTED, "%d processes: a batch is divided among 2, 4, 8 or 16",
                         size);
    d->team = team;
    return PADA_OK;
}

cpu_share pada_cpu_share(const pada_device *d, int n_images)
{
    const int size = pada_team_size(d->team), n = cpu_chunk_count(n_images);
    cpu_share share = {.n_chunks = n, .n_images = n_images};

    share.first_chunk = pada_team_rank(d->team) * n / size;
    share.end_chunk = share.first_chunk + (n > size ? n / size : 1);
    share.first = cpu_share_chunk(&share, share.first_chunk);
    share.end = cpu_share_chunk(&share, share.end_chunk);
    return share;
}

void pada_cpu_share_of(const pada_device *d, int n_images, int *first, int *end)
{
    const cpu_share share = pada_cpu_share(d, n_images);

    *first = share.first;
    *end = share.end;
}

pada_status pada_cpu_finish(pada_device *d)
{
    return pada_team_failure(d->team);
}

/* The distance to the process with the next chunk: those in between have the same one. */
static int distance_of(const pada_device *d, const cpu_share *share)
{
    const int size = pada_team_size(d->team);

    return size > share->n_chunks ? size / share->n_chunks : 1;
}

/* After a failure, which stays with the team, the sums mean nothing. */
void pada_cpu_join_doubles(pada_device *d, const cpu_share *share, double *sums, int64_t n)
{
    (void)pada_team_add_doubles(d->team, distance_of(d, share), sums, (double *)d->incoming.data,
                                n);
}

void pada_cpu_join_floats(pada_device *d, const cpu_share *share, float *sums, int64_t n)
{
    (void)pada_team_add_floats(d->team, distance_of(d, share), sums, d->incoming.data, n);
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
    const cpu_share share = pada_cpu_share(d, q->n_images);
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
