/* strategy_single.h - one path for the whole run, for callers that choose the path themselves. */
#ifndef PADA_STRATEGY_STRATEGY_SINGLE_H
#define PADA_STRATEGY_STRATEGY_SINGLE_H

#include "strategy/strategy.h"

typedef struct pada_single_settings {
    const char *arch; /* in any dialect of the space */
} pada_single_settings;

extern const pada_strategy_ops pada_strategy_single;

#endif
