/* search_print.h - what limits leave of a space, and what a search found, as text and as JSON. */
#ifndef PADA_CLI_SEARCH_PRINT_H
#define PADA_CLI_SEARCH_PRINT_H

#include <jansson.h>

#include "base/text.h"
#include "study/search.h"

/* Appends a table: for every cost that is known the smallest, largest and mean one, the limits, and how many networks
 * are inside. `given` are the limits as they were given. */
void pada_add_feasible(pada_text *out, const pada_cost_limits *limits,
                       const pada_cost_limit given[PADA_COST_KINDS]);
/* Sets "networks" and "costs", an array of objects; a failure stays in out->status. */
void pada_json_set_feasible(pada_text *out, json_t *object, const pada_cost_limits *limits,
                            const pada_cost_limit given[PADA_COST_KINDS]);

/* Appends a heading and a line for each of the best `top` networks. */
pada_status pada_add_found(pada_text *out, const pada_space *space,
                           const pada_search_result *result, int top);
/* Sets "evaluated", "generations", the best of each, and "top", an array of objects. */
void pada_json_set_found(pada_text *out, json_t *object, const pada_space *space,
                         const pada_search_result *result, int top);

#endif
