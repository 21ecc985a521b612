/* space.h - search spaces: a set of slots, each with a few choices, and the network of every path.
 *
 * A space is one file (space_nb201.c, ...) and one line in spaces.def. It says what its slots and
 * choices are and what the network looks like (walk, with the builder of net.h). Everything else -
 * parameters, graphs, costs, sampling, training, ranking - is written once for all spaces. Paths
 * (the choice of every slot) and the sizes of networks are public: include/pada.h. */
#ifndef PADA_SPACE_SPACE_H
#define PADA_SPACE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "space/block_gate.h"
#include "space/part.h"
#include "space/sketch.h"
#include "tensor/params.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_MAX_BLOCKS 5

typedef struct pada_builder pada_builder; /* net.h */

/* Sizes that every space has. */
typedef struct pada_space_sizes {
    int classes, image_size;
    int blocks; /* 0: the weights of a site belong to its slot */
} pada_space_sizes;

/* The values of a space's own options: a struct of the space lies in the bytes. */
typedef union pada_space_settings {
    int64_t align;
    unsigned char bytes[96];
} pada_space_settings;

/* The most that the graph of a path can have. */
typedef struct pada_net_room {
    int nodes, terms;
    uint64_t drops; /* set of the pada_drop_kind that there are in training */
} pada_net_room;

/* Something that can be said about a path without training: more of it should be better. */
typedef struct pada_space_score {
    const char *name;  /* one word: "macs"; NULL ends a table */
    const char *label; /* for people */
    double (*score)(const pada_space *space, const pada_path *path); /* finite */
} pada_space_score;

typedef struct pada_space_ops {
    const char *name;
    const char *summary; /* one line for `pada info` */
    int n_slots;
    pada_space_sizes defaults;
    /* Options of the space: fields of a struct of settings_bytes; no strings. NULL: there are none. A value of
     * zero that is no value of the option means the default of the space. */
    const pada_opt *options;
    size_t settings_bytes;
    /* Puts defaults in place of zeros, checks settings and sizes, and sets the number of blocks; NULL: all is well. */
    pada_status (*check)(pada_space *space);
    double norm_epsilon; /* of its batch norms; 0: PADA_NORM_EPSILON */
    int (*n_choices)(const pada_space *space, int slot);
    const char *(*choice_label)(const pada_space *space, int slot, int choice);
    /* Whether the path uses a slot, such as an edge that another slot takes or leaves out; NULL: all always. */
    bool (*takes)(const pada_space *space, const pada_path *path, int slot);
    /* Slots of one group share a distribution where a method has one for all of them, such as those of one kind of cell;
     * NULL: all are one group. */
    int (*slot_group)(const pada_space *space, int slot);
    /* How many paths differ in slots that they use; NULL: all paths. */
    double (*n_networks)(const pada_space *space);
    int (*n_sites)(const pada_space *space);
    int (*site_slot)(const pada_space *space, int site); /* -1: several decide it */
    /* Whether a path, with the blocks of its slots, runs this choice at a site that several slots decide; NULL:
     * there is none. */
    bool (*uses)(const pada_space *space, const pada_path *path, int site, int choice);
    /* The cell of a path as the gate sees it, which is parameters gate.* where there is more than one block.
     * NULL: there are no blocks. */
    void (*gate_cell)(const pada_space *space, const pada_path *path, pada_gate_cell *cell);
    /* The network, from images to loss, with the same taps for every path: what alignment compares,
     * such as the outputs of cells. With blocks, a probe of pada_build_probes of them at every slot with
     * parameters, marked slot * blocks + block. */
    void (*walk)(const pada_space *space, pada_builder *b);
    /* Paths that together need as much memory of every kind as any path does; the first one has the
     * most multiply-adds. False: there is no number i. NULL: the paths that have choice i, or their last one,
     * in every slot; an engine then makes more room when a path needs it. */
    bool (*extreme)(const pada_space *space, int i, pada_path *out);
    /* The same function with the fewest live choices: two paths with equal canonical forms are the same network when
     * they are trained alone. Where they read other weights of a supernet, those of the form judge both. */
    void (*canonical)(const pada_space *space, const pada_path *path, pada_path *out);
    /* Whether nothing flows from the input of a cell to its output, so that only the last bias
     * learns; NULL: no path is dead. */
    bool (*dead)(const pada_space *space, const pada_path *path);
    /* Appends a text that is the same for isomorphic paths, as the literature of the space defines
     * them; NULL: it does not. */
    void (*iso_key)(const pada_space *space, const pada_path *path, pada_text *out);
    /* What a drawing of the path shows; NULL: there is none. */
    void (*sketch)(const pada_space *space, const pada_path *path, pada_sketch *out);
    /* Baselines of a ranking; NULL: none. */
    const pada_space_score *scores;
    /* NULL-terminated. The first one is canonical; it is a field of CSV files, so that it has no
     * commas and no quotes. */
    const char *const *dialects;
    /* Strict: the whole text must be one architecture. dialect NULL: any that is not ambiguous. */
    pada_status (*parse)(const pada_space *space, const char *text, const char *dialect,
                         pada_path *path);
    pada_status (*format)(const pada_space *space, const pada_path *path, const char *dialect,
                          pada_text *out);
} pada_space_ops;

/* A space has two forms. The search form is the supernet of all paths: batch norms have no scale and shift. The
 * final form is one network by itself, with them, and without convolution biases in front of them. */
struct pada_space {
    const pada_space_ops *ops;
    pada_space_sizes config;
    pada_space_settings settings;
    bool is_final;
    pada_path network; /* of the final form: the only path there is */
    /* of the form with one part: which one, and what else is there; NONE: the whole network */
    pada_part_form part_form;
    pada_part_place part;
};

/* Finds a space by name; an unknown one is PADA_EINVAL and offers the nearest name. */
pada_status pada_space_find(const pada_space_ops **out, const char *name);
int pada_space_count(void);
const pada_space_ops *pada_space_get(int i);

/* Fills in the defaults and checks the sizes; the second one has the settings of the space already. An option that the
 * space does not have is PADA_EINVAL. */
pada_status pada_space_init(pada_space *space, const pada_space_ops *ops,
                            const pada_space_config *config);
pada_status pada_space_init_settings(pada_space *space, const pada_space_ops *ops, int classes,
                                     int image_size, const pada_space_settings *settings);
/* Takes the default for zero and checks the range, for pada_space_ops.check. */
pada_status pada_space_resolve(int64_t *value, int64_t fallback, const char *what, int64_t min,
                               int64_t max);
/* Appends name, settings and sizes: "nb201 channels 16 cells 5 classes 10 image size 32". Settings that are zero
 * or false are left out. */
void pada_space_describe(const pada_space *space, pada_text *out);
/* Appends the flags that make such a space: " --space nb201 --channels 16 --cells 5". */
void pada_space_flags(const pada_space *space, pada_text *out);
/* The paths of pada_space_ops.extreme; of the final form its network. */
bool pada_space_extreme(const pada_space *space, int i, pada_path *out);

/* The final form of one network of a space. */
void pada_space_finalise(pada_space *out, const pada_space *space, const pada_path *network);

/* Calls `visit` for every part of a network in its final form, NULL: of all choices, in the order of the walk. A failure ends it
 * and is returned. */
typedef pada_status (*pada_part_visit)(void *user, const pada_part *part,
                                       const pada_part_place *place);
pada_status pada_space_visit_parts(const pada_space *space, const pada_path *path,
                                   pada_part_visit visit, void *user);
/* A space with one network, which consists of one part, or only of what surrounds it (space/part.h): for measurements. Its path
 * is that of zeros. */
void pada_space_isolate(pada_space *out, const pada_space *space, const pada_part_place *part,
                        pada_part_form form);

/* Adds the parameters of a space: shared ones, then by (site, choice). */
pada_status pada_space_declare(const pada_space *space, pada_params *params);
/* Running mean and variance of its batch norms, a map of their own (graph.h). */
pada_status pada_space_declare_statistics(const pada_space *space, pada_params *statistics);
/* Adds the network of the path to an empty graph, with the parameters that were declared. Allocates nothing;
 * pada_graph_status has the first failure. */
void pada_space_build(const pada_space *space, const pada_params *params, const pada_path *path,
                      pada_graph *graph);
/* Dead parts count: the network by itself contains them. */
void pada_space_cost(const pada_space *space, const pada_path *path, pada_cost *cost);
/* The same of the path as it is in the supernet. */
void pada_space_search_cost(const pada_space *space, const pada_path *path, pada_cost *cost);
/* Walks the network without a path. Sizes with which it does not exist, such as images smaller than a
 * kernel, are PADA_EINVAL. */
pada_status pada_space_measure(const pada_space *space, pada_net_room *room);

/* Gives slots that the path does not use their first choice, so that equal networks are equal paths. */
void pada_path_settle(const pada_space *space, pada_path *path);
/* A path with every choice equally likely, settled. */
void pada_path_random(const pada_space *space, pada_rng *rng, pada_path *path);
int pada_path_equal(const pada_space *space, const pada_path *a, const pada_path *b);
/* The block of a slot. */
static inline int pada_path_block(const pada_space *space, const pada_path *path, int slot)
{
    return path->choice[space->ops->n_slots + slot];
}
/* Whether a path uses a slot: what it has chosen there matters. */
bool pada_path_takes(const pada_space *space, const pada_path *path, int slot);
/* Whether a path runs this choice at this site. */
bool pada_path_uses(const pada_space *space, const pada_path *path, int site, int choice);
/* Whether every slot has one of its choices; for paths that come from a file. */
bool pada_path_is_valid(const pada_space *space, const pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
