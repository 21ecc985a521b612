/* cmd_help.c - `pada help`: what the commands do, for terminals and for man(1). */
#include <stdio.h>

#include "cli/call.h"
#include "cli/help.h"
#include "cli/manual.h"

typedef struct help {
    bool man;
} help;

static const pada_opt options_table[] = {
    {.name = "man",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(help, man),
     .help = "as the source of a manual page, for `man -l -`"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    return pada_options_bind(options, options_table, self);
}

static pada_status describe(const char *name, bool man, pada_text *out)
{
    const pada_command *command;
    pada_call call;

    PADA_TRY(pada_command_find(&command, name));
    if (man) return pada_manual_command(command, out);
    PADA_TRY(pada_call_open(&call, command, 0, NULL));
    pada_help_command(&call, out);
    pada_call_close(&call);
    return out->status;
}

static pada_status describe_all(bool man, pada_text *out)
{
    if (man) return pada_manual_overview(out);
    pada_help_overview(out);
    return out->status;
}

static pada_status run(void *self, const pada_options *options)
{
    const help *h = self;
    const int n = pada_options_n_words(options);
    pada_text out = {0};

    if (n > 1)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; help takes one command",
                         pada_options_word(options, 1));
    const pada_status st =
        n == 1 ? describe(pada_options_word(options, 0), h->man, &out) : describe_all(h->man, &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    return st;
}

const pada_command pada_command_help = {
    .name = "help",
    .summary = "this list, or what a command does",
    .details = "Without a command: all of them.",
    .usage = "pada help [COMMAND] [--man]",
    .words = "COMMAND",
    .examples = "pada help train\npada help --man train | man -l -",
    .state_bytes = sizeof(help),
    .bind = bind,
    .run = run,
};
