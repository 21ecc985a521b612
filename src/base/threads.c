/* threads.c - the default number of threads. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/threads.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_THREADS 65536

/* 0 when the variable is not set or not valid; OpenMP ignores it then, and so do we. */
static int from_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    long n = 0;

    if (!text) return 0;
    while (*text == ' ')
        text++;
    while (*text >= '0' && *text <= '9') {
        n = n * 10 + (*text++ - '0');
        if (n > MAX_THREADS) return 0;
    }
    while (*text == ' ')
        text++;
    return *text == '\0' || *text == ',' ? (int)n : 0;
}

int pada_threads_default(void)
{
    cpu_set_t allowed;
    int n = from_environment();

    if (n > 0) return n;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        n = CPU_COUNT(&allowed);
    } else {
        /* More CPUs than a cpu_set_t holds. */
        n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    }
    return n > 0 ? n : 1;
}
