/* main.c - the program: from a command line to a command, from its status to an exit code. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/call.h"
#include "cli/job_team.h"

static pada_status run(int argc, const char *const *argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    const pada_command *command;
    const bool is_help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;

    if (strcmp(name, "--version") == 0) {
        printf("pada %s\n", pada_version());
        return PADA_OK;
    }
    if (pada_command_find(&command, name) == PADA_OK && (command->in_team || command->stoppable)) {
        PADA_TRY(pada_job_join());
        if (!command->in_team && pada_job_team())
            return PADA_FAIL(PADA_EINVAL,
                             "`pada %s` is the work of one process; start it without mpirun", name);
    }
    return pada_call_run(is_help ? "help" : name, argc > 2 ? argc - 2 : 0, argv + 2);
}

int main(int argc, char **argv)
{
    /* A file that a limit of the shell keeps from growing is an error to report like a full disk, not a death. */
    signal(SIGXFSZ, SIG_IGN);
    pada_status st = run(argc, (const char *const *)argv);

    /* A full disk shows only here, and must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && st == PADA_OK)
        st = PADA_FAIL(PADA_EIO, "standard output: %s", strerror(errno));
    bool speaks;
    st = pada_job_end(st, &speaks);
    if (st != PADA_OK && speaks) fprintf(stderr, "pada: %s\n", pada_message());
    pada_job_leave();
    return pada_status_exit_code(st);
}
