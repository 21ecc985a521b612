/* report_test.c - what a network gets on images that it was not trained on, also class by class. */
#include <string.h>

#include "report/html.h"
#include "report/report_parts.h"
#include "study/class_report.h"

enum { MANY_CLASSES = 24, N_MISTAKES = 10 };

static void add_share(const pada_tested_share *share, pada_text *out)
{
    pada_text_add(out, "<td>");
    pada__report_percent(out, share->percent, 2);
    pada__report_interval(out, share->low, share->high, 2);
    pada_text_add(out, "</td>");
}

void pada__report_class(const pada_tested_model *model, int class, pada_text *out)
{
    pada_text_add(out, "%d", class);
    if (!model->classes[class].name) return;
    pada_text_add(out, " ");
    pada_html_text(out, model->classes[class].name);
}

/* ---- the models ---- */

static void add_models(const pada_test_results *test, pada_text *out)
{
    const pada_tested_model *used = pada_test_results_model(test);
    const bool has_top5 = !used || !used->classes || pada_has_top5(used->n_classes);

    pada__report_begin_table(out, NULL);
    pada_text_add(out,
                  "<thead><tr><th scope=\"col\">model</th><th scope=\"col\">top-1</th>"
                  "%s<th scope=\"col\">loss</th></tr></thead>\n<tbody>\n",
                  has_top5 ? "<th scope=\"col\">top-5</th>" : "");
    for (int i = 0; i < test->n_models; i++) {
        const pada_tested_model *model = &test->models[i];
        pada_text_add(out, "<tr><th scope=\"row\">%s</th>", model->name);
        add_share(&model->top1, out);
        if (has_top5) add_share(&model->top5, out);
        pada_text_add(out, "<td>");
        pada_html_number(out, model->loss, 4);
        pada_text_add(out, "</td></tr>\n");
    }
    pada__report_end_table(out);
}

static void add_choice(const pada_test_results *test, const pada_tested_model *model,
                       pada_text *out)
{
    if (!model->chosen_on) return;
    pada_text_add(out, "<p>The weights of %s are those with the best accuracy on ", model->name);
    pada_html_text(out, model->chosen_on);
    pada_text_add(out, " images, ");
    pada__report_percent(out, model->chosen_top1, 2);
    pada_text_add(out, "%s.</p>\n",
                  strcmp(model->chosen_on, test->split) == 0
                      ? "; as these are the images of the test, it is optimistic"
                      : "");
}

/* ---- classes ---- */

static void add_classes(const pada_tested_model *model, pada_text *out)
{
    pada__report_begin_table(out,
                             "Recall: the share of the images of a class that are given to it. "
                             "Precision: the share of what is given to it that is of it.");
    pada_text_add(out,
                  "<thead><tr><th scope=\"col\">class</th><th scope=\"col\">images</th>"
                  "<th scope=\"col\">recall</th><th scope=\"col\">precision</th></tr></thead>\n"
                  "<tbody>\n");
    for (int c = 0; c < model->n_classes; c++) {
        pada_text_add(out, "<tr><th scope=\"row\">");
        pada__report_class(model, c, out);
        pada_text_add(out, "</th><td>%d</td>", model->classes[c].images);
        add_share(&model->classes[c].recall, out);
        add_share(&model->classes[c].precision, out);
        pada_text_add(out, "</tr>\n");
    }
    pada__report_end_table(out);
}

/* ---- mistakes ---- */

typedef struct mistake {
    int label, given, count;
} mistake;

/* Puts a mistake into the list of the most frequent ones, in its place; of equal ones the first. */
static void keep_mistake(mistake *list, int *n, mistake m)
{
    int i = *n < N_MISTAKES ? (*n)++ : N_MISTAKES;

    for (; i > 0 && list[i - 1].count < m.count; i--)
        if (i < N_MISTAKES) list[i] = list[i - 1];
    if (i < N_MISTAKES) list[i] = m;
}

static int find_mistakes(const pada_test_results *test, int n_classes, mistake *list)
{
    int n = 0;

    for (int label = 0; label < n_classes; label++)
        for (int given = 0; given < n_classes; given++) {
            const int count = test->confusion[(size_t)label * (size_t)n_classes + (size_t)given];
            if (label != given && count > 0) keep_mistake(list, &n, (mistake){label, given, count});
        }
    return n;
}

static void add_mistakes(const pada_test_results *test, const pada_tested_model *model,
                         pada_text *out)
{
    mistake list[N_MISTAKES];
    const int n = find_mistakes(test, model->n_classes, list);

    if (n == 0) return;
    pada__report_begin_table(out, "The most frequent mistakes");
    pada_text_add(out, "<thead><tr><th scope=\"col\">images of</th><th scope=\"col\">given to</th>"
                       "<th scope=\"col\">images</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < n; i++) {
        pada_text_add(out, "<tr><td>");
        pada__report_class(model, list[i].label, out);
        pada_text_add(out, "</td><td>");
        pada__report_class(model, list[i].given, out);
        pada_text_add(out, "</td><td>%d of %d</td></tr>\n", list[i].count,
                      model->classes[list[i].label].images);
    }
    pada__report_end_table(out);
}

/* ---- all ---- */

static pada_status add_test(const pada_test_results *test, pada_text *out)
{
    const pada_tested_model *model = pada_test_results_model(test);

    pada_text_add(out, "<p>%d ", test->images);
    pada_html_text(out, test->split);
    pada_text_add(out, " images. Intervals are of 95&#8239;%%, for images drawn at random.</p>\n");
    add_models(test, out);
    add_choice(test, model, out);
    if (!model->classes) return out->status;
    pada_text_add(out, "<h3>Class by class (%s)</h3>\n", model->name);
    if (test->confusion) {
        PADA_TRY(pada__report_heat(test, model, out));
        add_mistakes(test, model, out);
    }
    if (model->n_classes > MANY_CLASSES) pada__report_begin_more(out, "All classes");
    add_classes(model, out);
    if (model->n_classes > MANY_CLASSES) pada__report_end_more(out);
    return out->status;
}

pada_status pada__report_test(const pada__report *r, pada_text *out)
{
    for (int i = 0; i < r->desc->n_runs; i++) {
        if (r->runs[i].test.n_models == 0) continue;
        pada__report_run_name(r, &r->runs[i], out);
        PADA_TRY(add_test(&r->runs[i].test, out));
    }
    return out->status;
}
