/* toy_space.h - a small space with all that NAS-Bench-201 does not have: slots with different numbers of choices, a
 * slot that some paths do not use, choices of several layers.
 *
 *   slot 0   how deep: a 1x1 convolution, or two of them
 *   slot 1   whether the edge of slot 2 is taken: off, on
 *   slot 2   what is on it: skip, conv1x1, conv3x3 */
#ifndef PADA_TESTS_SPACE_TOY_SPACE_H
#define PADA_TESTS_SPACE_TOY_SPACE_H

#include <string.h>

#include "space/net.h"

enum { TOY_DEPTH, TOY_TAKE, TOY_EDGE, TOY_SLOTS };

static inline int toy_n_choices(const pada_space *space, int slot)
{
    (void)space;
    return slot == TOY_EDGE ? 3 : 2;
}

static inline const char *toy_choice_label(const pada_space *space, int slot, int choice)
{
    static const char *const labels[TOY_SLOTS][3] = {
        {"1x1", "twice"}, {"off", "on"}, {"skip", "1x1", "3x3"}};

    (void)space;
    return labels[slot][choice];
}

static inline bool toy_takes(const pada_space *space, const pada_path *path, int slot)
{
    (void)space;
    return slot != TOY_EDGE || path->choice[TOY_TAKE] == 1;
}

static inline int toy_n_sites(const pada_space *space)
{
    (void)space;
    return 2;
}

static inline int toy_site_slot(const pada_space *space, int site)
{
    (void)space;
    return site == 0 ? TOY_DEPTH : TOY_EDGE;
}

static inline pada_feature toy_conv_norm(pada_builder *b, pada_feature x, int kernel,
                                         const char *conv_name, const char *norm_name)
{
    const pada_conv conv = pada_conv_make(x.shape.c, 4, kernel, 1, kernel / 2, PADA_ACT_NONE);
    const pada_feature z = pada_build_conv(b, x, &conv, PADA_BIAS_BEFORE_NORM, conv_name);
    pada_term norm;

    pada_build_norm(b, z, norm_name, &norm);
    return pada_build_sum(b, z.shape, &norm, 1);
}

static inline pada_feature toy_walk_edge(pada_builder *b, pada_feature x)
{
    pada_feature y = {PADA_ZERO, x.shape};

    if (!pada_build_takes(b, TOY_EDGE)) return y;
    for (int choice = -1; pada_build_choose(b, 1, TOY_EDGE, &choice);) {
        const int mark = pada_build_enter(b, "edge.%d", choice);
        y = choice == 0 ? x : toy_conv_norm(b, x, choice == 1 ? 1 : 3, "conv", "norm");
        pada_build_leave(b, mark);
    }
    return y;
}

static inline void toy_walk(const pada_space *space, pada_builder *b)
{
    pada_feature x = toy_conv_norm(b, pada_build_images(b), 3, "stem", "stem_norm"), once = x;

    for (int choice = -1; pada_build_choose(b, 0, TOY_DEPTH, &choice);) {
        const int mark = pada_build_enter(b, "depth.%d", choice);
        x = toy_conv_norm(b, once, 1, "first", "first_norm");
        if (choice == 1) x = toy_conv_norm(b, x, 1, "second", "second_norm");
        pada_build_leave(b, mark);
    }
    const pada_feature edge = toy_walk_edge(b, x);
    const pada_term terms[] = {{.kind = PADA_TERM_IDENTITY, .x = x.value},
                               {.kind = PADA_TERM_IDENTITY, .x = edge.value}};
    x = pada_build_sum(b, x.shape, terms, 2);
    pada_build_tap(b, x);
    x = pada_build_gap(b, x, PADA_ACT_RELU);
    pada_build_loss(b, pada_build_linear(b, x, space->config.classes, "head"));
}

/* What is on an edge that is not taken does not matter. */
static inline void toy_canonical(const pada_space *space, const pada_path *path, pada_path *out)
{
    *out = *path;
    if (!toy_takes(space, path, TOY_EDGE)) out->choice[TOY_EDGE] = 0;
}

/* Three digits. */
static inline pada_status toy_parse(const pada_space *space, const char *text, const char *dialect,
                                    pada_path *path)
{
    (void)dialect;
    *path = (pada_path){{0}};
    for (int slot = 0; slot < TOY_SLOTS && text[slot]; slot++)
        path->choice[slot] = (uint8_t)(text[slot] - '0');
    if (strlen(text) == TOY_SLOTS && pada_path_is_valid(space, path)) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "'%s' is no toy", text);
}

static const pada_space_ops toy_ops = {
    .name = "toy",
    .n_slots = TOY_SLOTS,
    .defaults = {.classes = 10, .image_size = 8},
    .n_choices = toy_n_choices,
    .choice_label = toy_choice_label,
    .takes = toy_takes,
    .n_sites = toy_n_sites,
    .site_slot = toy_site_slot,
    .walk = toy_walk,
    .canonical = toy_canonical,
    .parse = toy_parse,
};

static inline pada_space toy_space(void)
{
    pada_space space;

    PADA_ASSERT(pada_space_init(&space, &toy_ops, NULL) == PADA_OK);
    return space;
}

#endif
