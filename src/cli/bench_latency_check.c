/* bench_latency_check.c - what a latency table says about whole networks, and how long they take. */
#include "cli/bench_latency_check.h"

#include <math.h>

#include "base/mem.h"
#include "cli/median.h"
#include "cli/print.h"
#include "study/metrics.h"

enum { N_WARM = 2 }; /* runs of a network that bring its weights back into the caches */

/* ---- networks ---- */

void pada_bench_draw(const pada_space *space, pada_rng *rng, pada_path *path)
{
    pada_path drawn;

    do
        pada_path_random(space, rng, &drawn);
    while (space->ops->dead && space->ops->dead(space, &drawn));
    space->ops->canonical(space, &drawn, path);
}

pada_status pada_bench_set_network(pada_turns *turns, int i, const pada_bench_latency *b,
                                   const pada_path *path)
{
    pada_engine_desc desc = *b->engine;
    pada_space final;

    pada_space_finalise(&final, b->space, path);
    desc.space = &final;
    return pada_turns_set(turns, i, &desc, N_WARM);
}

/* ---- the comparison ---- */

typedef struct checked {
    double *predicted, *measured; /* [n] */
    double mean_ms, error, bias;  /* of all; shares of the measured times, absolute and signed */
    double tau;
    pada_turns turns;
} checked;

static pada_status time_networks(const pada_bench_latency *b, const pada_latency_table *table,
                                 checked *c)
{
    const pada_turns_desc turns = {.n = b->n_checked,
                                   .repeats = b->repeats,
                                   .batch_size = b->engine->batch_size,
                                   .image_size = b->space->config.image_size};
    pada_path path;
    pada_rng rng;

    PADA_TRY(pada_turns_init(&c->turns, &turns));
    pada_rng_init(&rng, b->seed, "bench latency", 0);
    for (int i = 0; i < b->n_checked; i++) {
        pada_bench_draw(b->space, &rng, &path);
        PADA_TRY(pada_latency_of(table, b->space, &path, &c->predicted[i]));
        PADA_TRY(pada_bench_set_network(&c->turns, i, b, &path));
    }
    PADA_TRY(pada_turns_run(&c->turns));
    for (int i = 0; i < b->n_checked; i++)
        c->measured[i] = pada_median(c->turns.ms + (int64_t)i * b->repeats, b->repeats);
    return PADA_OK;
}

static pada_status rank_networks(checked *c, int n)
{
    pada_metrics_work *work = NULL;
    pada_pairs *pairs = NULL;
    pada_metrics metrics;
    pada_status st;

    if ((st = pada_pairs_create(&pairs, c->predicted, c->measured, n)) == PADA_OK &&
        (st = pada_metrics_work_create(&work, n)) == PADA_OK) {
        pada_metrics_compute(pairs, NULL, work, &metrics);
        c->tau = metrics.value[PADA_METRIC_TAU_B];
    }
    pada_metrics_work_destroy(work);
    pada_pairs_destroy(pairs);
    return st;
}

static pada_status compare(const pada_bench_latency *b, const pada_latency_table *table, checked *c)
{
    const int n = b->n_checked;

    PADA_TRY(time_networks(b, table, c));
    for (int i = 0; i < n; i++) {
        const double apart = (c->predicted[i] - c->measured[i]) / c->measured[i];
        c->mean_ms += c->measured[i] / n;
        c->error += fabs(apart) / n;
        c->bias += apart / n;
    }
    return rank_networks(c, n);
}

static json_t *numbers(pada_text *out, const double *values, int n)
{
    json_t *array = json_array();

    for (int i = 0; i < n; i++)
        pada_json_append(out, array, json_real(values[i]));
    return array;
}

static void report(const pada_bench_latency *b, const checked *c, pada_text *out)
{
    const int n = b->n_checked;

    if (!b->json) {
        pada_text_add(
            out,
            "latency %s: %d networks of %.3f ms on average, error %.1f %%, bias %+.1f %%, "
            "tau-b %.3f  %s\n",
            b->space->ops->name, n, c->mean_ms, 100 * c->error, 100 * c->bias, c->tau,
            pada_engine_describe(c->turns.engines[0]));
        return;
    }
    json_t *object = json_object();
    pada_json_set(out, object, "name", json_string("latency"));
    pada_json_set(out, object, "backend", json_string(pada_engine_describe(c->turns.engines[0])));
    pada_json_set(out, object, "batch", json_integer(b->engine->batch_size));
    pada_json_set(out, object, "paths", json_integer(n));
    pada_json_set(out, object, "ms", json_real(c->mean_ms));
    pada_json_set(out, object, "error", json_real(c->error));
    pada_json_set(out, object, "bias", json_real(c->bias));
    pada_json_set(out, object, "tau_b", isnan(c->tau) ? json_null() : json_real(c->tau));
    if (b->per_path) {
        pada_json_set(out, object, "path_ms", numbers(out, c->measured, n));
        pada_json_set(out, object, "predicted_ms", numbers(out, c->predicted, n));
    }
    pada_json_line(out, object);
}

pada_status pada_bench_latency_check(const pada_bench_latency *b, const pada_latency_table *table,
                                     pada_text *out)
{
    checked c = {.tau = NAN};
    pada_status st;
    void *mem;

    if ((st = pada_calloc(&mem, (size_t)b->n_checked, sizeof(double))) != PADA_OK) return st;
    c.predicted = mem;
    if ((st = pada_calloc(&mem, (size_t)b->n_checked, sizeof(double))) == PADA_OK) {
        c.measured = mem;
        st = compare(b, table, &c);
    }
    if (st == PADA_OK) report(b, &c, out);
    pada_turns_deinit(&c.turns);
    pada_free(c.predicted);
    pada_free(c.measured);
    return st == PADA_OK ? out->status : st;
}
