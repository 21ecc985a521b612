/* train_args.c - what the commands that train share: options of this start, and the engine. */
#include "run/train_args.h"

const pada_opt pada_train_options[] = {
    {.name = "max-seconds",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_train_args, max_seconds),
     .default_value = "0",
     .min = 0,
     .max = 1e9,
     .meta = "S",
     .help = "stop with a checkpoint after so long, exit code 75; 0: never",
     .session = true},
    {.name = "checkpoint-seconds",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_train_args, checkpoint_seconds),
     .default_value = "60",
     .min = 0,
     .max = 1e9,
     .meta = "S",
     .help = "time between checkpoints of a training; 0: only at its end",
     .session = true},
    {.name = "quiet",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_train_args, quiet),
     .help = "no progress, only warnings and errors",
     .session = true},
    {.name = NULL},
};

const pada_opt pada_together_options[] = {
    {.name = "norm",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_together_args, norm),
     .default_value = "exact",
     .choices = "exact|local", /* in the order of pada_norm_scope */
     .help = "batch norms over the whole batch, or over each of its shards"},
    {.name = "shards",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_together_args, shards),
     .min = 1, /* 0, which it is without local norms, is not written */
     .max = PADA_MAX_SHARDS,
     .meta = "N",
     .help = "parts of a batch with --norm local (default: one for each process)"},
    {.name = NULL},
};

pada_status pada_training_engine(pada_engine **out, pada_engine_args *args, const pada_space *space,
                                 pada_statistics statistics, const pada_dataset *data,
                                 const pada_recipe *recipe, int batch_size)
{
    const int n_train = data->n_images[PADA_SPLIT_TRAIN];
    const int train_batch = (int)recipe->batch_size;
    pada_engine_desc desc = {.space = space,
                             .batch_size = batch_size,
                             .mode = PADA_TRAIN,
                             .optimizer = &pada_optimizers[recipe->optimizer]};

    pada_changes changes;

    *out = NULL;
    if (train_batch > n_train)
        return PADA_FAIL(PADA_EINVAL, "--batch-size %d is larger than the %d train images of %s",
                         train_batch, n_train, data->name);
    PADA_TRY(pada_recipe_changes(recipe, &changes));
    PADA_TRY(pada_changes_check(&changes, data));
    PADA_TRY(pada_computing_desc_from_args(&desc, args));
    if (space->config.blocks == 0) desc.statistics = statistics;
    args->backend = desc.backend->name;
    return pada_engine_create(out, &desc);
}
