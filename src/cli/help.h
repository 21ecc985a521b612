/* help.h - what a terminal shows about commands. */
#ifndef PADA_CLI_HELP_H
#define PADA_CLI_HELP_H

#include "base/text.h"
#include "cli/call.h"

/* Appends the list of commands. */
void pada_help_overview(pada_text *out);
/* Appends usage, options and examples of a command. */
void pada_help_command(const pada_call *call, pada_text *out);
/* Prints that. */
pada_status pada_help_print(const pada_call *call);

/* First calls of somebody who has never used pada, one per line. */
extern const char pada_help_first_steps[];

#endif
