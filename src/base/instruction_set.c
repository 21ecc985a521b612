/* instruction_set.c - reads PADA_CPU. */
#include "base/instruction_set.h"

#include <stdlib.h>

const char *pada_instruction_set_wanted(void)
{
    const char *name = getenv("PADA_CPU");

    return name && *name ? name : NULL;
}
