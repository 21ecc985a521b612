/* net.h - the net builder: a space writes its network once, as one walk.
 *
 * The walk of a space (pada_space_ops.walk) calls the functions below in the order in which images flow
 * through the network. What a call does depends on what the walk is for:
 *
 *   declare   adds parameters: names, shapes, initial values, owners. Every choice is walked. There are two
 *             walks, because the buffer has the shared parameters before those of sites
 *   build     adds nodes to a graph, with the offsets of their parameters. Only the choices of a path are walked
 *   cost      counts multiply-adds and parameters of a path in its final form. Nothing is known about zeros, so
 *             that dead edges count
 *   measure   counts the nodes and terms that the graph of any path may have. Every choice is walked
 *   visit     reports the parts of a path (part.h), or of every choice
 *
 * Running statistics of batch norms are declared by further walks, into a map of their own.
 *
 * Parameters are found again by counting: shared ones in the order of the walk, those of a (site, choice) from its
 * first one on. So a walk makes the same calls outside of choices whatever the path is, a call that gets zeros
 * included, and visits sites in ascending order.
 *
 * The first failure sticks and later calls do nothing more than the shapes; whoever began the walk reports it. */
#ifndef PADA_SPACE_NET_H
#define PADA_SPACE_NET_H

#include "base/text.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What flows: the value in the graph that is built, PADA_ZERO in all other walks, and the shape in all. */
typedef struct pada_feature {
    pada_value value;
    pada_shape shape;
} pada_feature;

#define PADA_MAX_CONCAT 16

typedef enum pada_bias {
    PADA_BIAS_NONE,
    PADA_BIAS_ADDED,
    /* In the search form, whose norms have no shift: it is a parameter as in PyTorch, and without effect, since
     * the norm that follows subtracts it again; the graph does not have it. In the final form there is none. */
    PADA_BIAS_BEFORE_NORM
} pada_bias;

/* ---- names ----
 * A parameter is called PREFIX.MODULE.weight or .bias. Enter appends ".text" to the prefix and returns what leave
 * wants back. Names are made while parameters are declared only. */
int pada_build_enter(pada_builder *b, const char *format, ...) PADA_PRINTF(2, 3);
void pada_build_leave(pada_builder *b, int mark);

/* ---- choices ----
 * Goes through the choices of a site, which `slot` decides, that the walk is about; parameters in the body of the loop
 * belong to them. The loop must end by itself:
 *
 *   for (int choice = -1; pada_build_choose(b, site, slot, &choice);) ..
 *
 * A site may be visited again, by another slot (blocks). A walk that is about none of them does not enter the loop, so
 * the shape of what comes out is known before it. */
bool pada_build_choose(pada_builder *b, int site, int slot, int *choice);
/* Whether the path uses a slot at all; true where every choice is walked. */
bool pada_build_takes(const pada_builder *b, int slot);
/* The block of a slot, and how many blocks are to be probed there: all of them where every choice is walked. */
int pada_build_block(const pada_builder *b, int slot);
int pada_build_probes(const pada_builder *b);
bool pada_build_is_final(const pada_builder *b); /* the form of the network */

/* ---- layers ---- */

pada_feature pada_build_images(pada_builder *b); /* three channels of the space's image size */
pada_feature pada_build_conv(pada_builder *b, pada_feature x, const pada_conv *conv, pada_bias bias,
                             const char *module);
/* The batch norm of z as a term: with scale and shift in the final form, and MODULE.running_mean and
 * .running_var where the graph has a map of such statistics. (Not returned: terms are large, and copies of
 * what has just been written were a quarter of the time of a walk.) */
void pada_build_norm(pada_builder *b, pada_feature z, const char *module, pada_term *term);
/* The same with scale and shift in both forms. */
void pada_build_affine_norm(pada_builder *b, pada_feature z, const char *module, pada_term *term);
/* A sum of that shape, also where all terms are zero. */
pada_feature pada_build_sum(pada_builder *b, pada_shape shape, const pada_term *terms, int n_terms);
/* A pool that is a node of its own; the average of a term (PADA_TERM_AVGPOOL) costs less where a sum follows. */
pada_feature pada_build_pool(pada_builder *b, pada_feature x, const pada_pool *pool,
                             pada_pool_kind kind, pada_act act);
/* All channels of 1 to PADA_MAX_CONCAT features of one size, one behind the other. */
pada_feature pada_build_concat(pada_builder *b, const pada_feature *parts, int n_parts);
/* act(x) times the sigmoid of s, which has one pixel and the channels of x. */
pada_feature pada_build_gate(pada_builder *b, pada_feature x, pada_act act, pada_feature s);
pada_feature pada_build_gap(pada_builder *b, pada_feature x, pada_act act);
/* Dropout (PADA_DROP_ELEMENTS) or drop path (PADA_DROP_IMAGES) in training, with this share of the rate of the step; else
 * x. */
pada_feature pada_build_drop(pada_builder *b, pada_feature x, pada_drop_kind kind, double share);
/* With bias. Counts a multiply-add per weight. */
pada_feature pada_build_linear(pada_builder *b, pada_feature x, int n_out, const char *module);
void pada_build_loss(pada_builder *b, pada_feature logits);
/* An auxiliary head: what is added between begin and end is there in training only, where `weight` times the loss of its
 * logits is added to the loss. It has parameters, and no costs. */
void pada_build_auxiliary_begin(pada_builder *b);
void pada_build_auxiliary_end(pada_builder *b, pada_feature logits, double weight);
/* What is built between begin and end from `x` to `y` is a part of the network, with its own latency; in and out of `part`
 * are filled in. Whoever builds it goes on with what the functions return or leave in *term: a space may consist of
 * that part alone. Parts do not contain parts. */
pada_feature pada_build_part_begin(pada_builder *b, const pada_part *part, pada_feature x);
pada_feature pada_build_part_end(pada_builder *b, pada_feature y);
/* The same where the part is a summand of a sum of that shape, or makes the logits. */
void pada_build_part_end_term(pada_builder *b, pada_shape shape, pada_term *term);
pada_feature pada_build_part_end_logits(pada_builder *b, pada_feature logits);
/* See graph.h. */
void pada_build_tap(pada_builder *b, pada_feature x);
/* The same at the end of a block that no alignment compares, such as the stem: kept where a graph has boundaries. */
void pada_build_boundary(pada_builder *b, pada_feature x);
void pada_build_probe(pada_builder *b, pada_feature y, const pada_term *terms, int n_terms);
/* What the literature of a space counts besides convolutions and weights of linear layers. */
void pada_build_count_macs(pada_builder *b, int64_t macs);

#ifdef __cplusplus
}
#endif
#endif
