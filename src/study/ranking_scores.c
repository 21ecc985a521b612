/* ranking_scores.c - the results of evaluations with one set of weights and images, kept in a file that only
 * grows. */
#include "study/ranking_scores.h"

#include <float.h>

#include "base/mem.h"
#include "base/text.h"

struct pada__scores {
    pada_space space;
    int n_images;
    bool has_margins;
    pada__results_file *file;
    pada__score *list; /* [cap], n of them read */
    int n, cap;
};

static pada_status add_score(pada__scores *s, const pada__score *score)
{
    void *list = s->list;

    PADA_TRY(pada_grow(&list, &s->cap, s->n + 1, sizeof *score));
    s->list = list;
    s->list[s->n++] = *score;
    return PADA_OK;
}

static pada_status take_line(void *user, pada_csv *csv)
{
    pada__scores *s = user;
    const pada_space_ops *ops = s->space.ops;
    char text[PADA_CSV_FIELD];
    pada__score score = {0};

    PADA_TRY(pada_csv_field(csv, text));
    if (ops->parse(&s->space, text, ops->dialects[0], &score.network) != PADA_OK)
        return pada__results_fail(csv);
    PADA_TRY(pada__results_read_int(csv, "correct images", 0, s->n_images, &score.correct));
    PADA_TRY(pada_csv_field(csv, text));
    if (pada_parse_double(text, "loss", -DBL_MAX, DBL_MAX, &score.loss) != PADA_OK)
        return pada__results_fail(csv);
    if (!s->has_margins) return add_score(s, &score);
    PADA_TRY(pada_csv_field(csv, text));
    if (pada_parse_double(text, "margin", -1, 1, &score.margin) != PADA_OK)
        return pada__results_fail(csv);
    return add_score(s, &score);
}

pada_status pada__scores_open(pada__scores **out, const pada__scores_desc *desc,
                              pada__results_found *found)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada__scores *s = memory;
    s->space = *desc->space;
    s->n_images = desc->n_images;
    s->has_margins = desc->has_margins;
    const pada_status st =
        pada__results_file_open(&s->file,
                                &(pada__results_desc){.path = desc->path,
                                                      .header = desc->header,
                                                      .what = "scores of these weights and images",
                                                      .replaces_others = desc->replaces_others,
                                                      .take = take_line,
                                                      .user = s},
                                found);
    if (st != PADA_OK) {
        pada__scores_close(s);
        return st;
    }
    *out = s;
    return PADA_OK;
}

void pada__scores_close(pada__scores *s)
{
    if (!s) return;
    pada__results_file_close(s->file);
    pada_free(s->list);
    pada_free(s);
}

int pada__scores_count(const pada__scores *s)
{
    return s->n;
}

const pada__score *pada__scores_get(const pada__scores *s, int i)
{
    PADA_ASSERT(i >= 0 && i < s->n);
    return &s->list[i];
}

pada_status pada__scores_append(pada__scores *s, const pada__score *list, int n)
{
    const pada_space_ops *ops = s->space.ops;
    pada_text lines = {0};
    pada_status st = PADA_OK;

    for (int i = 0; i < n && st == PADA_OK; i++) {
        st = ops->format(&s->space, &list[i].network, ops->dialects[0], &lines);
        pada_text_add(&lines, ",%d,", list[i].correct);
        pada_text_add_double(&lines, list[i].loss);
        if (s->has_margins) {
            pada_text_add(&lines, ",");
            pada_text_add_double(&lines, list[i].margin);
        }
        pada_text_add(&lines, "\n");
    }
    if (st == PADA_OK) st = lines.status;
    if (st == PADA_OK) st = pada__results_file_append(s->file, pada_text_str(&lines), lines.length);
    pada_text_deinit(&lines);
    return st;
}

pada_status pada__scores_sync(pada__scores *s)
{
    return pada__results_file_sync(s->file);
}
