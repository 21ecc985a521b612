/* team.h - the processes that mpirun or srun started together: who they are, what they tell each other, and how they
 * end together.
 *
 * A team of one is NULL, needs no carrier, and every call is right for it. Unless said otherwise every process of the team
 * makes the same calls in the same order, from the thread that joined.
 *
 * Failures: a process that fails passes its status up as ever, to pada_team_end, which tells the others. These find
 * out where they next wait for a message: the call returns the status and the message of the process that failed. So
 * nobody waits for somebody who has given up, and all end with one status. A process that dies is the launcher's
 * business: mpirun and srun end the others, unless they are told not to (pada_team_meet). */
#ifndef PADA_DIST_TEAM_H
#define PADA_DIST_TEAM_H

#include "dist/carrier.h"

typedef struct pada_team pada_team;

/* Joins the processes that were started with this one; a single one makes NULL. `carrier` NULL: this build has none,
 * which is PADA_EUNSUPPORTED where there are others. Once per process. */
pada_status pada_team_join(pada_team **out, const pada_carrier *carrier);
/* Agrees how the command ended: the status, and the message, of the first process that failed, PADA_OK where none did. */
pada_status pada_team_end(pada_team *team, pada_status st);
/* After pada_team_end; the process cannot join again. */
void pada_team_leave(pada_team *team);

/* Says in a line, from any thread, which process the others wait for in vain: after twice so many seconds without a sign
 * of it, once for each wait. One process says it. Without this call nobody does. */
void pada_team_watch(pada_team *team, double seconds, void (*say)(const char *text));

/* Where the launcher does not end the others when a process dies (launch.h): lets them find out when one on their machine has, so
 * that what all do together fails, and a farm (farm.h) goes on without it. Without this call they wait for ever. */
pada_status pada_team_meet(pada_team *team);
/* Whether this process prints how it ended: process 0, or process 1 where that has died. */
bool pada_team_speaks(const pada_team *team);

int pada_team_size(const pada_team *team);
int pada_team_rank(const pada_team *team); /* 0 .. size - 1; 0 writes files and prints */
int pada_team_local_size(const pada_team *team);
int pada_team_local_rank(const pada_team *team); /* among the processes of this machine */

/* ---- what all do together ---- */

/* Everybody gets the part of everybody: `all` has size parts of so many bytes; `part` may be its place in it. */
pada_status pada_team_all_gather(pada_team *team, const void *part, size_t bytes, void *all);
/* The same with parts of different lengths, in place: process k has the bytes [first[k], first[k + 1]) of `all`. */
pada_status pada_team_fill(pada_team *team, void *all, const size_t *first);
/* Everybody gets what `root` has. */
pada_status pada_team_broadcast(pada_team *team, void *data, size_t bytes, int root);
/* Sends `out` to another process and gets as many bytes from it, which makes the same call. */
pada_status pada_team_exchange(pada_team *team, int peer, const void *out, void *in, size_t bytes);
/* Everybody gets the sums of n numbers over the processes, added as a binary tree: at every level a process adds what the
 * one at that distance has, from `distance` on, processes in between having the same numbers. The size of the team over
 * `distance` is a power of two; `incoming` is room for n numbers. */
pada_status pada_team_add_floats(pada_team *team, int distance, float *sums, float *incoming,
                                 int64_t n);
pada_status pada_team_add_doubles(pada_team *team, int distance, double *sums, double *incoming,
                                  int64_t n);
/* Returns when everybody is here. */
pada_status pada_team_barrier(pada_team *team);
/* Whether any process says so; everybody gets the same answer. */
pada_status pada_team_any(pada_team *team, bool mine, bool *any);
/* What has made a call above fail, now or before; PADA_OK: nothing. Says nothing to others. */
pada_status pada_team_failure(const pada_team *team);
/* Fails everywhere if `st` is a failure anywhere; the message is that of the first process that failed. */
pada_status pada_team_agree(pada_team *team, pada_status st);

/* What the calls above have sent so far. */
typedef struct pada_team_traffic {
    int64_t messages, bytes;
} pada_team_traffic;
pada_team_traffic pada_team_sent(const pada_team *team);

/* ---- letters: from one process to another, when it likes ---- */

/* Sends a copy and returns at once. Tags are numbers from 0 to 32767. */
pada_status pada_team_send(pada_team *team, int to, int tag, const void *data, size_t bytes);
/* Whether a letter has come, from whom, and how long it is. */
pada_status pada_team_poll(pada_team *team, bool *found, pada_message_head *out);
/* Waits for a letter, and says whose; pauses so that it takes no processor. */
pada_status pada_team_await(pada_team *team, pada_message_head *out);
/* Takes the letter that was found. */
pada_status pada_team_receive(pada_team *team, const pada_message_head *head, void *data);

#endif
