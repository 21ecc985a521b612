/* nb201_blocks.h - cells whose weights belong to blocks: what edges share, and how the gate sees them. */
#ifndef PADA_SPACE_NB201_BLOCKS_H
#define PADA_SPACE_NB201_BLOCKS_H

#include "space/space.h"

/* The live edges of the canonical form, so that paths that compute the same get the same blocks. */
void pada_nb201_gate_cell(const pada_space *space, const pada_path *path, pada_gate_cell *cell);

/* Whether an edge of the path has this choice and the block of this site. */
bool pada_nb201_block_uses(const pada_space *space, const pada_path *path, int site, int choice);

#endif
