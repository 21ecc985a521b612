/* arch_scanner.c - reads texts of architectures strictly, character by character. */
#include "space/arch_scanner.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static long position_of(const pada_scanner *s)
{
    return (long)(s->at - s->text) + 1;
}

pada_status pada_scan_fail(const pada_scanner *s, const char *expected)
{
    size_t n = strspn(s->at, PADA_WORD_CHARS);

    if (*s->at == '\0')
        return PADA_FAIL(PADA_EINVAL, "%s architecture, character %ld: expected %s, found the end",
                         s->space, position_of(s), expected);
    if (n == 0) /* one character, in UTF-8 with its continuation bytes */
        for (n = 1; ((unsigned char)s->at[n] & 0xC0) == 0x80;)
            n++;
    return PADA_FAIL(PADA_EINVAL, "%s architecture, character %ld: expected %s, found '%.*s'",
                     s->space, position_of(s), expected, n < 48 ? (int)n : 48, s->at);
}

bool pada_scan_take(pada_scanner *s, char c)
{
    if (*s->at != c) return false;
    s->at++;
    return true;
}

pada_status pada_scan_char(pada_scanner *s, char c)
{
    return pada_scan_take(s, c) ? PADA_OK : pada_scan_fail(s, (char[]){'\'', c, '\'', '\0'});
}

pada_status pada_scan_text(pada_scanner *s, const char *wanted)
{
    for (; *wanted; wanted++)
        PADA_TRY(pada_scan_char(s, *wanted));
    return PADA_OK;
}

pada_status pada_scan_comma(pada_scanner *s)
{
    PADA_TRY(pada_scan_char(s, ','));
    (void)pada_scan_take(s, ' ');
    return PADA_OK;
}

pada_status pada_scan_digit(pada_scanner *s, const char *expected, int most, int *out)
{
    if (strspn(s->at, PADA_WORD_CHARS) != 1 || *s->at < '0' || *s->at > '0' + most)
        return pada_scan_fail(s, expected);
    *out = *s->at++ - '0';
    return PADA_OK;
}

pada_status pada_scan_find(const char *space, const char *where, const char *name, size_t n,
                           const char *const *names, int n_names, int *out)
{
    char token[48], lead[96];

    for (*out = 0; *out < n_names; ++*out)
        if (strlen(names[*out]) == n && memcmp(names[*out], name, n) == 0) return PADA_OK;
    (void)snprintf(token, sizeof token, "%.*s", n < sizeof token ? (int)n : (int)sizeof token,
                   name);
    (void)snprintf(lead, sizeof lead, "%s architecture, %s: unknown operator", space, where);
    return pada_fail_unknown(PADA_EINVAL, lead, token, names, n_names);
}

pada_status pada_scan_word(pada_scanner *s, const char *expected, const char *const *names, int n,
                           int *out)
{
    const size_t length = strspn(s->at, PADA_WORD_CHARS);
    char where[32];

    if (length == 0) return pada_scan_fail(s, expected);
    (void)snprintf(where, sizeof where, "character %ld", position_of(s));
    PADA_TRY(pada_scan_find(s->space, where, s->at, length, names, n, out));
    s->at += length;
    return PADA_OK;
}

pada_status pada_scan_end(const pada_scanner *s)
{
    return *s->at == '\0' ? PADA_OK : pada_scan_fail(s, "the end");
}
