/* trained.c - a trained network, ready to run, from a name. */
#include "run/trained.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"
#include "run/data_args.h"
#include "run/space_args.h"
#include "train/checkpoint.h"

/* What is taken from the config.yaml of a run. */
typedef struct run_papers {
    pada_space_args space;
    pada_data_args images;
    const char *method, *arch; /* NULL: not there */
} run_papers;

static const pada_opt config_table[] = {
    {.name = "method", .type = PADA_OPT_STRING, .offset = offsetof(run_papers, method)},
    {.name = "arch", .type = PADA_OPT_STRING, .offset = offsetof(run_papers, arch)},
    {.name = NULL},
};

/* *config owns the strings, also after a failure. */
static pada_status read_papers(run_papers *papers, const char *run, pada_options **config)
{
    pada_text path = {0};

    *config = NULL;
    *papers = (run_papers){0};
    PADA_TRY(pada_space_args_prepare(&papers->space, 1, &run));
    PADA_TRY(pada_options_create(config));
    PADA_TRY(pada_space_args_bind(&papers->space, *config));
    PADA_TRY(pada_options_bind(*config, pada_image_options, &papers->images));
    PADA_TRY(pada_options_bind(*config, config_table, papers));
    pada_text_add(&path, "%s/config.yaml", run);
    pada_status st = path.status;
    if (st == PADA_OK) st = pada_options_load_known(*config, path.data);
    pada_text_deinit(&path);
    return st;
}

static bool is_single(const run_papers *papers)
{
    return papers->method && papers->arch && strcmp(papers->method, "single") == 0;
}

/* Whether a folder has no model but the papers of a run. */
static bool is_run(const char *where)
{
    pada_text file = {0}, config = {0};
    const bool has_model = pada_model_find(&file, where) == PADA_OK;

    pada_text_add(&config, "%s/config.yaml", where);
    const bool has_papers = config.status == PADA_OK && pada_path_exists(config.data);
    pada_text_deinit(&file);
    pada_text_deinit(&config);
    return !has_model && has_papers;
}

bool pada_is_supernet(const char *where)
{
    run_papers papers;
    pada_options *config;

    if (!is_run(where)) return false;
    const bool is_one = read_papers(&papers, where, &config) == PADA_OK && !is_single(&papers);
    pada_options_destroy(config);
    return is_one;
}

/* What the papers of a run say about its network. */
static pada_status describe_run(pada_model_about *about, run_papers *papers, const char *run)
{
    if (!is_single(papers))
        return PADA_FAIL(PADA_EINVAL,
                         "%s: a supernet; make a model of a network inside by "
                         "`pada export %s --arch ARCH --to safetensors --out FILE`",
                         run, run);
    PADA_TRY(pada_data_card_read(&about->card, run));
    if (!about->card.json)
        return PADA_FAIL(PADA_ENOENT, "%s: no " PADA_DATA_CARD_FILE " in it", run);
    papers->space.classes = about->card.n_classes;
    papers->space.image_size = about->card.image_size;
    PADA_TRY(pada_space_from_args(&about->space, &papers->space));
    PADA_TRY(about->space.ops->parse(&about->space, papers->arch, NULL, &about->path));
    about->resize = (pada_resize)papers->images.resize;
    about->crops = (pada_crops)papers->images.crops;
    about->eval_crop = papers->images.eval_crop;
    return PADA_OK;
}

static pada_status load_run(pada_trained *model, const char *run, pada_engine_desc *desc)
{
    pada_text file = {0};

    desc->space = &model->about.space;
    desc->mode = PADA_EVAL;
    desc->statistics = PADA_STATISTICS_RUNNING;
    pada_status st = pada_checkpoint_newest(run, &file, NULL);
    if (st == PADA_OK) st = pada_engine_create(&model->engine, desc);
    if (st == PADA_OK) st = pada_engine_load_weights(model->engine, file.data);
    if (st == PADA_OK && pada_engine_statistics(model->engine) != PADA_STATISTICS_RUNNING)
        st = PADA_FAIL(PADA_EDATA, "%s: no running statistics", file.data);
    pada_text_deinit(&file);
    return st;
}

static pada_status open_run(pada_trained *model, const char *run, pada_engine_desc *desc)
{
    run_papers papers;
    pada_options *config;

    pada_status st = read_papers(&papers, run, &config);
    if (st == PADA_OK) st = describe_run(&model->about, &papers, run);
    if (st == PADA_OK) st = load_run(model, run, desc);
    pada_options_destroy(config);
    return st;
}

static pada_status open_file(pada_trained *model, const char *where, const pada_engine_desc *desc)
{
    pada_text file = {0};

    pada_status st = pada_model_find(&file, where);
    if (st == PADA_OK) st = pada_model_read(&model->about, file.data);
    if (st == PADA_OK) st = pada_model_load(&model->engine, &model->about, desc, file.data);
    pada_text_deinit(&file);
    return st;
}

pada_status pada_trained_open(pada_trained *model, const char *where, const pada_engine_args *args,
                              int batch_size)
{
    pada_engine_desc desc = {.batch_size = batch_size};

    PADA_TRY(pada_computing_desc_from_args(&desc, args));
    return is_run(where) ? open_run(model, where, &desc) : open_file(model, where, &desc);
}

void pada_trained_close(pada_trained *model)
{
    pada_engine_destroy(model->engine);
    pada_model_about_deinit(&model->about);
    *model = (pada_trained){0};
}
