/* launch.c - whether mpirun or srun started this process among others. */
#include "base/launch.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"

int pada_launched_processes(void)
{
    /* Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; srun --mpi=pmix says no number of its own. */
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    int64_t n;

    for (int i = 0; i < 2; i++) {
        const char *text = getenv(sizes[i]);
        if (text && pada_parse_int(text, sizes[i], 1, 1 << 20, &n) == PADA_OK) return (int)n;
    }
    return getenv("PMIX_RANK") ? 0 : 1;
}
