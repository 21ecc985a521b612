/* cmd_completion.c - `pada completion`: scripts that make shells complete command lines of pada.
 *
 * The scripts know nothing of pada: they ask `pada completion words`, so that they fit the options of whatever pada
 * is called. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/complete.h"

static const char bash_script[] =
    "# bash completion for pada: source it, or install it as completions/pada.\n"
    "_pada()\n"
    "{\n"
    "    local typed=${COMP_WORDS[COMP_CWORD]} kind line\n"
    "    local -a lines\n"
    "    mapfile -t lines < <(\"${COMP_WORDS[0]}\" completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    kind=${lines[0]}\n"
    "    COMPREPLY=()\n"
    "    for line in \"${lines[@]:1}\"; do\n"
    "        COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
    "    done\n"
    "    [[ $typed == = ]] && typed=\n"
    "    case $kind in\n"
    "    files)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$typed\")\n"
    "        ;;\n"
    "    files\\ *)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(\n"
    "            compgen -d -- \"$typed\"\n"
    "            compgen -f -X \"!*${kind#files }\" -- \"$typed\")\n"
    "        ;;\n"
    "    folders)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$typed\")\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _pada pada\n";

static const char zsh_script[] =
    "#compdef pada\n"
    "# zsh completion for pada: source it after compinit, or install it as _pada in a folder of $fpath.\n"
    "_pada()\n"
    "{\n"
    "    local -a lines offered\n"
    "    local line\n"
    "    lines=(\"${(@f)$(\"${words[1]}\" completion words -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    for line in \"${(@)lines[2,-1]}\"; do\n"
    "        offered+=(\"${${line//:/\\\\:}/$'\\t'/:}\")\n"
    "    done\n"
    "    (( $#offered )) && _describe -t words 'pada' offered\n"
    "    case $lines[1] in\n"
    "    files) compset -P '--*='; _files ;;\n"
    "    files\\ *) compset -P '--*='; _files -g \"*${lines[1]#files }\" ;;\n"
    "    folders) compset -P '--*='; _files -/ ;;\n"
    "    esac\n"
    "}\n"
    "if [[ $funcstack[1] == _pada ]]; then _pada \"$@\"; else compdef _pada pada; fi\n";

static pada_status bind(void *self, pada_options *options)
{
    (void)self;
    (void)options;
    return PADA_OK;
}

/* The words after `words`. Shells that end words at '=' give it as one of its own: it means nothing more than a
 * blank does. */
static pada_status complete(const pada_options *options, pada_text *out)
{
    const int n = pada_options_n_words(options);
    void *memory;
    int n_words = 0;

    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof(const char *)));
    const char **words = memory;
    for (int i = 1; i < n; i++) {
        const char *word = pada_options_word(options, i);
        const bool is_equals = strcmp(word, "=") == 0;
        if (!is_equals) words[n_words++] = word;
        if (is_equals && i == n - 1) words[n_words++] = "";
    }
    const pada_status st = pada_complete(n_words, words, out);
    pada_free(memory);
    return st;
}

static pada_status answer(const pada_options *options, pada_text *out)
{
    static const char *const kinds[] = {"bash", "zsh", "words"};
    const char *what = pada_options_n_words(options) > 0 ? pada_options_word(options, 0) : "";

    if (strcmp(what, "words") == 0) return complete(options, out);
    if (pada_options_n_words(options) > 1)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; completion takes the name of a shell",
                         pada_options_word(options, 1));
    if (strcmp(what, "bash") == 0)
        pada_text_add(out, "%s", bash_script);
    else if (strcmp(what, "zsh") == 0)
        pada_text_add(out, "%s", zsh_script);
    else
        return pada_fail_unknown(PADA_EINVAL, "completion: unknown shell", what, kinds, 2);
    return out->status;
}

static pada_status run(void *self, const pada_options *options)
{
    pada_text out = {0};
    const pada_status st = answer(options, &out);

    (void)self;
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    return st;
}

const pada_command pada_command_completion = {
    .name = "completion",
    .summary = "scripts that complete command lines in bash and zsh",
    .details = "The scripts ask the program what may follow, so they always fit its options. "
               "Installed by make install; for a program that is not installed, source them.",
    .usage = "pada completion bash|zsh",
    .words = "bash|zsh",
    .examples = "source <(pada completion bash)\n"
                "pada completion zsh > ~/.zfunc/_pada",
    .state_bytes = 1,
    .bind = bind,
    .run = run,
};
