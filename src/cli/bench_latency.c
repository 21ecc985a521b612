/* bench_latency.c - the latencies of the parts of networks.
 *
 * A part is timed alone, behind a stand-in of the tensor that it reads and in front of a mean and a loss. What these take is
 * known from two more networks, of its input and of its output alone; half of each is subtracted:
 *
 *   part = T(x - part - y) - T(x) / 2 - T(y) / 2
 *
 * What a run costs by itself belongs to the part that reads the images. A few whole networks run in turns with all of these,
 * and one factor makes the sums theirs: between two uses of its weights a part in a network finds other caches than
 * alone. Design note 0027. */
#include "cli/bench_latency.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/bench_latency_check.h"
#include "cli/bench_turns.h"
#include "cli/median.h"
#include "study/latency_table.h"

enum {
    N_FORMS = 3, /* networks of a part: alone, its input, its output */
    N_WHOLE = 8  /* networks that give the factor */
};

/* ---- the parts ---- */

typedef struct parts {
    const pada_bench_latency *what;
    pada_latency_row *rows;
    pada_part_place *places;
    char **keys; /* owned */
    int n, cap_rows, cap_places, cap_keys;
    pada_path whole[N_WHOLE];
    pada_turns turns; /* N_FORMS of every part, then the whole networks */
    double *values;   /* [repeats], room */
} parts;

static pada_status make_part_room(parts *p)
{
    void *rows = p->rows, *places = p->places, *keys = p->keys;

    PADA_TRY(pada_grow(&rows, &p->cap_rows, p->n + 1, sizeof *p->rows));
    p->rows = rows;
    PADA_TRY(pada_grow(&places, &p->cap_places, p->n + 1, sizeof *p->places));
    p->places = places;
    PADA_TRY(pada_grow(&keys, &p->cap_keys, p->n + 1, sizeof *p->keys));
    p->keys = keys;
    return PADA_OK;
}

/* Keeps a part, but for one that has the key of an earlier one. */
static pada_status keep_part(void *user, const pada_part *part, const pada_part_place *place)
{
    parts *p = user;
    pada_text key = {0};
    bool is_known = false;
    pada_status st;

    pada_part_key(part, &key);
    if ((st = key.status) != PADA_OK) goto out;
    for (int i = 0; i < p->n && !is_known; i++)
        is_known = strcmp(p->keys[i], key.data) == 0;
    if (is_known || (st = make_part_room(p)) != PADA_OK) goto out;
    if ((st = pada_strdup(&p->keys[p->n], key.data)) != PADA_OK) goto out;
    p->rows[p->n].part = *part;
    p->places[p->n++] = *place;
out:
    pada_text_deinit(&key);
    return st;
}

static pada_status make_part_networks(parts *p)
{
    static const pada_part_form forms[N_FORMS] = {PADA_PART_ALONE, PADA_PART_X_ALONE,
                                                  PADA_PART_Y_ALONE};
    const pada_bench_latency *b = p->what;
    pada_engine_desc desc = *b->engine;
    pada_space alone;

    desc.space = &alone;
    for (int i = 0; i < p->n; i++) {
        for (int form = 0; form < N_FORMS; form++) {
            pada_space_isolate(&alone, b->space, &p->places[i], forms[form]);
            PADA_TRY(pada_turns_set(&p->turns, N_FORMS * i + form, &desc, 0));
        }
    }
    return PADA_OK;
}

static pada_status make_networks(parts *p)
{
    const pada_bench_latency *b = p->what;
    const pada_turns_desc turns = {.n = N_FORMS * p->n + N_WHOLE,
                                   .repeats = b->repeats,
                                   .batch_size = b->engine->batch_size,
                                   .image_size = b->space->config.image_size};
    pada_rng rng;

    PADA_TRY(pada_turns_init(&p->turns, &turns));
    PADA_TRY(make_part_networks(p));
    pada_rng_init(&rng, 0, "bench whole networks", 0);
    for (int i = 0; i < N_WHOLE; i++) {
        pada_bench_draw(b->space, &rng, &p->whole[i]);
        PADA_TRY(pada_bench_set_network(&p->turns, N_FORMS * p->n + i, b, &p->whole[i]));
    }
    return PADA_OK;
}

static bool reads_images(const pada_bench_latency *b, const pada_part *part)
{
    const int size = b->space->config.image_size;

    return pada_shape_equal(part->in, (pada_shape){3, size, size});
}

/* The median of what the repeats say, and their deviation as the median distance from it says it. */
static void sum_up(parts *p, int i)
{
    const double *alone = pada_turns_ms(&p->turns, N_FORMS * i);
    const double *x = pada_turns_ms(&p->turns, N_FORMS * i + 1);
    const double *y = pada_turns_ms(&p->turns, N_FORMS * i + 2);
    const bool is_first = reads_images(p->what, &p->rows[i].part);
    const int n = p->what->repeats;
    pada_latency_row *row = &p->rows[i];

    for (int r = 0; r < n; r++)
        p->values[r] = alone[r] - (is_first ? -x[r] : x[r]) / 2 - y[r] / 2;
    const double middle = pada_median(p->values, n);
    for (int r = 0; r < n; r++)
        p->values[r] = fabs(p->values[r] - middle);
    row->ms = middle > 0 ? middle : 0;
    row->std_ms = 1.4826 * pada_median(p->values, n);
    row->count = n;
}

/* How much longer whole networks take than their parts say: the median. */
static pada_status find_factor(parts *p, double *factor)
{
    const pada_bench_latency *b = p->what;
    pada_latency_table *table = NULL;
    pada_text csv = {0};
    double ratios[N_WHOLE];
    pada_status st;

    pada_latency_rows_write(p->rows, p->n, &csv);
    if ((st = csv.status) == PADA_OK)
        st = pada_latency_table_read(&table, "the parts", csv.data, csv.length);
    for (int i = 0; i < N_WHOLE && st == PADA_OK; i++) {
        double sum = 0;
        st = pada_latency_of(table, b->space, &p->whole[i], &sum);
        memcpy(p->values, pada_turns_ms(&p->turns, N_FORMS * p->n + i),
               sizeof *p->values * (size_t)b->repeats);
        ratios[i] = sum > 0 ? pada_median(p->values, b->repeats) / sum : 1;
    }
    if (st == PADA_OK) *factor = pada_median(ratios, N_WHOLE);
    pada_latency_table_close(table);
    pada_text_deinit(&csv);
    return st;
}

/* Makes rows of the times. */
static pada_status sum_up_all(parts *p)
{
    double factor = 1;

    for (int i = 0; i < p->n; i++)
        sum_up(p, i);
    PADA_TRY(find_factor(p, &factor));
    for (int i = 0; i < p->n; i++) {
        p->rows[i].ms *= factor;
        p->rows[i].std_ms *= factor;
    }
    return PADA_OK;
}

static void free_parts(parts *p)
{
    pada_turns_deinit(&p->turns);
    for (int i = 0; i < p->n; i++)
        pada_free(p->keys[i]);
    pada_free(p->keys);
    pada_free(p->rows);
    pada_free(p->places);
    pada_free(p->values);
}

/* Appends the table as CSV. */
static pada_status measure_parts(const pada_bench_latency *b, pada_text *table)
{
    parts p = {.what = b};
    void *mem;
    pada_status st;

    if ((st = pada_calloc(&mem, (size_t)b->repeats, sizeof *p.values)) != PADA_OK) goto out;
    p.values = mem;
    if ((st = pada_space_visit_parts(b->space, NULL, keep_part, &p)) != PADA_OK) goto out;
    if ((st = make_networks(&p)) != PADA_OK) goto out;
    if ((st = pada_turns_run(&p.turns)) != PADA_OK) goto out;
    if ((st = sum_up_all(&p)) != PADA_OK) goto out;
    pada_latency_rows_write(p.rows, p.n, table);
    st = table->status;
out:
    free_parts(&p);
    return st;
}

/* ---- all of it ---- */

/* Opens the table that was given, or measures one and keeps it. */
static pada_status get_table(const pada_bench_latency *b, pada_latency_table **table)
{
    pada_text csv = {0};
    pada_status st;

    if (b->table_file) return pada_latency_table_open(table, b->table_file);
    st = measure_parts(b, &csv);
    if (st == PADA_OK && b->out_file) st = pada_file_replace(b->out_file, csv.data, csv.length);
    if (st == PADA_OK)
        st = pada_latency_table_read(table, b->out_file ? b->out_file : "the new table", csv.data,
                                     csv.length);
    pada_text_deinit(&csv);
    return st;
}

pada_status pada_bench_latency_run(const pada_bench_latency *b, pada_text *out)
{
    pada_latency_table *table = NULL;

    if (!b->out_file && b->n_checked == 0)
        return PADA_FAIL(PADA_EINVAL, "latency: give --out FILE.csv, --check N, or both");
    if (b->out_file && b->table_file)
        return PADA_FAIL(PADA_EINVAL,
                         "--out and --latency-table: a table that was given is not measured again");
    pada_status st = get_table(b, &table);
    if (st == PADA_OK && b->out_file && !b->json)
        pada_text_add(out, "%s: %d keys\n", b->out_file, pada_latency_table_count(table));
    if (st == PADA_OK && b->n_checked > 0) st = pada_bench_latency_check(b, table, out);
    pada_latency_table_close(table);
    return st == PADA_OK ? out->status : st;
}
