/* launch.c - whether mpirun or srun started this process among others. */
#include "base/launch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

extern char **environ;

/* Open MPI; MPICH and Intel MPI; srun. */
static const char *const local_ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "SLURM_LOCALID"};
enum { N_LOCAL_RANKS = sizeof local_ranks / sizeof *local_ranks };

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
    const int rank = first_number(local_ranks, N_LOCAL_RANKS, 0);

    return rank > 0 ? rank : 0;
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool pada_launch_spares_others(void)
{
    const char *recovery = getenv("OMPI_MCA_orte_enable_recovery"); /* of Open MPI 4 */

    return recovery && strcmp(recovery, "0") != 0 && strcmp(recovery, "false") != 0;
}

/* Whether a variable, NAME=VALUE, says that there are other processes, or how to reach them. */
static bool is_about_others(const char *variable)
{
    static const char *const families[] = {"OMPI_", "ORTE_", "PRTE_", "PMIX_", "PMI_"};

    for (int i = 0; i < N_LOCAL_RANKS; i++)
        if (begins_with(variable, local_ranks[i])) return false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (begins_with(variable, families[i])) return true;
    return false;
}

pada_status pada_launch_environment(char ***out)
{
    size_t n = 0, kept = 0;
    void *memory;

    while (environ && environ[n])
        n++;
    PADA_TRY(pada_calloc(&memory, n + 1, sizeof **out));
    *out = memory;
    for (size_t i = 0; i < n; i++)
        if (!is_about_others(environ[i])) (*out)[kept++] = environ[i];
    return PADA_OK;
}
