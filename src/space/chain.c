/* chain.c - what spaces that are a chain of layers have in common. */
#include "space/chain.h"

static bool is_inner(const pada_chain *chain, int layer)
{
    return (chain->is_inner >> layer & 1) != 0;
}

void pada_chain_canonical(const pada_chain *chain, const pada_path *path, pada_path *out)
{
    pada_path form = {{0}};
    int to = 0; /* the next place for a layer that is not left out */

    for (int layer = 0; layer < chain->n_layers; layer++)
        form.choice[layer] = (uint8_t)chain->identity;
    for (int layer = 0; layer < chain->n_layers; layer++) {
        const uint8_t choice = path->choice[layer];
        if (!is_inner(chain, layer)) to = layer;
        if (!is_inner(chain, layer) || choice != chain->identity) form.choice[to++] = choice;
    }
    *out = form;
}

int pada_chain_n_sites(const pada_space *space)
{
    return space->ops->n_slots;
}

int pada_chain_site_slot(const pada_space *space, int site)
{
    (void)space;
    return site;
}

int pada_chain_n_blocks(const pada_chain *chain, const pada_path *path)
{
    int n = 0;

    for (int layer = 0; layer < chain->n_layers; layer++)
        n += path->choice[layer] != chain->identity;
    return n;
}

void pada_chain_sketch(const pada_space *space, const pada_chain *chain, const pada_path *path,
                       pada_sketch *out)
{
    static const char *const nodes[] = {"stem",     "layer 1",  "layer 2",  "layer 3",  "layer 4",
                                        "layer 5",  "layer 6",  "layer 7",  "layer 8",  "layer 9",
                                        "layer 10", "layer 11", "layer 12", "layer 13", "layer 14",
                                        "layer 15", "layer 16", "layer 17", "layer 18", "layer 19",
                                        "layer 20", "layer 21", "layer 22", "layer 23", "layer 24"};

    PADA_ASSERT(chain->n_layers < (int)(sizeof nodes / sizeof *nodes));
    *out = (pada_sketch){
        .n_nodes = chain->n_layers + 1, .n_arrows = chain->n_layers, .nodes = {nodes[0]}};
    for (int layer = 0; layer < chain->n_layers; layer++) {
        out->nodes[layer + 1] = nodes[layer + 1];
        out->arrows[layer] = (pada_sketch_arrow){
            .from = layer,
            .to = layer + 1,
            .label = space->ops->choice_label(space, layer, path->choice[layer])};
    }
}
