/* team_member.c - one process of a team, for test_team_mpi.sh: team_member talk, fail|die|early|all RANK, or still RANK FILE. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "dist/team.h"
#ifdef PADA_HAS_MPI
#include "dist/carrier_mpi.h"
#define CARRIER &pada_carrier_mpi
#else
#define CARRIER NULL
#endif

enum { MAX_SIZE = 16, LARGE = 3000000 };

/* What process k has at place i. */
static unsigned char byte_of(int k, size_t i)
{
    return (unsigned char)(k * 31 + (int)(i % 251));
}

static void set_bytes(unsigned char *to, int k, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = byte_of(k, i);
}

static void check_bytes(const unsigned char *from, int k, size_t n)
{
    for (size_t i = 0; i < n; i++)
        PADA_ASSERT(from[i] == byte_of(k, i));
}

static pada_status gather(pada_team *team, unsigned char *all, size_t n)
{
    const int size = pada_team_size(team), rank = pada_team_rank(team);
    size_t first[MAX_SIZE + 1] = {0};

    memset(all, 0, n * (size_t)size);
    set_bytes(all + (size_t)rank * n, rank, n);
    PADA_TRY(pada_team_all_gather(team, all + (size_t)rank * n, n, all));
    for (int k = 0; k < size; k++)
        check_bytes(all + (size_t)k * n, k, n);

    /* Process k has k n / size bytes; process 0 has none. */
    for (int k = 0; k < size; k++)
        first[k + 1] = first[k] + (size_t)k * n / (size_t)size;
    memset(all, 0, n * (size_t)size);
    set_bytes(all + first[rank], rank, first[rank + 1] - first[rank]);
    PADA_TRY(pada_team_fill(team, all, first));
    for (int k = 0; k < size; k++)
        check_bytes(all + first[k], k, first[k + 1] - first[k]);
    return PADA_OK;
}

static pada_status broadcast(pada_team *team, unsigned char *all, size_t n)
{
    for (int root = 0; root < pada_team_size(team); root++) {
        memset(all, 0, n);
        if (pada_team_rank(team) == root) set_bytes(all, root, n);
        PADA_TRY(pada_team_broadcast(team, all, n, root));
        check_bytes(all, root, n);
    }
    return PADA_OK;
}

static pada_status exchange(pada_team *team, unsigned char *all, size_t n)
{
    const int rank = pada_team_rank(team);

    set_bytes(all, rank, n);
    for (int step = 1; step < pada_team_size(team); step *= 2) {
        const int peer = rank ^ step;
        if (peer >= pada_team_size(team)) continue;
        memset(all + n, 0, n);
        PADA_TRY(pada_team_exchange(team, peer, all, all + n, n));
        check_bytes(all + n, peer, n);
    }
    return PADA_OK;
}

/* Everybody sends process 0 letters of many lengths, which answers each with its tag. */
static pada_status write_letters(pada_team *team, unsigned char *bytes)
{
    enum { LETTERS = 20 };
    const int others = pada_team_size(team) - 1;
    pada_message_head head;
    int seen[MAX_SIZE] = {0};

    if (pada_team_rank(team) > 0) {
        for (int i = 0; i < LETTERS; i++) {
            const size_t n = (size_t)i * i * i * 37;
            set_bytes(bytes, i, n);
            PADA_TRY(pada_team_send(team, 0, i, bytes, n));
        }
        for (int i = 0; i < LETTERS; i++) {
            int answer;
            PADA_TRY(pada_team_await(team, &head));
            PADA_ASSERT(head.from == 0 && head.tag == 7 && head.bytes == sizeof answer);
            PADA_TRY(pada_team_receive(team, &head, &answer));
            PADA_ASSERT(answer == i);
        }
        return PADA_OK;
    }
    for (int i = 0; i < others * LETTERS; i++) {
        PADA_TRY(pada_team_await(team, &head));
        PADA_ASSERT(head.tag == seen[head.from]++);
        PADA_ASSERT(head.bytes == (size_t)head.tag * head.tag * head.tag * 37);
        PADA_TRY(pada_team_receive(team, &head, bytes));
        check_bytes(bytes, head.tag, head.bytes);
        PADA_TRY(pada_team_send(team, head.from, 7, &head.tag, sizeof head.tag));
    }
    return PADA_OK;
}

static pada_status talk(pada_team *team, unsigned char *bytes)
{
    static const size_t lengths[] = {0, 1, 1000, LARGE / MAX_SIZE};

    for (int i = 0; i < 4; i++) {
        PADA_TRY(gather(team, bytes, lengths[i]));
        PADA_TRY(broadcast(team, bytes, lengths[i]));
        PADA_TRY(exchange(team, bytes, lengths[i]));
        PADA_TRY(pada_team_barrier(team));
    }
    PADA_TRY(write_letters(team, bytes));
    if (pada_team_rank(team) == 0) printf("%d processes talked\n", pada_team_size(team));
    return PADA_OK;
}

static const char *sign; /* a file that is there once somebody has been told of */

static void tell(const char *text)
{
    FILE *file = fopen(sign, "w");

    printf("%s\n", text);
    fflush(stdout);
    if (file) fclose(file);
}

/* Process `rank` stands still, and goes on when the others have told of it. */
static pada_status stand_still(pada_team *team, int rank)
{
    pada_team_watch(team, 0.2, tell);
    PADA_TRY(pada_team_barrier(team));
    while (pada_team_rank(team) == rank && access(sign, F_OK) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return pada_team_barrier(team);
}

/* What process `rank` does while the others are in the middle of a long exchange. */
static pada_status give_up(pada_team *team, const char *how, int rank, unsigned char *bytes)
{
    const bool is_it = pada_team_rank(team) == rank;

    PADA_TRY(pada_team_barrier(team));
    if (is_it && strcmp(how, "die") == 0) raise(SIGKILL);
    if (is_it) return PADA_FAIL(PADA_EDATA, "process %d has had enough", rank);
    if (strcmp(how, "early") == 0) return PADA_OK; /* and is through before the other fails */
    if (strcmp(how, "all") == 0)
        return PADA_FAIL(PADA_ENOENT, "process %d, too", pada_team_rank(team));
    for (;;)
        PADA_TRY(gather(team, bytes, LARGE / MAX_SIZE));
}

int main(int argc, char **argv)
{
    static unsigned char bytes[LARGE];
    pada_team *team;
    pada_status st = pada_team_join(&team, CARRIER);

    if (st == PADA_OK && argc == 2) st = talk(team, bytes);
    if (st == PADA_OK && argc == 3) st = give_up(team, argv[1], atoi(argv[2]), bytes);
    if (st == PADA_OK && argc == 4) {
        sign = argv[3];
        st = stand_still(team, atoi(argv[2]));
    }
    const bool speaks = pada_team_rank(team) == 0;
    st = pada_team_end(team, st);
    if (st != PADA_OK && speaks) fprintf(stderr, "pada: %s\n", pada_message());
    pada_team_leave(team);
    PADA_ASSERT(pada_mem_live() == 0);
    return pada_status_exit_code(st);
}
