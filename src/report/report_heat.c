/* report_heat.c - a confusion matrix as a picture: a row for the images of each class, a column for what they were given to.
 *
 * A cell is the darker, the larger its share of the row. Cells without images are left out. Few classes have names and
 * numbers in the picture; with many a cell says on hovering what it is. */
#include <math.h>

#include "report/html.h"
#include "report/report_parts.h"

enum {
    FEW_CLASSES = 24,
    MOST_CLASSES = 128, /* the page would be too large; mistakes are a table anyway */
    CELL = 36,
    MARGIN = 20,      /* above, for the numbers of the columns */
    LABEL = 130,      /* left, for the names of the rows */
    LABEL_CODES = 14, /* characters that fit there */
    WIDTH = 640,      /* of the cells of many classes */
};

typedef struct heat {
    const pada_tested_model *model;
    const int *counts; /* [label][given] */
    int n;
    bool is_few;
    double cell; /* pixels, as the next ones */
    int left, top;
} heat;

static int count_at(const heat *h, int label, int given)
{
    return h->counts[(size_t)label * (size_t)h->n + (size_t)given];
}

static bool has_names(const pada_tested_model *model)
{
    for (int c = 0; c < model->n_classes; c++)
        if (model->classes[c].name) return true;
    return false;
}

/* The name of a class, cut to what fits. */
static void add_label(const heat *h, int class, pada_text *out)
{
    const char *name = h->model->classes[class].name, *end = name;
    pada_text text = {0};
    uint32_t code;

    pada_text_add(out, "%d", class);
    if (!name) return;
    for (int n = 0; n < LABEL_CODES && *end; n++) {
        const int bytes = pada_utf8_decode(end, &code);
        end += bytes > 0 ? bytes : 1;
    }
    pada_text_add_bytes(&text, name, (size_t)(end - name));
    pada_text_add(out, " ");
    pada_html_text(out, pada_text_str(&text));
    if (*end) pada_text_add(out, "&#8230;");
    if (text.status != PADA_OK) out->status = text.status;
    pada_text_deinit(&text);
}

static void add_labels(const heat *h, pada_text *out)
{
    for (int c = 0; c < h->n; c++) {
        const double middle = (c + 0.5) * h->cell;
        pada_text_add(out, "<text x=\"%g\" y=\"%d\" class=\"column\">%d</text>", h->left + middle,
                      h->top - 6, c);
        pada_text_add(out, "<text x=\"%d\" y=\"%g\" class=\"row\">", h->left - 6,
                      h->top + middle + 4);
        add_label(h, c, out);
        pada_text_add(out, "</text>\n");
    }
}

static void add_cell(const heat *h, int label, int given, pada_text *out)
{
    const int count = count_at(h, label, given);
    const double share = (double)count / h->model->classes[label].images;
    const double x = h->left + given * h->cell, y = h->top + label * h->cell;

    if (count == 0) return;
    pada_text_add(out, "<g><title>%d of %d images of ", count, h->model->classes[label].images);
    pada__report_class(h->model, label, out);
    pada_text_add(out, " given to ");
    pada__report_class(h->model, given, out);
    pada_text_add(out,
                  "</title><rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" "
                  "fill-opacity=\"%.2f\"/>",
                  label == given ? "right" : "wrong", x, y, h->cell, h->cell, fmax(share, 0.05));
    if (h->is_few)
        pada_text_add(out, "<text x=\"%g\" y=\"%g\" class=\"%s\">%d</text>", x + h->cell / 2,
                      y + h->cell / 2 + 4, share > 0.5 ? "on" : "off", count);
    pada_text_add(out, "</g>\n");
}

pada_status pada__report_heat(const pada_test_results *test, const pada_tested_model *model,
                              pada_text *out)
{
    const int n = model->n_classes;
    const bool is_few = n <= FEW_CLASSES;
    const heat h = {.model = model,
                    .counts = test->confusion,
                    .n = n,
                    .is_few = is_few,
                    .cell = is_few ? CELL : (double)WIDTH / n,
                    .left = !is_few            ? 1
                            : has_names(model) ? LABEL
                                               : MARGIN + 6,
                    .top = is_few ? MARGIN : 1};
    const double side = n * h.cell;

    if (n > MOST_CLASSES) return out->status;
    pada_text_add(out,
                  "<figure><figcaption>Confusion<span class=\"meaning\">A row: the images of a "
                  "class; a column: what they were given to.</span></figcaption>\n"
                  "<svg class=\"heat\" role=\"img\" aria-label=\"Confusion matrix\" viewBox=\"0 0 "
                  "%g %g\" width=\"%g\" height=\"%g\">\n",
                  h.left + side + 1, h.top + side + 1, h.left + side + 1, h.top + side + 1);
    pada_text_add(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%g\" height=\"%g\"/>\n",
                  h.left, h.top, side, side);
    if (is_few) add_labels(&h, out);
    for (int label = 0; label < n; label++)
        for (int given = 0; given < n; given++)
            add_cell(&h, label, given, out);
    pada_text_add(out, "</svg></figure>\n");
    return out->status;
}
