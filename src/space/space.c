/* space.c - the registry of search spaces, and what is the same for all of them. */
#include "space/space.h"

#include <inttypes.h>
#include <string.h>

#define PADA_SPACE(file) extern const pada_space_ops pada_space_##file;
#include "space/spaces.def"
#undef PADA_SPACE

static const pada_space_ops *const registry[] = {
#define PADA_SPACE(file) &pada_space_##file,
#include "space/spaces.def"
#undef PADA_SPACE
};

enum { N_SPACES = sizeof registry / sizeof registry[0] };

int pada_space_count(void)
{
    return N_SPACES;
}

const pada_space_ops *pada_space_get(int i)
{
    PADA_ASSERT(i >= 0 && i < N_SPACES);
    return registry[i];
}

pada_status pada_space_find(const pada_space_ops **out, const char *name)
{
    const char *names[N_SPACES];

    *out = NULL;
    for (int i = 0; i < N_SPACES; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = registry[i];
            return PADA_OK;
        }
    }
    return pada_fail_unknown(PADA_EINVAL, "unknown space", name, names, N_SPACES);
}

pada_status pada_space_resolve(int64_t *value, int64_t fallback, const char *what, int64_t min,
                               int64_t max)
{
    if (*value == 0) *value = fallback;
    if (*value < min || *value > max)
        return PADA_FAIL(PADA_EINVAL, "%s %" PRId64 " is not in %" PRId64 "..%" PRId64, what,
                         *value, min, max);
    return PADA_OK;
}

pada_status pada_space_init_settings(pada_space *space, const pada_space_ops *ops, int classes,
                                     int image_size, const pada_space_settings *settings)
{
    int64_t n_classes = classes, side = image_size;
    pada_net_room room;

    PADA_ASSERT(ops->n_slots > 0 && ops->n_slots <= PADA_MAX_SLOTS);
    PADA_TRY(pada_space_resolve(&n_classes, ops->defaults.classes, "classes", 2, 65536));
    PADA_TRY(pada_space_resolve(&side, ops->defaults.image_size, "image size", 4, 512));
    pada_space made = {.ops = ops,
                       .config = {.classes = (int)n_classes, .image_size = (int)side},
                       .settings = *settings};
    if (ops->check) PADA_TRY(ops->check(&made));
    if (made.config.blocks > 0 && !ops->gate_cell)
        return PADA_FAIL(PADA_EINVAL, "the weights of space %s cannot belong to blocks", ops->name);
    PADA_ASSERT(made.config.blocks == 0 || (ops->uses && 2 * ops->n_slots <= PADA_MAX_SLOTS));
    PADA_TRY(pada_space_measure(&made, &room)); /* there is such a network */
    *space = made;
    return PADA_OK;
}

/* ---- settings ---- */

/* Gives a value to the option of that name; zero gives none. */
static pada_status set_size(const pada_space_ops *ops, pada_space_settings *settings,
                            const char *name, int value)
{
    if (value == 0) return PADA_OK;
    for (const pada_opt *opt = ops->options; opt && opt->name; opt++)
        if (strcmp(opt->name, name) == 0 && opt->type == PADA_OPT_INT) {
            *(int64_t *)(void *)(settings->bytes + opt->offset) = value;
            return PADA_OK;
        }
    return PADA_FAIL(PADA_EINVAL, "space %s has no option %s", ops->name, name);
}

static pada_status take_flags(const pada_space_ops *ops, pada_space_settings *settings,
                              const char *const *flags)
{
    static const pada_opt no_options[] = {{.name = NULL}};
    pada_options *options;
    int n = 0;

    while (flags[n])
        n++;
    PADA_TRY(pada_options_create(&options));
    pada_status st = pada_options_bind(options, ops->options ? ops->options : no_options, settings);
    if (st == PADA_OK) st = pada_options_parse(options, n, flags);
    if (st == PADA_OK && pada_options_n_words(options) > 0)
        st = PADA_FAIL(PADA_EINVAL, "space %s: '%s' is no option", ops->name,
                       pada_options_word(options, 0));
    pada_options_destroy(options);
    return st;
}

pada_status pada_space_init(pada_space *space, const pada_space_ops *ops,
                            const pada_space_config *config)
{
    static const pada_space_config all_defaults;
    const pada_space_config *given = config ? config : &all_defaults;
    pada_space_settings settings = {0};

    PADA_ASSERT(ops->settings_bytes <= sizeof settings);
    if (ops->options) pada_options_defaults(ops->options, &settings);
    if (given->flags) PADA_TRY(take_flags(ops, &settings, given->flags));
    PADA_TRY(set_size(ops, &settings, "channels", given->channels));
    PADA_TRY(set_size(ops, &settings, "cells", given->cells));
    PADA_TRY(set_size(ops, &settings, "blocks", given->blocks));
    return pada_space_init_settings(space, ops, given->classes, given->image_size, &settings);
}

static void add_list(const pada_int_list *list, pada_text *out)
{
    for (int i = 0; i < list->n; i++)
        pada_text_add(out, "%s%d", i > 0 ? "," : " ", list->values[i]);
}

static void add_double(const char *dashes, const char *name, double value, pada_text *out)
{
    pada_text_add(out, " %s%s ", dashes, name);
    pada_text_add_double(out, value);
}

/* " name value" of every setting that is not zero or false, with dashes in front of the name. */
static void add_settings(const pada_space *space, const char *dashes, pada_text *out)
{
    for (const pada_opt *opt = space->ops->options; opt && opt->name; opt++) {
        const void *field = space->settings.bytes + opt->offset;
        if (opt->type == PADA_OPT_INT && *(const int64_t *)field != 0)
            pada_text_add(out, " %s%s %" PRId64, dashes, opt->name, *(const int64_t *)field);
        else if (opt->type == PADA_OPT_DOUBLE && *(const double *)field != 0)
            add_double(dashes, opt->name, *(const double *)field, out);
        else if (opt->type == PADA_OPT_BOOL && *(const bool *)field)
            pada_text_add(out, " %s%s", dashes, opt->name);
        else if (opt->type == PADA_OPT_CHOICE && *(const int *)field != 0)
            pada_text_add(out, " %s%s %d", dashes, opt->name, *(const int *)field);
        if (opt->type == PADA_OPT_INTS && ((const pada_int_list *)field)->n > 0) {
            pada_text_add(out, " %s%s", dashes, opt->name);
            add_list(field, out);
        }
    }
}

void pada_space_describe(const pada_space *space, pada_text *out)
{
    pada_text_add(out, "%s", space->ops->name);
    add_settings(space, "", out);
    pada_text_add(out, " classes %d image size %d", space->config.classes,
                  space->config.image_size);
}

void pada_space_flags(const pada_space *space, pada_text *out)
{
    pada_text_add(out, " --space %s", space->ops->name);
    add_settings(space, "--", out);
    for (const pada_opt *opt = space->ops->options; opt && opt->name; opt++) {
        const void *field = space->settings.bytes + opt->offset;
        if (!opt->default_value) continue;
        if (opt->type == PADA_OPT_BOOL && strcmp(opt->default_value, "true") == 0 &&
            !*(const bool *)field)
            pada_text_add(out, " --no-%s", opt->name);
        if (opt->type == PADA_OPT_DOUBLE && strcmp(opt->default_value, "0") != 0 &&
            *(const double *)field == 0)
            pada_text_add(out, " --%s 0", opt->name);
    }
}

bool pada_space_extreme(const pada_space *space, int i, pada_path *out)
{
    const pada_space_ops *ops = space->ops;
    bool is_new = false;

    if (space->is_final) *out = space->network;
    if (space->is_final) return i == 0;
    if (ops->extreme) return ops->extreme(space, i, out);
    *out = (pada_path){{0}};
    for (int slot = 0; slot < ops->n_slots; slot++) {
        const int n = ops->n_choices(space, slot);
        out->choice[slot] = (uint8_t)(i < n ? i : n - 1);
        is_new = is_new || i < n;
    }
    return is_new;
}

void pada_space_finalise(pada_space *out, const pada_space *space, const pada_path *network)
{
    PADA_ASSERT(pada_path_is_valid(space, network));
    *out = *space;
    out->config.blocks = 0; /* there is nothing to share */
    out->is_final = true;
    out->network = *network;
}

void pada_space_isolate(pada_space *out, const pada_space *space, const pada_part_place *part,
                        pada_part_form form)
{
    pada_space_finalise(out, space, &(const pada_path){{0}});
    out->part = *part;
    out->part_form = form;
}

bool pada_path_takes(const pada_space *space, const pada_path *path, int slot)
{
    return !space->ops->takes || space->ops->takes(space, path, slot);
}

bool pada_path_uses(const pada_space *space, const pada_path *path, int site, int choice)
{
    const int slot = space->ops->site_slot(space, site);

    if (slot < 0) return space->ops->uses(space, path, site, choice);
    return path->choice[slot] == choice && pada_path_takes(space, path, slot);
}

void pada_path_settle(const pada_space *space, pada_path *path)
{
    const pada_path given = *path;

    for (int slot = 0; space->ops->takes && slot < space->ops->n_slots; slot++)
        if (!space->ops->takes(space, &given, slot)) path->choice[slot] = 0;
}

void pada_path_random(const pada_space *space, pada_rng *rng, pada_path *path)
{
    *path = (pada_path){{0}};
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        path->choice[slot] =
            (uint8_t)pada_rng_below(rng, (uint32_t)space->ops->n_choices(space, slot));
    pada_path_settle(space, path);
}

int pada_path_equal(const pada_space *space, const pada_path *a, const pada_path *b)
{
    return memcmp(a->choice, b->choice, (size_t)space->ops->n_slots) == 0;
}

bool pada_path_is_valid(const pada_space *space, const pada_path *path)
{
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (path->choice[slot] >= space->ops->n_choices(space, slot)) return false;
    return true;
}
