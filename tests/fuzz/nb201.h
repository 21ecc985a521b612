/* nb201.h - the space of the targets that read networks. */
#ifndef PADA_TESTS_FUZZ_NB201_H
#define PADA_TESTS_FUZZ_NB201_H

#include "fuzz/fuzz.h"
#include "space/nb201_cells.h"

/* A network that was read: one of the space, and written down it reads as the same. */
static inline void fuzz_check_path(const pada_space *space, const pada_path *path,
                                   const char *dialect)
{
    pada_text text = {0};
    pada_path again;

    FUZZ_CHECK(pada_path_is_valid(space, path));
    const pada_status st = space->ops->format(space, path, dialect, &text);
    if (st == PADA_EINVAL && dialect != space->ops->dialects[0]) { /* has no word for an operator */
        pada_text_deinit(&text);
        return;
    }
    FUZZ_CHECK(st == PADA_OK);
    FUZZ_CHECK(space->ops->parse(space, pada_text_str(&text), dialect, &again) == PADA_OK);
    FUZZ_CHECK(pada_path_equal(space, path, &again));
    pada_text_deinit(&text);
}

#endif
