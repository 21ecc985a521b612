/* auto_result.h - what `pada auto` has found: the winner, and whether searching was worth it. */
#ifndef PADA_CLI_AUTO_RESULT_H
#define PADA_CLI_AUTO_RESULT_H

#include "cli/auto_args.h"

/* Appends a summary of a run whose stages are all done, for people or as one line of JSON. */
pada_status pada_auto_report(const pada_auto *a, pada_text *out);

#endif
