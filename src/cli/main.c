/* main.c - the program: from a command line to a command, from its status to an exit code. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/call.h"
#include "cli/help.h"
#include "cli/stop_signal.h"

static pada_status run_call(pada_call *call, int argc, const char *const *argv)
{
    PADA_TRY(pada_options_parse(call->options, argc, argv));
    if (call->help) return pada_help_print(call);
    if (call->config) PADA_TRY(pada_options_load(call->options, call->config));
    return call->command->run(call->self, call->options);
}

static pada_status run(int argc, const char *const *argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    const bool is_help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    const pada_command *command;
    pada_call call;

    if (strcmp(name, "--version") == 0) {
        printf("pada %s\n", pada_version());
        return PADA_OK;
    }
    PADA_TRY(pada_command_find(&command, is_help ? "help" : name));
    if (command->stoppable) (void)pada_stop_signal();
    const int n_words = argc > 2 ? argc - 2 : 0;
    PADA_TRY(pada_call_open(&call, command, n_words, argv + 2));
    const pada_status st = n_words == 1 && strcmp(argv[2], "-h") == 0
                               ? pada_help_print(&call)
                               : run_call(&call, n_words, argv + 2);
    pada_call_close(&call);
    return st;
}

int main(int argc, char **argv)
{
    /* A file that a limit of the shell keeps from growing is an error to report like a full disk, not a death. */
    signal(SIGXFSZ, SIG_IGN);
    pada_status st = run(argc, (const char *const *)argv);

    /* A full disk shows only here, and must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && st == PADA_OK)
        st = PADA_FAIL(PADA_EIO, "standard output: %s", strerror(errno));
    if (st != PADA_OK) fprintf(stderr, "pada: %s\n", pada_message());
    return pada_status_exit_code(st);
}
