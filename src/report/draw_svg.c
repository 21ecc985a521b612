/* draw_svg.c - a cell as SVG. */
#include "report/draw.h"
#include "report/draw_layout.h"
#include "report/html.h"

/* Pixels; the layout counts on this font. */
enum { FONT_SIZE = 11, BASELINE = 4, HEAD = 7, HEAD_HALF = 3, NODE_CORNER = 6 };

static void add_text(const pada_draw_box *box, const char *text, pada_text *out)
{
    pada_text_add(out,
                  "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" stroke=\"none\" "
                  "fill=\"currentColor\">",
                  box->x, box->y + BASELINE);
    pada_html_text(out, text);
    pada_text_add(out, "</text>\n");
}

static void add_frame(const pada_draw_box *box, double corner, pada_text *out)
{
    pada_text_add(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\"/>\n",
                  box->x - box->width / 2, box->y - box->height / 2, box->width, box->height,
                  corner);
}

/* Down from a point to another, leaving and arriving vertically. */
static void add_curve(double from_x, double from_y, double to_x, double to_y, pada_text *out)
{
    const double middle = (from_y + to_y) / 2;

    pada_text_add(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", from_x, middle, to_x, middle, to_x, to_y);
}

static void add_line(const pada_sketch *sketch, const pada_draw_layout *layout, int i,
                     pada_text *out)
{
    const pada_draw_arrow *arrow = &layout->arrows[i];
    const pada_draw_box *from = &layout->boxes[sketch->arrows[i].from],
                        *to = &layout->boxes[sketch->arrows[i].to];
    double x = arrow->from_x, y = from->y + from->height / 2;

    pada_text_add(out, "<path d=\"M%.1f %.1f", x, y);
    for (int k = arrow->first_box; k < arrow->first_box + arrow->n_boxes; k++) {
        const pada_draw_box *box = &layout->boxes[k];
        add_curve(x, y, box->x, box->y - box->height / 2, out);
        x = box->x;
        y = box->y + box->height / 2;
        if (k == arrow->label) /* the line stops at the label and goes on below it */
            pada_text_add(out, "M%.1f %.1f", x, y);
        else
            pada_text_add(out, "V%.1f", y);
    }
    const double tip = to->y - to->height / 2;
    add_curve(x, y, arrow->to_x, tip - HEAD, out);
    pada_text_add(out,
                  "\"/>\n<path class=\"head\" fill=\"currentColor\" d=\"M%.1f %.1fl%d %dh%dz\"/>\n",
                  arrow->to_x, tip, HEAD_HALF, -HEAD, -2 * HEAD_HALF);
}

/* `op-LABEL`, where what cannot be in the name of a class is a dash. */
static void add_class(const pada_sketch_arrow *arrow, pada_text *out)
{
    pada_text_add(out, "<g class=\"edge op-");
    for (const char *p = arrow->label; *p; p++) {
        const bool is_word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                             (*p >= '0' && *p <= '9') || *p == '_';
        pada_text_add(out, "%c", is_word ? *p : '-');
    }
    pada_text_add(out,
                  arrow->is_dead ? " dead\" stroke-dasharray=\"4 3\" opacity=\"0.6\">\n" : "\">\n");
}

static void add_arrow(const pada_sketch *sketch, const pada_draw_layout *layout, int i,
                      pada_text *out)
{
    const pada_sketch_arrow *arrow = &sketch->arrows[i];

    add_class(arrow, out);
    pada_text_add(out, "<title>");
    pada_html_text(out, arrow->label);
    pada_text_add(out, ": ");
    pada_html_text(out, sketch->nodes[arrow->from]);
    pada_text_add(out, " to ");
    pada_html_text(out, sketch->nodes[arrow->to]);
    pada_text_add(out, "%s</title>\n", arrow->is_dead ? ", changes nothing" : "");
    add_line(sketch, layout, i, out);
    if (layout->arrows[i].label >= 0) {
        const pada_draw_box *box = &layout->boxes[layout->arrows[i].label];
        add_frame(box, box->height / 2, out);
        add_text(box, arrow->label, out);
    }
    pada_text_add(out, "</g>\n");
}

static void add_node(const pada_sketch *sketch, const pada_draw_layout *layout, int i,
                     pada_text *out)
{
    pada_text_add(out, layout->is_dead[i] ? "<g class=\"node dead\" opacity=\"0.6\">\n"
                                          : "<g class=\"node\">\n");
    add_frame(&layout->boxes[i], NODE_CORNER, out);
    add_text(&layout->boxes[i], sketch->nodes[i], out);
    pada_text_add(out, "</g>\n");
}

/* Colours are the reader's: that of the text around, and what style sheets say about the classes. */
pada_status pada_draw_svg(const pada_sketch *sketch, pada_text *out)
{
    pada_draw_layout layout;

    PADA_TRY(pada_draw_layout_init(&layout, sketch));
    pada_text_add(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-family=\"ui-monospace, monospace\" "
                  "font-size=\"%d\" fill=\"none\" stroke=\"currentColor\">\n",
                  layout.width, layout.height, layout.width, layout.height, FONT_SIZE);
    for (int i = 0; i < sketch->n_arrows; i++)
        add_arrow(sketch, &layout, i, out);
    for (int i = 0; i < sketch->n_nodes; i++)
        add_node(sketch, &layout, i, out);
    pada_text_add(out, "</svg>\n");
    pada_draw_layout_deinit(&layout);
    return out->status;
}
