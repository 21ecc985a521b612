/* class_report.c - how a network does on the images of a split, class by class. */
#include "study/class_report.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "study/ranking_table.h"

#define MAX_CLASSES 20000 /* whose matrix is 1.6 GB */

struct pada_class_report {
    int n_classes, n_images;
    int top1, top5;
    int *confusion; /* [label][given] */
};

pada_status pada_class_report_create(pada_class_report **out, int n_classes)
{
    pada_class_report *r;
    void *mem;

    *out = NULL;
    PADA_ASSERT(n_classes >= 1);
    if (n_classes > MAX_CLASSES)
        return PADA_FAIL(PADA_EINVAL, "%d classes are too many for a confusion matrix (%d)",
                         n_classes, MAX_CLASSES);
    PADA_TRY(pada_calloc(&mem, 1, sizeof *r));
    r = mem;
    r->n_classes = n_classes;
    const pada_status st =
        pada_calloc(&mem, (size_t)n_classes * (size_t)n_classes, sizeof *r->confusion);
    if (st != PADA_OK) {
        pada_class_report_destroy(r);
        return st;
    }
    r->confusion = mem;
    *out = r;
    return PADA_OK;
}

void pada_class_report_destroy(pada_class_report *r)
{
    if (!r) return;
    pada_free(r->confusion);
    pada_free(r);
}

/* ---- counting ---- */

static pada_status check_image(const pada_class_report *r, const float *logits, int label, int i)
{
    if (label < 0 || label >= r->n_classes)
        return PADA_FAIL(PADA_EDATA, "label %d of image %d is not in 0..%d", label, i,
                         r->n_classes - 1);
    for (int c = 0; c < r->n_classes; c++)
        if (isnan(logits[c]))
            return PADA_FAIL(PADA_ENUMERIC, "logit %d of image %d is not a number", c, i);
    return PADA_OK;
}

/* How many classes come before the label. */
static int rank_of(const float *logits, int n, int label)
{
    int rank = 0;

    for (int c = 0; c < n; c++)
        rank += c < label ? logits[c] >= logits[label] : logits[c] > logits[label];
    return rank;
}

static int largest(const float *logits, int n)
{
    int best = 0;

    for (int c = 1; c < n; c++)
        if (logits[c] > logits[best]) best = c;
    return best;
}

pada_status pada_class_report_add(pada_class_report *r, const float *logits, const int32_t *labels,
                                  int n)
{
    for (int i = 0; i < n; i++)
        PADA_TRY(check_image(r, logits + (int64_t)i * r->n_classes, labels[i], i));
    for (int i = 0; i < n; i++) {
        const float *image = logits + (int64_t)i * r->n_classes;
        const int rank = rank_of(image, r->n_classes, labels[i]);
        r->top1 += rank < 1;
        r->top5 += rank < 5;
        r->confusion[(int64_t)labels[i] * r->n_classes + largest(image, r->n_classes)]++;
    }
    r->n_images += n;
    return PADA_OK;
}

/* ---- numbers ---- */

static pada_share share_of(int count, int n)
{
    pada_share share = {.count = count, .n = n, .percent = NAN, .low = NAN, .high = NAN};

    if (n == 0) return share;
    share.percent = 100.0 * count / n;
    pada_wilson_interval(count, n, &share.low, &share.high);
    return share;
}

bool pada_class_report_has_top5(const pada_class_report *r)
{
    return pada_has_top5(r->n_classes);
}

int pada_class_report_n_images(const pada_class_report *r)
{
    return r->n_images;
}

int pada_class_report_confusion(const pada_class_report *r, int label, int given)
{
    PADA_ASSERT(label >= 0 && label < r->n_classes && given >= 0 && given < r->n_classes);
    return r->confusion[(int64_t)label * r->n_classes + given];
}

pada_share pada_class_report_top(const pada_class_report *r, int k)
{
    PADA_ASSERT(k == 1 || k == 5);
    return share_of(k == 1 ? r->top1 : r->top5, r->n_images);
}

pada_share pada_class_report_recall(const pada_class_report *r, int c)
{
    int n = 0;

    for (int given = 0; given < r->n_classes; given++)
        n += pada_class_report_confusion(r, c, given);
    return share_of(pada_class_report_confusion(r, c, c), n);
}

pada_share pada_class_report_precision(const pada_class_report *r, int c)
{
    int n = 0;

    for (int label = 0; label < r->n_classes; label++)
        n += pada_class_report_confusion(r, label, c);
    return share_of(pada_class_report_confusion(r, c, c), n);
}

/* ---- text ---- */

static const char *name_of(const char *const *names, int c)
{
    return names ? names[c] : NULL;
}

static void print_share(const char *what, const pada_share *s, pada_text *out)
{
    if (s->n == 0)
        pada_text_add(out, "%s       -                  ", what);
    else
        pada_text_add(out, "%s %7.2f [%6.2f, %6.2f]", what, s->percent, s->low, s->high);
}

void pada_class_report_print(const pada_class_report *r, const char *const *names, pada_text *out)
{
    const pada_share top1 = pada_class_report_top(r, 1), top5 = pada_class_report_top(r, 5);

    pada_text_add(out, "images %d", r->n_images);
    print_share("  top-1", &top1, out);
    if (pada_class_report_has_top5(r)) print_share("  top-5", &top5, out);
    pada_text_add(out, "\n");
    for (int c = 0; c < r->n_classes; c++) {
        const pada_share recall = pada_class_report_recall(r, c);
        const pada_share precision = pada_class_report_precision(r, c);
        print_share("  recall", &recall, out);
        print_share("  precision", &precision, out);
        pada_text_add(out, "  images %6d  class %d", recall.n, c);
        if (name_of(names, c)) pada_text_add(out, " %s", name_of(names, c));
        pada_text_add(out, "\n");
    }
}

/* ---- JSON ---- */

/* Takes the value over; false: out of memory. */
static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *json_share(const pada_share *s)
{
    if (s->n == 0) return json_null();
    json_t *object = json_object();
    const bool is_done = set(object, "percent", json_real(s->percent)) &&
                         set(object, "low", json_real(s->low)) &&
                         set(object, "high", json_real(s->high));

    if (is_done) return object;
    json_decref(object);
    return NULL;
}

/* Null for a class without a name, or one that is not UTF-8. */
static json_t *json_name(const char *name)
{
    json_t *text = name ? json_string(name) : NULL;

    return text ? text : json_null();
}

static json_t *json_class(const pada_class_report *r, const char *const *names, int c)
{
    const pada_share recall = pada_class_report_recall(r, c);
    const pada_share precision = pada_class_report_precision(r, c);
    json_t *object = json_object();
    const bool is_done = set(object, "class", json_integer(c)) &&
                         set(object, "name", json_name(name_of(names, c))) &&
                         set(object, "images", json_integer(recall.n)) &&
                         set(object, "given", json_integer(precision.n)) &&
                         set(object, "recall", json_share(&recall)) &&
                         set(object, "precision", json_share(&precision));

    if (is_done) return object;
    json_decref(object);
    return NULL;
}

json_t *pada_class_report_classes(const pada_class_report *r, const char *const *names)
{
    pada_json_begin();
    json_t *classes = json_array();
    bool is_done = true;

    for (int c = 0; c < r->n_classes && is_done; c++)
        is_done = json_array_append_new(classes, json_class(r, names, c)) == 0;
    if (is_done && !pada_json_ran_out()) return classes;
    json_decref(classes);
    return NULL;
}

json_t *pada_class_report_json(const pada_class_report *r, const char *const *names)
{
    const pada_share top1 = pada_class_report_top(r, 1), top5 = pada_class_report_top(r, 5);
    json_t *classes = pada_class_report_classes(r, names);

    pada_json_begin();
    json_t *object = json_object();
    bool is_done = set(object, "images", json_integer(r->n_images));

    is_done = set(object, "top1", json_share(&top1)) && is_done;
    is_done = set(object, "top5", json_share(&top5)) && is_done;
    is_done = set(object, "classes", classes) && is_done;
    if (is_done && !pada_json_ran_out()) return object;
    json_decref(object);
    return NULL;
}

/* ---- CSV ---- */

static void add_name(const char *const *names, int c, pada_text *out)
{
    const char *name = name_of(names, c);

    if (!name) {
        pada_text_add(out, "%d", c);
        return;
    }
    pada_text_add(out, "\"");
    for (const char *p = name; *p; p++) {
        if (*p == '"') pada_text_add(out, "\"");
        pada_text_add_bytes(out, *p == '\n' || *p == '\r' ? " " : p, 1);
    }
    pada_text_add(out, "\"");
}

void pada_class_report_csv(const pada_class_report *r, const char *const *names, pada_text *out)
{
    pada_text_add(out, "label");
    for (int c = 0; c < r->n_classes; c++) {
        pada_text_add(out, ",");
        add_name(names, c, out);
    }
    pada_text_add(out, "\n");
    for (int label = 0; label < r->n_classes; label++) {
        add_name(names, label, out);
        for (int c = 0; c < r->n_classes; c++)
            pada_text_add(out, ",%d", pada_class_report_confusion(r, label, c));
        pada_text_add(out, "\n");
    }
}

/* ---- the file ---- */

pada_status pada_class_report_write_confusion(const pada_class_report *r, const char *const *names,
                                              const char *folder)
{
    pada_text path = {0}, csv = {0};
    pada_status st;

    pada_text_add(&path, "%s/" PADA_CONFUSION_FILE, folder);
    pada_class_report_csv(r, names, &csv);
    if ((st = path.status) == PADA_OK) st = csv.status;
    if (st == PADA_OK) st = pada_file_replace(path.data, csv.data, csv.length);
    pada_text_deinit(&path);
    pada_text_deinit(&csv);
    return st;
}
