/* api_run_folder.c - what is in the run folder of a supernet, of include/pada.h: its space, images and weights. */
#include <string.h>

#include "api/api_parts.h"
#include "base/mem.h"
#include "run/from_run.h"
#include "train/checkpoint.h"
#include "train/family.h"

/* What the papers of a run say. Zero-initialise. */
typedef struct papers {
    pada_run_config config;
    pada_options *options; /* own the strings of config */
    pada_data_card card;
} papers;

static void papers_deinit(papers *p)
{
    pada_data_card_deinit(&p->card);
    pada_options_destroy(p->options);
}

static pada_status read_papers(papers *p, const char *run)
{
    pada_space_args space = {0};

    PADA_TRY(pada_space_args_prepare(&space, 1, &run));
    PADA_TRY(pada_run_config_read(&p->config, &p->options, space.ops, run));
    PADA_TRY(pada_data_card_read(&p->card, run));
    if (!p->card.json) return PADA_OK;
    p->config.space.classes = p->card.n_classes;
    p->config.space.image_size = p->card.image_size;
    return PADA_OK;
}

/* ---- space ---- */

static pada_status space_of(pada_space *space, papers *p, const char *run)
{
    PADA_TRY(read_papers(p, run));
    if (p->config.form == 1)
        return PADA_FAIL(PADA_EINVAL, "%s: a network that was trained alone, and no supernet", run);
    return pada_space_from_args(space, &p->config.space);
}

pada_status pada_run_space(pada_space **out, const char *run)
{
    papers p = {0};
    pada_space space;
    void *memory;

    if (!out) return pada__fail_null(__func__);
    *out = NULL;
    if (!run) return pada__fail_null(__func__);
    pada_status st = space_of(&space, &p, run);
    papers_deinit(&p);
    if (st == PADA_OK) st = pada_calloc(&memory, 1, sizeof space);
    if (st != PADA_OK) return st;
    *out = memory;
    **out = space;
    return PADA_OK;
}

/* ---- images ---- */

static pada_status find_split(pada_split *out, const char *where, const pada_split *wanted)
{
    unsigned splits;

    if (wanted && ((int)*wanted < 0 || (int)*wanted >= PADA_N_SPLITS))
        return PADA_FAIL(PADA_EINVAL, "split %d is neither train, test nor val", (int)*wanted);
    PADA_TRY(pada_dataset_splits(where, &splits));
    *out = wanted ? *wanted : pada_split_to_choose(splits);
    return PADA_OK;
}

/* Normalised as those of the training, and with the same classes. */
static pada_status match_card(pada_images *images, const papers *p, const char *run,
                              const char *where)
{
    pada_data_card card = {0};

    if (!p->card.json) return PADA_OK;
    pada_status st = pada_data_card_init(&card, images->data);
    if (st == PADA_OK) st = pada_data_card_check_classes(&p->card, &card, run, where);
    if (st == PADA_OK) pada_dataset_normalise(images->data, p->card.mean, p->card.deviation);
    pada_data_card_deinit(&card);
    return st;
}

static pada_status open_images(pada_images *images, papers *p, const char *run,
                               const pada_split *split)
{
    PADA_TRY(read_papers(p, run));
    const char *where = p->config.data ? p->config.data : "builtin";
    PADA_TRY(pada_run_find_data(&p->card, run, &where));
    PADA_TRY(find_split(&images->split, where, split));
    pada_dataset_desc desc = {.where = where,
                              .splits = PADA_SPLIT_BIT(images->split),
                              .image_size = (int)p->config.space.image_size};
    pada_data_describe(&desc, &p->config.images);
    PADA_TRY(pada_dataset_open(&images->data, &desc));
    return match_card(images, p, run, where);
}

pada_status pada_run_images(pada_images **out, const char *run, const pada_split *split)
{
    papers p = {0};
    void *memory;

    if (!out) return pada__fail_null(__func__);
    *out = NULL;
    if (!run) return pada__fail_null(__func__);
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    const pada_status st = open_images(memory, &p, run, split);
    papers_deinit(&p);
    if (st == PADA_OK)
        *out = memory;
    else
        pada_images_close(memory);
    return st;
}

/* ---- weights ---- */

static pada_status find_weights(const char *run, pada_text *file)
{
    if (pada_family_is_there(run))
        return PADA_FAIL(PADA_EUNSUPPORTED, "%s: several supernets, each with weights of its own",
                         run);
    return pada_checkpoint_newest(run, file, NULL);
}

pada_status pada_run_weights(const char *run, char *buffer, size_t bytes)
{
    pada_text file = {0};

    if (!run || !buffer) return pada__fail_null(__func__);
    pada_status st = find_weights(run, &file);
    if (st == PADA_OK && file.length >= bytes)
        st = PADA_FAIL(PADA_EINVAL, "a buffer of %zu bytes is too small for the path %s", bytes,
                       file.data);
    if (st == PADA_OK) memcpy(buffer, file.data, file.length + 1);
    pada_text_deinit(&file);
    return st;
}
