/* command_line.h - the words of a command of pada, for commands that are made of others. */
#ifndef PADA_CLI_COMMAND_LINE_H
#define PADA_CLI_COMMAND_LINE_H

#include "base/text.h"

/* Zero-initialise; deinit accepts that. Failures are in the status of the text. */
typedef struct pada_command_line {
    pada_text text; /* the words, with a zero byte between them */
    size_t *at;     /* [n], owned: where they begin */
    int n, cap;
} pada_command_line;

/* Begins a word, the name of the command first: what is appended to the text that is returned belongs to it. */
pada_text *pada_command_line_begin(pada_command_line *line);
/* Appends a whole word. */
void pada_command_line_add(pada_command_line *line, const char *word);
void pada_command_line_deinit(pada_command_line *line);

/* A new array of all words, NULL behind the last, to be freed with pada_free; valid until the line changes. */
pada_status pada_command_line_words(const pada_command_line *line, const char ***out);
/* Appends "pada" and all words as a shell takes them. */
void pada_command_line_print(const pada_command_line *line, pada_text *out);

#endif
