/* print.h - output that several commands share. */
#ifndef PADA_CLI_PRINT_H
#define PADA_CLI_PRINT_H

#include "base/json.h"

/* Appends a count for people, right-aligned: 4415620 is "4.42M". */
void pada_add_count(pada_text *out, int64_t count, int width);

#endif
