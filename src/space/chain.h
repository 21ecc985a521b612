/* chain.h - what spaces that are a chain of layers have in common. Slot = layer. */
#ifndef PADA_SPACE_CHAIN_H
#define PADA_SPACE_CHAIN_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_chain {
    int n_layers;
    int identity; /* the choice that leaves a layer out */
    uint64_t
        is_inner; /* bit i: layer i gives out what it gets in, in shape, and without weights where it is left out */
} pada_chain;

/* Inner layers that are left out move behind those that are not, as far as there are only inner layers: trained alone,
 * both are the same network. `out` may be `path`. */
void pada_chain_canonical(const pada_chain *chain, const pada_path *path, pada_path *out);

/* For pada_space_ops: every layer is one site, decided by its slot. */
int pada_chain_n_sites(const pada_space *space);
int pada_chain_site_slot(const pada_space *space, int site);

/* How many layers are not left out. */
int pada_chain_n_blocks(const pada_chain *chain, const pada_path *path);

/* Nodes "stem", "layer 1", .. with the labels of the choices between them; at most 24 layers. */
void pada_chain_sketch(const pada_space *space, const pada_chain *chain, const pada_path *path,
                       pada_sketch *out);

#ifdef __cplusplus
}
#endif
#endif
