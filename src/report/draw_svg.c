/* draw_svg.c - cells laid out by Graphviz, an optional library. */
#include "report/draw.h"

#ifdef PADA_HAS_GRAPHVIZ

#include <graphviz/gvc.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
/* What Fontconfig keeps until the program ends is no leak of ours, and nothing to talk about. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
#endif

bool pada_draw_has_svg(void)
{
    return true;
}

/* Appends the element without the XML prologue before it, and without the names of its parts, which
 * would be there twice in a page of two drawings. */
static pada_status add_element(const char *svg, pada_text *out)
{
    const char *at = strstr(svg, "<svg");

    if (!at) return PADA_FAIL(PADA_EIO, "graphviz made no SVG of a cell");
    for (const char *id; (id = strstr(at, " id=\""));) {
        const char *quote = strchr(id + strlen(" id=\""), '"');
        if (!quote) break;
        pada_text_add_bytes(out, at, (size_t)(id - at));
        at = quote + 1;
    }
    pada_text_add(out, "%s", at);
    return out->status;
}

static pada_status render(GVC_t *context, const char *dot, pada_text *out)
{
    Agraph_t *graph = agmemread(dot);
    char *svg = NULL;
    unsigned bytes = 0;
    pada_status st;

    if (!graph) return PADA_FAIL(PADA_EIO, "graphviz does not understand the drawing of a cell");
    if (gvLayout(context, graph, "dot") != 0) {
        st = PADA_FAIL(PADA_EDEVICE, "graphviz has no layout 'dot' here");
    } else {
        st = gvRenderData(context, graph, "svg", &svg, &bytes) == 0 && svg
                 ? add_element(svg, out)
                 : PADA_FAIL(PADA_EDEVICE, "graphviz cannot write SVG here");
        gvFreeRenderData(svg);
        gvFreeLayout(context, graph);
    }
    agclose(graph);
    return st;
}

pada_status pada_draw_svg(const pada_sketch *sketch, pada_text *out)
{
    /* One for the whole program, never freed: Graphviz 2.42 keeps pointers into the first one. */
    static GVC_t *context;
    pada_text dot = {0};
    pada_status st = pada_draw_dot(sketch, &dot);

    if (!context) context = gvContext();
    if (st == PADA_OK)
        st = context ? render(context, dot.data, out)
                     : PADA_FAIL(PADA_ENOMEM, "graphviz: out of memory");
    pada_text_deinit(&dot);
    return st;
}

#else

bool pada_draw_has_svg(void)
{
    return false;
}

pada_status pada_draw_svg(const pada_sketch *sketch, pada_text *out)
{
    (void)sketch, (void)out;
    return PADA_FAIL(PADA_EDEVICE,
                     "this pada was built without Graphviz (libgraphviz-dev), which draws SVG");
}

#endif
