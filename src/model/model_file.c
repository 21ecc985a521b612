/* model_file.c - one network, ready to use, as one safetensors file. */
#include "model/model_file.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"

#define FORMAT    1
#define MAX_WORDS 64 /* of the flags of a space */

void pada_model_about_deinit(pada_model_about *about)
{
    pada_data_card_deinit(&about->card);
    *about = (pada_model_about){0};
}

pada_status pada_model_find(pada_text *file, const char *where)
{
    static const char *const names[] = {"best.safetensors", "last.safetensors"};

    if (!pada_path_is_dir(where)) {
        if (!pada_path_exists(where)) return PADA_FAIL(PADA_ENOENT, "%s: no such model", where);
        pada_text_add(file, "%s", where);
        return file->status;
    }
    for (int i = 0; i < 2; i++) {
        pada_text path = {0};
        pada_text_add(&path, "%s/%s", where, names[i]);
        const bool is_there = path.status == PADA_OK && pada_path_exists(path.data);
        if (is_there) pada_text_add(file, "%s", path.data);
        pada_text_deinit(&path);
        if (is_there || file->status != PADA_OK) return file->status;
    }
    return PADA_FAIL(PADA_ENOENT, "%s: no model in it: neither %s nor %s", where, names[0],
                     names[1]);
}

/* ---- writing ---- */

/* The word of a list of choices, "a|b|c". */
static void add_word(pada_text *out, const char *words, int i)
{
    for (; i > 0; i--)
        words = strchr(words, '|') + 1;
    pada_text_add_bytes(out, words, strcspn(words, "|"));
}

/* Stores a text, which is given back, as a note. */
static pada_status note(pada_state *state, const char *key, pada_text *text)
{
    const pada_status st = text->status;

    if (st == PADA_OK) pada_state_note(state, key, pada_text_str(text));
    pada_text_deinit(text);
    return st;
}

static pada_status note_space(pada_state *state, const pada_model_about *about)
{
    const pada_space *space = &about->space;
    pada_text flags = {0}, arch = {0};

    pada_space_flags(space, &flags);
    pada_text_add(&flags, " --classes %d --image-size %d", space->config.classes,
                  space->config.image_size);
    PADA_TRY(note(state, "space", &flags));
    pada_status st = space->ops->format(space, &about->path, space->ops->dialects[0], &arch);
    if (st == PADA_OK) st = note(state, "arch", &arch);
    pada_text_deinit(&arch);
    pada_state_note(state, "form", space->is_final ? "final" : "search");
    return st;
}

static pada_status note_images(pada_state *state, const pada_model_about *about)
{
    pada_text card = {0}, resize = {0}, crops = {0}, crop = {0};
    const pada_status st = pada_data_card_print(&about->card, false, &card);

    if (st != PADA_OK) {
        pada_text_deinit(&card);
        return st;
    }
    PADA_TRY(note(state, PADA_DATA_CARD_KEY, &card));
    add_word(&resize, PADA_RESIZE_NAMES, about->resize);
    PADA_TRY(note(state, "resize", &resize));
    add_word(&crops, PADA_CROPS_NAMES, about->crops);
    PADA_TRY(note(state, "crops", &crops));
    pada_text_add_double(&crop, about->eval_crop);
    return note(state, "eval_crop", &crop);
}

static pada_status note_all(pada_state *state, const pada_model_about *about)
{
    pada_text format = {0}, top1 = {0};

    pada_state_note(state, "format", "pt"); /* what other programs look for */
    pada_text_add(&format, "%d", FORMAT);
    PADA_TRY(note(state, "pada_model", &format));
    PADA_TRY(note_space(state, about));
    PADA_TRY(note_images(state, about));
    if (about->top1 > 0) {
        pada_text_add_double(&top1, about->top1);
        PADA_TRY(note(state, "top1", &top1));
    }
    pada_state_note(state, "program", about->program);
    return PADA_OK;
}

/* Whether the network has this tensor. */
static bool is_its_own(const pada_model_about *about, const pada_param *p)
{
    return p->site == PADA_SHARED || about->space.is_final ||
           pada_path_uses(&about->space, &about->path, p->site, p->choice);
}

/* Reads a tensor out of an engine. */
typedef void reader(const pada_engine *e, int id, double *to);

/* Adds the tensors of a map; `room` is for the largest. */
static void add_tensors(pada_state *state, const pada_model_about *about, const pada_engine *e,
                        const pada_params *map, reader *read, double *room)
{
    float *floats = (float *)room; /* shrinks in place, front to back */

    for (int i = 0; i < pada_params_count(map); i++) {
        const pada_param *p = pada_params_get(map, i);
        if (!is_its_own(about, p)) continue;
        read(e, i, room);
        for (int64_t k = 0; k < p->count; k++) {
            const float f = p->bias_before_norm ? 0 : (float)room[k];
            memcpy(&floats[k], &f, sizeof f);
        }
        pada_state_tensor(state, p->name, PADA_STATE_F32, p->dims, p->n_dims, floats);
    }
}

static pada_status fill_state(pada_state *state, const pada_model_about *about,
                              const pada_engine *e)
{
    const pada_params *params = pada_engine_params(e), *statistics = pada_engine_statistics_map(e);
    const int64_t n = pada_params_largest(params), n_statistics = pada_params_largest(statistics);
    void *room;

    PADA_TRY(note_all(state, about));
    PADA_TRY(pada_calloc(&room, (size_t)(n > n_statistics ? n : n_statistics), sizeof(double)));
    add_tensors(state, about, e, params, pada_engine_read_weight, room);
    add_tensors(state, about, e, statistics, pada_engine_read_statistic, room);
    pada_free(room);
    return pada_state_status(state);
}

pada_status pada_model_write(const char *file, const pada_model_about *about, const pada_engine *e)
{
    pada_state *state;

    if (pada_engine_statistics(e) == PADA_STATISTICS_BATCH &&
        pada_params_count(pada_engine_statistics_map(e)) > 0)
        return PADA_FAIL(PADA_EINVAL, "%s: a model needs statistics of its batch norms", file);
    PADA_TRY(pada_state_create(&state));
    pada_status st = fill_state(state, about, e);
    if (st == PADA_OK) st = pada_state_write(state, file);
    pada_state_destroy(state);
    return st;
}

/* ---- reading ---- */

static pada_status fail_key(const char *origin, const char *key)
{
    return PADA_FAIL(PADA_EDATA, "%s: no model: '%s' is missing or wrong", origin, key);
}

/* Replaces the status of a wrong value, whose message names it, by that of a bad file. */
static pada_status blame_file(const char *origin, pada_status st)
{
    char reason[PADA_MESSAGE_BYTES];

    if (st != PADA_EINVAL) return st;
    snprintf(reason, sizeof reason, "%s", pada_message());
    return PADA_FAIL(PADA_EDATA, "%s: %s", origin, reason);
}

typedef struct space_flags {
    const char *space;
    int64_t classes, image_size;
} space_flags;

static const pada_opt space_table[] = {
    {.name = "space", .type = PADA_OPT_STRING, .offset = offsetof(space_flags, space)},
    {.name = "classes",
     .type = PADA_OPT_INT,
     .offset = offsetof(space_flags, classes),
     .min = 1,
     .max = 1000000},
    {.name = "image-size",
     .type = PADA_OPT_INT,
     .offset = offsetof(space_flags, image_size),
     .min = 1,
     .max = 1000000},
    {.name = NULL},
};

static pada_status take_flags(pada_space *space, const char *const *words, int n)
{
    const char *name = pada_options_peek(n, words, "space");
    const pada_space_ops *ops;
    pada_space_settings settings = {0};
    space_flags flags;
    pada_options *options;

    PADA_TRY(pada_space_find(&ops, name ? name : ""));
    PADA_TRY(pada_options_create(&options));
    pada_status st = pada_options_bind(options, space_table, &flags);
    if (st == PADA_OK && ops->options) st = pada_options_bind(options, ops->options, &settings);
    if (st == PADA_OK) st = pada_options_parse(options, n, words);
    if (st == PADA_OK && pada_options_n_words(options) > 0)
        st = PADA_FAIL(PADA_EINVAL, "'%s' is no option", pada_options_word(options, 0));
    if (st == PADA_OK)
        st = pada_space_init_settings(space, ops, (int)flags.classes, (int)flags.image_size,
                                      &settings);
    pada_options_destroy(options);
    return st;
}

/* Cuts the flags of a space into words. */
static pada_status read_space(pada_model_about *about, const char *text)
{
    const char *words[MAX_WORDS];
    char *copy, *rest;
    int n = 0;

    PADA_TRY(pada_strdup(&copy, text));
    for (char *word = strtok_r(copy, " ", &rest); word && n < MAX_WORDS;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    const pada_status st = take_flags(&about->space, words, n);
    pada_free(copy);
    return st;
}

static pada_status read_network(pada_model_about *about, const pada_safetensors *file,
                                const char *origin)
{
    const char *space = pada_safetensors_metadata(file, "space");
    const char *arch = pada_safetensors_metadata(file, "arch");
    const char *form = pada_safetensors_metadata(file, "form");

    if (!space) return fail_key(origin, "space");
    if (!arch) return fail_key(origin, "arch");
    if (!form || (strcmp(form, "final") != 0 && strcmp(form, "search") != 0))
        return fail_key(origin, "form");
    PADA_TRY(blame_file(origin, read_space(about, space)));
    const pada_space made = about->space;
    PADA_TRY(blame_file(origin, made.ops->parse(&made, arch, made.ops->dialects[0], &about->path)));
    if (strcmp(form, "final") == 0) pada_space_finalise(&about->space, &made, &about->path);
    return PADA_OK;
}

/* The place of a word in "a|b|c"; -1: it is not there. */
static int find_word(const char *words, const char *word)
{
    const size_t n = word ? strlen(word) : 0;

    for (int i = 0; words; i++) {
        if (n > 0 && strcspn(words, "|") == n && strncmp(words, word, n) == 0) return i;
        words = strchr(words, '|');
        if (words) words++;
    }
    return -1;
}

static pada_status read_images(pada_model_about *about, const pada_safetensors *file,
                               const char *origin)
{
    const pada_space_sizes *sizes = &about->space.config;
    const char *card = pada_safetensors_metadata(file, PADA_DATA_CARD_KEY);
    const char *crop = pada_safetensors_metadata(file, "eval_crop");
    const int resize = find_word(PADA_RESIZE_NAMES, pada_safetensors_metadata(file, "resize"));
    const int crops = find_word(PADA_CROPS_NAMES, pada_safetensors_metadata(file, "crops"));

    if (!card) return fail_key(origin, PADA_DATA_CARD_KEY);
    if (resize < 0) return fail_key(origin, "resize");
    if (crops < 0) return fail_key(origin, "crops");
    if (!crop || pada_parse_double(crop, "eval_crop", 0, 1, &about->eval_crop) != PADA_OK)
        return fail_key(origin, "eval_crop");
    about->resize = (pada_resize)resize;
    about->crops = (pada_crops)crops;
    PADA_TRY(pada_data_card_parse(&about->card, card, strlen(card), origin));
    if (about->card.n_classes != sizes->classes || about->card.image_size != sizes->image_size)
        return PADA_FAIL(PADA_EDATA,
                         "%s: a network for %d classes and %d pixels, but images with %d and %d",
                         origin, sizes->classes, sizes->image_size, about->card.n_classes,
                         about->card.image_size);
    return PADA_OK;
}

static pada_status read_fields(pada_model_about *about, const pada_safetensors *file,
                               const char *origin)
{
    const char *format = pada_safetensors_metadata(file, "pada_model");
    const char *top1 = pada_safetensors_metadata(file, "top1");
    const char *program = pada_safetensors_metadata(file, "program");
    int64_t number;

    if (!format || pada_parse_int(format, "pada_model", 1, INT32_MAX, &number) != PADA_OK)
        return fail_key(origin, "pada_model");
    if (number > FORMAT)
        return PADA_FAIL(PADA_EDATA, "%s: model format %s is of a newer pada; this one knows %d",
                         origin, format, FORMAT);
    PADA_TRY(read_network(about, file, origin));
    PADA_TRY(read_images(about, file, origin));
    if (top1 && pada_parse_double(top1, "top1", 0, 100, &about->top1) != PADA_OK)
        return fail_key(origin, "top1");
    snprintf(about->program, sizeof about->program, "%s", program ? program : "");
    return PADA_OK;
}

pada_status pada_model_read_metadata(pada_model_about *about, const pada_safetensors *file,
                                     const char *origin)
{
    *about = (pada_model_about){0};
    const pada_status st = read_fields(about, file, origin);
    if (st != PADA_OK) pada_model_about_deinit(about);
    return st;
}

pada_status pada_model_read(pada_model_about *about, const char *file)
{
    pada_safetensors *st;

    *about = (pada_model_about){0};
    PADA_TRY(pada_safetensors_open(&st, file));
    const pada_status status = pada_model_read_metadata(about, st, file);
    pada_safetensors_close(st);
    return status;
}

/* Float32 bytes of the parameters of a network. */
static pada_status count_bytes(const pada_model_about *about, int64_t *bytes)
{
    pada_params *params;

    *bytes = 0;
    PADA_TRY(pada_params_create(&params));
    const pada_status st = pada_space_declare(&about->space, params);
    for (int i = 0; st == PADA_OK && i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        if (is_its_own(about, p)) *bytes += p->count * (int64_t)sizeof(float);
    }
    pada_params_destroy(params);
    return st;
}

/* A small file must not make an engine take all memory for a network that it only names. */
static pada_status check_bytes(const pada_model_about *about, const char *path)
{
    pada_safetensors *file;
    int64_t want, have = 0;

    PADA_TRY(count_bytes(about, &want));
    PADA_TRY(pada_safetensors_open(&file, path));
    for (int i = 0; i < pada_safetensors_count(file); i++)
        have += (int64_t)pada_safetensors_get(file, i)->bytes;
    pada_safetensors_close(file);
    if (have < want)
        return PADA_FAIL(PADA_EDATA, "%s: %lld bytes of tensors; its network has %lld", path,
                         (long long)have, (long long)want);
    return PADA_OK;
}

static pada_status load_weights(pada_engine *e, const pada_model_about *about, const char *file)
{
    PADA_TRY(about->space.is_final ? pada_engine_load_weights(e, file)
                                   : pada_engine_load_path(e, &about->path, file));
    if (pada_params_count(pada_engine_statistics_map(e)) > 0 &&
        pada_engine_statistics(e) != PADA_STATISTICS_RUNNING)
        return PADA_FAIL(PADA_EDATA, "%s: no running statistics", file);
    return PADA_OK;
}

pada_status pada_model_load(pada_engine **out, const pada_model_about *about,
                            const pada_engine_desc *desc, const char *file)
{
    pada_engine_desc full = *desc;

    *out = NULL;
    PADA_TRY(check_bytes(about, file));
    full.space = &about->space;
    full.mode = PADA_EVAL;
    full.statistics = PADA_STATISTICS_RUNNING;
    PADA_TRY(pada_engine_create(out, &full));
    const pada_status st = load_weights(*out, about, file);
    if (st != PADA_OK) {
        pada_engine_destroy(*out);
        *out = NULL;
    }
    return st;
}
