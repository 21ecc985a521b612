/* findings.c - what is wrong with or odd about the files of a data set, one entry for each. */
#include "data/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void pada_findings_deinit(pada_findings *list)
{
    for (int i = 0; i < list->n; i++) {
        pada_free(list->items[i].file);
        pada_free(list->items[i].text);
    }
    pada_free(list->items);
    *list = (pada_findings){0};
}

pada_status pada_findings_add(pada_findings *list, pada_finding_weight weight, const char *kind,
                              const char *file, const char *format, ...)
{
    pada_finding finding = {.kind = kind, .is_problem = weight == PADA_PROBLEM};
    void *items = list->items;
    char text[PADA_MESSAGE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    PADA_TRY(pada_grow(&items, &list->cap, list->n + 1, sizeof *list->items));
    list->items = items;
    PADA_TRY(pada_strdup(&finding.file, file));
    const pada_status st = pada_strdup(&finding.text, text);
    if (st == PADA_OK)
        list->items[list->n++] = finding;
    else
        pada_free(finding.file);
    return st;
}

pada_status pada_findings_add_failure(pada_findings *list, const char *kind, const char *file)
{
    const size_t n = strlen(file);
    char text[PADA_MESSAGE_BYTES];

    snprintf(text, sizeof text, "%s", pada_message());
    const bool names_file = strncmp(text, file, n) == 0 && strncmp(text + n, ": ", 2) == 0;
    return pada_findings_add(list, PADA_PROBLEM, kind, file, "%s", text + (names_file ? n + 2 : 0));
}
