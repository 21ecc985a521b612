/* export.c - the registry of export formats, and what they share. */
#include "model/export.h"

#include <string.h>

#include "base/json.h"

#define PADA_EXPORT(name) extern const pada_export pada_export_##name;
#include "model/exports.def"
#undef PADA_EXPORT

static const pada_export *const registry[] = {
#define PADA_EXPORT(name) &pada_export_##name,
#include "model/exports.def"
#undef PADA_EXPORT
};

enum { N_EXPORTS = sizeof registry / sizeof registry[0] };

int pada_export_count(void)
{
    return N_EXPORTS;
}

const pada_export *pada_export_get(int i)
{
    PADA_ASSERT(i >= 0 && i < N_EXPORTS);
    return registry[i];
}

pada_status pada_export_find(const pada_export **out, const char *name)
{
    const char *names[N_EXPORTS];

    *out = NULL;
    for (int i = 0; i < N_EXPORTS; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = registry[i];
            return PADA_OK;
        }
    }
    return pada_fail_unknown(PADA_EINVAL, "unknown format", name, names, N_EXPORTS);
}

void pada_export_title(const pada_export_desc *desc, pada_text *out)
{
    const pada_space *space = &desc->about->space;

    pada_text_add(out, "%s ", space->ops->name);
    const pada_status st =
        space->ops->format(space, &desc->about->path, space->ops->dialects[0], out);
    if (out->status == PADA_OK) out->status = st;
    pada_text_add(out, " for %d classes of %d pixels a side", space->config.classes,
                  space->config.image_size);
}

pada_status pada_export_classes(const pada_export_desc *desc, pada_text *out)
{
    const pada_data_card *card = &desc->about->card;

    if (!pada_data_card_class(card, 0)) {
        pada_text_add(out, "%d", card->n_classes);
        return out->status;
    }
    return pada_json_print_line(json_object_get(card->json, "classes"), out);
}

void pada_export_numbers(const double *values, int n, pada_text *out)
{
    for (int i = 0; i < n; i++) {
        pada_text_add(out, "%s", i > 0 ? ", " : "[");
        pada_text_add_double(out, values[i]);
    }
    pada_text_add(out, "]");
}
