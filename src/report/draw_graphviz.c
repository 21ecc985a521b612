/* draw_graphviz.c - cells laid out by Graphviz, an optional library. */
#include "report/draw.h"

#ifdef PADA_HAS_GRAPHVIZ

#include <graphviz/gvc.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
/* What Fontconfig keeps until the program ends is no leak of ours, and nothing to talk about. The
 * sanitizer finds only what is visible. */
PADA_API const char *__lsan_default_suppressions(void);
PADA_API const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
#endif

bool pada_draw_has_graphviz(void)
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

static pada_status add_picture(const char *png, unsigned bytes, pada_text *out)
{
    pada_text_add_bytes(out, png, bytes);
    return out->status;
}

static pada_status render(GVC_t *context, Agraph_t *graph, const char *format, pada_text *out)
{
    char *data = NULL;
    unsigned bytes = 0;
    pada_status st;

    if (gvRenderData(context, graph, format, &data, &bytes) != 0 || !data)
        st = PADA_FAIL(PADA_EDEVICE, "graphviz cannot write %s here", format);
    else
        st = strcmp(format, "svg") == 0 ? add_element(data, out) : add_picture(data, bytes, out);
    gvFreeRenderData(data);
    return st;
}

static pada_status draw(const char *dot, const char *format, pada_text *out)
{
    /* One for the whole program, never freed: Graphviz 2.42 keeps pointers into the first one. */
    static GVC_t *context;
    pada_status st;

    if (!context) context = gvContext();
    if (!context) return PADA_FAIL(PADA_ENOMEM, "graphviz: out of memory");
    agseterr(AGMAX); /* the message is ours */
    Agraph_t *graph = agmemread(dot);
    if (!graph) return PADA_FAIL(PADA_EIO, "graphviz does not understand the drawing of a cell");
    if (gvLayout(context, graph, "dot") == 0) {
        st = render(context, graph, format, out);
        gvFreeLayout(context, graph);
    } else {
        st = PADA_FAIL(PADA_EDEVICE, "graphviz has no layout 'dot' here");
    }
    agclose(graph);
    return st;
}

static pada_status draw_sketch(const pada_sketch *sketch, const char *format, pada_text *out)
{
    pada_text dot = {0};
    pada_status st = pada_draw_dot(sketch, &dot);

    if (st == PADA_OK) st = draw(dot.data, format, out);
    pada_text_deinit(&dot);
    return st;
}

pada_status pada_draw_svg(const pada_sketch *sketch, pada_text *out)
{
    return draw_sketch(sketch, "svg", out);
}

pada_status pada_draw_png(const pada_sketch *sketch, pada_text *out)
{
    return draw_sketch(sketch, "png", out);
}

#else

bool pada_draw_has_graphviz(void)
{
    return false;
}

pada_status pada_draw_svg(const pada_sketch *sketch, pada_text *out)
{
    (void)sketch, (void)out;
    return PADA_FAIL(PADA_EDEVICE,
                     "this pada was built without Graphviz (libgraphviz-dev), which draws SVG");
}

pada_status pada_draw_png(const pada_sketch *sketch, pada_text *out)
{
    (void)sketch, (void)out;
    return PADA_FAIL(PADA_EDEVICE,
                     "this pada was built without Graphviz (libgraphviz-dev), which draws PNG");
}

#endif
