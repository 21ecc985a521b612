/* team_state.h - what the files of this folder know of a team, and how they wait. */
#ifndef PADA_DIST_TEAM_STATE_H
#define PADA_DIST_TEAM_STATE_H

#include "dist/team.h"

/* How a process ended, as others are told. */
typedef struct pada_ending {
    int32_t status;
    char message[PADA_MESSAGE_BYTES];
} pada_ending;

/* A message of this process that is under way. */
typedef struct pada_parcel {
    pada_request request;
    bool done;
    void *copy; /* of a letter: its bytes, owned */
} pada_parcel;

struct pada_team {
    const pada_carrier *carrier;
    pada_place_in_team place;
    bool is_open, has_failed, was_told; /* the latter: another process raised the alarm */
    pada_ending failure;                /* once has_failed */
    pada_parcel *parcels;               /* [2 size] of the call that runs */
    int n_parcels;
    pada_parcel *letters; /* sent and not gone yet */
    int n_letters, cap_letters;
    pada_team_traffic sent;
};

/* Between two looks at what is awaited: looks again at once, then lets others run, then sleeps. Zero-initialise. */
typedef struct pada_team_wait {
    int n;
    double since;
} pada_team_wait;

void pada__team_pause(pada_team_wait *wait);

/* Remembers a failure, the first one, and returns it. */
pada_status pada__team_fail(pada_team *team, pada_status st);
/* Fails as the process did that is the first to have said so. */
pada_status pada__team_listen(pada_team *team);

/* team_letters.c: forgets letters that are still under way. */
void pada__team_drop_letters(pada_team *team);

#endif
