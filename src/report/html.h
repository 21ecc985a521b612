/* html.h - text, numbers and JSON inside a page. Everything that comes from a file or a command line
 * goes through here, so that nothing of it becomes markup. */
#ifndef PADA_REPORT_HTML_H
#define PADA_REPORT_HTML_H

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends the text for an element or an attribute in double quotes. What is not UTF-8, and control
 * characters but tab and newline, become U+FFFD. */
void pada_html_text(pada_text *out, const char *text);
/* Appends the number, a dash where it is not defined. */
void pada_html_number(pada_text *out, double x, int decimals);

/* The same for JSON inside a script element. */
void pada_html_json_string(pada_text *out, const char *text);
void pada_html_json_number(pada_text *out, double x); /* null where it is not finite */

#ifdef __cplusplus
}
#endif
#endif
