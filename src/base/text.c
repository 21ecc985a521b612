/* text.c - strict parsing of numbers, nearest names, and a growing string. */
#include "base/text.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* Reads digits and an optional suffix. Sets *too_large instead of wrapping; false if it is not a
 * whole number. */
static bool read_magnitude(const char *text, uint64_t *out, bool *too_large)
{
    static const struct {
        char letter;
        uint64_t factor;
    } suffixes[] = {{'k', 1000}, {'M', 1000000}, {'G', 1000000000}};
    uint64_t n = 0, factor = 1;

    *too_large = false;
    if (*text < '0' || *text > '9') return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (n > (UINT64_MAX - digit) / 10) *too_large = true;
        n = n * 10 + digit;
    }
    for (size_t i = 0; *text && i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (*text != suffixes[i].letter) continue;
        factor = suffixes[i].factor;
        text++;
        break;
    }
    if (n > UINT64_MAX / factor) *too_large = true;
    *out = n * factor;
    return *text == '\0';
}

pada_status pada_parse_int(const char *text, const char *what, int64_t min, int64_t max,
                           int64_t *out)
{
    const bool negative = text[0] == '-';
    const uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t magnitude;
    bool too_large;

    if (!read_magnitude(text + negative, &magnitude, &too_large))
        return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' is not a whole number%s", what, text,
                         isdigit((unsigned char)text[0]) ? " such as 1500, 40k or 400M" : "");
    if (too_large || magnitude > limit)
        return PADA_FAIL(PADA_EINVAL, "%s: %.100s does not fit in 64 bits", what, text);

    int64_t n = (int64_t)magnitude;
    /* The smallest number has no positive twin, hence the detour by one. */
    if (negative && magnitude > 0) n = -(int64_t)(magnitude - 1) - 1;

    if (n < min && max == INT64_MAX)
        return PADA_FAIL(PADA_EINVAL, "%s: %.100s is below %" PRId64, what, text, min);
    if (n > max && min == INT64_MIN)
        return PADA_FAIL(PADA_EINVAL, "%s: %.100s is above %" PRId64, what, text, max);
    if (n < min || n > max)
        return PADA_FAIL(PADA_EINVAL, "%s: %.100s is outside %" PRId64 " to %" PRId64, what, text,
                         min, max);
    *out = n;
    return PADA_OK;
}

pada_status pada_parse_u64(const char *text, const char *what, uint64_t *out)
{
    uint64_t n;
    bool too_large;

    if (!read_magnitude(text, &n, &too_large))
        return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' is not a whole number of 0 or more", what,
                         text);
    if (too_large) return PADA_FAIL(PADA_EINVAL, "%s: %.100s does not fit in 64 bits", what, text);
    *out = n;
    return PADA_OK;
}

/* Decimal digits, one point, an exponent: what strtod takes, less blanks, hexadecimal, "inf" and
 * "nan". */
static bool is_decimal(const char *text)
{
    int n_digits = 0;

    if (*text == '-' || *text == '+') text++;
    for (; isdigit((unsigned char)*text); text++)
        n_digits++;
    if (*text == '.')
        for (text++; isdigit((unsigned char)*text); text++)
            n_digits++;
    if (n_digits == 0) return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '-' || *text == '+') text++;
        if (!isdigit((unsigned char)*text)) return false;
        while (isdigit((unsigned char)*text))
            text++;
    }
    return *text == '\0';
}

pada_status pada_parse_double(const char *text, const char *what, double min, double max,
                              double *out)
{
    if (!is_decimal(text))
        return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' is not a number", what, text);

    const double x = strtod(text, NULL);
    if (!isfinite(x)) return PADA_FAIL(PADA_EINVAL, "%s: %.100s is too large", what, text);
    if (x < min && max >= DBL_MAX)
        return PADA_FAIL(PADA_EINVAL, "%s: %.100s is below %.15g", what, text, min);
    if (x > max && min <= -DBL_MAX)
        return PADA_FAIL(PADA_EINVAL, "%s: %.100s is above %.15g", what, text, max);
    if (x < min || x > max)
        return PADA_FAIL(PADA_EINVAL, "%s: %.100s is outside %.15g to %.15g", what, text, min, max);
    *out = x;
    return PADA_OK;
}

pada_status pada_parse_bool(const char *text, const char *what, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};

    for (int i = 0; i < (int)(sizeof words / sizeof words[0]); i++) {
        if (strcasecmp(text, words[i]) != 0) continue;
        *out = i % 2 == 1;
        return PADA_OK;
    }
    return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' is not true or false", what, text);
}

int pada_shortest_digits(double x)
{
    char text[40];
    int n = DBL_DIG;

    for (; n < DBL_DECIMAL_DIG; n++) {
        (void)snprintf(text, sizeof text, "%.*g", n, x);
        if (strtod(text, NULL) == x) break;
    }
    return n;
}

/* Longer names are never offered: the rows below live on the stack. */
#define MAX_NAME 64

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Edit distance where swapping neighbours costs one and no substring is edited twice (restricted
 * Damerau-Levenshtein). Three rows of the usual table are enough. */
static int edit_distance(const char *a, int n_a, const char *b, int n_b)
{
    int rows[3][MAX_NAME + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2];

    for (int j = 0; j <= n_b; j++)
        above[j] = before[j] = j;
    for (int i = 1; i <= n_a; i++) {
        row[0] = i;
        for (int j = 1; j <= n_b; j++) {
            const int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            row[j] = min_int(above[j - 1] + (ca != cb), min_int(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]))
                row[j] = min_int(row[j], before[j - 2] + 1);
        }
        int *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[n_b];
}

const char *pada_nearest(const char *text, const char *const *candidates, int n)
{
    const size_t length = strlen(text);
    const char *best = NULL;

    if (length > MAX_NAME) return NULL;
    /* A third of the letters may be wrong, but at least one has to be right: without that, every
     * two-letter word is near every other. */
    int limit = min_int(length / 3 > 2 ? (int)length / 3 : 2, (int)length - 1);
    for (int i = 0; i < n; i++) {
        const size_t n_candidate = strlen(candidates[i]);
        if (n_candidate > MAX_NAME) continue;
        const int d = edit_distance(text, (int)length, candidates[i], (int)n_candidate);
        if (d > limit) continue;
        best = candidates[i];
        limit = d - 1; /* the first of equals wins */
    }
    return best;
}

pada_status pada_fail_unknown(pada_status status, const char *lead, const char *name,
                              const char *const *names, int n)
{
    const char *near = pada_nearest(name, names, n);
    pada_text all = {0};

    if (near) return PADA_FAIL(status, "%s '%.100s'; did you mean '%s'?", lead, name, near);
    for (int i = 0; i < n; i++)
        pada_text_add(&all, "%s%s", i > 0 ? ", " : "", names[i]);
    const pada_status st = all.status == PADA_OK ? PADA_FAIL(status, "%s '%.100s'; one of: %s",
                                                             lead, name, pada_text_str(&all))
                                                 : all.status;
    pada_text_deinit(&all);
    return st;
}

/* Room for n more bytes and the terminator. False once the text has failed. */
static bool reserve(pada_text *text, size_t n)
{
    void *grown;

    if (text->status != PADA_OK) return false;
    if (n >= SIZE_MAX / 2 - text->length) {
        text->status = PADA_FAIL(PADA_ENOMEM, "out of memory (text of %zu bytes)", text->length);
        return false;
    }
    const size_t need = text->length + n + 1;
    if (need <= text->cap) return true;

    size_t cap = text->cap > SIZE_MAX / 2 ? need : text->cap * 2;
    if (cap < 64) cap = 64;
    if (cap < need) cap = need;
    if ((text->status = pada_calloc(&grown, cap, 1)) != PADA_OK) return false;
    if (text->length > 0) memcpy(grown, text->data, text->length);
    pada_free(text->data);
    text->data = grown;
    text->cap = cap;
    return true;
}

void pada_text_add(pada_text *text, const char *format, ...)
{
    char line[256];
    va_list args;

    if (text->status != PADA_OK) return;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0) {
        text->status = PADA_FAIL(PADA_EINVAL, "'%.100s': text cannot be formatted", format);
        return;
    }
    if ((size_t)n < sizeof line) {
        pada_text_add_bytes(text, line, (size_t)n);
        return;
    }
    if (!reserve(text, (size_t)n)) return;
    va_start(args, format);
    (void)vsnprintf(text->data + text->length, (size_t)n + 1, format, args);
    va_end(args);
    text->length += (size_t)n;
}

void pada_text_add_bytes(pada_text *text, const void *bytes, size_t n)
{
    if (!reserve(text, n)) return;
    if (n > 0) memcpy(text->data + text->length, bytes, n);
    text->length += n;
    text->data[text->length] = '\0';
}

void pada_text_add_double(pada_text *text, double x)
{
    pada_text_add(text, "%.*g", pada_shortest_digits(x), x);
}

const char *pada_text_str(const pada_text *text)
{
    return text->data ? text->data : "";
}

void pada_text_deinit(pada_text *text)
{
    pada_free(text->data);
    *text = (pada_text){0};
}

int pada_utf8_decode(const char *text, uint32_t *out)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)text;
    const int n = p[0] < 0x80 ? 1 : (p[0] & 0xe0) == 0xc0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : 4;

    if (n == 4 && (p[0] & 0xf8) != 0xf0) return 0;
    uint32_t code = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0; /* also at the terminator */
        code = code << 6 | (p[i] & 0x3fu);
    }
    if (code < smallest[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return 0;
    *out = code;
    return n;
}
