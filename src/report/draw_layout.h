/* draw_layout.h - where everything of a drawing goes: rows from top to bottom, nothing over anything.
 *
 *   row 0      [ input ]           nodes of layer 0: those that no arrow enters
 *   row 1       (conv)   |         between two layers: labels, and places where other arrows pass
 *   row 2      [node 1]  |         nodes of layer 1: the longest way to them has one arrow
 *   row 3       (skip) (pool)
 *   row 4      [ output ]
 *
 * An arrow has one box in each row between its ends, one of which is its label, so labels keep their
 * distance like nodes do. Between rows there are only lines. Positions are those of one sketch always:
 * nothing is measured, and nothing depends on fonts. */
#ifndef PADA_REPORT_DRAW_LAYOUT_H
#define PADA_REPORT_DRAW_LAYOUT_H

#include "base/status.h"
#include "space/sketch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lengths are pixels. */
typedef struct pada_draw_box {
    int row;
    double x, y; /* its middle */
    double width, height;
} pada_draw_box;

typedef struct pada_draw_arrow {
    int first_box, n_boxes; /* from row to row */
    int label;              /* one of these boxes; -1: the arrow has no label */
    double from_x,
        to_x; /* where it leaves one node at its lower edge and meets the other's upper */
} pada_draw_arrow;

/* Zero-initialise; deinit accepts that. */
typedef struct pada_draw_layout {
    double width, height;
    int n_rows, n_boxes;
    pada_draw_box *boxes; /* [n_boxes], owned: the nodes, then those of the arrows */
    pada_draw_arrow arrows[PADA_MAX_SKETCH];
    bool is_dead[PADA_MAX_SKETCH]; /* nodes that no live arrow touches, the ends excepted */
} pada_draw_layout;

/* Fails only for want of memory. */
pada_status pada_draw_layout_init(pada_draw_layout *layout, const pada_sketch *sketch);
void pada_draw_layout_deinit(pada_draw_layout *layout);

#ifdef __cplusplus
}
#endif
#endif
