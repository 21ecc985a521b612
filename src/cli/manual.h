/* manual.h - manual pages from the tables of commands and options, in roff. */
#ifndef PADA_CLI_MANUAL_H
#define PADA_CLI_MANUAL_H

#include "base/text.h"
#include "cli/command.h"

/* Appends pada.1. */
pada_status pada_manual_overview(pada_text *out);
/* Appends pada-NAME.1. */
pada_status pada_manual_command(const pada_command *command, pada_text *out);

#endif
