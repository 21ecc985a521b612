/* html.c - text, numbers and JSON inside a page. */
#include "report/html.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define REPLACEMENT 0xfffd

/* The next character of the text, which moves on; a wrong byte is U+FFFD. */
static uint32_t next_code(const char **text)
{
    uint32_t code;
    const int n = pada_utf8_decode(*text, &code);

    *text += n > 0 ? n : 1;
    if (n == 0) return REPLACEMENT;
    const bool is_control = (code < 0x20 && code != '\t' && code != '\n') ||
                            (code >= 0x7f && code < 0xa0) || (code & 0xfffe) == 0xfffe;
    return is_control ? REPLACEMENT : code;
}

void pada_html_text(pada_text *out, const char *text)
{
    while (*text) {
        const uint32_t code = next_code(&text);
        if (code >= 0x80 || (code < 0x80 && strchr("&<>\"'", (int)code)))
            pada_text_add(out, "&#%" PRIu32 ";", code);
        else
            pada_text_add_bytes(out, &(char){(char)code}, 1);
    }
}

void pada_html_number(pada_text *out, double x, int decimals)
{
    if (isfinite(x))
        pada_text_add(out, "%.*f", decimals, x);
    else
        pada_text_add(out, "&#8211;");
}

/* Letters, digits and some punctuation stand for themselves; the rest cannot end a script. */
void pada_html_json_string(pada_text *out, const char *text)
{
    pada_text_add(out, "\"");
    while (*text) {
        const uint32_t code = next_code(&text);
        if (code >= 0x10000)
            pada_text_add(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (code >> 10),
                          0xdc00 + (code & 0x3ff));
        else if (code < 0x20 || code >= 0x7f || strchr("\"\\<>&'", (int)code))
            pada_text_add(out, "\\u%04" PRIx32, code);
        else
            pada_text_add_bytes(out, &(char){(char)code}, 1);
    }
    pada_text_add(out, "\"");
}

void pada_html_json_number(pada_text *out, double x)
{
    if (isfinite(x))
        pada_text_add(out, "%.7g", x);
    else
        pada_text_add(out, "null");
}
