/* print_metrics.h - how well scores rank networks, as tables and as JSON. */
#ifndef PADA_CLI_PRINT_METRICS_H
#define PADA_CLI_PRINT_METRICS_H

#include <jansson.h>

#include "base/text.h"
#include "study/scoreboard.h"

/* Appends the number, or '-' where it is not defined, right-aligned in `width` columns. */
void pada_add_number(pada_text *out, double x, int decimals, int width);
/* Appends "[low, high]", or '-', left-aligned in `width` columns; 0: as wide as it is. */
void pada_add_interval(pada_text *out, const pada_interval *interval, int decimals, int width);

/* Appends one line per metric of a set, with its interval. */
void pada_add_metrics(pada_text *out, const pada_scoreboard *board, int set);
/* Appends one line per set with all metrics. */
void pada_add_sets(pada_text *out, const pada_scoreboard *board, const char *const *names);

/* Sets the key to the number, null where it is not defined. */
void pada_json_set_number(pada_text *out, json_t *object, const char *key, double x);
/* Adds "n" and all metrics of a set with their intervals (_lo, _hi). */
void pada_json_set_metrics(pada_text *out, json_t *object, const pada_scoreboard *board, int set);

#endif
