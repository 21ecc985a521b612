/* call.c - a command with its options bound. */
#include "cli/call.h"

#include <string.h>

#include "base/mem.h"
#include "cli/help.h"
#include "cli/outputs.h"
#include "cli/stop_signal.h"
#include "run/space_args.h"

static const pada_opt common_options[] = {
    {.name = "config",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_call, config),
     .meta = "FILE.yaml",
     .help = "take options from a file; flags override it",
     .session = true},
    {.name = "help",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_call, help),
     .help = "show this text",
     .session = true},
    {.name = NULL},
};

static pada_status open_call(pada_call *call, int argc, const char *const *argv)
{
    const pada_command *command = call->command;

    PADA_TRY(pada_calloc(&call->self, 1, command->state_bytes));
    PADA_TRY(pada_options_create(&call->options));
    if (command->has_space)
        PADA_TRY(pada_space_args_prepare((void *)((char *)call->self + command->space_args), argc,
                                         argv));
    if (command->prepare) PADA_TRY(command->prepare(call->self, argc, argv));
    PADA_TRY(command->bind(call->self, call->options));
    return pada_options_bind(call->options, common_options, call);
}

pada_status pada_call_open(pada_call *call, const pada_command *command, int argc,
                           const char *const *argv)
{
    *call = (pada_call){.command = command};
    const pada_status st = open_call(call, argc, argv);
    if (st != PADA_OK) pada_call_close(call);
    return st;
}

void pada_call_close(pada_call *call)
{
    pada_options_destroy(call->options); /* before the structs it points into */
    if (call->self && call->command->deinit) call->command->deinit(call->self);
    pada_free(call->self);
    *call = (pada_call){0};
}

pada_status pada_call_parse(pada_call *call, int argc, const char *const *argv)
{
    PADA_TRY(pada_options_parse(call->options, argc, argv));
    if (call->config && !call->help) PADA_TRY(pada_options_load(call->options, call->config));
    return PADA_OK;
}

static pada_status run_open(pada_call *call, int argc, const char *const *argv)
{
    if (argc == 1 && strcmp(argv[0], "-h") == 0) return pada_help_print(call);
    PADA_TRY(pada_call_parse(call, argc, argv));
    if (call->help) return pada_help_print(call);
    PADA_TRY(pada_outputs_check(call->options));
    return call->command->run(call->self, call->options);
}

pada_status pada_call_run(const char *name, int argc, const char *const *argv)
{
    const pada_command *command;
    pada_call call;

    PADA_TRY(pada_command_find(&command, name));
    if (command->stoppable) (void)pada_stop_signal();
    PADA_TRY(pada_call_open(&call, command, argc, argv));
    const pada_status st = run_open(&call, argc, argv);
    pada_call_close(&call);
    return st;
}
