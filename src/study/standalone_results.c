/* standalone_results.c - the accuracies of finished trainings, in a file that only grows. */
#include "study/standalone_results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "study/results_file.h"

#define HEADER "arch,seed,correct,images"

/* A line of the file. */
typedef struct line {
    pada__result result;
    int number; /* from 0 */
    int place;  /* when they are arranged */
} line;

struct pada__results {
    pada_space space;
    char *path;
    pada__results_file *file;
    line *lines; /* [cap], n of them in the file */
    int n, cap;
    void (*take)(void *user, const pada__result *result);
    void *user;
};

static pada_status remember(pada__results *r, const pada__result *result)
{
    void *lines = r->lines;

    PADA_TRY(pada_grow(&lines, &r->cap, r->n + 1, sizeof *r->lines));
    r->lines = lines;
    r->lines[r->n] = (line){.result = *result, .number = r->n};
    r->n++;
    return PADA_OK;
}

static pada_status take_line(void *user, pada_csv *csv)
{
    pada__results *r = user;
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
    PADA_TRY(remember(r, &result));
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
    pada_status st = pada_strdup(&r->path, path);
    if (st == PADA_OK)
        st = pada__results_file_open(&r->file,
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

static pada_status add_line(const pada__results *r, const pada__result *result, pada_text *out)
{
    const pada_space_ops *ops = r->space.ops;

    PADA_TRY(ops->format(&r->space, &result->form, ops->dialects[0], out));
    pada_text_add(out, ",%" PRIu64 ",%d,%d\n", result->seed, result->correct, result->images);
    return out->status;
}

pada_status pada__results_append(pada__results *r, const pada__result *result)
{
    pada_text text = {0};
    pada_status st = add_line(r, result, &text);

    if (st == PADA_OK) st = pada__results_file_append(r->file, text.data, text.length);
    if (st == PADA_OK) st = pada__results_file_sync(r->file);
    if (st == PADA_OK) st = remember(r, result);
    pada_text_deinit(&text);
    return st;
}

/* ---- their order ---- */

static int by_place(const void *x, const void *y)
{
    const line *a = x, *b = y;

    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    const int form = memcmp(&a->result.form, &b->result.form, sizeof a->result.form);
    if (form != 0) return form;
    if (a->result.seed != b->result.seed) return a->result.seed < b->result.seed ? -1 : 1;
    return a->number - b->number;
}

static pada_status rewrite(const pada__results *r)
{
    pada_text text = {0};
    pada_status st = PADA_OK;

    pada_text_add(&text, HEADER "\n");
    for (int i = 0; i < r->n && st == PADA_OK; i++)
        st = add_line(r, &r->lines[i].result, &text);
    if (st == PADA_OK) st = pada_file_replace(r->path, text.data, text.length);
    pada_text_deinit(&text);
    return st;
}

pada_status pada__results_arrange(pada__results *r,
                                  int (*place)(void *user, const pada__result *result), void *user)
{
    bool in_order = true;

    for (int i = 0; i < r->n; i++) {
        const int at = place(user, &r->lines[i].result);
        r->lines[i].place = at < 0 ? INT32_MAX : at;
    }
    if (r->n > 1) qsort(r->lines, (size_t)r->n, sizeof *r->lines, by_place);
    for (int i = 0; i < r->n; i++)
        in_order = in_order && r->lines[i].number == i;
    return in_order ? PADA_OK : rewrite(r);
}

void pada__results_close(pada__results *r)
{
    if (!r) return;
    pada__results_file_close(r->file);
    pada_free(r->lines);
    pada_free(r->path);
    pada_free(r);
}
