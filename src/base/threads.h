/* threads.h - how many threads to run. */
#ifndef PADA_BASE_THREADS_H
#define PADA_BASE_THREADS_H

#ifdef __cplusplus
extern "C" {
#endif

/* OMP_NUM_THREADS (its first number, for nested lists such as "4,2") if that is a number from 1 to
 * 65536; else the number of CPUs this process may run on, which taskset and containers make smaller
 * than the machine. At least 1. */
int pada_threads_default(void);

#ifdef __cplusplus
}
#endif
#endif
