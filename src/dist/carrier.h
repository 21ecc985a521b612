/* carrier.h - what carries messages between the processes of a team: one table of functions, of MPI or of nobody.
 *
 * The program registers a carrier when it joins (team.h), so that the library needs none. Everything is called by the
 * thread that joined. */
#ifndef PADA_DIST_CARRIER_H
#define PADA_DIST_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Messages of one channel from one process to another arrive in the order in which they were sent. */
typedef enum pada_channel {
    PADA_CHANNEL_STEP,   /* what all processes do together */
    PADA_CHANNEL_LETTER, /* pada_team_send */
    PADA_CHANNEL_ALARM,  /* a process has failed */
    PADA_CHANNEL_END,    /* how everybody ended */
    PADA_N_CHANNELS
} pada_channel;

/* Who this process is among those that were started together. */
typedef struct pada_place_in_team {
    int rank, size;
    int local_rank, local_size; /* among the processes of its machine */
} pada_place_in_team;

/* A message under way; the carrier's own. */
typedef uintptr_t pada_request;

typedef struct pada_message_head {
    int from, tag;
    size_t bytes;
} pada_message_head;

typedef struct pada_carrier {
    const char *(*describe)(void); /* e.g. "Open MPI 4.1.4"; before `open`, too */
    pada_status (*open)(pada_place_in_team *out);
    /* Every process calls it, or, where one has died, none. `orderly`: nothing is under way any more. */
    void (*close)(bool orderly);
    /* Begin to send and to receive exactly so many bytes, which stay where they are until `test` says that it is done;
     * a done request is not tested again. */
    pada_status (*send)(pada_channel channel, int to, int tag, const void *data, size_t bytes,
                        pada_request *out);
    pada_status (*receive)(pada_channel channel, int from, int tag, void *data, size_t bytes,
                           pada_request *out);
    pada_status (*test)(pada_request *request, bool *done);
    /* Gives up a message that nobody will send or take. */
    void (*abandon)(pada_request *request);
    /* Whether a message of this channel has come that no `receive` was begun for. */
    pada_status (*probe)(pada_channel channel, bool *found, pada_message_head *out);
} pada_carrier;

#endif
