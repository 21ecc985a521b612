/* space_checks.h - architectures as text, and the parameters that a space declares, against what is published. */
#ifndef PADA_TESTS_SPACE_CHECKS_H
#define PADA_TESTS_SPACE_CHECKS_H

#include <stdio.h>

#include "check.h"
#include "space/space.h"

/* A dialect of NULL: auto-detected, and the space's own. */
static inline pada_path read_path(const pada_space *space, const char *text, const char *dialect)
{
    pada_path path;

    CHECK_OK(space->ops->parse(space, text, dialect, &path));
    return path;
}

static inline void check_text(const pada_space *space, const pada_path *path, const char *dialect,
                              const char *wanted)
{
    pada_text text = {0};

    CHECK_OK(space->ops->format(space, path, dialect, &text));
    assert_string_equal(text.data, wanted);
    pada_text_deinit(&text);
}

/* Each "name d d ..", up to four dimensions; ends with NULL. */
static inline void check_shapes(const pada_params *params, const char *const *wanted)
{
    for (; *wanted; wanted++) {
        char name[128];
        int dims[4] = {0};
        const int n =
            sscanf(*wanted, "%127s %d %d %d %d", name, dims, dims + 1, dims + 2, dims + 3);
        const int id = pada_params_find(params, name);
        if (id < 0) fail_msg("%s is not declared", name);
        assert_int_equal(pada_params_get(params, id)->n_dims, n - 1);
        for (int d = 0; d < n - 1; d++)
            assert_int_equal(pada_params_get(params, id)->dims[d], dims[d]);
    }
}

static inline void check_declared(const pada_space *space, const char *const *wanted)
{
    pada_params *params;

    CHECK_OK(pada_params_create(&params));
    CHECK_OK(pada_space_declare(space, params));
    check_shapes(params, wanted);
    pada_params_destroy(params);
}

#endif
