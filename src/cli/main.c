/* main.c - the program: from a command line to a command, from its status to an exit code. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/option.h"
#include "cli/command.h"

/* Options of every command. */
typedef struct common {
    const char *config;
    bool help;
} common;

static const pada_opt common_options[] = {
    {.name = "config",
     .type = PADA_OPT_STRING,
     .offset = offsetof(common, config),
     .meta = "FILE.yaml",
     .help = "take options from a file; flags override it",
     .session = true},
    {.name = "help",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(common, help),
     .help = "show this text",
     .session = true},
    {.name = NULL},
};

static pada_status print_overview(void)
{
    int width = 0;

    for (int i = 0; i < pada_command_count(); i++) {
        const int n = (int)strlen(pada_command_get(i)->name);
        if (n > width) width = n;
    }
    puts(
        "pada - one-shot neural architecture search\n\nusage: pada COMMAND [options]\n\ncommands:");
    for (int i = 0; i < pada_command_count(); i++) {
        const pada_command *command = pada_command_get(i);
        printf("  %-*s  %s\n", width, command->name, command->summary);
    }
    puts("\n`pada help COMMAND` describes a command, `pada --version` says which pada this is.");
    return PADA_OK;
}

/* Indents the calls, one per line. */
static void print_examples(const char *lines)
{
    puts("\nexamples:");
    while (*lines) {
        const int n = (int)strcspn(lines, "\n");
        printf("  %.*s\n", n, lines);
        lines += lines[n] ? n + 1 : n;
    }
}

static pada_status print_help(const pada_command *command, const pada_options *options)
{
    pada_text text = {0};

    pada_options_help(options, &text);
    const pada_status st = text.status;
    if (st == PADA_OK) {
        printf("usage: %s\n\n%s\n\noptions:\n%s", command->usage, command->summary,
               pada_text_str(&text));
        if (command->examples) print_examples(command->examples);
    }
    pada_text_deinit(&text);
    return st;
}

/* Runs a command with the words after its name; `help` only describes it. */
static pada_status run_command(const pada_command *command, int argc, const char *const *argv,
                               bool help)
{
    common shared = {0};
    pada_options *options = NULL;
    void *self = NULL;
    pada_status st;

    PADA_TRY(pada_calloc(&self, 1, command->state_bytes));
    if ((st = pada_options_create(&options)) != PADA_OK) goto out;
    if (command->prepare && (st = command->prepare(self, argc, argv)) != PADA_OK) goto out;
    if ((st = command->bind(self, options)) != PADA_OK) goto out;
    if ((st = pada_options_bind(options, common_options, &shared)) != PADA_OK) goto out;
    if ((st = pada_options_parse(options, argc, argv)) != PADA_OK) goto out;
    if (help || shared.help) {
        st = print_help(command, options);
        goto out;
    }
    if (shared.config && (st = pada_options_load(options, shared.config)) != PADA_OK) goto out;
    st = command->run(self, options);
out:
    pada_options_destroy(options); /* before the structs it points into */
    if (command->deinit) command->deinit(self);
    pada_free(self);
    return st;
}

static pada_status run(int argc, const char *const *argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    const pada_command *command;

    if (strcmp(name, "--version") == 0) {
        puts("pada " PADA_VERSION);
        return PADA_OK;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0) {
        if (argc < 3) return print_overview();
        PADA_TRY(pada_command_find(&command, argv[2]));
        return run_command(command, 0, NULL, true);
    }
    PADA_TRY(pada_command_find(&command, name));
    return run_command(command, argc - 2, argv + 2, false);
}

int main(int argc, char **argv)
{
    pada_status st = run(argc, (const char *const *)argv);

    /* A full disk shows only here, and must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && st == PADA_OK)
        st = PADA_FAIL(PADA_EIO, "standard output: %s", strerror(errno));
    if (st != PADA_OK) fprintf(stderr, "pada: %s\n", pada_message());
    return pada_status_exit_code(st);
}
