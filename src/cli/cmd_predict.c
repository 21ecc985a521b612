/* cmd_predict.c - `pada predict`: the classes of pictures, as a trained network sees them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/print.h"
#include "data/folder_files.h"
#include "model/predict.h"
#include "run/trained.h"

typedef struct predict {
    pada_engine_args engine_args;
    int64_t top, batch_size;
    bool json, csv;

    pada_trained model;
    pada_predictor *predictor;
    pada_names files;
    pada_prediction *results; /* [batch_size], owned */
    int *order;               /* [classes], owned */
    int n_broken;
} predict;

static const pada_opt options_table[] = {
    {.name = "top",
     .type = PADA_OPT_INT,
     .offset = offsetof(predict, top),
     .default_value = "1",
     .min = 1,
     .max = 1000000,
     .meta = "K",
     .help = "classes of each picture, the likeliest first"},
    {.name = "batch-size",
     .type = PADA_OPT_INT,
     .offset = offsetof(predict, batch_size),
     .default_value = "64",
     .min = 1,
     .max = 65536,
     .meta = "N",
     .help = "pictures at a time"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(predict, json),
     .help = "one JSON object per picture: file, top (class, p)"},
    {.name = "csv",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(predict, csv),
     .help = "a table: file, rank, class, p"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    predict *s = self;

    PADA_TRY(pada_options_bind(options, options_table, s));
    return pada_options_bind(options, pada_engine_options, &s->engine_args);
}

/* ---- which pictures ---- */

static pada_status add_file(pada_names *files, const char *path)
{
    void *items = files->items;

    PADA_TRY(pada_grow(&items, &files->cap, files->n + 1, sizeof *files->items));
    files->items = items;
    PADA_TRY(pada_strdup(&files->items[files->n], path));
    files->n++;
    return PADA_OK;
}

/* Adds the lines of a text, which is cut up. */
static pada_status add_lines(pada_names *files, char *text)
{
    char *rest;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        PADA_TRY(add_file(files, line));
    return PADA_OK;
}

/* Names of files, a line each. */
static pada_status add_standard_input(pada_names *files)
{
    pada_text text = {0};
    char part[4096];
    size_t n;

    while ((n = fread(part, 1, sizeof part, stdin)) > 0)
        pada_text_add_bytes(&text, part, n);
    pada_status st = text.status;
    if (st == PADA_OK && ferror(stdin))
        st = PADA_FAIL(PADA_EIO, "standard input: %s", strerror(errno));
    if (st == PADA_OK && text.data) st = add_lines(files, text.data);
    pada_text_deinit(&text);
    return st;
}

static pada_status add_folder(pada_names *files, const char *folder)
{
    const int n_before = files->n;
    pada_names unread = {0};
    const pada_status st = pada_list_pictures(files, folder, &unread, NULL);

    pada_names_deinit(&unread);
    if (st == PADA_OK && files->n == n_before)
        return PADA_FAIL(PADA_ENOENT, "%s: no " PADA_IMAGE_READ " images in it", folder);
    return st;
}

static pada_status list_files(predict *s, const pada_options *options)
{
    for (int i = 1; i < pada_options_n_words(options); i++) {
        const char *word = pada_options_word(options, i);
        if (strcmp(word, "-") == 0)
            PADA_TRY(add_standard_input(&s->files));
        else
            PADA_TRY(pada_path_is_dir(word) ? add_folder(&s->files, word)
                                            : add_file(&s->files, word));
    }
    return PADA_OK;
}

/* ---- what is printed ---- */

/* Classes by their probability, the likeliest first; ties by number. Only the first `top` are in order. */
static void sort_classes(const predict *s, const double *p, int top)
{
    const int n = s->model.about.space.config.classes;

    for (int i = 0; i < n; i++)
        s->order[i] = i;
    for (int i = 0; i < top; i++) {
        int best = i;
        for (int k = i + 1; k < n; k++)
            if (p[s->order[k]] > p[s->order[best]] ||
                (p[s->order[k]] == p[s->order[best]] && s->order[k] < s->order[best]))
                best = k;
        const int swapped = s->order[i];
        s->order[i] = s->order[best];
        s->order[best] = swapped;
    }
}

static void add_class(const predict *s, int class_number, pada_text *out)
{
    const char *name = pada_data_card_class(&s->model.about.card, class_number);

    if (name)
        pada_text_add(out, "%s", name);
    else
        pada_text_add(out, "class %d", class_number);
}

static void add_json(const predict *s, const char *file, const double *p, int top, pada_text *out)
{
    json_t *object = json_object(), *list = json_array();

    pada_json_set(out, object, "file", json_string(file));
    for (int i = 0; i < top; i++) {
        const char *name = pada_data_card_class(&s->model.about.card, s->order[i]);
        json_t *one = json_object();
        pada_json_set(out, one, "class", name ? json_string(name) : json_integer(s->order[i]));
        pada_json_set(out, one, "p", json_real(p[s->order[i]]));
        pada_json_append(out, list, one);
    }
    pada_json_set(out, object, "top", list);
    pada_json_line(out, object);
}

/* A field of a table, in quotes where it has to be. */
static void add_field(pada_text *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        pada_text_add(out, "%s", text);
        return;
    }
    pada_text_add(out, "\"");
    for (; *text; text++)
        pada_text_add(out, *text == '"' ? "\"\"" : "%c", *text);
    pada_text_add(out, "\"");
}

static void add_csv(const predict *s, const char *file, const double *p, int top, pada_text *out)
{
    for (int i = 0; i < top; i++) {
        const char *name = pada_data_card_class(&s->model.about.card, s->order[i]);
        add_field(out, file);
        pada_text_add(out, ",%d,", i + 1);
        if (name)
            add_field(out, name);
        else
            pada_text_add(out, "%d", s->order[i]);
        pada_text_add(out, ",%.6g\n", p[s->order[i]]);
    }
}

static void add_line(const predict *s, const char *file, const double *p, int top, pada_text *out)
{
    pada_text_add(out, "%s:", file);
    for (int i = 0; i < top; i++) {
        pada_text_add(out, "%s ", i > 0 ? "," : "");
        add_class(s, s->order[i], out);
        pada_text_add(out, " %.1f %%", 100 * p[s->order[i]]);
    }
    pada_text_add(out, "\n");
}

/* Prints what became of one picture. */
static void add_result(predict *s, const char *file, const pada_prediction *result, pada_text *out)
{
    const int n_classes = s->model.about.space.config.classes;
    const int top = s->top < n_classes ? (int)s->top : n_classes;

    if (!result->p) {
        fprintf(stderr, "pada: %s\n", result->problem);
        s->n_broken++;
        return;
    }
    sort_classes(s, result->p, top);
    if (s->json)
        add_json(s, file, result->p, top, out);
    else if (s->csv)
        add_csv(s, file, result->p, top, out);
    else
        add_line(s, file, result->p, top, out);
}

/* ---- the run ---- */

static pada_status predict_batch(predict *s, int first, int n)
{
    pada_text out = {0};

    PADA_TRY(pada_predict(s->predictor, s->files.items + first, n, s->results));
    for (int i = 0; i < n; i++)
        add_result(s, s->files.items[first + i], &s->results[i], &out);
    const pada_status st = out.status;
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    return st;
}

static pada_status prepare(predict *s, const pada_options *options)
{
    void *memory;

    if (pada_options_n_words(options) < 2)
        return PADA_FAIL(PADA_EINVAL, "give a model and pictures; see `pada help predict`");
    if (s->json && s->csv) return PADA_FAIL(PADA_EINVAL, "--json and --csv: give one of them");
    PADA_TRY(list_files(s, options));
    if (s->files.n > 0 && s->files.n < s->batch_size) s->batch_size = s->files.n;
    PADA_TRY(pada_trained_open(&s->model, pada_options_word(options, 0), &s->engine_args,
                               (int)s->batch_size));
    PADA_TRY(pada_calloc(&memory, (size_t)s->batch_size, sizeof *s->results));
    s->results = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)s->model.about.space.config.classes, sizeof *s->order));
    s->order = memory;
    return pada_predictor_create(&s->predictor, &s->model.about, s->model.engine,
                                 (int)s->batch_size, (int)s->engine_args.threads);
}

static pada_status predict_all(predict *s, const pada_options *options)
{
    PADA_TRY(prepare(s, options));
    if (s->csv) fputs("file,rank,class,p\n", stdout);
    for (int first = 0; first < s->files.n; first += (int)s->batch_size) {
        const int left = s->files.n - first;
        PADA_TRY(predict_batch(s, first, left < s->batch_size ? left : (int)s->batch_size));
    }
    if (s->n_broken > 0)
        return PADA_FAIL(PADA_EDATA, "%d of %d pictures could not be read", s->n_broken,
                         s->files.n);
    return PADA_OK;
}

static pada_status run(void *self, const pada_options *options)
{
    predict *s = self;
    const pada_status st = predict_all(s, options);

    pada_predictor_destroy(s->predictor);
    pada_free(s->results);
    pada_free(s->order);
    pada_names_deinit(&s->files);
    pada_trained_close(&s->model);
    return st;
}

const pada_command pada_command_predict = {
    .name = "predict",
    .summary = "say what a trained network sees in pictures",
    .details = "A model is a file that pada wrote, or the run folder of a network that was trained "
               "alone. Pictures are files, folders with all that is in them, or - for names of "
               "files on standard input. They are decoded, scaled and normalised as in the "
               "evaluation of the network. One that cannot be read is named on standard error; "
               "the others go on, and the exit code is 65.",
    .usage = "pada predict MODEL PICTURE... [options]",
    .words = "RUN|FILE.safetensors FILE|DIR",
    .examples = "pada predict runs/final photo.jpg --top 5\n"
                "pada predict net.safetensors photos --json\n"
                "find . -name '*.png' | pada predict net.safetensors - --csv",
    .state_bytes = sizeof(predict),
    .bind = bind,
    .run = run,
};
