/* exit_codes.h - what the exit codes of the program mean. */
#ifndef PADA_CLI_EXIT_CODES_H
#define PADA_CLI_EXIT_CODES_H

#include "base/status.h"

enum { PADA_N_EXIT_CODES = 7 };

/* One status stands for all that end with its exit code. */
typedef struct pada_exit_code {
    pada_status status;
    const char *meaning;
} pada_exit_code;

extern const pada_exit_code pada_exit_codes[PADA_N_EXIT_CODES];

#endif
