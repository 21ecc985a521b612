/* net_list.h - a trained network as a list of plain layers: what every exporter walks.
 *
 * The list is made of the graph of the path in evaluation form (graph.h). Where a graph has one node for a sum of
 * normalised, pooled values that is read through an activation, the list has a layer for each of these. Operands stand
 * before their readers; what the network does not need (auxiliary heads, dead edges, dropout) is not there. */
#ifndef PADA_MODEL_NET_LIST_H
#define PADA_MODEL_NET_LIST_H

#include "model/model_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_layer_kind {
    PADA_LAYER_INPUT,   /* the images, always the first */
    PADA_LAYER_CONV,    /* without its activation; bias may be NULL */
    PADA_LAYER_NORM,    /* (x - mean) / sqrt(variance + epsilon) * weight + bias */
    PADA_LAYER_ACT,     /* ReLU or ReLU6 */
    PADA_LAYER_AVGPOOL, /* of the pixels inside the image */
    PADA_LAYER_MAXPOOL,
    PADA_LAYER_SUM,      /* of two */
    PADA_LAYER_CONCAT,   /* of channels */
    PADA_LAYER_CONSTANT, /* bias of its channel, everywhere */
    PADA_LAYER_GAP,      /* the mean over all pixels */
    PADA_LAYER_GATE,     /* x times the sigmoid of s, which has one pixel */
    PADA_LAYER_LINEAR,   /* the logits, always the last */
} pada_layer_kind;

typedef struct pada_layer {
    pada_layer_kind kind;
    pada_shape shape;          /* of what it makes */
    int first_input, n_inputs; /* in pada_net_list.inputs */
    pada_conv conv;
    pada_pool pool;
    pada_act act;
    char module[96]; /* in PyTorch's state_dict: CONV, NORM, LINEAR */
    /* Owned, NULL where there is none. CONV [c_out, c_in / groups, k, k] and LINEAR [out, in] as PyTorch has them, NORM one
     * per channel. */
    float *weight, *bias, *mean, *variance;
    double epsilon; /* NORM */
} pada_layer;

/* Zero-initialise; deinit accepts that and half-made ones. */
typedef struct pada_net_list {
    pada_layer *layers;
    int n_layers, cap_layers;
    int *inputs; /* indices of layers */
    int n_inputs, cap_inputs;
} pada_net_list;

typedef struct pada_net_options {
    bool fold_norms; /* into the convolutions in front of them, where nobody else reads these */
    bool normalise;  /* the network takes pixels / 255 and normalises them itself */
} pada_net_options;

/* Of the network of a model, whose weights and statistics the engine has. */
pada_status pada_net_list_init(pada_net_list *net, const pada_model_about *about,
                               const pada_engine *e, const pada_net_options *options);
void pada_net_list_deinit(pada_net_list *net);

/* The i-th operand of a layer: its index. */
int pada_net_input(const pada_net_list *net, const pada_layer *layer, int i);
/* Elements of the weight of a layer; 0: it has none. Other tensors have one for each channel of its shape. */
int64_t pada_layer_weights(const pada_net_list *net, const pada_layer *layer);

#ifdef __cplusplus
}
#endif
#endif
