/* help.c - what a terminal shows about commands. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

const char pada_help_first_steps[] = "pada auto --data photos --out runs/photos\n"
                                     "pada data verify photos\n"
                                     "pada train --data photos --epochs 50 --out runs/a\n"
                                     "pada rank runs/a --networks 500\n"
                                     "pada report runs/a";

/* Appends the calls, one per line, indented. */
static void add_examples(pada_text *out, const char *lines)
{
    pada_text_add(out, "\nexamples:\n");
    while (*lines) {
        const int n = (int)strcspn(lines, "\n");
        pada_text_add(out, "  %.*s\n", n, lines);
        lines += lines[n] ? n + 1 : n;
    }
}

/* Appends the text in lines of at most so many letters. */
static void add_paragraph(pada_text *out, const char *text)
{
    enum { MAX_LINE = 100 };

    while (*text) {
        size_t n = strlen(text);
        if (n > MAX_LINE)
            for (n = MAX_LINE; n > 0 && text[n] != ' ';)
                n--;
        pada_text_add(out, "%.*s\n", (int)n, text);
        text += n + (text[n] == ' ');
    }
}

void pada_help_overview(pada_text *out)
{
    int width = 0;

    for (int i = 0; i < pada_command_count(); i++) {
        const int n = (int)strlen(pada_command_get(i)->name);
        if (n > width) width = n;
    }
    pada_text_add(out, "pada - one-shot neural architecture search\n\n"
                       "usage: pada COMMAND [options]\n\ncommands:\n");
    for (int i = 0; i < pada_command_count(); i++) {
        const pada_command *command = pada_command_get(i);
        pada_text_add(out, "  %-*s  %s\n", width, command->name, command->summary);
    }
    add_examples(out, pada_help_first_steps);
    pada_text_add(out, "\n`pada help COMMAND` describes a command, `pada --version` says which "
                       "pada this is.\n");
}

void pada_help_command(const pada_call *call, pada_text *out)
{
    const pada_command *command = call->command;

    pada_text_add(out, "usage: %s\n\n%s\n\n", command->usage, command->summary);
    add_paragraph(out, command->details);
    pada_text_add(out, "\noptions:\n");
    pada_options_help(call->options, out);
    add_examples(out, command->examples);
}

pada_status pada_help_print(const pada_call *call)
{
    pada_text text = {0};

    pada_help_command(call, &text);
    const pada_status st = text.status;
    if (st == PADA_OK) fputs(pada_text_str(&text), stdout);
    pada_text_deinit(&text);
    return st;
}
