/* progress.h - how long commands tell where they stand, on standard error.
 *
 *   terminal          one line that is written anew, and stays with its last state
 *   anything else     a line for every milestone: an epoch, a training, a minute
 *   --json            the same milestones as JSON objects; `pada train` has them on standard output
 *   --quiet           nothing but messages
 *
 * Of several processes (job_team.h) the first tells, and nobody else.
 *
 * TERM=dumb is no terminal here, and NO_COLOR leaves out colours. */
#ifndef PADA_CLI_PROGRESS_H
#define PADA_CLI_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum pada_meter_mode {
    PADA_METER_QUIET,
    PADA_METER_LIVE,
    PADA_METER_LINES,
    PADA_METER_JSON,
} pada_meter_mode;

typedef struct pada_meter {
    pada_meter_mode mode;
    bool has_colour;
    bool is_open;             /* a live line without its end */
    double shown, milestoned; /* clock */
} pada_meter;

void pada_meter_init(pada_meter *meter, bool quiet, bool json);

/* Whether showing something that is no milestone would have an effect; not more than ten times a
 * second. */
bool pada_meter_is_due(const pada_meter *meter);
/* Whether so many seconds have passed since the last milestone, or the start. */
bool pada_meter_has_passed(const pada_meter *meter, double seconds);

/* Shows a state: on a terminal any, elsewhere milestones. Nothing in mode JSON. */
void pada_meter_show(pada_meter *meter, bool is_milestone, const char *format, ...)
    PADA_PRINTF(3, 4);
/* In mode JSON writes the object as a milestone; drops the reference in any case. */
void pada_meter_object(pada_meter *meter, json_t *object);

/* A message for people, "pada: TEXT" on a line of its own, in every mode. */
void pada_meter_say(pada_meter *meter, const char *text);
/* Ends the live line. To be called before anything else is printed. */
void pada_meter_end(pada_meter *meter);

/* A state of commands that count: "5 of 20 WHAT, DETAIL, about 3 min 20 s left". */
typedef struct pada_meter_count {
    const char *what; /* "evaluations" */
    int n_done, n_total;
    double seconds_left;
    const char *detail; /* "" or NULL: none */
} pada_meter_count;

void pada_meter_show_count(pada_meter *meter, bool is_milestone, const pada_meter_count *count);

/* "42 s", "3 min 20 s", "2 h 05 min"; "?" for what is not finite. */
enum { PADA_DURATION = 32 };
const char *pada_duration(double seconds, char text[PADA_DURATION]);

#endif
