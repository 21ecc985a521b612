/* launch.c - whether mpirun or srun started this process among others. */
#include "base/launch.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"

/* The first of n variables that holds a number from `min` on; -1: none does. */
static int first_number(const char *const *names, int n, int64_t min)
{
    int64_t value;

    for (int i = 0; i < n; i++) {
        const char *text = getenv(names[i]);
        if (text && pada_parse_int(text, names[i], min, 1 << 20, &value) == PADA_OK)
            return (int)value;
    }
    return -1;
}

int pada_launched_processes(void)
{
    /* Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; srun --mpi=pmix says no number of its own. */
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    const int n = first_number(sizes, 2, 1);

    if (n > 0) return n;
    return getenv("PMIX_RANK") ? 0 : 1;
}

int pada_launched_local_rank(void)
{
    /* Open MPI; MPICH and Intel MPI; srun. */
    static const char *const ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID"};
    const int rank = first_number(ranks, 3, 0);

    return rank > 0 ? rank : 0;
}
