/* space_macro.c - the search space of NAS-Bench-Macro: a chain of eight layers in three stages.
 *
 *   images - stem - 2 layers - 3 layers - 3 layers - 1x1 - head - loss
 *            C      2C         4C         8C         F             channels
 *            S      S/2        S/4        S/8                      rows = columns
 *
 * A layer is left out or an inverted bottleneck: slot = site = layer. The first layer of a stage has stride 2 and
 * twice the channels; left out, it is a 1x1 convolution, so that it has weights. Names are those of the published
 * code, with the number of the choice behind the layer in the supernet, of which there is none. */
#include <string.h>

#include "space/chain.h"
#include "space/cost_scores.h"
#include "space/mobile_block.h"

enum { N_LAYERS = 8 };
enum { IDENTITY, MB3, MB5, N_OPS };

static const char *const labels[N_OPS] = {"identity", "ir_3x3_t3", "ir_5x5_t6"};
static const char *const dialects[] = {"macro", NULL};

/* ---- options ---- */

typedef struct settings {
    int64_t channels, features;
} settings;

/* Ranges only keep the values inside an int; check has the real ones. */
#define SIZE_OPTION(option_name, field, text)                                                     \
    {                                                                                             \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(settings, field), .min = 1, \
        .max = 1000000, .meta = "N", .help = text                                                 \
    }

static const pada_opt options[] = {
    SIZE_OPTION("channels", channels,
                "channels of the stem; stages have 2, 4, 8 times as many "
                "(default: 32)"),
    SIZE_OPTION("features", features, "channels in front of the classifier (default: 1280)"),
    {.name = NULL},
};

static const settings *settings_of(const pada_space *space)
{
    return (const settings *)(const void *)space->settings.bytes;
}

static pada_status check(pada_space *space)
{
    settings *s = (settings *)(void *)space->settings.bytes;

    PADA_TRY(pada_space_resolve(&s->channels, 32, "channels", 1, 512));
    PADA_TRY(pada_space_resolve(&s->features, 1280, "features", 1, 65536));
    if (space->config.image_size % 8 != 0) /* halved three times, without a remainder */
        return PADA_FAIL(PADA_EINVAL, "image size %d is not a multiple of 8",
                         space->config.image_size);
    return PADA_OK;
}

/* ---- slots, choices, sites ---- */

static int n_choices(const pada_space *space, int slot)
{
    (void)space, (void)slot;
    return N_OPS;
}

static const char *choice_label(const pada_space *space, int slot, int choice)
{
    (void)space, (void)slot;
    PADA_ASSERT(choice >= 0 && choice < N_OPS);
    return labels[choice];
}

/* All but the first ones of the stages. */
static const pada_chain chain = {
    .n_layers = N_LAYERS, .identity = IDENTITY, .is_inner = 0xff & ~(1 << 0 | 1 << 2 | 1 << 5)};

/* ---- the network ---- */

/* The first layer of a stage in place of a block. */
static pada_feature walk_downsample(pada_builder *b, pada_feature x, int c_out, pada_act act)
{
    static const pada_conv_names names = {"downsample.0", "downsample.1"};
    const pada_conv conv = pada_conv_make(x.shape.c, c_out, 1, 2, 0, act);

    return pada_build_conv_part(b, x, &conv, &names, "downsample");
}

static pada_feature walk_layer(pada_builder *b, int layer, pada_feature x)
{
    static const pada_mobile_names names = {
        {"conv.0", "conv.1"}, {"conv.3", "conv.4"}, {"conv.6", "conv.7"}, NULL, NULL};
    const bool is_first = (chain.is_inner >> layer & 1) == 0;           /* of its stage */
    const pada_act act_in = layer == 0 ? PADA_ACT_RELU : PADA_ACT_NONE; /* that of the stem */
    const int c_out = is_first ? 2 * x.shape.c : x.shape.c;
    const int size = is_first ? x.shape.h / 2 : x.shape.h;
    pada_feature y = {PADA_ZERO, {c_out, size, size}}; /* where no choice is walked */

    for (int choice = -1; pada_build_choose(b, layer, layer, &choice);) {
        const int mark = pada_build_is_final(b)
                             ? pada_build_enter(b, "features.%d", layer)
                             : pada_build_enter(b, "features.%d.%d", layer, choice);
        if (choice != IDENTITY)
            y = pada_build_mobile(b, x,
                                  &(pada_mobile_block){.c_out = c_out,
                                                       .kernel = choice == MB3 ? 3 : 5,
                                                       .expand = choice == MB3 ? 3 : 6,
                                                       .stride = is_first ? 2 : 1,
                                                       .act = PADA_ACT_RELU,
                                                       .act_in = act_in,
                                                       .is_residual = !is_first,
                                                       .names = &names});
        else
            y = is_first ? walk_downsample(b, x, c_out, act_in) : x;
        pada_build_leave(b, mark);
    }
    return y;
}

static void walk(const pada_space *space, pada_builder *b)
{
    static const pada_conv_names stem_names = {"stem.0", "stem.1"}, out_names = {"out.0", "out.1"};
    const settings *s = settings_of(space);
    pada_feature x = pada_build_images(b);
    const pada_conv stem = pada_conv_make(x.shape.c, (int)s->channels, 3, 1, 1, PADA_ACT_NONE);

    x = pada_build_conv_part(b, x, &stem, &stem_names, "Conv");
    pada_build_boundary(b, x);
    for (int layer = 0; layer < N_LAYERS; layer++) {
        x = walk_layer(b, layer, x);
        pada_build_tap(b, x);
    }
    const pada_conv out = pada_conv_make(x.shape.c, (int)s->features, 1, 1, 0, PADA_ACT_NONE);
    x = pada_build_conv_part(b, x, &out, &out_names, "Conv_1");
    pada_build_mobile_head(b, x,
                           &(pada_mobile_head){.classes = space->config.classes,
                                               .act = PADA_ACT_RELU,
                                               .classifier = "classifier"});
}

/* ---- what is said about a path ---- */

static void canonical(const pada_space *space, const pada_path *path, pada_path *out)
{
    (void)space;
    pada_chain_canonical(&chain, path, out);
}

static void sketch(const pada_space *space, const pada_path *path, pada_sketch *out)
{
    pada_chain_sketch(space, &chain, path, out);
}

/* ---- baselines ---- */

static double n_blocks(const pada_space *space, const pada_path *path)
{
    (void)space;
    return pada_chain_n_blocks(&chain, path);
}

static double code_sum(const pada_space *space, const pada_path *path)
{
    int sum = 0;

    (void)space;
    for (int layer = 0; layer < N_LAYERS; layer++)
        sum += path->choice[layer];
    return sum;
}

static const pada_space_score scores[] = {
    {"macs", "multiply-adds", pada_score_macs},
    {"params", "parameters", pada_score_params},
    {"blocks", "layers that are not left out", n_blocks},
    {"code_sum", "sum of the digits", code_sum},
    {NULL, NULL, NULL},
};

/* ---- text ---- */

static pada_status check_dialect(const char *dialect)
{
    if (!dialect || strcmp(dialect, dialects[0]) == 0) return PADA_OK;
    return pada_fail_unknown(PADA_EINVAL, "unknown dialect", dialect, dialects, 1);
}

/* Strict: "01201201", a digit for every layer. */
static pada_status parse(const pada_space *space, const char *text, const char *dialect,
                         pada_path *path)
{
    const size_t n = strlen(text), n_digits = strspn(text, "012");
    pada_path parsed = {{0}};

    (void)space;
    PADA_TRY(check_dialect(dialect));
    if (n_digits < n)
        return PADA_FAIL(PADA_EINVAL,
                         "macro architecture '%.48s', character %zu: not a digit 0 to %d", text,
                         n_digits + 1, N_OPS - 1);
    if (n != N_LAYERS)
        return PADA_FAIL(PADA_EINVAL, "macro architecture '%.48s': %zu digits instead of %d", text,
                         n, N_LAYERS);
    for (int layer = 0; layer < N_LAYERS; layer++)
        parsed.choice[layer] = (uint8_t)(text[layer] - '0');
    *path = parsed;
    return PADA_OK;
}

static pada_status format(const pada_space *space, const pada_path *path, const char *dialect,
                          pada_text *out)
{
    (void)space;
    PADA_TRY(check_dialect(dialect));
    for (int layer = 0; layer < N_LAYERS; layer++)
        pada_text_add(out, "%d", path->choice[layer]);
    return out->status;
}

extern const pada_space_ops pada_space_macro;
const pada_space_ops pada_space_macro = {
    .name = "macro",
    .summary = "NAS-Bench-Macro: a chain of 8 layers with 3 operators, 6,561 networks",
    .n_slots = N_LAYERS,
    .defaults = {.classes = 10, .image_size = 32},
    .options = options,
    .settings_bytes = sizeof(settings),
    .check = check,
    .n_choices = n_choices,
    .choice_label = choice_label,
    .n_sites = pada_chain_n_sites,
    .site_slot = pada_chain_site_slot,
    .walk = walk,
    .canonical = canonical,
    .sketch = sketch,
    .scores = scores,
    .dialects = dialects,
    .parse = parse,
    .format = format,
};
