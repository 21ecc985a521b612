/* study_print.c - the table of a study, for people and as JSON. */
#include "cli/study_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/print.h"
#include "cli/print_metrics.h"

enum { GAP = 2 };

/* ---- for people ---- */

/* A number as its column is printed: "0.633", "4.42M", "-". */
static void add_value(pada_text *out, pada_study_column column, double x)
{
    const pada_study_column_info *info = &pada_study_column_table[column];

    if (!isnan(x) && info->decimals < 0)
        pada_add_count(out, (int64_t)(x * info->scale), 0);
    else
        pada_add_number(out, x * info->scale, info->decimals, 0);
}

/* "0.633 +- 0.033", where the second one is known. */
static void add_pair(pada_text *out, pada_study_column column, double x, double spread)
{
    add_value(out, column, x);
    if (isnan(spread)) return;
    pada_text_add(out, " +- ");
    add_value(out, column, spread);
}

/* Pads what stands behind `start` to a width. */
static void pad(pada_text *out, size_t start, int width)
{
    const int n = width - (int)(out->length - start);

    if (n > 0) pada_text_add(out, "%*s", n, "");
}

static bool has_column(const pada_study_table *table, pada_study_column column)
{
    if (!pada_study_column_table[column].heading) return false;
    for (int run = 0; run < table->plan->n_runs; run++)
        if (pada_study_table_mean(table, run, column).n > 0) return true;
    return false;
}

static void add_cell(const pada_study_table *table, int run, pada_study_column column,
                     pada_text *out)
{
    const pada_study_mean m = pada_study_table_mean(table, run, column);

    add_pair(out, column, m.mean, m.deviation);
}

/* How wide the column has to be. */
static int width_of(const pada_study_table *table, pada_study_column column)
{
    size_t width = strlen(pada_study_column_table[column].heading);

    for (int run = 0; run < table->plan->n_runs; run++) {
        pada_text cell = {0};
        add_cell(table, run, column, &cell);
        if (cell.length > width) width = cell.length;
        pada_text_deinit(&cell);
    }
    return (int)width + GAP;
}

static int n_seeds(const pada_study_table *table, int run)
{
    int n = 0;

    for (int i = 0; i < table->n_rows; i++)
        n += table->rows[i].run == run;
    return n;
}

static void add_runs(pada_text *out, const pada_study_table *table)
{
    int widths[PADA_STUDY_COLUMNS] = {0}, name = 3;

    for (int c = 0; c < PADA_STUDY_COLUMNS; c++)
        if (has_column(table, (pada_study_column)c))
            widths[c] = width_of(table, (pada_study_column)c);
    for (int run = 0; run < table->plan->n_runs; run++)
        if ((int)strlen(table->plan->runs[run].name) > name)
            name = (int)strlen(table->plan->runs[run].name);
    pada_text_add(out, "%-*s  seeds", name, "run");
    for (int c = 0; c < PADA_STUDY_COLUMNS; c++)
        if (widths[c] > 0)
            pada_text_add(out, "  %-*s", widths[c] - GAP, pada_study_column_table[c].heading);
    pada_text_add(out, "\n");
    for (int run = 0; run < table->plan->n_runs; run++) {
        if (n_seeds(table, run) == 0) continue;
        pada_text_add(out, "%-*s  %5d", name, table->plan->runs[run].name, n_seeds(table, run));
        for (int c = 0; c < PADA_STUDY_COLUMNS; c++) {
            const size_t start = out->length;
            if (widths[c] == 0) continue;
            pada_text_add(out, "  ");
            add_cell(table, run, (pada_study_column)c, out);
            pad(out, start, widths[c]);
        }
        pada_text_add(out, "\n");
    }
}

static void add_difference(pada_text *out, const pada_study_table *table,
                           const pada_study_pair *pair)
{
    const pada_study_run *runs = table->plan->runs;

    for (int c = 0; c < PADA_STUDY_COLUMNS; c++) {
        const pada_study_mean m = pada_study_table_difference(table, pair, (pada_study_column)c);
        if (m.n == 0 || !pada_study_column_table[c].heading) continue;
        pada_text_add(out, "%s - %s  %-12s  ", runs[pair->run].name, runs[pair->against].name,
                      pada_study_column_table[c].heading);
        const double scale = pada_study_column_table[c].scale;
        pada_text_add(out, "%.4g", m.mean * scale);
        if (m.n > 1) pada_text_add(out, " +- %.2g", pada_study_standard_error(&m) * scale);
        pada_text_add(out, "  (%d seed%s in common)\n", m.n, m.n == 1 ? "" : "s");
    }
}

/* How far networks that were trained alone are from their truth. */
static void add_errors(pada_text *out, const pada_study_table *table)
{
    const pada_study_errors errors = pada_study_table_errors(table);

    if (errors.n == 0) return;
    pada_text_add(out,
                  "\n%d network%s alone, test minus truth: mean difference %+.2f, mean absolute "
                  "difference %.2f, largest %.2f points\n",
                  errors.n, errors.n == 1 ? "" : "s", errors.mean, errors.absolute, errors.largest);
}

void pada_add_study(pada_text *out, const pada_study_table *table)
{
    pada_text_add(out, "%s", table->plan->name);
    if (table->plan->about) pada_text_add(out, ": %s", table->plan->about);
    pada_text_add(out, "\n\n");
    add_runs(out, table);
    pada_text_add(out, "\nmeans +- deviations over seeds\n");
    add_errors(out, table);
    if (table->plan->n_pairs == 0) return;
    pada_text_add(out, "\ndifferences seed by seed +- standard errors\n");
    for (int i = 0; i < table->plan->n_pairs; i++)
        add_difference(out, table, &table->plan->pairs[i]);
}

/* ---- JSON ---- */

/* The number, a whole one where its column counts. */
static json_t *number(pada_study_column column, double x)
{
    if (isnan(x)) return json_null();
    return pada_study_column_table[column].decimals <= 0 && x == floor(x) && fabs(x) < 1e15
               ? json_integer((json_int_t)x)
               : json_real(x);
}

static void add_row_json(pada_text *out, const pada_study_table *table, const pada_study_row *row)
{
    json_t *object = json_object();

    pada_json_set(out, object, "run", json_string(table->plan->runs[row->run].name));
    pada_json_set(out, object, "seed", pada_json_count(row->seed));
    pada_json_set(out, object, "status", json_string(row->status));
    for (int c = 0; c < PADA_STUDY_COLUMNS; c++)
        pada_json_set(out, object, pada_study_column_table[c].key,
                      number((pada_study_column)c, row->values[c]));
    pada_json_set(out, object, "weights_hash",
                  row->weights_hash[0] ? json_string(row->weights_hash) : json_null());
    pada_json_set(out, object, "arch",
                  row->arch.length > 0 ? json_string(row->arch.data) : json_null());
    pada_json_line(out, object);
}

/* Sets what is known of a number over seeds: KEY, KEY_NAME and KEY_seeds. */
static void set_mean(pada_text *out, json_t *object, pada_study_column column,
                     const pada_study_mean *m, const char *name, double spread)
{
    char key[64];

    if (m->n == 0) return;
    pada_json_set_number(out, object, pada_study_column_table[column].key, m->mean);
    snprintf(key, sizeof key, "%s_%s", pada_study_column_table[column].key, name);
    pada_json_set_number(out, object, key, spread);
    snprintf(key, sizeof key, "%s_seeds", pada_study_column_table[column].key);
    pada_json_set(out, object, key, json_integer(m->n));
}

static void add_errors_json(pada_text *out, const pada_study_table *table)
{
    const pada_study_errors errors = pada_study_table_errors(table);
    json_t *object = json_object();

    pada_json_set(out, object, "against_truth", json_integer(errors.n));
    pada_json_set_number(out, object, "mean_difference", errors.mean);
    pada_json_set_number(out, object, "mean_absolute_difference", errors.absolute);
    pada_json_set_number(out, object, "largest_absolute_difference", errors.largest);
    pada_json_line(out, object);
}

void pada_add_study_json(pada_text *out, const pada_study_table *table)
{
    const pada_study_run *runs = table->plan->runs;

    for (int i = 0; i < table->n_rows; i++)
        add_row_json(out, table, &table->rows[i]);
    for (int run = 0; run < table->plan->n_runs; run++) {
        json_t *object = json_object();
        pada_json_set(out, object, "mean_of", json_string(runs[run].name));
        for (int c = 0; c < PADA_STUDY_COLUMNS; c++) {
            const pada_study_mean m = pada_study_table_mean(table, run, (pada_study_column)c);
            set_mean(out, object, (pada_study_column)c, &m, "sd", m.deviation);
        }
        pada_json_line(out, object);
    }
    if (pada_study_table_errors(table).n > 0) add_errors_json(out, table);
    for (int i = 0; i < table->plan->n_pairs; i++) {
        const pada_study_pair *pair = &table->plan->pairs[i];
        json_t *object = json_object();
        pada_json_set(out, object, "difference_of", json_string(runs[pair->run].name));
        pada_json_set(out, object, "against", json_string(runs[pair->against].name));
        for (int c = 0; c < PADA_STUDY_COLUMNS; c++) {
            const pada_study_mean m =
                pada_study_table_difference(table, pair, (pada_study_column)c);
            set_mean(out, object, (pada_study_column)c, &m, "se", pada_study_standard_error(&m));
        }
        pada_json_line(out, object);
    }
}
