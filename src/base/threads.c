/* threads.c - the default number of threads. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/threads.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hash.h"

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

static int count_cpus(void)
{
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
    return (int)sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than a cpu_set_t holds */
}

int pada_threads_shared(int n)
{
    const int wanted = from_environment(), share = count_cpus() / n;

    if (wanted > 0) return wanted;
    return share > 0 ? share : 1;
}

int pada_threads_default(void)
{
    return pada_threads_shared(1);
}

uint64_t pada_threads_place(void)
{
    cpu_set_t allowed;
    struct utsname machine = {0};

    CPU_ZERO(&allowed);
    (void)sched_getaffinity(0, sizeof allowed, &allowed);
    uname(&machine);
    return pada_hash(&allowed, sizeof allowed,
                     pada_hash(machine.nodename, strlen(machine.nodename), 0));
}
