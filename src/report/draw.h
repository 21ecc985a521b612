/* draw.h - drawings of cells: as a formula per node, in Graphviz's language, as SVG. */
#ifndef PADA_REPORT_DRAW_H
#define PADA_REPORT_DRAW_H

#include "base/status.h"
#include "base/text.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends a drawing, which ends with a newline. */
typedef pada_status (*pada_draw)(const pada_sketch *sketch, pada_text *out);

/* "node 2 = nor_conv_3x3(input) + skip_connect(node 1)", a line for every node but the input. What
 * is dead stands in brackets. */
pada_status pada_draw_text(const pada_sketch *sketch, pada_text *out);
/* A graph from left to right, for Graphviz. Arrows have the classes `op-LABEL` and, dead ones, `dead`. */
pada_status pada_draw_dot(const pada_sketch *sketch, pada_text *out);
/* A graph from top to bottom (draw_layout.h) as an SVG element without XML prologue, for a file or
 * inside a page; it has no identifiers. Parts have the classes `node`, `edge op-LABEL` and, dead
 * ones, `dead`. */
pada_status pada_draw_svg(const pada_sketch *sketch, pada_text *out);

/* The function for "text", "dot" or "svg"; NULL for any other name. */
pada_draw pada_draw_find(const char *name);

/* Sketches the path; a space that has no drawing is PADA_EUNSUPPORTED. */
pada_status pada_sketch_path(pada_sketch *sketch, const pada_space *space, const pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
