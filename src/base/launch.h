/* launch.h - whether mpirun or srun started this process among others. */
#ifndef PADA_BASE_LAUNCH_H
#define PADA_BASE_LAUNCH_H

#include <stdbool.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The processes that were started together, by what launchers leave in the environment: 1 for a program that was
 * started by itself, 0 where a launcher does not say how many there are. */
int pada_launched_processes(void);

/* Which of them this one is among those of its machine, from 0; 0 where a launcher does not say it. */
int pada_launched_local_rank(void);

/* Whether the launcher lets the other processes live when one dies (mpirun --enable-recovery). */
bool pada_launch_spares_others(void);

/* The environment of this process without what makes it one of several, for programs that it starts to work by themselves. They
 * keep their number on the machine, and so their device. A new array, NULL behind the last, to be freed with pada_free; the
 * strings are those of the environment. */
pada_status pada_launch_environment(char ***out);

#ifdef __cplusplus
}
#endif
#endif
