/* rank_scores.c - the scores of `pada rank`: evaluated, combined, measured without training. */
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/job_team.h"
#include "cli/rank_state.h"
#include "cli/stop_signal.h"

enum { MILESTONE_SECONDS = 60 };

const char *pada_rank_name_of(const pada_rank_state *r, int i)
{
    const pada_judge *judge = &r->nets.list[i];

    return judge->run ? judge->run : judge->net.weights;
}

void pada_rank_name_runs(const pada_rank_state *r, const char **names)
{
    for (int i = 0; i < r->nets.n; i++)
        names[i] = pada_rank_name_of(r, i);
}

/* However short the time is, one network is evaluated: repeating the command gets on. */
static bool is_time_to_stop(void *user)
{
    const pada_rank_state *r = user;
    const bool is_late = r->max_seconds > 0 && pada_clock_seconds() - r->start >= r->max_seconds;

    return *r->stop_signal || (is_late && r->has_progressed);
}

static void show_note(void *user, const char *text)
{
    pada_meter_say(&((pada_rank_state *)user)->meter, text);
}

static void show_progress(void *user, const pada_ranking_progress *p)
{
    pada_rank_state *r = user;
    const bool is_last = p->n_done == p->n_total;

    r->has_progressed = true;
    pada_meter_show_count(&r->meter,
                          pada_meter_has_passed(&r->meter, MILESTONE_SECONDS) ||
                              (is_last && r->meter.mode == PADA_METER_LIVE),
                          &(pada_meter_count){.what = "evaluations",
                                              .n_done = p->n_done,
                                              .n_total = p->n_total,
                                              .seconds_left = p->seconds_left});
}

/* An engine for every network in flight, but none for more networks than there are. */
static pada_status load_supernet(const pada_rank_state *r, pada_supernet *net)
{
    pada_engine_desc desc;

    PADA_TRY(pada_engine_desc_from_args(&desc, &net->args.engine));
    return pada_supernet_load(net, r->seed,
                              pada_eval_in_flight(desc.backend, (int)r->in_flight, r->list.n));
}

/* What this process does for the ranking of one supernet, which is the file where there is only that. */
static pada_status evaluate_here(pada_rank_state *r, const pada_judge *judge,
                                 pada_ranking_table *table)
{
    const pada_ranking_desc desc = {.farm = r->farm,
                                    .workers = judge->net.workers,
                                    .n_workers = judge->net.n_workers,
                                    .family = judge->net.family,
                                    .paths = r->list.paths,
                                    .n_paths = r->list.n,
                                    .cost_space = &r->space,
                                    .out = r->nets.is_mixed ? NULL : r->score_file,
                                    .scores = judge->scores_dir.data,
                                    .writes_all = r->run && !r->out,
                                    .user = r,
                                    .stop = is_time_to_stop,
                                    .progress = show_progress,
                                    .note = show_note};

    return pada_job_leads() ? pada_ranking_run(&desc, table) : pada_ranking_help(&desc);
}

/* That ranking, by all processes. */
static pada_status evaluate(pada_rank_state *r, const pada_options *options, pada_judge *judge,
                            pada_ranking_table *table)
{
    pada_team *team = pada_job_team();

    PADA_TRY(pada_team_agree(team, load_supernet(r, &judge->net)));
    PADA_TRY(pada_supernet_check_team(&judge->net, options, team));
    PADA_TRY(pada_eval_farm_open(&r->farm, team, judge->net.n_workers, pada_stop_signal()));
    r->stop_signal = pada_farm_stop(r->farm);
    pada_status st = evaluate_here(r, judge, table);
    r->stop_signal = pada_stop_signal();
    const pada_status others = pada_farm_close(r->farm);
    return st == PADA_OK ? others : st;
}

static pada_status write_mixed(const pada_rank_state *r)
{
    pada_text text = {0};
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)r->nets.n, sizeof(const char *)));
    pada_rank_name_runs(r, mem);
    pada_status st = pada_mixed_write(&r->mixed, &r->table, mem, &text);
    if (st == PADA_OK) st = pada_file_replace(r->score_file, text.data, text.length);
    pada_text_deinit(&text);
    pada_free(mem);
    return st;
}

static pada_status mix(pada_rank_state *r, const pada_ranking_table *tables)
{
    PADA_TRY(pada_mixed_init(&r->mixed, &(pada_mixed_desc){.space = &r->space,
                                                           .paths = r->list.paths,
                                                           .n = r->list.n,
                                                           .runs = tables,
                                                           .n_runs = r->nets.n,
                                                           .by = r->nets.by,
                                                           .combine = r->nets.combine,
                                                           .prior = r->nets.prior}));
    r->nets.prior.weight = r->mixed.weight;
    PADA_TRY(pada_mixed_table(&r->mixed, &r->space, &r->table));
    return write_mixed(r);
}

static pada_status evaluate_several(pada_rank_state *r, const pada_options *options)
{
    pada_status st = PADA_OK;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)r->nets.n, sizeof(pada_ranking_table)));
    pada_ranking_table *tables = mem;
    for (int i = 0; i < r->nets.n && st == PADA_OK; i++) {
        st = evaluate(r, options, &r->nets.list[i], &tables[i]);
        pada_supernet_unload(&r->nets.list[i].net);
    }
    if (st == PADA_OK && pada_job_leads()) st = mix(r, tables);
    for (int i = 0; i < r->nets.n; i++)
        pada_ranking_table_deinit(&tables[i]);
    pada_free(mem);
    return st;
}

/* Scores without training: the ranking itself, or what it is shown beside. */
static pada_status measure_free(pada_rank_state *r)
{
    pada_text text = {0};

    pada_meter_init(&r->meter, r->quiet, r->json);
    pada_status st = pada_rank_free_measure(
        &r->free_scores, &(pada_rank_free_desc){.net = &r->nets.list[0].net,
                                                .list = &r->list,
                                                .seed = r->seed,
                                                .folder = r->nets.list[0].scores_dir.data,
                                                .meter = &r->meter,
                                                .milestone_seconds = MILESTONE_SECONDS,
                                                .has_progressed = &r->has_progressed,
                                                .user = r,
                                                .stop = is_time_to_stop});
    pada_meter_end(&r->meter);
    pada_stop_signal_end(); /* nobody asks for requests any more */
    if (st != PADA_OK || !r->is_free) return st;
    PADA_TRY(pada_rank_free_table(&r->free_scores, &r->space, &r->table));
    st = pada_rank_free_write(&r->free_scores, &r->table, &text);
    if (st == PADA_OK) st = pada_file_replace(r->score_file, text.data, text.length);
    pada_text_deinit(&text);
    return st;
}

static pada_status evaluate_all(pada_rank_state *r, const pada_options *options)
{
    pada_meter_init(&r->meter, r->quiet, r->json);
    const pada_status st = r->nets.is_mixed ? evaluate_several(r, options)
                                            : evaluate(r, options, &r->nets.list[0], &r->table);
    pada_meter_end(&r->meter);
    if (!r->free_names) pada_stop_signal_end(); /* nobody asks for requests any more */
    return st;
}

/* The scores of the networks that were asked for, as a table that can be joined with the truth. */
static pada_status list_scores(pada_rank_state *r)
{
    const pada_ranking_table *t = &r->table;
    pada_text text = {0};
    pada_status st = PADA_OK;

    pada_text_add(&text, "arch," PADA_RANK_COLUMN "\n");
    for (int i = 0; i < t->n && st == PADA_OK; i++) {
        if (t->rows[i].extra) continue;
        st = r->space.ops->format(&r->space, &t->rows[i].path, NULL, &text);
        pada_text_add(&text, ",%.17g\n", t->rows[i].score);
    }
    if (st == PADA_OK) st = text.status;
    if (st == PADA_OK)
        st = pada_score_table_read(&r->scores, &r->space, r->score_file, text.data, text.length,
                                   NULL);
    pada_text_deinit(&text);
    return st;
}

pada_status pada_rank_make_scores(pada_rank_state *r, const pada_options *options)
{
    if (!r->is_free) PADA_TRY(evaluate_all(r, options));
    if (!pada_job_leads()) return PADA_OK; /* scores without training are measured by one process */
    if (r->free_names) PADA_TRY(measure_free(r));
    return list_scores(r);
}
