/* engine_blocks.h - which block of weights each slot of a path runs, and the gate that chooses.
 *
 * Where weights belong to blocks (pada_space_config), every pass of engine.h asks the gate, whose weights
 * are parameters like others, which block a slot runs. Who trains the gate chooses the blocks:
 *
 *   pada_engine_read_gate(e, gate);                  the logits of a path, by block_gate.h
 *   pada_engine_forward_routed(e, path, batch, n);   with the blocks in the path
 *   pada_engine_backward(e);
 *   pada_engine_probes(e, derivatives);              by the factors that blocks have in their sums
 *   pada_engine_write_gate_grad(e, gate);
 *
 * The host waits for the device in the first and the fourth of them, once each. */
#ifndef PADA_ENGINE_ENGINE_BLOCKS_H
#define PADA_ENGINE_ENGINE_BLOCKS_H

#include "engine/engine.h"
#include "space/block_gate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The weights of the gate as they are now. */
void pada_engine_read_gate(const pada_engine *e, pada_block_gate *gate);
/* pada_engine_forward in mode PADA_TRAIN with the blocks that the path says. The first n_probes
 * blocks are computed at every slot with parameters and probed. */
pada_status pada_engine_forward_routed(pada_engine *e, const pada_path *path,
                                       const pada_batch *batch, int n_probes);
/* What the probes of the last backward pass say, over all sites: [slot, block], zero where there was
 * none. */
void pada_engine_probes(const pada_engine *e, double *derivatives);
/* The gradients of the gate, which no pass has a part in, become those of `gate`. */
void pada_engine_write_gate_grad(pada_engine *e, pada_block_gate *gate);

#ifdef __cplusplus
}
#endif
#endif
