/* status.c - the thread's one-line failure message, exit codes, asserts. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char last_message[PADA_MESSAGE_BYTES];

pada_status pada_fail(pada_status status, const char *format, ...)
{
    /* Formatted aside first: an argument may be the previous message. */
    char line[sizeof last_message];
    va_list args;

    PADA_ASSERT(status != PADA_OK);
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0) line[0] = '\0';

    /* Values quoted from files may hold anything; a message stays one line and moves no cursor. */
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    if (n >= (int)sizeof line) memcpy(line + sizeof line - 4, "...", 4);
    memcpy(last_message, line, sizeof line);
    return status;
}

const char *pada_message(void)
{
    return last_message;
}

int pada_status_exit_code(pada_status status)
{
    switch (status) {
    case PADA_OK: return 0;
    case PADA_EINVAL: return 2;
    case PADA_EDATA: return 65;
    case PADA_ENOENT: return 66;
    case PADA_EDEVICE: return 69;
    case PADA_ESTOPPED: return 75;
    case PADA_ENOMEM:
    case PADA_EIO:
    case PADA_ENUMERIC:
    case PADA_EUNSUPPORTED: return 1;
    }
    return 1;
}

void pada_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}
