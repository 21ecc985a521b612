/* retrain_result.c - what a retrained network gets on the test images. */
#include "run/retrain_result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "study/ranking_table.h"

/* A share of the images in percent, and its 95 % interval. */
static void set_share(pada_text *out, json_t *object, const char *name, int n_right, int n)
{
    double low, high;
    char key[16];

    pada_wilson_interval(n_right, n, &low, &high);
    pada_json_set(out, object, name, json_real(100.0 * n_right / n));
    snprintf(key, sizeof key, "%s_lo", name);
    pada_json_set(out, object, key, json_real(low));
    snprintf(key, sizeof key, "%s_hi", name);
    pada_json_set(out, object, key, json_real(high));
}

static json_t *result_object(const pada_retrain_results *results, const pada_retrain_result *r,
                             pada_text *out)
{
    json_t *object = json_object();
    char hash[17];

    set_share(out, object, "top1", r->found.top1, r->found.n_images);
    set_share(out, object, "top5", r->found.top5, r->found.n_images);
    pada_json_set(out, object, "loss", json_real(r->found.loss));
    snprintf(hash, sizeof hash, "%016" PRIx64, r->weights_hash);
    pada_json_set(out, object, "weights_hash", json_string(hash));
    if (!isnan(r->val_top1)) {
        pada_json_set(out, object, "chosen_on", json_string(pada_split_name(results->chosen_on)));
        pada_json_set(out, object, "chosen_top1", json_real(r->val_top1));
    }
    pada_json_set(out, object, "classes",
                  pada_class_report_classes(r->report, results->class_names));
    return object;
}

static void add_json(const pada_retrain_results *results, pada_text *out)
{
    json_t *object = json_object();

    pada_json_set(out, object, "arch", json_string(results->arch));
    pada_json_set(out, object, "data", json_string(results->data));
    pada_json_set(out, object, "split", json_string(pada_split_name(results->split)));
    pada_json_set(out, object, "images", json_integer(results->of[0].found.n_images));
    for (int i = 0; i < results->n; i++)
        pada_json_set(out, object, results->of[i].name,
                      result_object(results, &results->of[i], out));
    pada_json_line(out, object);
}

void pada_retrain_results_deinit(pada_retrain_results *results)
{
    for (int i = 0; i < results->n; i++)
        pada_class_report_destroy(results->of[i].report);
    results->n = 0;
}

pada_status pada_retrain_results_write(const pada_retrain_results *results, const char *run)
{
    pada_text path = {0}, text = {0};
    pada_status st;

    add_json(results, &text);
    pada_text_add(&path, "%s/" PADA_TEST_FILE, run);
    if ((st = text.status) == PADA_OK) st = path.status;
    if (st == PADA_OK)
        st = pada_class_report_write_confusion(results->of[results->n - 1].report,
                                               results->class_names, run);
    if (st == PADA_OK) st = pada_file_replace(path.data, text.data, text.length);
    pada_text_deinit(&path);
    pada_text_deinit(&text);
    return st;
}

static void add_line(const pada_retrain_results *results, const pada_retrain_result *r,
                     pada_text *out)
{
    const pada_evaluation *found = &r->found;
    double low, high;

    pada_wilson_interval(found->top1, found->n_images, &low, &high);
    pada_text_add(out, "  %s  top-1 %.2f %% [%.2f, %.2f]", r->name,
                  100.0 * found->top1 / found->n_images, low, high);
    if (pada_class_report_has_top5(r->report)) {
        pada_wilson_interval(found->top5, found->n_images, &low, &high);
        pada_text_add(out, "  top-5 %.2f %% [%.2f, %.2f]", 100.0 * found->top5 / found->n_images,
                      low, high);
    }
    pada_text_add(out, "  loss %.4f  %d %s images", found->loss, found->n_images,
                  pada_split_name(results->split));
    if (!isnan(r->val_top1))
        pada_text_add(out, "  (chosen by %.2f %% of %s%s)", r->val_top1,
                      pada_split_name(results->chosen_on),
                      results->chosen_on == results->split ? ": optimistic" : "");
    pada_text_add(out, "\n");
}

void pada_retrain_results_print(const pada_retrain_results *results, bool json, pada_text *out)
{
    if (json) {
        add_json(results, out);
        return;
    }
    for (int i = 0; i < results->n; i++)
        add_line(results, &results->of[i], out);
}
