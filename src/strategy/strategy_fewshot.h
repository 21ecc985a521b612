/* strategy_fewshot.h - the settings of Few-Shot NAS, for callers that have no command line. */
#ifndef PADA_STRATEGY_STRATEGY_FEWSHOT_H
#define PADA_STRATEGY_STRATEGY_FEWSHOT_H

#include "strategy/strategy.h"

typedef struct pada_fewshot_settings {
    const char *split_edges; /* numbers of slots: "0,1" */
    int64_t child_epochs;    /* 0: 0.4 of those of the first supernet */
} pada_fewshot_settings;

extern const pada_strategy_ops pada_strategy_fewshot;

#endif
