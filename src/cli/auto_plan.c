/* auto_plan.c - sizes for `pada auto` that fit the images and the time. */
#include "cli/auto_plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/rng.h"
#include "cli/data_open.h"
#include "cli/median.h"
#include "cli/progress.h"
#include "cli/step_time.h"
#include "data/picture_side.h"
#include "study/size_rules.h"

enum {
    MAX_PICTURES = 200, /* whose sizes are looked at */
    N_PATHS = 8,        /* that are timed in the supernet */
    N_NETWORKS = 3,     /* the same alone */
    WORTH_EPOCHS = 30   /* large images are not worth fewer */
};

/* What is chosen together: the image size decides about the rest. */
typedef struct choice {
    int image_size, batch_size;
    pada_length_facts facts;
    pada_lengths lengths;
} choice;

/* ---- the images ---- */

static pada_status open_images(const pada_auto *a, pada_dataset **out)
{
    pada_dataset_desc desc = {.where = a->data, .image_size = (int)a->space.image_size};
    unsigned splits;

    PADA_TRY(pada_dataset_splits(a->data, &splits));
    desc.splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN) | PADA_SPLIT_BIT(pada_split_to_choose(splits));
    return pada_data_open(out, &a->images, &desc);
}

/* The shorter side of the picture in the middle, by size, of a part of the train images. */
static pada_status middle_side(const pada_dataset *data, double *out)
{
    const int n_train = data->n_images[PADA_SPLIT_TRAIN];
    const int n = n_train < MAX_PICTURES ? n_train : MAX_PICTURES;
    double sides[MAX_PICTURES];

    for (int i = 0; i < n; i++) {
        const int image = (int)((int64_t)i * n_train / n);
        int side;
        PADA_TRY(pada_picture_side(data->ops->file(data, PADA_SPLIT_TRAIN, image), &side));
        sides[i] = side;
    }
    *out = pada_median(sides, n);
    return PADA_OK;
}

static pada_status choose_image_size(const pada_auto *a, const pada_dataset *data, choice *out)
{
    double side;

    out->image_size = data->shape.h;
    if (a->space.image_size > 0 || !data->ops->file) return PADA_OK;
    PADA_TRY(middle_side(data, &side));
    out->image_size = pada_rule_image_size((int)side);
    pada_auto_say(a, "  image size   %d: the shorter side of the pictures has %.0f pixels",
                  out->image_size, side);
    return PADA_OK;
}

/* ---- sizes of networks ---- */

/* Where a size of the space is kept. */
static int64_t *find_size(pada_space_args *args, const char *name)
{
    for (const pada_opt *opt = args->ops->options; opt && opt->name; opt++)
        if (strcmp(opt->name, name) == 0 && opt->type == PADA_OPT_INT)
            return (int64_t *)(void *)(args->settings.bytes + opt->offset);
    return NULL;
}

static pada_status choose_sizes(pada_auto *a, int n_train)
{
    const pada_size_rule *rule;
    pada_text flags = {0};

    for (int i = 0; (rule = pada_size_rule_get(i)) != NULL; i++) {
        const int value = pada_size_rule_value(rule, n_train);
        if (strcmp(rule->space, a->space.ops->name) != 0 || value == 0) continue;
        int64_t *size = find_size(&a->space, rule->option);
        PADA_ASSERT(size);
        if (*size != 0) continue;
        *size = value;
        pada_text_add(&flags, "--%s %d ", rule->option, value);
    }
    if (flags.length > 0)
        pada_auto_say(a, "  networks     %sfor %d training images", flags.data, n_train);
    const pada_status st = flags.status;
    pada_text_deinit(&flags);
    return st;
}

/* ---- lengths ---- */

/* Times steps of the supernet, the mean over paths, and of single networks, the slowest. */
static pada_status time_steps(const pada_auto *a, const pada_space *space, pada_length_facts *facts)
{
    pada_engine_desc desc = {.space = space, .batch_size = facts->batch_size, .mode = PADA_TRAIN};
    pada_path paths[N_PATHS];
    pada_space alone;
    double ms;
    pada_rng rng;

    PADA_TRY(pada_computing_desc_from_args(&desc, &a->engine));
    pada_rng_init(&rng, a->seed, "auto paths", 0);
    for (int i = 0; i < N_PATHS; i++)
        pada_path_random(space, &rng, &paths[i]);
    PADA_TRY(pada_step_time_mean(&desc, paths, N_PATHS, a->seed, &ms));
    facts->step_seconds = ms / 1e3;
    desc.space = &alone;
    desc.statistics = PADA_STATISTICS_RUNNING;
    for (int i = 0; i < N_NETWORKS; i++) {
        pada_space_finalise(&alone, space, &paths[i]);
        PADA_TRY(pada_step_time_mean(&desc, &paths[i], 1, a->seed, &ms));
        if (ms / 1e3 > facts->network_step_seconds) facts->network_step_seconds = ms / 1e3;
    }
    return PADA_OK;
}

/* Batch size and lengths for images of the size in it. */
static pada_status choose_lengths(const pada_auto *a, const pada_dataset *data, choice *out)
{
    const bool are_given = a->epochs > 0 && a->network_epochs > 0 && a->evaluations > 0;
    const int n_train = data->n_images[PADA_SPLIT_TRAIN];
    pada_space_args args = a->space;
    pada_space space;

    out->batch_size =
        a->batch_size > 0 ? (int)a->batch_size : pada_rule_batch_size(n_train, out->image_size);
    args.image_size = out->image_size;
    args.classes = data->n_classes;
    PADA_TRY(pada_space_from_args(&space, &args));
    if (are_given) return PADA_OK;
    out->facts = (pada_length_facts){
        .seconds = 60 * a->minutes, .batch_size = out->batch_size, .n_train = n_train};
    for (int split = PADA_SPLIT_TRAIN + 1; split < PADA_N_SPLITS; split++)
        out->facts.n_validate += data->n_images[split];
    PADA_TRY(time_steps(a, &space, &out->facts));
    out->lengths = pada_rule_lengths(&out->facts);
    return PADA_OK;
}

/* Images of 64 pixels take four times as long as those of 32. */
static pada_status choose_by_time(const pada_auto *a, const pada_dataset *data, choice *out)
{
    PADA_TRY(choose_lengths(a, data, out));
    if (a->space.image_size > 0 || out->image_size < PADA_LARGE_IMAGES || a->epochs > 0 ||
        out->lengths.epochs >= WORTH_EPOCHS)
        return PADA_OK;
    pada_auto_say(a,
                  "  image size   %d instead: of %d pixels there is time for fewer than %d epochs",
                  PADA_USUAL_IMAGES, out->image_size, WORTH_EPOCHS);
    out->image_size = PADA_USUAL_IMAGES;
    return choose_lengths(a, data, out);
}

static void say_lengths(const pada_auto *a, const choice *c)
{
    char needed[PADA_DURATION], there_is[PADA_DURATION];
    const pada_lengths chosen = {.epochs = (int)a->epochs,
                                 .network_epochs = (int)a->network_epochs,
                                 .evaluations = (int)a->evaluations};

    if (c->facts.step_seconds == 0) return; /* everything was given */
    pada_auto_say(a,
                  "  epochs       %" PRId64 " of the supernet, %" PRId64
                  " of each network alone; %" PRId64
                  " networks searched: a step takes %.3g and %.3g ms",
                  a->epochs, a->network_epochs, a->evaluations, 1e3 * c->facts.step_seconds,
                  1e3 * c->facts.network_step_seconds);
    pada_auto_say(a, "  time         about %s of %s%s",
                  pada_duration(pada_lengths_seconds(&chosen, &c->facts), needed),
                  pada_duration(c->facts.seconds, there_is),
                  c->lengths.is_rushed  ? ": shorter trainings would be worth nothing"
                  : c->lengths.has_most ? ": longer trainings are hardly better"
                                        : "");
}

static void take_choice(pada_auto *a, const pada_dataset *data, const choice *c)
{
    a->space.classes = data->n_classes;
    a->space.image_size = c->image_size;
    if (a->batch_size == 0)
        pada_auto_say(a, "  batch size   %d: for %d training images of %d pixels", c->batch_size,
                      data->n_images[PADA_SPLIT_TRAIN], c->image_size);
    a->batch_size = c->batch_size;
    if (a->epochs == 0) a->epochs = c->lengths.epochs;
    if (a->network_epochs == 0) a->network_epochs = c->lengths.network_epochs;
    if (a->evaluations == 0) a->evaluations = c->lengths.evaluations;
    say_lengths(a, c);
}

pada_status pada_auto_plan(pada_auto *a)
{
    pada_dataset *data;
    choice c = {0};

    PADA_TRY(open_images(a, &data));
    pada_auto_say(a, "plan for %s: %d classes, %d training images", a->data, data->n_classes,
                  data->n_images[PADA_SPLIT_TRAIN]);
    pada_status st = choose_image_size(a, data, &c);
    if (st == PADA_OK) st = choose_sizes(a, data->n_images[PADA_SPLIT_TRAIN]);
    if (st == PADA_OK) st = choose_by_time(a, data, &c);
    if (st == PADA_OK) take_choice(a, data, &c);
    pada_dataset_close(data);
    return st;
}
