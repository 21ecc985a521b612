/* team_state.h - what the files of this folder know of a team, and how they wait. */
#ifndef PADA_DIST_TEAM_STATE_H
#define PADA_DIST_TEAM_STATE_H

#include "dist/team.h"

/* How a process ended, as others are told; PADA_OK: it has not, and waits. */
typedef struct pada_ending {
    int32_t status;
    bool is_torn; /* at the end: a process has died */
    char message[PADA_MESSAGE_BYTES];
} pada_ending;

/* A message of this process that is under way. */
typedef struct pada_parcel {
    pada_request request;
    bool done;
    void *copy; /* of a letter: its bytes, owned */
} pada_parcel;

/* team_deaths.c: how others can see whether a process lives. */
typedef struct pada_member {
    uint64_t machine; /* 0: they cannot */
    int64_t process;
    bool is_lost; /* it has died, and this process goes on without it */
} pada_member;

struct pada_team {
    const pada_carrier *carrier;
    pada_place_in_team place;
    bool is_open, has_failed, was_told; /* the latter: another process raised the alarm */
    bool is_torn;                       /* process 0 has ended without one that has died */
    pada_ending failure;                /* once has_failed */
    pada_parcel *parcels;               /* [2 size] of the call that runs */
    int n_parcels;
    pada_parcel *letters; /* sent and not gone yet */
    int n_letters, cap_letters;
    pada_team_traffic sent;
    /* team_silence.c: who has said that it waits since the last look, [size] owned; NULL: nobody watches. */
    bool *waits;
    double patience; /* seconds between two looks */
    void (*say)(const char *text);
    pada_member *members; /* [size] owned; NULL: they have not met */
};

/* Between two looks at what is awaited: looks again at once, then lets others run, then sleeps. Zero-initialise. */
typedef struct pada_team_wait {
    int n;
    double since;
    int n_looks; /* for processes that are silent */
    double last_roll_call;
} pada_team_wait;

void pada__team_pause(pada_team_wait *wait);

/* Remembers a failure, the first one, and returns it. */
pada_status pada__team_fail(pada_team *team, pada_status st);
/* Fails as the process did that is the first to have said so. */
pada_status pada__team_listen(pada_team *team);

/* team_silence.c: to be called now and then in a wait for what all do together. */
pada_status pada__team_watch(pada_team *team, pada_team_wait *wait);
/* How long one may be silent before it is asked, or asks, in seconds; 0: for ever. */
double pada__team_patience(const pada_team *team);
/* A line for people. */
void pada__team_say(const pada_team *team, const char *text);
/* The line for people: process `rank` is silent. */
void pada__team_say_silent(const pada_team *team, int rank);

/* team_deaths.c: whether a process has died; remembers that it has; fails if it has; fails if any has, asked now and then in a
 * wait. */
bool pada__team_has_died(const pada_team *team, int rank);
void pada__team_lose(pada_team *team, int rank);
pada_status pada__team_miss(const pada_team *team, int rank);
pada_status pada__team_miss_any(const pada_team *team, pada_team_wait *wait);

/* team_letters.c: sends a copy, of which nobody knows when it has gone; forgets those that are still under way. */
pada_status pada__team_post(pada_team *team, pada_channel channel, int to, int tag,
                            const void *data, size_t bytes);
void pada__team_drop_letters(pada_team *team);

#endif
