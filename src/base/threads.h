/* threads.h - how many threads to run. */
#ifndef PADA_BASE_THREADS_H
#define PADA_BASE_THREADS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* OMP_NUM_THREADS (its first number, for nested lists such as "4,2") if that is a number from 1 to
 * 65536; else the number of CPUs this process may run on, which taskset and containers make smaller
 * than the machine. At least 1. */
int pada_threads_default(void);

/* The same number in processes that may run on the same CPUs of the same machine. */
uint64_t pada_threads_place(void);
/* Of a process that shares its CPUs with others, n together: OMP_NUM_THREADS, or its part of the CPUs. */
int pada_threads_shared(int n);

#ifdef __cplusplus
}
#endif
#endif
