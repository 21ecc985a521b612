/* space_proxyless.c - the search space of ProxylessNAS: a chain of 21 inverted bottlenecks for ImageNet.
 *
 *   images - conv - block - 4 layers - 4 - 4 - 4 - 4 - 1 - 1x1 - head - loss
 *            32     16      24 (or 32) 40  80  96  192 320 1280         channels (--widths)
 *            /2             /2         /2  /2      /2                   stride of the first of them
 *
 * A layer has one of six blocks or, where it keeps the shape, is left out: slot = site = layer. Names are those of the
 * published code: of its supernet, and of its networks. Its batch norms have another epsilon (0.001); ours is that of
 * all spaces. */
#include <string.h>

#include "space/chain.h"
#include "space/cost_scores.h"
#include "space/mobile_block.h"
#include "space/proxyless_codec.h"

enum { N_STAGES = 6, N_WIDTHS = 9 };
enum { FIRST_CONV, FIRST_BLOCK, FIRST_STAGE, MIX = FIRST_STAGE + N_STAGES }; /* of --widths */

/* ---- options ---- */

typedef struct settings {
    int64_t width;
    double se;
    pada_int_list widths;
} settings;

static const pada_opt options[] = {
    {.name = "width",
     .type = PADA_OPT_INT,
     .offset = offsetof(settings, width),
     .min = 1,
     .max = 65536,
     .meta = "N",
     .help = "channels of the first stage, 24 or 32 in the literature (default: 24)"},
    {.name = "widths",
     .type = PADA_OPT_INTS,
     .offset = offsetof(settings, widths),
     .min = 1,
     .max = 65536,
     .meta = "N,N,..",
     .help = "all nine widths: first convolution, first block, six stages, last convolution "
             "(default: 32,16,24,40,80,96,192,320,1280)"},
    {.name = "se",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(settings, se),
     .default_value = "0",
     .min = 0,
     .max = 1,
     .meta = "X",
     .help =
         "squeeze and excitation in all blocks, of this share of their input channels; 0: none"},
    {.name = NULL},
};

static const settings *settings_of(const pada_space *space)
{
    return (const settings *)(const void *)space->settings.bytes;
}

static pada_status check(pada_space *space)
{
    settings *s = (settings *)(void *)space->settings.bytes;

    if (s->widths.n == 0) return pada_space_resolve(&s->width, 24, "width", 1, 4096);
    if (s->width != 0) return PADA_FAIL(PADA_EINVAL, "--width and --widths: give one of them");
    if (s->widths.n != N_WIDTHS)
        return PADA_FAIL(PADA_EINVAL, "widths: %d numbers instead of %d", s->widths.n, N_WIDTHS);
    for (int i = 0; i < N_WIDTHS; i++)
        if (s->widths.values[i] < 1 || s->widths.values[i] > 4096)
            return PADA_FAIL(PADA_EINVAL, "widths: %d is not in 1..4096", s->widths.values[i]);
    return PADA_OK;
}

static int width_of(const pada_space *space, int i)
{
    static const int usual[N_WIDTHS] = {32, 16, 24, 40, 80, 96, 192, 320, 1280};
    const settings *s = settings_of(space);

    if (s->widths.n > 0) return s->widths.values[i];
    return i == FIRST_STAGE ? (int)s->width : usual[i];
}

/* ---- slots, choices, sites ---- */

typedef struct layer_shape {
    int c_in, c_out, stride;
} layer_shape;

static layer_shape shape_of(const pada_space *space, int layer)
{
    static const int strides[N_STAGES] = {2, 2, 2, 1, 2, 1};
    const int stage = layer / PADA_PROXYLESS_REPEATS;
    const bool is_first = layer % PADA_PROXYLESS_REPEATS == 0;
    const int c_out = width_of(space, FIRST_STAGE + stage);

    return (layer_shape){.c_in = is_first ? width_of(space, FIRST_STAGE + stage - 1) : c_out,
                         .c_out = c_out,
                         .stride = is_first ? strides[stage] : 1};
}

static bool is_inner(const pada_space *space, int layer)
{
    const layer_shape shape = shape_of(space, layer);

    return pada_mobile_keeps_shape(shape.c_in, shape.c_out, shape.stride);
}

static int n_choices(const pada_space *space, int slot)
{
    return is_inner(space, slot) ? PADA_PROXYLESS_OPS : PADA_PROXYLESS_IDENTITY;
}

static const char *choice_label(const pada_space *space, int slot, int choice)
{
    (void)space, (void)slot;
    PADA_ASSERT(choice >= 0 && choice < PADA_PROXYLESS_OPS);
    return pada_proxyless_labels[choice];
}

/* ---- the network ---- */

static const pada_mobile_names block_names = {
    {"inverted_bottleneck.conv", "inverted_bottleneck.bn"},
    {"depth_conv.conv", "depth_conv.bn"},
    {"point_linear.conv", "point_linear.bn"},
    "depth_conv.se.fc.reduce",
    "depth_conv.se.fc.expand"};

/* Channels of squeeze and excitation in a block that reads c_in. */
static int squeeze_of(const pada_space *space, int c_in)
{
    const double share = settings_of(space)->se;
    const int n = (int)(share * c_in + 0.5);

    return share > 0 && n < 1 ? 1 : n;
}

/* Layer 0 is blocks.1: the first block is no choice. */
static int enter_layer(pada_builder *b, int layer, int choice)
{
    if (pada_build_is_final(b))
        return pada_build_enter(b, "blocks.%d.mobile_inverted_conv", layer + 1);
    return pada_build_enter(b, "blocks.%d.mobile_inverted_conv.candidate_ops.%d", layer + 1,
                            choice);
}

/* Drop path grows with depth, as in timm: block b of the B that the network has, the first one included, has a share
 * of b / B. */
static double drop_share(const pada_space *space, int layer)
{
    int n_before = 1, n = 1;

    for (int i = 0; i < PADA_PROXYLESS_LAYERS; i++) {
        const bool is_block = space->network.choice[i] != PADA_PROXYLESS_IDENTITY;
        n += is_block;
        if (i < layer) n_before += is_block;
    }
    return (double)n_before / n;
}

static pada_feature walk_layer(const pada_space *space, pada_builder *b, int layer, pada_feature x)
{
    const layer_shape shape = shape_of(space, layer);
    const int size = (x.shape.h - 1) / shape.stride + 1;
    pada_feature y = {PADA_ZERO, {shape.c_out, size, size}}; /* where no choice is walked */

    for (int choice = -1; pada_build_choose(b, layer, layer, &choice);) {
        if (choice == PADA_PROXYLESS_IDENTITY) {
            y = x;
            continue;
        }
        const int mark = enter_layer(b, layer, choice);
        y = pada_build_mobile(b, x,
                              &(pada_mobile_block){.c_out = shape.c_out,
                                                   .kernel = pada_proxyless_kernel(choice),
                                                   .expand = pada_proxyless_expand(choice),
                                                   .stride = shape.stride,
                                                   .act = PADA_ACT_RELU6,
                                                   .squeeze = squeeze_of(space, shape.c_in),
                                                   .is_residual = is_inner(space, layer),
                                                   .drop_share = drop_share(space, layer),
                                                   .names = &block_names});
        pada_build_leave(b, mark);
    }
    return y;
}

/* It never adds its input, whatever the widths are. */
static pada_feature walk_first_block(const pada_space *space, pada_builder *b, pada_feature x)
{
    const int mark = pada_build_enter(b, "blocks.0.mobile_inverted_conv");
    const pada_feature y = pada_build_mobile(
        b, x,
        &(pada_mobile_block){.c_out = width_of(space, FIRST_BLOCK),
                             .kernel = 3,
                             .expand = 1,
                             .stride = 1,
                             .act = PADA_ACT_RELU6,
                             .act_in = PADA_ACT_RELU6, /* that of the first convolution */
                             .squeeze = squeeze_of(space, x.shape.c),
                             .names = &block_names});

    pada_build_leave(b, mark);
    return y;
}

static void walk(const pada_space *space, pada_builder *b)
{
    static const pada_conv_names first_names = {"first_conv.conv", "first_conv.bn"},
                                 mix_names = {"feature_mix_layer.conv", "feature_mix_layer.bn"};
    pada_feature x = pada_build_images(b);
    const pada_conv first =
        pada_conv_make(x.shape.c, width_of(space, FIRST_CONV), 3, 2, 1, PADA_ACT_NONE);

    x = pada_build_conv_part(b, x, &first, &first_names, "Conv");
    x = walk_first_block(space, b, x);
    for (int layer = 0; layer < PADA_PROXYLESS_LAYERS; layer++) {
        x = walk_layer(space, b, layer, x);
        pada_build_tap(b, x);
    }
    const pada_conv mix = pada_conv_make(x.shape.c, width_of(space, MIX), 1, 1, 0, PADA_ACT_NONE);
    x = pada_build_conv_part(b, x, &mix, &mix_names, "Conv_1");
    pada_build_mobile_head(b, x,
                           &(pada_mobile_head){.classes = space->config.classes,
                                               .act = PADA_ACT_RELU6,
                                               .is_dropped = true,
                                               .classifier = "classifier.linear"});
}

/* ---- what is said about a path ---- */

static pada_chain chain_of(const pada_space *space)
{
    pada_chain chain = {.n_layers = PADA_PROXYLESS_LAYERS, .identity = PADA_PROXYLESS_IDENTITY};

    for (int layer = 0; layer < PADA_PROXYLESS_LAYERS; layer++)
        if (is_inner(space, layer)) chain.is_inner |= UINT64_C(1) << layer;
    return chain;
}

static void canonical(const pada_space *space, const pada_path *path, pada_path *out)
{
    const pada_chain chain = chain_of(space);

    pada_chain_canonical(&chain, path, out);
}

static void sketch(const pada_space *space, const pada_path *path, pada_sketch *out)
{
    const pada_chain chain = chain_of(space);

    pada_chain_sketch(space, &chain, path, out);
}

static double n_blocks(const pada_space *space, const pada_path *path)
{
    const pada_chain chain = chain_of(space);

    return pada_chain_n_blocks(&chain, path);
}

static const pada_space_score scores[] = {
    {"macs", "multiply-adds", pada_score_macs},
    {"params", "parameters", pada_score_params},
    {"blocks", "layers that are not left out", n_blocks},
    {NULL, NULL, NULL},
};

extern const pada_space_ops pada_space_proxyless;
const pada_space_ops pada_space_proxyless = {
    .name = "proxyless",
    .summary = "ProxylessNAS: a chain of 21 layers with 6 or 7 operators",
    .n_slots = PADA_PROXYLESS_LAYERS,
    .defaults = {.classes = 1000, .image_size = 224},
    .options = options,
    .settings_bytes = sizeof(settings),
    .check = check,
    .norm_epsilon = 1e-3,
    .n_choices = n_choices,
    .choice_label = choice_label,
    .n_sites = pada_chain_n_sites,
    .site_slot = pada_chain_site_slot,
    .walk = walk,
    .canonical = canonical,
    .sketch = sketch,
    .scores = scores,
    .dialects = pada_proxyless_dialects,
    .parse = pada_proxyless_parse,
    .format = pada_proxyless_format,
};
