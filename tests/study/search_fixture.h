/* search_fixture.h - spaces by name, and scores of networks that need no supernet. */
#ifndef PADA_TESTS_STUDY_SEARCH_FIXTURE_H
#define PADA_TESTS_STUDY_SEARCH_FIXTURE_H

#include "check.h"
#include "space/path_number.h"
#include "space/space.h"

/* With its default sizes, or those of flags: "--classes=10", ... */
static inline pada_space space_of(const char *name, const char *const *flags)
{
    const pada_space_config config = {.flags = flags};
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_space_find(&ops, name));
    CHECK_OK(pada_space_init(&space, ops, &config));
    return space;
}

#endif
