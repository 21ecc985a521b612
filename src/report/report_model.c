/* report_model.c - the models that a run has made, and the commands that use them. */
#include "base/file.h"
#include "model/export.h"
#include "report/html.h"
#include "report/report_parts.h"
#include "train/keeper.h"

static const struct {
    const char *file, *meaning;
} models[] = {
    {PADA_BEST_FILE, "the weights that did best on images that are not trained on"},
    {PADA_LAST_FILE, "the weights at the end of the training"},
};
enum { N_MODELS = sizeof models / sizeof *models };

/* Appends a line about a file, which must be a model. */
static pada_status add_model(const char *path, const char *meaning, pada_text *out)
{
    pada_model_about about = {0};
    pada_file file = {0};
    pada_status st = pada_file_open(&file, path);

    const double bytes = (double)file.bytes;
    pada_file_close(&file);
    if (st == PADA_OK) st = pada_model_read(&about, path);
    pada_model_about_deinit(&about);
    PADA_TRY(st);
    pada_text_add(out, "<li><code>");
    pada_html_text(out, path);
    pada_text_add(out, "</code>, ");
    pada__report_count(out, bytes);
    pada_text_add(out, "B: %s</li>\n", meaning);
    return out->status;
}

/* Of one run; *n is how many it has. */
static pada_status add_models(const pada__report_run *run, pada_text *out, int *n)
{
    *n = 0;
    for (int i = 0; i < N_MODELS; i++) {
        pada_text path = {0};
        pada_text_add(&path, "%s/%s", run->name, models[i].file);
        pada_status st = path.status;
        if (st == PADA_OK && pada_path_exists(path.data)) {
            st = add_model(path.data, models[i].meaning, out);
            (*n)++;
        }
        pada_text_deinit(&path);
        PADA_TRY(st);
    }
    return PADA_OK;
}

static void add_command(const pada__report_run *run, const char *verb, const char *rest,
                        pada_text *out)
{
    pada_text_add(out, "<pre>pada %s ", verb);
    pada__report_word(out, run->name, "");
    pada_text_add(out, "%s", rest);
}

static void add_commands(const pada__report_run *run, pada_text *out)
{
    pada_text_add(out, "<p>What it sees in pictures:</p>\n");
    add_command(run, "predict", " photo.jpg --top 5</pre>\n", out);
    pada_text_add(out, "<p>Its accuracy once more, class by class:</p>\n");
    add_command(run, "eval", " --per-class</pre>\n", out);
    pada_text_add(out, "<p>For other programs:</p>\n");
    add_command(run, "export", " --to onnx --out ", out);
    pada__report_word(out, run->name, ".onnx");
    pada_text_add(out, "</pre>\n<ul>\n");
    for (int i = 0; i < pada_export_count(); i++) {
        pada_text_add(out, "<li><code>--to %s</code>: ", pada_export_get(i)->name);
        pada_html_text(out, pada_export_get(i)->summary);
        pada_text_add(out, "</li>\n");
    }
    pada_text_add(out, "</ul>\n");
}

pada_status pada__report_models(const pada__report *r, pada_text *out)
{
    for (int i = 0; i < r->desc->n_runs; i++) {
        pada_text list = {0};
        int n;
        pada_status st = add_models(&r->runs[i], &list, &n);
        if (st == PADA_OK) st = list.status;
        if (st == PADA_OK && n > 0) {
            pada__report_run_name(r, &r->runs[i], out);
            pada_text_add(out,
                          "<p>Each file is a network that says all about itself; of a folder "
                          "the first one is taken.</p>\n<ul>\n%s</ul>\n",
                          list.data);
            add_commands(&r->runs[i], out);
        }
        pada_text_deinit(&list);
        PADA_TRY(st);
    }
    return out->status;
}
