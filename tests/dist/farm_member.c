/* farm_member.c - a process of a farm, for test_farm_mpi.sh:
 * farm_member all | fail RANK | stop RANK | keep | differ RANK | still RANK | die RANK */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dist/farm.h"
#include "dist/same.h"
#ifdef PADA_HAS_MPI
#include "dist/carrier_mpi.h"
#endif

enum { N_TASKS = 400, N_ROUNDS = 3 };

typedef struct task {
    int number, taken_from;
} task;

typedef struct result {
    long square;
    int by;
} result;

typedef struct field {
    pada_farm *farm;
    const char *mode;
    int round, next, n_kept, n_heard, by[64];
    bool is_taken[N_TASKS], is_done[N_TASKS];
} field;

static bool take(void *user, void *out)
{
    field *f = user;

    while (f->next < N_TASKS && f->is_taken[f->next])
        f->next++;
    if (f->next == N_TASKS || *pada_farm_stop(f->farm)) return false;
    f->is_taken[f->next] = true;
    *(task *)out = (task){.number = f->next};
    return true;
}

static void put_back(void *user, const void *of)
{
    field *f = user;

    f->is_taken[((const task *)of)->number] = false;
    f->next = 0;
}

static pada_status keep(void *user, const void *of, const void *found)
{
    const int i = ((const task *)of)->number;
    const result *r = found;
    field *f = user;

    if (strcmp(f->mode, "keep") == 0 && f->n_kept == 50)
        return PADA_FAIL(PADA_EIO, "no room for task 50");
    if (f->is_done[i] || r->square != (long)i * i)
        return PADA_FAIL(PADA_EDATA, "task %d is done twice, or wrong", i);
    f->is_done[i] = true;
    f->by[r->by]++;
    f->n_kept++;
    return PADA_OK;
}

static void hear(void *user, int kind, const char *text)
{
    field *f = user;

    f->n_heard += kind == 7 && strcmp(text, "hello") == 0;
}

static int processes[64];

/* Somebody does not answer: says so, and has all of them go on. */
static void wake(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
    for (int k = 0; k < 64 && processes[k] > 0; k++)
        kill(processes[k], SIGCONT);
}

static void tell(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

/* What every process does; number `victim` fails or wants to stop at its fifth task. */
static pada_status work(field *f, int rank, int victim, volatile sig_atomic_t *stop)
{
    task t;

    for (int n = 0; pada_farm_take(f->farm, &t); n++) {
        const result r = {.square = (long)t.number * t.number, .by = rank};
        nanosleep(&(struct timespec){.tv_nsec = 100000 * (1 + t.number % 5)}, NULL);
        if (n == 0) pada_farm_say(f->farm, 7, "hello");
        if (rank == victim && n == 4 && strcmp(f->mode, "still") == 0) raise(SIGSTOP);
        if (rank == victim && n == 4 && strcmp(f->mode, "die") == 0) raise(SIGKILL);
        if (rank == victim && n == 4 && strcmp(f->mode, "still") != 0) {
            if (strcmp(f->mode, "fail") == 0)
                return pada_farm_fail(f->farm, PADA_FAIL(PADA_EDATA, "rank %d is ill", rank));
            *stop = 1;
            pada_farm_put_back(f->farm, &t);
            return PADA_OK;
        }
        PADA_TRY(pada_farm_keep(f->farm, &t, &r));
    }
    return PADA_OK;
}

/* Rounds of process 0, and that everybody had a part in them. */
static pada_status lead(field *f, int size, int victim, volatile sig_atomic_t *stop)
{
    const pada_farm_source source = {f, take, put_back, keep};

    for (f->round = 0; f->round < N_ROUNDS; f->round++) {
        f->next = 0;
        memset(f->is_taken, 0, sizeof f->is_taken);
        memset(f->is_done, 0, sizeof f->is_done);
        pada_farm_begin(f->farm, &source);
        const pada_status own = work(f, 0, victim, stop), all = pada_farm_end(f->farm);
        if (all != PADA_OK || own != PADA_OK) return all != PADA_OK ? all : own;
        for (int i = 0; i < N_TASKS; i++)
            if (f->is_taken[i] != f->is_done[i])
                return PADA_FAIL(PADA_EDATA, "task %d is taken, and not done", i);
        if (*pada_farm_stop(f->farm) || *stop) /* the thread may not have seen it yet */
            return PADA_FAIL(PADA_ESTOPPED, "stopped in round %d", f->round);
    }
    for (int k = 0; k < size; k++)
        if (f->by[k] == 0) return PADA_FAIL(PADA_EDATA, "process %d has done nothing", k);
    if (f->n_heard < size) return PADA_FAIL(PADA_EDATA, "%d of %d were heard", f->n_heard, size);
    return f->n_kept == N_ROUNDS * N_TASKS ? PADA_OK : PADA_FAIL(PADA_EDATA, "%d kept", f->n_kept);
}

static pada_status run(pada_team *team, const char *mode, int victim)
{
    const int rank = pada_team_rank(team), size = pada_team_size(team);
    volatile sig_atomic_t stop = 0;
    static field f;
    const pada_same same = {"mind", rank == victim && strcmp(mode, "differ") == 0, PADA_EDATA};

    const int own = (int)getpid();

    f.mode = mode;
    PADA_TRY(pada_team_all_gather(team, &own, sizeof own, processes));
    PADA_TRY(pada_team_check_same(team, &same, 1));
    PADA_TRY(pada_farm_open(&f.farm, &(pada_farm_desc){.team = team,
                                                       .task_bytes = sizeof(task),
                                                       .result_bytes = sizeof(result),
                                                       .ahead = 1,
                                                       .stop = &stop,
                                                       .user = &f,
                                                       .hear = hear}));
    pada_status st = rank == 0 ? lead(&f, size, victim, &stop) : work(&f, rank, victim, &stop);
    const pada_status others = pada_farm_close(f.farm);
    return st != PADA_OK ? st : others;
}

int main(int argc, char **argv)
{
    const pada_carrier *carrier = NULL;
    const char *mode = argc > 1 ? argv[1] : "all";
    pada_team *team;

#ifdef PADA_HAS_MPI
    carrier = &pada_carrier_mpi;
#endif
    pada_status st = pada_team_join(&team, carrier);
    if (strcmp(mode, "still") == 0) pada_team_watch(team, 0.2, wake);
    if (strcmp(mode, "die") == 0) {
        pada_team_watch(team, 60, tell);
        st = pada_team_meet(team);
    }
    if (st == PADA_OK) st = run(team, mode, argc > 2 ? atoi(argv[2]) : -1);
    st = pada_team_end(team, st);
    const bool first = pada_team_speaks(team);
    if (first && st == PADA_OK) printf("all done\n");
    if (first && st != PADA_OK) fprintf(stderr, "pada: %s\n", pada_message());
    pada_team_leave(team);
    return pada_status_exit_code(st);
}
