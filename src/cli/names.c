/* names.c - the names that options take. */
#include "cli/names.h"

#include <stddef.h>

#include "backend/backend.h"
#include "space/space.h"
#include "strategy/strategy.h"

const char *pada_name_of_method(int i)
{
    return i < pada_strategy_count() ? pada_strategy_get(i)->name : NULL;
}

const char *pada_name_of_space(int i)
{
    return i < pada_space_count() ? pada_space_get(i)->name : NULL;
}

const char *pada_name_of_backend(int i)
{
    if (i == 0) return "auto";
    return i <= pada_backend_count() ? pada_backend_get(i - 1)->name : NULL;
}

const char *pada_name_of_dialect(int i)
{
    for (int k = 0; k < pada_space_count(); k++)
        for (const char *const *name = pada_space_get(k)->dialects; *name; name++)
            if (i-- == 0) return *name;
    return NULL;
}
