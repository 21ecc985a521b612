/* recipe.c - the numbers of a training run that do not belong to a strategy or a space. */
#include "train/recipe.h"

#define INT(option_name, field, value, low, high, text)                                    \
    {                                                                                      \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(pada_recipe, field), \
        .default_value = value, .min = low, .max = high, .meta = "N", .help = text         \
    }
#define REAL(option_name, field, value, high, text)                                           \
    {                                                                                         \
        .name = option_name, .type = PADA_OPT_DOUBLE, .offset = offsetof(pada_recipe, field), \
        .default_value = value, .min = 0, .max = high, .meta = "X", .help = text              \
    }
#define FLAG(option_name, field, value, text)                                               \
    {                                                                                       \
        .name = option_name, .type = PADA_OPT_BOOL, .offset = offsetof(pada_recipe, field), \
        .default_value = value, .help = text                                                \
    }

#define CHOICE(option_name, field, value, words, text)                                        \
    {                                                                                         \
        .name = option_name, .type = PADA_OPT_CHOICE, .offset = offsetof(pada_recipe, field), \
        .default_value = value, .choices = words, .help = text                                \
    }
/* The same for options that runs of 0.1 do not have; those had what is the default. */
#define NEWER_INT(option_name, field, value, low, high, text)                              \
    {                                                                                      \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(pada_recipe, field), \
        .default_value = value, .min = low, .max = high, .meta = "N", .help = text,        \
        .before = value                                                                    \
    }
#define NEWER_REAL(option_name, field, value, high, text)                                         \
    {                                                                                             \
        .name = option_name, .type = PADA_OPT_DOUBLE, .offset = offsetof(pada_recipe, field),     \
        .default_value = value, .min = 0, .max = high, .meta = "X", .help = text, .before = value \
    }
#define NEWER_FLAG(option_name, field, value, text)                                         \
    {                                                                                       \
        .name = option_name, .type = PADA_OPT_BOOL, .offset = offsetof(pada_recipe, field), \
        .default_value = value, .help = text, .before = value                               \
    }
#define NEWER_CHOICE(option_name, field, value, words, text)                                  \
    {                                                                                         \
        .name = option_name, .type = PADA_OPT_CHOICE, .offset = offsetof(pada_recipe, field), \
        .default_value = value, .choices = words, .help = text, .before = value               \
    }

#define CHANGES_OPTIONS                                                                         \
    NEWER_CHOICE("flip-order", flip_order, "auto", PADA_FLIP_ORDER_NAMES,                       \
                 "with --crops border: crops or flips first; auto: as the data set's authors"), \
        NEWER_CHOICE("auto-augment", auto_augment, "none", PADA_POLICY_NAMES,                   \
                     "AutoAugment's policy for ImageNet: of the paper, or its later version"),  \
        NEWER_INT("cutout", cutout, "0", 0, 30000,                                              \
                  "side of a square anywhere in an image that is cleared; 0: none"),            \
        NEWER_REAL("random-erasing", random_erasing, "0", 1,                                    \
                   "probability that a rectangle of an image becomes noise")

/* What a supernet and a network alone have in common, but for the defaults. */
#define COMMON_OPTIONS(epochs_value, lr_value, decay_value, clip_value, nesterov_value)            \
    INT("epochs", epochs, epochs_value, 1, 1e6, "epochs to train"),                                \
        INT("batch-size", batch_size, "256", 1, 65536, "images per batch"),                        \
        NEWER_INT("accumulate", accumulate, "1", 1, 65536,                                         \
                  "batches per step, whose gradients are averaged over all images"),               \
        REAL("lr", lr, lr_value, 1e3, "learning rate of the first epoch"),                         \
        REAL("lr-min", lr_min, "0", 1e3, "learning rate that the schedule approaches"),            \
        CHOICE("lr-schedule", lr_schedule, "cosine", "cosine|linear|constant|step",                \
               "learning rates over the epochs"),                                                  \
        NEWER_REAL("lr-warmup-epochs", lr_warmup_epochs, "0", 1e6,                                 \
                   "epochs in which the learning rate rises from --lr-warmup to --lr"),            \
        NEWER_REAL("lr-warmup", lr_warmup, "0", 1e3, "learning rate of the first of them"),        \
        {.name = "lr-decay-epochs",                                                                \
         .type = PADA_OPT_DOUBLE,                                                                  \
         .offset = offsetof(pada_recipe, lr_decay_epochs),                                         \
         .default_value = "2.4",                                                                   \
         .before = "2.4",                                                                          \
         .min = 0.01,                                                                              \
         .max = 1e6,                                                                               \
         .meta = "X",                                                                              \
         .help = "--lr-schedule step: epochs between two decays"},                                 \
        NEWER_REAL("lr-decay-rate", lr_decay_rate, "0.97", 1,                                      \
                   "--lr-schedule step: factor of a decay"),                                       \
        NEWER_CHOICE("optimizer", optimizer, "sgd", "sgd|rmsprop|adam",                            \
                     "how gradients move weights; rmsprop is TensorFlow's form"),                  \
        REAL("momentum", momentum, "0.9", 1, "momentum of the optimiser; adam: beta1"),            \
        NEWER_REAL("square-decay", square_decay, "0", 1,                                           \
                   "rmsprop, adam: decay of the mean of squared gradients; 0: 0.9, 0.999"),        \
        NEWER_REAL("epsilon", epsilon, "0", 1, "rmsprop, adam: below the root; 0: 0.001, 1e-8"),   \
        REAL("weight-decay", weight_decay, decay_value, 1e3, "weight decay, on every parameter"),  \
        NEWER_FLAG("no-decay-norms", no_decay_norms, "false",                                      \
                   "no weight decay of biases, nor of scales and shifts of batch norms"),          \
        REAL("clip", clip, clip_value, 1e9, "largest norm of the whole gradient; 0: no clipping"), \
        NEWER_REAL("label-smoothing", label_smoothing, "0", 1,                                     \
                   "share of a label that training spreads over all classes"),                     \
        NEWER_REAL("ema", ema, "0", 0.999999999,                                                   \
                   "decay of an average of the weights, which evaluations take; 0: none"),         \
        FLAG("nesterov", nesterov, nesterov_value, "Nesterov's form of momentum"),                 \
        FLAG("augment", augment, "true", "random crops and flips"),                                \
        {.name = "color-jitter",                                                                   \
         .type = PADA_OPT_STRING,                                                                  \
         .offset = offsetof(pada_recipe, color_jitter),                                            \
         .default_value = "0",                                                                     \
         .before = "0",                                                                            \
         .meta = "X|B,C,S",                                                                        \
         .help = "with --crops resized: random brightness, contrast and saturation, 1-X to 1+X"},  \
        CHANGES_OPTIONS,                                                                           \
    {                                                                                              \
        .name = "seed", .type = PADA_OPT_U64, .offset = offsetof(pada_recipe, seed),               \
        .default_value = "0", .meta = "N", .help = "seed of all random numbers"                    \
    }

const pada_opt pada_recipe_options[] = {
    COMMON_OPTIONS("250", "0.05", "0.00025", "5", "false"),
    CHOICE("opt-mode", opt_mode, "dense", "dense|skip",
           "move every parameter sampled so far (as the official code), or only those of the step"),
    REAL("hold-out", hold_out, "0", 0.9,
         "share of the training images of each class, the last ones, that no step trains on"),
    FLAG("variance", variance, "false", "measure the variance of the gradients in every epoch"),
    INT("validate", validate, "1000", 0, 1e9,
        "images tried after every epoch, of val or else test, each batch on a random path; 0: none"),
    {.name = NULL},
};

const pada_opt pada_standalone_options[] = {
    COMMON_OPTIONS("200", "0.1", "0.0005", "0", "true"),
    {.name = NULL},
};

const pada_opt pada_changes_options[] = {
    CHANGES_OPTIONS,
    {.name = NULL},
};

pada_status pada_recipe_changes(const pada_recipe *recipe, pada_changes *out)
{
    *out = (pada_changes){.flip_order = (pada_flip_order)recipe->flip_order,
                          .policy = (pada_policy)recipe->auto_augment,
                          .cutout = (int)recipe->cutout,
                          .erasing = recipe->random_erasing};
    if (!recipe->augment &&
        (out->policy != PADA_POLICY_NONE || out->cutout > 0 || out->erasing > 0))
        return PADA_FAIL(PADA_EINVAL, "--%s changes images, --no-augment leaves them as they are",
                         out->policy != PADA_POLICY_NONE ? "auto-augment"
                         : out->cutout > 0               ? "cutout"
                                                         : "random-erasing");
    return pada_jitter_parse(&out->jitter, recipe->color_jitter ? recipe->color_jitter : "0",
                             "--color-jitter");
}

const pada_opt pada_retrain_options[] = {
    COMMON_OPTIONS("200", "0.1", "0.0005", "0", "true"),
    REAL("dropout", dropout, "0", 0.99, "share of the inputs of the classifier that are dropped"),
    REAL("drop-path", drop_path, "0", 0.99, "share of the images that a branch is dropped for"),
    CHOICE("drop-path-schedule", drop_path_schedule, "ramp", "ramp|constant",
           "whether that share grows from 0 over the epochs"),
    INT("validate", validate, "10000", 0, 1e9, "images tried, of val or else test; 0: none"),
    INT("validate-every", validate_every, "1", 1, 1e6, "epochs between two validations"),
    {.name = NULL},
};

pada_optim pada_recipe_optim(const pada_recipe *recipe, int epoch, int n_epochs)
{
    const pada_schedule schedule = {.kind = (pada_schedule_kind)recipe->lr_schedule,
                                    .first = recipe->lr,
                                    .last = recipe->lr_min,
                                    .warmup_epochs = recipe->lr_warmup_epochs,
                                    .warmup_first = recipe->lr_warmup,
                                    .decay_epochs = recipe->lr_decay_epochs,
                                    .decay_rate = recipe->lr_decay_rate};

    return (pada_optim){.lr = pada_schedule_lr(&schedule, epoch, n_epochs),
                        .momentum = recipe->momentum,
                        .weight_decay = recipe->weight_decay,
                        .nesterov = recipe->nesterov,
                        .decay = recipe->square_decay,
                        .epsilon = recipe->epsilon,
                        .clip = recipe->clip,
                        .spares_vectors = recipe->no_decay_norms,
                        .mode = (pada_optim_mode)recipe->opt_mode};
}

double pada_recipe_drop_path(const pada_recipe *recipe, int epoch, int n_epochs)
{
    return recipe->drop_path_schedule == PADA_DROP_CONSTANT ? recipe->drop_path
                                                            : recipe->drop_path * epoch / n_epochs;
}
