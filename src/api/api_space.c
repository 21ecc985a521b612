/* api_space.c - search spaces and architectures of include/pada.h. */
#include <string.h>

#include "api/api_parts.h"
#include "base/mem.h"
#include "report/draw.h"

pada_status pada_space_open(pada_space **out, const char *name, const pada_space_config *config)
{
    const pada_space_ops *ops;
    pada_space space;
    void *memory;

    if (!out) return pada__fail_null(__func__);
    *out = NULL;
    if (!name) return pada__fail_null(__func__);
    PADA_TRY(pada_space_find(&ops, name));
    PADA_TRY(pada_space_init(&space, ops, config));
    PADA_TRY(pada_calloc(&memory, 1, sizeof space));
    *out = memory;
    **out = space;
    return PADA_OK;
}

void pada_space_close(pada_space *space)
{
    pada_free(space);
}

const char *pada_space_name(const pada_space *space)
{
    return space ? space->ops->name : NULL;
}

int pada_space_classes(const pada_space *space)
{
    return space ? space->config.classes : 0;
}

int pada_space_image_size(const pada_space *space)
{
    return space ? space->config.image_size : 0;
}

/* Terminated, or a failure that changes nothing; frees the text. */
static pada_status hand_out(pada_text *text, const char *what, char *buffer, size_t bytes)
{
    pada_status st = text->status;

    if (st == PADA_OK && text->length >= bytes)
        st = PADA_FAIL(PADA_EINVAL, "a buffer of %zu bytes is too small for %s of %zu", bytes, what,
                       text->length + 1);
    if (st == PADA_OK) memcpy(buffer, pada_text_str(text), text->length + 1);
    pada_text_deinit(text);
    return st;
}

pada_status pada_space_options(const pada_space *space, char *buffer, size_t bytes)
{
    pada_text text = {0};

    if (!space || !buffer) return pada__fail_null(__func__);
    pada_space_flags(space, &text);
    return hand_out(&text, "options", buffer, bytes);
}

int pada_space_n_slots(const pada_space *space)
{
    return space ? space->ops->n_slots : 0;
}

int pada_space_n_choices(const pada_space *space, int slot)
{
    if (!space || slot < 0 || slot >= space->ops->n_slots) return 0;
    return space->ops->n_choices(space, slot);
}

/* ---- architectures ---- */

pada_status pada_path_parse(const pada_space *space, const char *text, const char *dialect,
                            pada_path *out)
{
    pada_path path = {0};

    if (!space || !text || !out) return pada__fail_null(__func__);
    PADA_TRY(space->ops->parse(space, text, dialect, &path));
    *out = path;
    return PADA_OK;
}

pada_status pada_path_format(const pada_space *space, const pada_path *path, const char *dialect,
                             char *buffer, size_t bytes)
{
    pada_text text = {0};

    if (!space || !path || !buffer) return pada__fail_null(__func__);
    PADA_TRY(pada__check_path(space, path));
    const pada_status st = space->ops->format(space, path, dialect, &text);
    if (st != PADA_OK) {
        pada_text_deinit(&text);
        return st;
    }
    return hand_out(&text, "an architecture", buffer, bytes);
}

const char *pada_space_known(int i)
{
    return i >= 0 && i < pada_space_count() ? pada_space_get(i)->name : NULL;
}

const char *pada_space_choice_label(const pada_space *space, int slot, int choice)
{
    if (choice < 0 || choice >= pada_space_n_choices(space, slot)) return NULL;
    return space->ops->choice_label(space, slot, choice);
}

double pada_space_n_networks(const pada_space *space)
{
    double n = 1;

    if (!space) return 0;
    if (space->ops->n_networks) return space->ops->n_networks(space);
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        n *= space->ops->n_choices(space, slot);
    return n;
}

const char *pada_space_dialect(const pada_space *space, int i)
{
    const char *const *name = space ? space->ops->dialects : NULL;

    if (!name || i < 0) return NULL;
    while (*name && i-- > 0)
        name++;
    return *name;
}

pada_status pada_path_draw(const pada_space *space, uint64_t seed, uint64_t index, pada_path *out)
{
    pada_rng rng;

    if (!space || !out) return pada__fail_null(__func__);
    pada_rng_init(&rng, seed, "draw", index);
    *out = (pada_path){{0}};
    pada_path_random(space, &rng, out);
    return PADA_OK;
}

pada_status pada_path_canonical(const pada_space *space, const pada_path *path, pada_path *out)
{
    pada_path form = {{0}};

    if (!space || !path || !out) return pada__fail_null(__func__);
    PADA_TRY(pada__check_path(space, path));
    space->ops->canonical(space, path, &form);
    *out = form;
    return PADA_OK;
}

pada_status pada_path_costs(const pada_space *space, const pada_path *path, pada_cost *out)
{
    if (!space || !path || !out) return pada__fail_null(__func__);
    PADA_TRY(pada__check_path(space, path));
    pada_space_cost(space, path, out);
    return PADA_OK;
}

/* ---- drawings ---- */

static pada_status draw(const pada_space *space, const pada_path *path, const char *form,
                        pada_text *out)
{
    const pada_draw draw_form = pada_draw_find(form);
    pada_sketch sketch = {0};

    if (!draw_form)
        return PADA_FAIL(PADA_EINVAL, "drawings are svg, dot or text, and not '%s'", form);
    PADA_TRY(pada__check_path(space, path));
    PADA_TRY(pada_sketch_path(&sketch, space, path));
    return draw_form(&sketch, out);
}

pada_status pada_path_drawing(const pada_space *space, const pada_path *path, const char *form,
                              char *buffer, size_t bytes, size_t *needed)
{
    pada_text text = {0};

    if (!space || !path || !form || (!buffer && bytes > 0)) return pada__fail_null(__func__);
    const pada_status st = draw(space, path, form, &text);
    if (st == PADA_OK && needed) *needed = text.length + 1;
    if (st != PADA_OK || (!buffer && needed)) {
        pada_text_deinit(&text);
        return st;
    }
    return hand_out(&text, "a drawing", buffer, bytes);
}
