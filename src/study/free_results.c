/* free_results.c - the file of scores without training. */
#include "study/free_results.h"

#include <float.h>

#include "base/mem.h"
#include "base/text.h"

struct pada__free_results {
    pada__free_results_desc desc;
    pada_space space;
    pada__results_file *file;
};

static pada_status take_line(void *user, pada_csv *csv)
{
    const pada__free_results *r = user;
    const pada_space_ops *ops = r->space.ops;
    double values[PADA_MAX_FREE_VALUES];
    char text[PADA_CSV_FIELD];
    pada_path path;

    PADA_TRY(pada_csv_field(csv, text));
    if (ops->parse(&r->space, text, ops->dialects[0], &path) != PADA_OK)
        return pada__results_fail(csv);
    for (int k = 0; k < r->desc.n_values; k++) {
        PADA_TRY(pada_csv_field(csv, text));
        if (pada_parse_double(text, "value", -DBL_MAX, DBL_MAX, &values[k]) != PADA_OK)
            return pada__results_fail(csv);
    }
    return r->desc.take(r->desc.user, &path, values);
}

pada_status pada__free_results_open(pada__free_results **out, const pada__free_results_desc *desc)
{
    pada__results_found found;
    void *mem;

    *out = NULL;
    PADA_ASSERT(desc->n_values >= 1 && desc->n_values <= PADA_MAX_FREE_VALUES);
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada__free_results *r = mem;
    r->desc = *desc;
    r->space = *desc->space;
    const pada_status st =
        pada__results_file_open(&r->file,
                                &(pada__results_desc){.path = desc->path,
                                                      .header = desc->header,
                                                      .what = "scores without training",
                                                      .take = take_line,
                                                      .user = r},
                                &found);
    if (st != PADA_OK) {
        pada_free(r);
        return st;
    }
    *out = r;
    return PADA_OK;
}

pada_status pada__free_results_append(pada__free_results *r, const pada_path *path,
                                      const double *values)
{
    const pada_space_ops *ops = r->space.ops;
    pada_text line = {0};
    pada_status st = ops->format(&r->space, path, ops->dialects[0], &line);

    for (int k = 0; k < r->desc.n_values; k++) {
        pada_text_add(&line, ",");
        pada_text_add_double(&line, values[k]);
    }
    pada_text_add(&line, "\n");
    if (st == PADA_OK) st = line.status;
    if (st == PADA_OK) st = pada__results_file_append(r->file, line.data, line.length);
    pada_text_deinit(&line);
    return st;
}

pada_status pada__free_results_sync(pada__free_results *r)
{
    return pada__results_file_sync(r->file);
}

void pada__free_results_close(pada__free_results *r)
{
    if (!r) return;
    pada__results_file_close(r->file);
    pada_free(r);
}
