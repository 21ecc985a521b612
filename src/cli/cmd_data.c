/* cmd_data.c - `pada data`: what a data set holds, and whether something is wrong with it.
 *
 * Problems make `verify` fail: with them a training would be worth nothing. Warnings do not: real
 * data sets have duplicates, and a part of the data is data. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/data_open.h"
#include "cli/print.h"
#include "data/inspect.h"

#define CHANNELS  PADA_IMAGE_CHANNELS
#define IMBALANCE 3 /* the largest class to the smallest: a warning from here on */
#define FEW       5 /* images of a class: a warning below */

typedef struct data {
    pada_data_args data_args;
    int64_t image_size;
    bool json;

    pada_dataset *set;
    pada_findings found; /* about files */
    pada_facts facts;
    const char *where;
} data;

static const pada_opt options_table[] = {
    {.name = "image-size",
     .type = PADA_OPT_INT,
     .offset = offsetof(data, image_size),
     .min = 1,
     .max = 1000000,
     .meta = "N",
     .help = "rows and columns to which image folders are scaled (default: 32)"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(data, json),
     .help = "one JSON object"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    data *d = self;

    PADA_TRY(pada_options_bind(options, options_table, d));
    return pada_options_bind(options, pada_image_options, &d->data_args);
}

/* ---- info ---- */

/* The name of a class, or NULL. */
static const char *class_name(const data *d, int i)
{
    const pada_dataset_ops *ops = d->set->ops;

    return ops->class_name ? ops->class_name(d->set, i) : NULL;
}

static json_t *json_numbers(const double numbers[CHANNELS])
{
    return json_pack("[f, f, f]", numbers[0], numbers[1], numbers[2]);
}

/* Images of a class in a split; none where the split is not there. */
static int class_count(const data *d, pada_split split, int i)
{
    const int *counts = d->facts.splits[split].class_counts;

    return counts ? counts[i] : 0;
}

/* Appends the item to the array, which it takes over. */
static void append(pada_text *out, json_t *array, json_t *item)
{
    if (json_array_append_new(array, item) != 0 && out->status == PADA_OK)
        out->status = PADA_FAIL(PADA_ENOMEM, "out of memory (JSON)");
}

static json_t *json_classes(const data *d, pada_text *out)
{
    json_t *classes = json_array();

    for (int i = 0; i < d->set->n_classes; i++) {
        const char *text = class_name(d, i);
        json_t *name = text ? json_string(text) : NULL;
        if (!name) name = json_null(); /* also for a folder whose name is not UTF-8 */
        append(out, classes,
               json_pack("{s:o, s:i, s:i, s:i}", "name", name, "train",
                         class_count(d, PADA_SPLIT_TRAIN, i), "test",
                         class_count(d, PADA_SPLIT_TEST, i), "val",
                         class_count(d, PADA_SPLIT_VAL, i)));
    }
    return classes;
}

static void info_json(const data *d, pada_text *out)
{
    const pada_dataset *set = d->set;
    json_t *object = json_object();

    pada_json_set(out, object, "name", json_string(set->name));
    pada_json_set(out, object, "kind", json_string(set->ops->name));
    pada_json_set(out, object, "train", json_integer(set->n_images[PADA_SPLIT_TRAIN]));
    pada_json_set(out, object, "test", json_integer(set->n_images[PADA_SPLIT_TEST]));
    pada_json_set(out, object, "val", json_integer(set->n_images[PADA_SPLIT_VAL]));
    pada_json_set(out, object, "image_size", json_integer(set->shape.h));
    pada_json_set(out, object, "mean", json_numbers(set->mean));
    pada_json_set(out, object, "deviation", json_numbers(set->deviation));
    pada_json_set(out, object, "classes", json_classes(d, out));
    pada_json_line(out, object);
}

static void info_text(const data *d, pada_text *out)
{
    static const pada_split columns[PADA_N_SPLITS] = {PADA_SPLIT_TRAIN, PADA_SPLIT_VAL,
                                                      PADA_SPLIT_TEST};
    const pada_dataset *set = d->set;

    pada_text_add(out, "%s\n  images     ", set->name);
    for (int k = 0; k < PADA_N_SPLITS; k++)
        if (set->n_images[columns[k]] > 0)
            pada_text_add(out, "%d %s, ", set->n_images[columns[k]], pada_split_name(columns[k]));
    pada_text_add(out, "%dx%d pixels\n", set->shape.h, set->shape.w);
    if (set->set_aside[0]) pada_text_add(out, "             %s\n", set->set_aside);
    pada_text_add(out, "  mean       %.6f %.6f %.6f\n", set->mean[0], set->mean[1], set->mean[2]);
    pada_text_add(out, "  deviation  %.6f %.6f %.6f\n", set->deviation[0], set->deviation[1],
                  set->deviation[2]);
    pada_text_add(out, "  class  ");
    for (int k = 0; k < PADA_N_SPLITS; k++)
        if (set->n_images[columns[k]] > 0) pada_text_add(out, " %8s", pada_split_name(columns[k]));
    pada_text_add(out, "\n");
    for (int i = 0; i < set->n_classes; i++) {
        const char *name = class_name(d, i);
        pada_text_add(out, "  %5d  ", i);
        for (int k = 0; k < PADA_N_SPLITS; k++)
            if (set->n_images[columns[k]] > 0)
                pada_text_add(out, " %8d", class_count(d, columns[k], i));
        pada_text_add(out, "%s%s\n", name ? "  " : "", name ? name : "");
    }
}

static pada_status info(data *d, pada_text *out)
{
    if (d->json)
        info_json(d, out);
    else
        info_text(d, out);
    return out->status;
}

/* ---- verify ---- */

/* What was found, in the order in which it was found. */
typedef struct findings {
    pada_text *out;
    bool json;
    json_t *lists[2]; /* warnings, problems */
    int counts[2];
    pada_text first; /* problem; owned */
} findings;

typedef enum severity { WARNING, PROBLEM } severity;

/* A text of a file system, which need not be UTF-8. */
static json_t *json_name(const char *text)
{
    json_t *name = json_string(text);

    return name ? name : json_null();
}

/* One finding, about a file or, with NULL, about the whole. */
static void add_finding(findings *f, severity how, const char *kind, const char *file,
                        const char *text)
{
    if (how == PROBLEM && f->counts[how] == 0)
        pada_text_add(&f->first, "%s%s%s", file ? file : "", file ? ": " : "", text);
    f->counts[how]++;
    if (!f->json) {
        pada_text_add(f->out, "%s: %s%s%s\n", how == PROBLEM ? "problem" : "warning",
                      file ? file : "", file ? ": " : "", text);
        return;
    }
    json_t *object = json_object();
    pada_json_set(f->out, object, "kind", json_string(kind));
    if (file) pada_json_set(f->out, object, "file", json_name(file));
    pada_json_set(f->out, object, "message", json_name(text));
    append(f->out, f->lists[how], object);
}

static void find(findings *f, severity how, const char *kind, const char *file, const char *format,
                 ...) PADA_PRINTF(5, 6);

static void find(findings *f, severity how, const char *kind, const char *file, const char *format,
                 ...)
{
    char line[PADA_MESSAGE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    add_finding(f, how, kind, file, line);
}

/* Some of them are odd, more than half are wrong. */
static severity by_share(int n, int whole)
{
    return n > whole / 2 ? PROBLEM : WARNING;
}

static void verify_classes(findings *f, const data *d, pada_split split)
{
    const pada_split_facts *facts = &d->facts.splits[split];
    int n_empty = 0;

    for (int i = 0; i < d->set->n_classes; i++)
        n_empty += facts->class_counts[i] == 0;
    if (n_empty > 0)
        find(f, PROBLEM, "classes", NULL, "%s: %d of %d classes have no images",
             pada_split_name(split), n_empty, d->set->n_classes);
    else if (facts->largest >= IMBALANCE * facts->smallest)
        find(f, WARNING, "imbalance", NULL, "%s: classes have %d to %d images",
             pada_split_name(split), facts->smallest, facts->largest);
}

/* Classes from which nothing can be learnt. */
static void verify_few(findings *f, const data *d)
{
    for (int i = 0; i < d->set->n_classes; i++) {
        const int n = d->facts.splits[PADA_SPLIT_TRAIN].class_counts[i];
        const char *name = class_name(d, i);
        if (n > 0 && n < FEW)
            find(f, WARNING, "few", NULL, "train: class %d%s%s has %d images", i, name ? " " : "",
                 name ? name : "", n);
    }
}

static const char *file_of(const data *d, pada_split split, int i)
{
    return d->set->ops->file(d->set, split, i);
}

static int label_of(const data *d, pada_split split, int i)
{
    return d->set->ops->label(d->set, split, i);
}

/* Images that have files are named, one by one. */
static void name_images(findings *f, const data *d)
{
    for (int i = 0; i < d->facts.n_twins; i++) {
        const pada_twins *t = &d->facts.twins[i];
        const bool conflict =
            label_of(d, t->split, t->image) != label_of(d, t->other_split, t->other);
        const bool leak = t->split != t->other_split;
        find(f, WARNING,
             conflict ? "conflict"
             : leak   ? "leak"
                      : "duplicate",
             file_of(d, t->split, t->image), "the same image as %s%s%s",
             file_of(d, t->other_split, t->other), conflict ? ", of another class" : "",
             !leak                                ? ""
             : t->other_split == PADA_SPLIT_TRAIN ? ", which is for training"
                                                  : ", which is for tests");
    }
    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int i = 0; i < d->set->n_images[split]; i++)
            if (pada_image_is_constant(d->set, (pada_split)split, i))
                find(f, WARNING, "constant", file_of(d, (pada_split)split, i),
                     "an image of one colour");
}

/* Whether so many images are worth a line of their own: where each is named, only if they are too many. */
static bool is_told(const data *d, int n, int whole)
{
    return n > 0 && (!d->set->ops->file || by_share(n, whole) == PROBLEM);
}

static void verify_images(findings *f, const data *d, pada_split split)
{
    const pada_split_facts *facts = &d->facts.splits[split];
    const char *name = pada_split_name(split);
    const int n = d->set->n_images[split];

    if (is_told(d, facts->n_constant, n))
        find(f, by_share(facts->n_constant, n), "constant", NULL,
             "%s: %d of %d images are of one colour", name, facts->n_constant, n);
    if (is_told(d, facts->n_duplicates, n))
        find(f, by_share(facts->n_duplicates, n), "duplicate", NULL,
             "%s: %d of %d images are copies of others, %d of them with another label", name,
             facts->n_duplicates, n, facts->n_conflicts);
}

/* How far the images are from mean 0 and deviation 1 after the normalisation. */
static void verify_normalisation(findings *f, const data *d)
{
    const pada_split_facts *train = &d->facts.splits[PADA_SPLIT_TRAIN];
    double shift = 0, ratio = 1;

    for (int c = 0; c < CHANNELS; c++) {
        const double used = d->set->deviation[c], measured = train->deviation[c];
        shift = fmax(shift, fabs(train->mean[c] - d->set->mean[c]) / used);
        ratio = fmax(ratio, measured > 0 ? fmax(used / measured, measured / used) : INFINITY);
    }
    if (shift < 0.02 && ratio < 1.02) return;
    find(f, shift > 0.5 || ratio > 1.5 ? PROBLEM : WARNING, "normalisation", NULL,
         "train: mean %.4f %.4f %.4f, deviation %.4f %.4f %.4f, normalised with %.4f %.4f %.4f and "
         "%.4f %.4f %.4f",
         train->mean[0], train->mean[1], train->mean[2], train->deviation[0], train->deviation[1],
         train->deviation[2], d->set->mean[0], d->set->mean[1], d->set->mean[2],
         d->set->deviation[0], d->set->deviation[1], d->set->deviation[2]);
}

/* Of the files; the data set writes a line for each. */
static pada_status verify_files(findings *f, const data *d)
{
    pada_text remarks = {0};

    if (d->set->ops->remark) d->set->ops->remark(d->set, &remarks);
    for (const char *line = pada_text_str(&remarks); *line;) {
        const int n = (int)strcspn(line, "\n");
        find(f, WARNING, "files", NULL, "%.*s", n, line);
        line += line[n] ? n + 1 : n;
    }
    const pada_status st = remarks.status;
    pada_text_deinit(&remarks);
    return st;
}

/* What the open found. */
static void name_files(findings *f, const data *d)
{
    for (int i = 0; i < d->found.n; i++) {
        const pada_finding *found = &d->found.items[i];
        add_finding(f, found->is_problem ? PROBLEM : WARNING, found->kind, found->file,
                    found->text);
    }
}

static pada_status verify_all(findings *f, const data *d)
{
    const int n_others = d->set->n_images[PADA_SPLIT_TEST] + d->set->n_images[PADA_SPLIT_VAL];

    PADA_TRY(verify_files(f, d));
    name_files(f, d);
    if (d->set->ops->file) name_images(f, d);
    verify_few(f, d);
    for (int split = 0; split < PADA_N_SPLITS; split++) {
        if (d->set->n_images[split] == 0) continue;
        verify_classes(f, d, (pada_split)split);
        verify_images(f, d, (pada_split)split);
    }
    if (is_told(d, d->facts.n_shared, n_others))
        find(f, by_share(d->facts.n_shared, n_others), "leak", NULL,
             "%d of %d %s images are train images", d->facts.n_shared, n_others,
             d->set->n_images[PADA_SPLIT_VAL] > 0 ? "val and test" : "test");
    verify_normalisation(f, d);
    return PADA_OK;
}

/* d->set is NULL if it could not be opened. */
static void add_summary(findings *f, const data *d)
{
    const pada_dataset *set = d->set;
    const int n_images = set ? set->n_images[PADA_SPLIT_TRAIN] + set->n_images[PADA_SPLIT_VAL] +
                                   set->n_images[PADA_SPLIT_TEST]
                             : 0;
    const int n_problems = f->counts[PROBLEM], n_warnings = f->counts[WARNING];

    if (f->json) {
        json_t *object = json_object();
        pada_json_set(f->out, object, "name", set ? json_string(set->name) : json_null());
        pada_json_set(f->out, object, "images", json_integer(n_images));
        pada_json_set(f->out, object, "ok", json_boolean(n_problems == 0));
        pada_json_set(f->out, object, "problems", json_incref(f->lists[PROBLEM]));
        pada_json_set(f->out, object, "warnings", json_incref(f->lists[WARNING]));
        pada_json_line(f->out, object);
    } else if (n_problems == 0) {
        pada_text_add(f->out, "%s: %d images are fine, %d warnings\n", d->set->name, n_images,
                      n_warnings);
    }
}

/* Too little is left for a data set: says what was found until then. */
static pada_status verify_part(findings *f, const data *d, const char *message)
{
    name_files(f, d);
    if (f->json)
        add_finding(f, PROBLEM, "data", NULL, message);
    else
        f->counts[PROBLEM]++; /* it is the message of the command */
    return PADA_OK;
}

/* `failure` is what the open returned, with its message. */
static pada_status verify(data *d, pada_text *out, pada_status failure)
{
    findings f = {.out = out, .json = d->json, .lists = {json_array(), json_array()}};
    char message[PADA_MESSAGE_BYTES];

    snprintf(message, sizeof message, "%s", failure != PADA_OK ? pada_message() : "");
    pada_status st = failure == PADA_OK ? verify_all(&f, d) : verify_part(&f, d, message);
    if (st == PADA_OK) add_summary(&f, d);
    json_decref(f.lists[WARNING]);
    json_decref(f.lists[PROBLEM]);
    if (st == PADA_OK) st = out->status;
    if (st == PADA_OK) st = f.first.status;
    if (st == PADA_OK && failure != PADA_OK) st = PADA_FAIL(failure, "%s", message);
    if (st == PADA_OK && f.counts[PROBLEM] > 0)
        st = PADA_FAIL(PADA_EDATA, "%s: %d problems, %d warnings; the first problem: %s", d->where,
                       f.counts[PROBLEM], f.counts[WARNING], pada_text_str(&f.first));
    pada_text_deinit(&f.first);
    return st;
}

/* ---- the command ---- */

static pada_status inspect(data *d, const char *what, pada_text *out)
{
    const bool is_info = strcmp(what, "info") == 0;
    const pada_dataset_desc desc = {.where = d->where,
                                    .image_size = (int)d->image_size,
                                    .n_train_kept = INT_MAX, /* all are looked at */
                                    .findings = is_info ? NULL : &d->found};

    d->data_args.is_quiet = d->json;
    const pada_status st = pada_data_open(&d->set, &d->data_args, &desc);
    if (st != PADA_OK) return d->found.n > 0 && st != PADA_ENOMEM ? verify(d, out, st) : st;
    PADA_TRY(pada_facts_init(&d->facts, d->set));
    return is_info ? info(d, out) : verify(d, out, PADA_OK);
}

static pada_status run(void *self, const pada_options *options)
{
    static const char *const kinds[] = {"info", "verify"};
    data *d = self;
    pada_text out = {0};

    if (pada_options_n_words(options) != 2)
        return PADA_FAIL(PADA_EINVAL, "data takes two words: info or verify, and a data set");
    const char *what = pada_options_word(options, 0);
    if (strcmp(what, kinds[0]) != 0 && strcmp(what, kinds[1]) != 0)
        return pada_fail_unknown(PADA_EINVAL, "data: unknown word", what, kinds, 2);
    d->where = pada_options_word(options, 1);
    const pada_status st = inspect(d, what, &out);
    fputs(pada_text_str(&out), stdout); /* what is wrong too: `verify` found it */
    pada_text_deinit(&out);
    pada_facts_deinit(&d->facts);
    pada_findings_deinit(&d->found);
    pada_dataset_close(d->set);
    return st;
}

const pada_command pada_command_data = {
    .name = "data",
    .summary = "what a data set holds, and whether something is wrong with it",
    .details =
        "info lists classes, sizes and statistics; verify goes through everything and lists "
        "what it finds, with file names: broken, empty and skipped files, formats that are "
        "not read, copies, test images that are train images, images of one colour, empty "
        "and tiny classes. It ends with exit code 65 if something is wrong, with 0 if "
        "there are warnings only. A data set is builtin, a folder with the binary version of "
        "CIFAR, the pickles of ImageNet16, or class folders with PNG, JPEG and WebP images.",
    .usage = "pada data info|verify DIR|builtin [options]",
    .words = "info|verify DIR|builtin",
    .examples = "pada data info builtin\n"
                "pada data verify cifar-10-batches-bin\n"
                "pada data verify photos --image-size 64 --json",
    .state_bytes = sizeof(data),
    .bind = bind,
    .run = run,
};
