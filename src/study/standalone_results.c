/* standalone_results.c - the accuracies of finished trainings, in a file that only grows. */
#include "study/standalone_results.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/text.h"
#include "study/results_file.h"

#define HEADER "arch,seed,correct,images"

struct pada__results {
    pada_space space;
    pada__results_file *file;
    void (*take)(void *user, const pada__result *result);
    void *user;
};

static pada_status take_line(void *user, pada_csv *csv)
{
    const pada__results *r = user;
    const pada_space_ops *ops = r->space.ops;
    char text[PADA_CSV_FIELD];
    pada__result result;

    PADA_TRY(pada_csv_field(csv, text));
    if (ops->parse(&r->space, text, ops->dialects[0], &result.form) != PADA_OK)
        return pada__results_fail(csv);
    PADA_TRY(pada_csv_field(csv, text));
    if (pada_parse_u64(text, "seed", &result.seed) != PADA_OK) return pada__results_fail(csv);
    PADA_TRY(pada__results_read_int(csv, "correct images", 0, INT32_MAX, &result.correct));
    PADA_TRY(pada__results_read_int(csv, "images", 1, INT32_MAX, &result.images));
    if (result.correct > result.images)
        return PADA_FAIL(PADA_EDATA, "%s:%d: %d correct of %d images", csv->name, csv->line,
                         result.correct, result.images);
    r->take(r->user, &result);
    return PADA_OK;
}

pada_status pada__results_open(pada__results **out, const pada_space *space, const char *path,
                               void (*take)(void *user, const pada__result *result), void *user)
{
    pada__results_found found;
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada__results *r = memory;
    *r = (pada__results){.space = *space, .take = take, .user = user};
    const pada_status st =
        pada__results_file_open(&r->file,
                                &(pada__results_desc){.path = path,
                                                      .header = HEADER,
                                                      .what = "results of `pada truth`",
                                                      .take = take_line,
                                                      .user = r},
                                &found);
    if (st != PADA_OK) {
        pada__results_close(r);
        return st;
    }
    *out = r;
    return PADA_OK;
}

pada_status pada__results_append(pada__results *r, const pada__result *result)
{
    const pada_space_ops *ops = r->space.ops;
    pada_text line = {0};
    pada_status st = ops->format(&r->space, &result->form, ops->dialects[0], &line);

    pada_text_add(&line, ",%" PRIu64 ",%d,%d\n", result->seed, result->correct, result->images);
    if (st == PADA_OK) st = line.status;
    if (st == PADA_OK) st = pada__results_file_append(r->file, line.data, line.length);
    if (st == PADA_OK) st = pada__results_file_sync(r->file);
    pada_text_deinit(&line);
    return st;
}

void pada__results_close(pada__results *r)
{
    if (!r) return;
    pada__results_file_close(r->file);
    pada_free(r);
}
