/* auto_args.c - what `pada auto` is asked for, and what it has chosen. */
#include "cli/auto_args.h"

#include <stdarg.h>
#include <stdio.h>

#include "study/latency_limit.h"

void pada_auto_say(const pada_auto *a, const char *format, ...)
{
    va_list args;

    if (a->quiet) return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

pada_status pada_auto_space(const pada_auto *a, pada_space *space)
{
    return pada_space_from_args(space, &a->space);
}

static pada_status set_limit(pada_cost_limit *limit, const pada_space *space, pada_counted what,
                             int64_t max)
{
    *limit = (pada_cost_limit){.is_known = true, .max = max};
    return pada_slot_costs_count(&limit->costs, space, what, false);
}

pada_status pada_auto_limits(const pada_auto *a, const pada_space *space,
                             pada_cost_limit limits[PADA_COST_KINDS])
{
    PADA_TRY(set_limit(&limits[PADA_COST_MACS], space, PADA_COUNTED_MACS, a->max_macs));
    PADA_TRY(set_limit(&limits[PADA_COST_PARAMS], space, PADA_COUNTED_PARAMS, a->max_params));
    return pada_latency_limit(&limits[PADA_COST_LATENCY], space, a->latency_file, 0,
                              a->max_latency_ms);
}
