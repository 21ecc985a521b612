/* farm.h - tasks that process 0 of a team hands out to all of its processes, itself among them.
 *
 * For work that falls into pieces of which none needs another: evaluations of networks, trainings. A task and its
 * result are structs without pointers, which travel as they are. Who does a task next gets one (pada_farm_take), does
 * it and hands in the result (pada_farm_keep); process 0 alone knows what there is to do and keeps what was found,
 * by a source. Results arrive in any order.
 *
 *   process 0                                     all others
 *   pada_farm_open                                pada_farm_open
 *   pada_farm_begin(source)                       while pada_farm_take ..
 *   while pada_farm_take .. pada_farm_keep            pada_farm_keep
 *   pada_farm_end                                 pada_farm_close
 *   (begin again, or) pada_farm_close
 *
 * A thread in every process looks after the letters, so that a process that trains for minutes answers all the same.
 * Only that thread uses the team between open and close. A team of one (NULL) has no such thread, and everything
 * else is the same.
 *
 * A process that dies (pada_team_meet), other than process 0, ends nothing: its tasks are put back. The others end with process 0.
 *
 * A failure in any process (pada_farm_fail, or a source that cannot keep) ends the farm: nobody takes a task any more, what
 * is under way is still kept, and process 0 has the status and the message. So does a request to stop, in any process,
 * but without a failure. */
#ifndef PADA_DIST_FARM_H
#define PADA_DIST_FARM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "dist/team.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_farm pada_farm;

typedef struct pada_farm_desc {
    pada_team *team; /* borrowed; NULL: a team of one */
    size_t task_bytes, result_bytes;
    int ahead; /* tasks that lie ready in another process besides those it is at: hides the way of a letter */
    /* A signal of this process; as soon as it is not 0 all processes are asked to stop. May be NULL. */
    const volatile sig_atomic_t *stop;
    /* Process 0: what any process says (pada_farm_say); NULL: not wanted. */
    void *user;
    void (*hear)(void *user, int kind, const char *text);
} pada_farm_desc;

/* What there is to do, on process 0. The functions, and `hear`, are called from any thread, one at a time. */
typedef struct pada_farm_source {
    void *user;
    bool (*take)(void *user, void *task);           /* false: nothing now */
    void (*put_back)(void *user, const void *task); /* was taken, and is not done */
    pada_status (*keep)(void *user, const void *task, const void *result);
} pada_farm_source;

pada_status pada_farm_open(pada_farm **out, const pada_farm_desc *desc);
/* Process 0: sends the others home and waits for them; nothing may be under way. Others: waits for that. Returns the
 * first failure that this process knows of. NULL is fine. */
pada_status pada_farm_close(pada_farm *farm);

/* Process 0: hands out tasks of the source from now on; it is borrowed until the end. */
void pada_farm_begin(pada_farm *farm, const pada_farm_source *source);
/* Process 0: waits for what is under way elsewhere. Returns the first failure, of any process. */
pada_status pada_farm_end(pada_farm *farm);

/* The next task. Process 0: false when the source has none and no other process is at one, which might come back. Others:
 * waits for one; false when the farm is closed, has failed or stops. Any thread. */
bool pada_farm_take(pada_farm *farm, void *task);
/* Hands in the result of a task. A failure to keep it is that of the farm. Any thread. */
pada_status pada_farm_keep(pada_farm *farm, const void *task, const void *result);
/* A task that was taken and is not done, since somebody wants to stop. Any thread. */
void pada_farm_put_back(pada_farm *farm, const void *task);
/* Ends the farm; the message is that of the calling thread, which gets the number of the process, unless it is 0, in
 * front. Only the first failure counts. Returns `st`. */
pada_status pada_farm_fail(pada_farm *farm, pada_status st);

/* Not 0 as soon as somebody wants to stop or has failed. */
const volatile sig_atomic_t *pada_farm_stop(const pada_farm *farm);
/* Whether this is the process that has the source. */
bool pada_farm_leads(const pada_farm *farm);
/* Says one line to process 0, on which `hear` gets it. Any thread. */
void pada_farm_say(pada_farm *farm, int kind, const char *text);

#ifdef __cplusplus
}
#endif
#endif
