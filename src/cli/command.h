/* command.h - what a command is, and the list of them (commands.def). */
#ifndef PADA_CLI_COMMAND_H
#define PADA_CLI_COMMAND_H

#include "base/option.h"
#include "base/status.h"

#define PADA_SPACE_ARGS(type, field) .has_space = true, .space_args = offsetof(type, field)

typedef struct pada_command {
    const char *name;
    const char *summary; /* one line */
    const char *details; /* a paragraph for people who do not know it yet */
    const char *usage;   /* e.g. "pada arch STRING [options]" */
    /* What stands for positional arguments, as in the meta of an option, with blanks between
     * words, e.g. "info|verify DIR|builtin"; the last one may be repeated. NULL: there are none, or
     * texts of the user. */
    const char *words;
    const char *examples; /* one call per line */
    /* The option, with a list of names, that decides which others there are; NULL: none does. */
    const char *varies_with;
    /* Looks at the words before any option is bound, for commands whose options depend on them; NULL:
     * need not. */
    pada_status (*prepare)(void *self, int argc, const char *const *argv);
    /* Whether it has options of a search space: where in `self` its pada_space_args is, which is prepared first. */
    bool has_space;
    size_t space_args;
    /* Binds the command's options. `self` is zeroed memory of state_bytes, alive until the command
     * ends. */
    size_t state_bytes;
    pada_status (*bind)(void *self, pada_options *options);
    /* Whether it can be stopped by a signal and resumed later: signals are caught from the start. */
    bool stoppable;
    /* Whether processes of mpirun divide its work (job_team.h). Several of another command that can be stopped are refused,
     * of any other each does all of it. */
    bool in_team;
    /* Runs it; options are parsed. Results go to stdout, everything else to stderr. */
    pada_status (*run)(void *self, const pada_options *options);
    /* Gives back what options are bound to beside `self`, when they are gone; called also after a
     * failed prepare. NULL: nothing. */
    void (*deinit)(void *self);
} pada_command;

int pada_command_count(void);
const pada_command *pada_command_get(int i);
/* Finds a command; an unknown one is PADA_EINVAL and offers the nearest name. */
pada_status pada_command_find(const pada_command **out, const char *name);

#endif
