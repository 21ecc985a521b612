/* rank_free.c - scores without training in a ranking. */
#include "cli/rank_free.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/data_open.h"

pada_status pada_rank_free_parse(pada_rank_free *f, const char *names)
{
    char name[32];

    for (const char *at = names; *at;) {
        const size_t length = strcspn(at, ",");
        if (f->n == PADA_RANK_MAX_FREE)
            return PADA_FAIL(PADA_EINVAL, "--scores: more than %d", PADA_RANK_MAX_FREE);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        PADA_TRY(pada_free_score_find(&f->list[f->n].score, name));
        for (int i = 0; i < f->n; i++)
            if (f->list[i].score == f->list[f->n].score)
                return PADA_FAIL(PADA_EINVAL, "--scores: %s was given twice", name);
        f->n++;
        at += length + (at[length] == ',');
    }
    if (f->n == 0) return PADA_FAIL(PADA_EINVAL, "--scores: no name");
    return PADA_OK;
}

/* ---- measuring ---- */

static pada_status open_images(const pada_rank_free *f, const pada_supernet *net,
                               pada_dataset **out)
{
    pada_dataset_desc desc = {.where = net->args.data,
                              .splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN),
                              .image_size = net->space.config.image_size};

    for (int i = 0; i < f->n; i++)
        if (f->list[i].score->n_images > desc.n_train_kept)
            desc.n_train_kept = f->list[i].score->n_images;
    PADA_TRY(pada_data_open(out, &net->args.images, &desc));
    pada_dataset_normalise(*out, net->data->mean, net->data->deviation);
    return PADA_OK;
}

static void show_progress(void *user, int n_done, int n_total)
{
    const pada_rank_free_desc *desc = user;
    pada_meter *meter = desc->meter;

    *desc->has_progressed = true;
    pada_meter_show_count(
        meter, pada_meter_has_passed(meter, desc->milestone_seconds),
        &(pada_meter_count){.what = "networks", .n_done = n_done, .n_total = n_total});
}

static bool ask_to_stop(void *user)
{
    const pada_rank_free_desc *desc = user;

    return desc->stop(desc->user);
}

static pada_status list_paths(pada_rank_free *f, const pada_rank_free_desc *desc)
{
    PADA_TRY(pada_path_index_create(&f->paths, &desc->net->space, desc->list->n));
    for (int i = 0; i < desc->list->n; i++)
        (void)pada_path_index_add(f->paths, &desc->list->paths[i]);
    return PADA_OK;
}

pada_status pada_rank_free_measure(pada_rank_free *f, const pada_rank_free_desc *desc)
{
    pada_dataset *data = NULL;
    pada_status st = list_paths(f, desc);

    if (st == PADA_OK) st = open_images(f, desc->net, &data);
    for (int i = 0; i < f->n && st == PADA_OK; i++)
        st = pada_free_scores_run(
            &(pada_free_scores_desc){.score = f->list[i].score,
                                     .space = &desc->net->space,
                                     .paths = desc->list->paths,
                                     .n = desc->list->n,
                                     .data = data,
                                     .seed = desc->seed,
                                     .n_threads = (int)desc->net->args.engine.threads,
                                     .folder = desc->folder,
                                     .user = (void *)desc,
                                     .stop = ask_to_stop,
                                     .progress = show_progress},
            &f->list[i].found);
    pada_dataset_close(data);
    return st;
}

void pada_rank_free_deinit(pada_rank_free *f)
{
    for (int i = 0; i < f->n; i++)
        pada_free_scores_deinit(&f->list[i].found);
    pada_path_index_destroy(f->paths);
    *f = (pada_rank_free){0};
}

/* ---- the ranking ---- */

pada_status pada_rank_free_table(const pada_rank_free *f, const pada_space *space,
                                 pada_ranking_table *table)
{
    const pada_free_scores *first = &f->list[0].found;
    void *mem;

    *table = (pada_ranking_table){0};
    PADA_TRY(pada_calloc(&mem, (size_t)first->n, sizeof(pada_ranking_entry)));
    pada_ranking_entry *entries = mem;
    for (int i = 0; i < first->n; i++)
        entries[i] = (pada_ranking_entry){.path = *pada_path_index_get(f->paths, i),
                                          .score = first->scores[i]};
    const pada_status st = pada_ranking_table_init(table, space, entries, first->n, 0);
    pada_free(mem);
    return st;
}

static void add_values(const pada_rank_free_score *s, int k, pada_text *out)
{
    pada_text_add(out, ",");
    pada_text_add_double(out, s->found.scores[k]);
    for (int v = 0; s->score->n_values > 1 && v < s->score->n_values; v++) {
        pada_text_add(out, ",");
        pada_text_add_double(out, s->found.values[(size_t)v * (size_t)s->found.n + (size_t)k]);
    }
}

static pada_status add_row(const pada_rank_free *f, const pada_ranking_table *t,
                           const pada_ranking_row *row, pada_text *out)
{
    const pada_space_ops *ops = t->space.ops;
    const int k = pada_path_index_find(f->paths, &row->path);

    PADA_TRY(ops->format(&t->space, &row->path, ops->dialects[0], out));
    pada_text_add(out, ",");
    pada_text_add_double(out, row->score);
    pada_text_add(out, ",%d,%d", row->rank, row->ties);
    for (int i = 0; i < f->n; i++)
        add_values(&f->list[i], k, out);
    pada_text_add(out, ",%" PRId64 ",%" PRId64 ",", row->cost.macs, row->cost.params);
    if (row->same_as >= 0)
        PADA_TRY(ops->format(&t->space, &t->rows[row->same_as].path, ops->dialects[0], out));
    pada_text_add(out, "\n");
    return out->status;
}

pada_status pada_rank_free_write(const pada_rank_free *f, const pada_ranking_table *table,
                                 pada_text *out)
{
    pada_text_add(out, "arch,score,rank,ties");
    for (int i = 0; i < f->n; i++) {
        const pada_free_score *score = f->list[i].score;
        pada_text_add(out, ",%s", score->name);
        for (int v = 0; score->n_values > 1 && v < score->n_values; v++)
            pada_text_add(out, ",%s", score->values[v]);
    }
    pada_text_add(out, ",macs,params,same_as\n");
    for (int i = 0; i < table->n; i++)
        PADA_TRY(add_row(f, table, &table->rows[i], out));
    return out->status;
}

/* ---- beside others ---- */

pada_status pada_rank_free_add_sets(const pada_rank_free *f, int first, pada_rank_sets *sets,
                                    const pada_score_table *truth, const pada_score_join *join)
{
    for (int i = first; i < f->n; i++)
        PADA_TRY(pada_rank_sets_add_values(sets, f->list[i].score->name, f->paths,
                                           f->list[i].found.scores, truth, join));
    return PADA_OK;
}

void pada_rank_free_add_times(const pada_rank_free *f, pada_text *out)
{
    for (int i = 0; i < f->n; i++)
        if (f->list[i].found.n_measured > 0)
            pada_text_add(out, "%s: %d networks measured, %.3g s each on one thread\n",
                          f->list[i].score->name, f->list[i].found.n_measured,
                          f->list[i].found.seconds);
    if (f->n > 0) pada_text_add(out, "\n");
}
