/* export_compare.h - a network exported to C, compiled and called. */
#ifndef PADA_TESTS_MODEL_EXPORT_COMPARE_H
#define PADA_TESTS_MODEL_EXPORT_COMPARE_H

#include <dlfcn.h>
#include <stdlib.h>

#include "base/scratch.h"
#include "model/export.h"
#include "model/small_models.h"

typedef int predict_function(const float *input, int n, float *logits);
typedef int load_function(const char *file);

/* Compiles net.c of the scratch folder into a library of this name and opens it. */
static inline void *compile_and_open(const char *compiler, const char *library)
{
    char command[4096];

    snprintf(command, sizeof command,
             "%s -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -o %s %s -lm",
             compiler, library, scratch_path("net.c"));
    assert_int_equal(system(command), 0);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) fail_msg("%s", dlerror());
    return handle;
}

#endif
