/* command.c - the list of commands. */
#include "cli/command.h"

#include <string.h>

#define PADA_COMMAND(file) extern const pada_command pada_command_##file;
#include "cli/commands.def"
#undef PADA_COMMAND

static const pada_command *const registry[] = {
#define PADA_COMMAND(file) &pada_command_##file,
#include "cli/commands.def"
#undef PADA_COMMAND
};

enum { N_COMMANDS = sizeof registry / sizeof registry[0] };

int pada_command_count(void)
{
    return N_COMMANDS;
}

const pada_command *pada_command_get(int i)
{
    PADA_ASSERT(i >= 0 && i < N_COMMANDS);
    return registry[i];
}

pada_status pada_command_find(const pada_command **out, const char *name)
{
    const char *names[N_COMMANDS];

    *out = NULL;
    for (int i = 0; i < N_COMMANDS; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = registry[i];
            return PADA_OK;
        }
    }
    return pada_fail_unknown(PADA_EINVAL, "unknown command", name, names, N_COMMANDS);
}
