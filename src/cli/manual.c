/* manual.c - manual pages from the tables of commands and options, in roff (the macros of man(7)).
 *
 * A command whose options depend on the value of one of them (--method) has a section for what all
 * values share and one for each value with the rest. */
#include "cli/manual.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "cli/call.h"
#include "cli/exit_codes.h"
#include "cli/help.h"

/* Appends n letters of a text that stands on lines of its own, with everything literal that roff would read. */
static void add_letters(pada_text *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool is_line_start = i == 0 || text[i - 1] == '\n';
        if (is_line_start && (text[i] == '.' || text[i] == '\'')) pada_text_add(out, "\\&");
        switch (text[i]) {
        case '\\': pada_text_add(out, "\\e"); break;
        case '-': pada_text_add(out, "\\-"); break;
        case '\'': pada_text_add(out, "\\(aq"); break;
        case '`': pada_text_add(out, "\\(ga"); break;
        case '^': pada_text_add(out, "\\(ha"); break;
        case '~': pada_text_add(out, "\\(ti"); break;
        default: pada_text_add(out, "%c", text[i]);
        }
    }
}

static void add_line(pada_text *out, const char *text)
{
    add_letters(out, text, strlen(text));
    pada_text_add(out, "\n");
}

/* Title line and the section NAME. */
static void begin_page(pada_text *out, const char *name, const char *summary)
{
    pada_text_add(out, ".TH ");
    for (const char *p = name; *p; p++)
        pada_text_add(out, *p == '-' ? "\\-" : "%c", toupper((unsigned char)*p));
    pada_text_add(out, " 1 \"\" \"pada %s\" \"pada manual\"\n.SH NAME\n", pada_version());
    add_letters(out, name, strlen(name));
    pada_text_add(out, " \\- ");
    add_line(out, summary);
}

static void add_section(pada_text *out, const char *title)
{
    pada_text_add(out, ".SH %s\n", title);
}

static void add_verbatim(pada_text *out, const char *lines)
{
    pada_text_add(out, ".RS\n.nf\n");
    add_line(out, lines);
    pada_text_add(out, ".fi\n.RE\n");
}

static void add_option(pada_text *out, const pada_options *options, int i)
{
    const pada_opt *opt = pada_options_get(options, i);
    const char *value = pada_options_default(options, i);
    pada_text usage = {0}, help = {0};

    pada_options_usage(options, i, &usage);
    pada_text_add(&help, "%s", opt->help);
    if (value && value[0] && opt->type != PADA_OPT_BOOL)
        pada_text_add(&help, " (default %s)", value);
    for (int k = 0; opt->names && opt->names(k); k++)
        pada_text_add(&help, "%s%s", k == 0 ? "; one of: " : ", ", opt->names(k));
    pada_text_add(out, ".TP\n.B ");
    add_line(out, pada_text_str(&usage));
    add_line(out, pada_text_str(&help));
    if (out->status == PADA_OK) out->status = usage.status;
    if (out->status == PADA_OK) out->status = help.status;
    pada_text_deinit(&usage);
    pada_text_deinit(&help);
}

/* ---- options that depend on the value of one ---- */

/* The calls of a command, one for every value of the option `varies_with`. */
typedef struct variants {
    pada_call *calls; /* [n], owned */
    int n;
    const char *(*names)(int i);
} variants;

static void close_variants(variants *v)
{
    for (int i = 0; i < v->n; i++)
        pada_call_close(&v->calls[i]);
    pada_free(v->calls);
}

static pada_status open_variants(variants *v, const pada_call *call)
{
    const char *option = call->command->varies_with;
    void *memory;
    int n = 0;

    if (!option) return PADA_OK;
    v->names = pada_options_get(call->options, pada_options_find(call->options, option))->names;
    PADA_ASSERT(v->names);
    while (v->names(n))
        n++;
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof *v->calls));
    v->calls = memory;
    for (; v->n < n; v->n++) {
        pada_text flag = {0};
        pada_text_add(&flag, "--%s=%s", option, v->names(v->n));
        const char *const words[] = {pada_text_str(&flag)};
        const pada_status st = flag.status == PADA_OK
                                   ? pada_call_open(&v->calls[v->n], call->command, 1, words)
                                   : flag.status;
        pada_text_deinit(&flag);
        if (st != PADA_OK) return st;
    }
    return PADA_OK;
}

/* Whether all variants have the option, with one default. */
static bool is_shared(const variants *v, const pada_options *options, int i)
{
    const char *name = pada_options_get(options, i)->name;
    const char *value = pada_options_default(options, i);

    for (int k = 0; k < v->n; k++) {
        const pada_options *other = v->calls[k].options;
        const int found = pada_options_find(other, name);
        if (found < 0) return false;
        const char *theirs = pada_options_default(other, found);
        if ((value == NULL) != (theirs == NULL) || (value && strcmp(value, theirs) != 0))
            return false;
    }
    return true;
}

static void add_options(pada_text *out, const variants *v, const pada_options *options, bool shared)
{
    for (int i = 0; i < pada_options_count(options); i++)
        if (pada_options_get(options, i)->help && is_shared(v, options, i) == shared)
            add_option(out, options, i);
}

static void add_variants(pada_text *out, const variants *v, const char *option)
{
    for (int k = 0; k < v->n; k++) {
        pada_text title = {0};
        pada_text_add(&title, "With --%s %s", option, v->names(k));
        pada_text_add(out, ".SS ");
        add_line(out, pada_text_str(&title));
        if (out->status == PADA_OK) out->status = title.status;
        pada_text_deinit(&title);
        add_options(out, v, v->calls[k].options, false);
    }
}

/* ---- pages ---- */

static void add_exit_codes(pada_text *out)
{
    add_section(out, "EXIT STATUS");
    for (int i = 0; i < PADA_N_EXIT_CODES; i++) {
        pada_text_add(out, ".TP\n.B %d\n", pada_status_exit_code(pada_exit_codes[i].status));
        add_line(out, pada_exit_codes[i].meaning);
    }
}

static void describe_call(pada_text *out, const pada_call *call, const variants *v)
{
    const pada_command *command = call->command;
    pada_text name = {0};

    pada_text_add(&name, "pada-%s", command->name);
    begin_page(out, pada_text_str(&name), command->summary);
    if (out->status == PADA_OK) out->status = name.status;
    pada_text_deinit(&name);
    add_section(out, "SYNOPSIS");
    add_line(out, command->usage);
    add_section(out, "DESCRIPTION");
    add_line(out, command->details);
    add_section(out, "OPTIONS");
    add_options(out, v, call->options, true);
    if (command->varies_with) add_variants(out, v, command->varies_with);
    add_section(out, "EXAMPLES");
    add_verbatim(out, command->examples);
    add_exit_codes(out);
    add_section(out, "SEE ALSO");
    pada_text_add(out, ".BR pada (1)\n");
}

pada_status pada_manual_command(const pada_command *command, pada_text *out)
{
    variants v = {0};
    pada_call call;

    PADA_TRY(pada_call_open(&call, command, 0, NULL));
    const pada_status st = open_variants(&v, &call);
    if (st == PADA_OK) describe_call(out, &call, &v);
    close_variants(&v);
    pada_call_close(&call);
    return st == PADA_OK ? out->status : st;
}

static void add_environment(pada_text *out)
{
    static const struct {
        const char *name, *meaning;
    } variables[] = {
        {"OMP_NUM_THREADS", "threads, where --threads is 0 or not given"},
        {"NO_COLOR", "if not empty, no colours on a terminal"},
        {"TERM", "dumb: no live progress"},
    };

    add_section(out, "ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        pada_text_add(out, ".TP\n.B %s\n", variables[i].name);
        add_line(out, variables[i].meaning);
    }
}

pada_status pada_manual_overview(pada_text *out)
{
    begin_page(out, "pada", "one-shot neural architecture search");
    add_section(out, "SYNOPSIS");
    add_line(out, "pada COMMAND [options]");
    add_section(out, "DESCRIPTION");
    add_line(out, "Trains one weight-sharing supernet on labelled images and ranks the networks "
                  "inside it. Results go to standard output, progress and messages to standard "
                  "error; --json makes results readable for programs.");
    add_section(out, "COMMANDS");
    for (int i = 0; i < pada_command_count(); i++) {
        const pada_command *command = pada_command_get(i);
        pada_text_add(out, ".TP\n.BR pada\\-%s (1)\n", command->name);
        add_line(out, command->summary);
    }
    add_section(out, "EXAMPLES");
    add_verbatim(out, pada_help_first_steps);
    add_exit_codes(out);
    add_environment(out);
    add_section(out, "SEE ALSO");
    for (int i = 0; i < pada_command_count(); i++)
        pada_text_add(out, ".BR pada\\-%s (1)%s\n", pada_command_get(i)->name,
                      i + 1 < pada_command_count() ? "," : "");
    return out->status;
}
