/* method_flags.h - the settings of a strategy from flags, as `pada train` makes them. */
#ifndef PADA_TESTS_STRATEGY_METHOD_FLAGS_H
#define PADA_TESTS_STRATEGY_METHOD_FLAGS_H

#include <string.h>

#include "base/mem.h"
#include "strategy/strategy.h"

/* Fills `settings`, which has room for those of any method. `flags` are separated by spaces. */
static inline pada_status method_settings(const pada_strategy_ops *ops, const char *flags,
                                          void *settings, size_t room)
{
    const char *words[32];
    char copy[512];
    int n = 0;
    pada_options *options;
    pada_status st = PADA_OK;

    PADA_ASSERT(ops->settings_bytes <= room && strlen(flags) < sizeof copy);
    strcpy(copy, flags);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        PADA_ASSERT(n < 32);
        words[n++] = word;
    }
    PADA_TRY(pada_options_create(&options));
    if (ops->bind_settings) st = ops->bind_settings(settings, options);
    if (st == PADA_OK) st = pada_options_parse(options, n, words);
    pada_options_destroy(options);
    return st;
}

#endif
