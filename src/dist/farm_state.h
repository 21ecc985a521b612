/* farm_state.h - a farm at work; shared by the calls of it (farm.c) and the thread that looks after its letters
 * (farm_letters.c) only. */
#ifndef PADA_DIST_FARM_STATE_H
#define PADA_DIST_FARM_STATE_H

#include <pthread.h>

#include "base/text.h"
#include "dist/farm.h"

/* Tags of letters. */
typedef enum pada__farm_tag {
    PADA__FARM_ASK,    /* to 0: room for one more task */
    PADA__FARM_TASK,   /* from 0: a task */
    PADA__FARM_RESULT, /* to 0: a task, its result */
    PADA__FARM_BACK,   /* to 0: a task that is not done */
    PADA__FARM_FAIL,   /* to 0: words, with the status */
    PADA__FARM_SAY,    /* to 0: words, with their kind */
    PADA__FARM_STOP,   /* both ways: begin nothing any more */
    PADA__FARM_PING,   /* from 0: are you there? */
    PADA__FARM_PONG,   /* to 0: yes */
    PADA__FARM_END,    /* from 0: there will be nothing any more */
    PADA__FARM_BYE     /* to 0: the last letter of this process */
} pada__farm_tag;

typedef struct pada__farm_words {
    int number;
    char text[PADA_MESSAGE_BYTES];
} pada__farm_words;

/* Tasks, or letters that wait for the thread: first in, first out. */
typedef struct pada__farm_queue {
    void *items; /* [cap] of item_bytes */
    int cap, first, n;
    size_t item_bytes;
} pada__farm_queue;

/* A letter that another thread wants to send to process 0. */
typedef struct pada__farm_letter {
    pada__farm_tag tag;
    size_t bytes;
    void *data; /* owned */
} pada__farm_letter;

struct pada_farm {
    pada_farm_desc desc;
    int rank, size;
    pthread_t thread; /* of teams of more than one */
    bool has_thread;
    pthread_mutex_t lock;   /* of all that follows */
    pthread_cond_t changed; /* something that somebody may wait for */
    volatile sig_atomic_t stop;
    pada__farm_words failure; /* number PADA_OK: none */
    bool is_lost;             /* the team has failed: no letters any more */
    double looked;            /* clock: who lives */
    bool *is_dead;            /* [size] known to process 0 */
    bool is_closing;          /* pada_farm_close was called */
    bool has_left;            /* the thread is done */
    void *letter;             /* [letter_bytes] room for the one that is read */
    size_t letter_bytes;

    /* Process 0. */
    const pada_farm_source *source;
    bool cannot_keep;     /* the source has failed to */
    int *n_asked, *n_out; /* [size] tasks that a process wants, and has */
    void *away;           /* [n_away] of away_bytes: all of these, with whose they are */
    int n_away, cap_away;
    size_t away_bytes;
    int n_gone; /* processes that said goodbye, or died */
    double
        *heard; /* [size] clock: the last letter of a process, or when nothing was awaited of it */
    int *n_pings;             /* [size] since then */
    bool said_stop, said_end; /* to the others */

    /* The others. */
    pada__farm_queue tasks, letters; /* that came, and that wait to be sent */
    int n_wanted;                    /* asked for and not here yet */
    int n_waiting;                   /* threads in pada_farm_take */
    bool is_over;                    /* process 0 said so */
};

/* Notes a failure, with the message of this thread, if it is the first. The lock is held. */
void pada__farm_note(pada_farm *farm, pada_status st);
/* The first failure again, in this thread. The lock is held. */
pada_status pada__farm_failed(const pada_farm *farm);
/* Gives a result to the source. The lock is held. */
pada_status pada__farm_give(pada_farm *farm, const void *task, const void *result);

pada_status pada__farm_push(pada__farm_queue *queue, const void *item);
bool pada__farm_pop(pada__farm_queue *queue, void *item);

/* The thread: reads and writes letters until everybody has said goodbye. */
void *pada__farm_serve(void *farm);

#endif
