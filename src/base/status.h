/* status.h - how functions report failure: a status code and one line for people.
 *
 * A function that can fail returns pada_status. The place that detects the failure writes the
 * message with PADA_FAIL; everybody above passes the status up. Bugs are asserts, not statuses. The
 * codes and pada_message are public: include/pada.h. */
#ifndef PADA_BASE_STATUS_H
#define PADA_BASE_STATUS_H

#include "pada.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PADA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define PADA_PRINTF(fmt, args)
#endif

#define PADA_MESSAGE_BYTES 1024 /* of the longest message, with its end */

/* Writes the thread's message and returns `status`, which must not be PADA_OK.
 * Messages are one line, lower case, name the file and the value, and carry no newline. */
pada_status pada_fail(pada_status status, const char *format, ...) PADA_PRINTF(2, 3);

/* The exit code a program should end with. */
int pada_status_exit_code(pada_status status);

#define PADA_FAIL(status, ...) pada_fail((status), __VA_ARGS__)

/* Passes a failure up. Only where nothing is owned yet. */
#define PADA_TRY(call)                                          \
    do {                                                        \
        pada_status pada_try_status = (call);                   \
        if (pada_try_status != PADA_OK) return pada_try_status; \
    } while (0)

/* Always on: an invariant of the program, not of its input. */
#define PADA_ASSERT(condition) \
    ((condition) ? (void)0 : pada_assert_failed(#condition, __FILE__, __LINE__))
void pada_assert_failed(const char *condition, const char *file, int line);

#ifdef __cplusplus
}
#endif
#endif
