/* backends.h - which backends a test runs. PADA_TEST_BACKEND=NAME: only that one, and it must run. */
#ifndef PADA_TESTS_BACKENDS_H
#define PADA_TESTS_BACKENDS_H

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "check.h"

/* Whether to compare this backend with the reference. */
static inline bool is_tested_backend(const pada_backend *backend)
{
    const char *only = getenv("PADA_TEST_BACKEND");
    const pada_backend *wanted;

    if (only) CHECK_OK(pada_backend_find(&wanted, only));
    if (only && strcmp(backend->name, only) != 0) return false;
    return strcmp(backend->name, "ref") != 0 && !backend->plans_only;
}

/* Whether a backend may be left out because opening it, or creating an engine on it, gave this
 * status. Fails the test for other failures. */
static inline bool is_absent_backend(const pada_backend *backend, pada_status status)
{
    if (status == PADA_OK) return false;
    if (status != PADA_EDEVICE || getenv("PADA_TEST_BACKEND"))
        fail_msg("%s: %s", backend->name, pada_message());
    print_message("%s is skipped: %s\n", backend->name, pada_message());
    return true;
}

/* Whether this machine has what the backend runs on. */
static inline bool is_present_backend(const pada_backend *backend)
{
    pada_device *device;

    if (is_absent_backend(backend, backend->open(&device, 1))) return false;
    backend->close(device);
    return true;
}

#endif
