/* auto_args.h - what `pada auto` is asked for, and what it has chosen: the plan of RUN/config.yaml.
 *
 *   RUN/config.yaml                              the plan
 *   RUN/supernet, RUN/supernet/search            of `pada train` and `pada search`
 *   RUN/network, RUN/random                      of `pada retrain`: the winner, and a random network of the same cost
 *   RUN/model.onnx, model.safetensors, report.html */
#ifndef PADA_CLI_AUTO_ARGS_H
#define PADA_CLI_AUTO_ARGS_H

#include "run/data_args.h"
#include "run/engine_args.h"
#include "run/space_args.h"
#include "study/cost_limits.h"

typedef struct pada_auto {
    const char *data, *out, *latency_file;
    pada_space_args space;
    pada_data_args images;
    pada_engine_args engine;
    int64_t max_macs, max_params; /* 0: no limit */
    double max_latency_ms;        /* the same */
    double minutes;
    uint64_t seed;
    /* 0: not chosen yet. Evaluations are those of the search. */
    int64_t batch_size, epochs, network_epochs, evaluations;
    bool quiet, json;

    pada_text plan_file;         /* RUN/config.yaml */
    bool is_resumed;             /* it was there, and is what the options have for defaults */
    const pada_options *options; /* that all of this is bound to */
} pada_auto;

/* Tells people on standard error, unless --quiet. */
void pada_auto_say(const pada_auto *a, const char *format, ...) PADA_PRINTF(2, 3);

/* The space with the sizes of the plan, and what networks of it may cost. */
pada_status pada_auto_space(const pada_auto *a, pada_space *space);
pada_status pada_auto_limits(const pada_auto *a, const pada_space *space,
                             pada_cost_limit limits[PADA_COST_KINDS]);

#endif
