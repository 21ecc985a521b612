/* call.h - a command with its options bound: what is run, described and completed. */
#ifndef PADA_CLI_CALL_H
#define PADA_CLI_CALL_H

#include <stdbool.h>

#include "cli/command.h"

/* Zero-initialise; close accepts that and half-made ones. */
typedef struct pada_call {
    const pada_command *command;
    void *self; /* of the command */
    pada_options *options;
    const char *config; /* options of every command */
    bool help;
} pada_call;

/* Binds the options that the command has with these words after its name. Nothing is parsed yet. The
 * call must not move: options point into it. */
pada_status pada_call_open(pada_call *call, const pada_command *command, int argc,
                           const char *const *argv);
/* Takes the flags, and the file of --config; may be called with one word after the other. */
pada_status pada_call_parse(pada_call *call, int argc, const char *const *argv);
void pada_call_close(pada_call *call);

/* Runs `pada NAME ARGV..`: what main does, and commands that are made of others. Signals are caught from here on where
 * the command is stoppable. */
pada_status pada_call_run(const char *name, int argc, const char *const *argv);

#endif
