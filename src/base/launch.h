/* launch.h - whether mpirun or srun started this process among others. */
#ifndef PADA_BASE_LAUNCH_H
#define PADA_BASE_LAUNCH_H

#ifdef __cplusplus
extern "C" {
#endif

/* The processes that were started together, by what launchers leave in the environment: 1 for a program that was
 * started by itself, 0 where a launcher does not say how many there are. */
int pada_launched_processes(void);

/* Which of them this one is among those of its machine, from 0; 0 where a launcher does not say it. */
int pada_launched_local_rank(void);

#ifdef __cplusplus
}
#endif
#endif
