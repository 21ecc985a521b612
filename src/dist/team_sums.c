/* team_sums.c - sums over the processes of a team, in an order that depends on nothing but how many there are. */
#include "dist/team.h"

static void add_floats(void *to, const void *from, int64_t n)
{
    float *a = to;
    const float *b = from;

    for (int64_t i = 0; i < n; i++)
        a[i] += b[i];
}

static void add_doubles(void *to, const void *from, int64_t n)
{
    double *a = to;
    const double *b = from;

    for (int64_t i = 0; i < n; i++)
        a[i] += b[i];
}

/* Level by level: both of a pair add what the other one has. */
static pada_status add_up(pada_team *team, int distance, void *sums, void *incoming, int64_t n,
                          size_t size, void (*add)(void *to, const void *from, int64_t n))
{
    for (; distance < pada_team_size(team); distance *= 2) {
        PADA_TRY(pada_team_exchange(team, pada_team_rank(team) ^ distance, sums, incoming,
                                    (size_t)n * size));
        add(sums, incoming, n);
    }
    return PADA_OK;
}

pada_status pada_team_add_floats(pada_team *team, int distance, float *sums, float *incoming,
                                 int64_t n)
{
    return add_up(team, distance, sums, incoming, n, sizeof *sums, add_floats);
}

pada_status pada_team_add_doubles(pada_team *team, int distance, double *sums, double *incoming,
                                  int64_t n)
{
    return add_up(team, distance, sums, incoming, n, sizeof *sums, add_doubles);
}
