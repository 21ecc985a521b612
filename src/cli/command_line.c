/* command_line.c - the words of a command of pada. */
#include "cli/command_line.h"

#include <string.h>

#include "base/mem.h"

pada_text *pada_command_line_begin(pada_command_line *line)
{
    void *at = line->at;

    if (line->n > 0) pada_text_add_bytes(&line->text, "", 1);
    if (line->text.status == PADA_OK)
        line->text.status = pada_grow(&at, &line->cap, line->n + 1, sizeof *line->at);
    if (line->text.status != PADA_OK) return &line->text;
    line->at = at;
    line->at[line->n++] = line->text.length;
    return &line->text;
}

void pada_command_line_add(pada_command_line *line, const char *word)
{
    pada_text_add_bytes(pada_command_line_begin(line), word, strlen(word));
}

void pada_command_line_deinit(pada_command_line *line)
{
    pada_text_deinit(&line->text);
    pada_free(line->at);
    *line = (pada_command_line){0};
}

pada_status pada_command_line_words(const pada_command_line *line, const char ***out)
{
    void *memory;

    *out = NULL;
    PADA_TRY(line->text.status);
    PADA_TRY(pada_calloc(&memory, (size_t)line->n + 1, sizeof **out));
    *out = memory;
    for (int i = 0; i < line->n; i++)
        (*out)[i] = pada_text_str(&line->text) + line->at[i];
    return PADA_OK;
}

static void print_word(const char *word, pada_text *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./,:=+%@";

    if (word[0] && word[strspn(word, plain)] == '\0') {
        pada_text_add(out, " %s", word);
        return;
    }
    pada_text_add(out, " '");
    for (; *word; word++)
        if (*word == '\'')
            pada_text_add(out, "'\\''");
        else
            pada_text_add_bytes(out, word, 1);
    pada_text_add(out, "'");
}

void pada_command_line_print(const pada_command_line *line, pada_text *out)
{
    pada_text_add(out, "pada");
    for (int i = 0; i < line->n && line->text.status == PADA_OK; i++)
        print_word(pada_text_str(&line->text) + line->at[i], out);
    if (line->text.status != PADA_OK && out->status == PADA_OK) out->status = line->text.status;
}
