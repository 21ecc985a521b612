/* names.c - the names that options take. */
#include "run/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backend/backend.h"
#include "model/export.h"
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

const char *pada_name_of_export(int i)
{
    return i < pada_export_count() ? pada_export_get(i)->name : NULL;
}

/* Whether a space before this one has a dialect of that name. */
static bool is_known_before(int space, const char *dialect)
{
    for (int k = 0; k < space; k++)
        for (const char *const *name = pada_space_get(k)->dialects; *name; name++)
            if (strcmp(*name, dialect) == 0) return true;
    return false;
}

const char *pada_name_of_dialect(int i)
{
    for (int k = 0; k < pada_space_count(); k++)
        for (const char *const *name = pada_space_get(k)->dialects; *name; name++)
            if (!is_known_before(k, *name) && i-- == 0) return *name;
    return NULL;
}
