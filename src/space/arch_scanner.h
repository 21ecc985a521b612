/* arch_scanner.h - reads texts of architectures strictly, character by character, with one way to say what is wrong. */
#ifndef PADA_SPACE_ARCH_SCANNER_H
#define PADA_SPACE_ARCH_SCANNER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_WORD_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

typedef struct pada_scanner {
    const char *space; /* for messages: "SPACE architecture, character 3: expected .., found .." */
    const char *text;
    const char *at; /* the next character */
} pada_scanner;

/* All failures are PADA_EINVAL. */
pada_status pada_scan_fail(const pada_scanner *s, const char *expected);
pada_status pada_scan_char(pada_scanner *s, char c);
/* Each character of a text in turn. */
pada_status pada_scan_text(pada_scanner *s, const char *wanted);
/* Between the items of a Python list: a comma and at most one space. */
pada_status pada_scan_comma(pada_scanner *s);
/* A digit 0 to `most`, and no further one. */
pada_status pada_scan_digit(pada_scanner *s, const char *expected, int most, int *out);
/* One of n names; the nearest is offered. */
pada_status pada_scan_word(pada_scanner *s, const char *expected, const char *const *names, int n,
                           int *out);
pada_status pada_scan_end(const pada_scanner *s);
/* Takes the character if it comes next. */
bool pada_scan_take(pada_scanner *s, char c);

/* The index of a name of n characters that stood `where`. */
pada_status pada_scan_find(const char *space, const char *where, const char *name, size_t n,
                           const char *const *names, int n_names, int *out);

#ifdef __cplusplus
}
#endif
#endif
