/* draw.c - drawings of cells as text, and what all drawings share. */
#include "report/draw.h"

#include <string.h>

static void add_formula(const pada_sketch *sketch, int node, pada_text *out)
{
    int n_terms = 0;

    pada_text_add(out, "%s = ", sketch->nodes[node]);
    for (int i = 0; i < sketch->n_arrows; i++) {
        const pada_sketch_arrow *arrow = &sketch->arrows[i];
        if (arrow->to != node) continue;
        pada_text_add(out, "%s%s%s(%s)%s", n_terms++ > 0 ? " + " : "", arrow->is_dead ? "[" : "",
                      arrow->label, sketch->nodes[arrow->from], arrow->is_dead ? "]" : "");
    }
    pada_text_add(out, n_terms > 0 ? "\n" : "0\n");
}

pada_status pada_draw_text(const pada_sketch *sketch, pada_text *out)
{
    for (int node = 1; node < sketch->n_nodes; node++)
        if (!sketch->is_input[node]) add_formula(sketch, node, out);
    return out->status;
}

pada_status pada_draw_dot(const pada_sketch *sketch, pada_text *out)
{
    pada_text_add(out, "digraph cell {\n"
                       "  rankdir=LR; bgcolor=transparent;\n"
                       "  node [shape=box style=rounded fontname=Helvetica fontsize=12];\n"
                       "  edge [fontname=Helvetica fontsize=10];\n");
    for (int i = 0; i < sketch->n_nodes; i++)
        pada_text_add(out, "  \"%s\";\n", sketch->nodes[i]);
    for (int i = 0; i < sketch->n_arrows; i++) {
        const pada_sketch_arrow *arrow = &sketch->arrows[i];
        pada_text_add(out, "  \"%s\" -> \"%s\" [label=\"%s\" class=\"op-%s%s\"%s];\n",
                      sketch->nodes[arrow->from], sketch->nodes[arrow->to], arrow->label,
                      arrow->label, arrow->is_dead ? " dead" : "",
                      arrow->is_dead ? " style=dashed color=gray fontcolor=gray" : "");
    }
    pada_text_add(out, "}\n");
    return out->status;
}

pada_draw pada_draw_find(const char *name)
{
    static const struct {
        const char *name;
        pada_draw draw;
    } forms[] = {{"text", pada_draw_text}, {"dot", pada_draw_dot}, {"svg", pada_draw_svg}};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(name, forms[i].name) == 0) return forms[i].draw;
    return NULL;
}

pada_status pada_sketch_path(pada_sketch *sketch, const pada_space *space, const pada_path *path)
{
    if (!space->ops->sketch)
        return PADA_FAIL(PADA_EUNSUPPORTED, "space %s has no drawing", space->ops->name);
    space->ops->sketch(space, path, sketch);
    return PADA_OK;
}
