/* oracle.h - the reference backend, open for a group of tests: what every other backend is compared with. */
#ifndef PADA_TESTS_OPS_ORACLE_H
#define PADA_TESTS_OPS_ORACLE_H

#include "backend/backend.h"

static const pada_backend *ref;
static pada_device *oracle;

static int open_ref(void **state)
{
    (void)state;
    return pada_backend_find(&ref, "ref") == PADA_OK && ref->open(&oracle, 1) == PADA_OK ? 0 : -1;
}

static int close_ref(void **state)
{
    (void)state;
    ref->close(oracle);
    return 0;
}

#endif
