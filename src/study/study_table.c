/* study_table.c - the numbers of all runs of a study, and what they are over seeds. */
#include "study/study_table.h"

#include <inttypes.h>
#include <math.h>

/* ---- over seeds ---- */

/* Adds a number (Welford): `deviation` is the sum of squares until finish. */
static void add_value(pada_study_mean *m, double x)
{
    if (isnan(x)) return;
    const double before = m->n > 0 ? x - m->mean : 0;
    m->n++;
    m->mean = m->n == 1 ? x : m->mean + before / m->n;
    m->deviation += before * (x - m->mean);
}

static pada_study_mean finish(pada_study_mean m)
{
    if (m.n == 0) m.mean = NAN;
    m.deviation = m.n > 1 ? sqrt(m.deviation / (m.n - 1)) : NAN;
    return m;
}

pada_study_mean pada_study_table_mean(const pada_study_table *table, int run,
                                      pada_study_column column)
{
    pada_study_mean m = {0};

    for (int i = 0; i < table->n_rows; i++)
        if (table->rows[i].run == run) add_value(&m, table->rows[i].values[column]);
    return finish(m);
}

static double find_value(const pada_study_table *table, int run, uint64_t seed,
                         pada_study_column column)
{
    for (int i = 0; i < table->n_rows; i++)
        if (table->rows[i].run == run && table->rows[i].seed == seed)
            return table->rows[i].values[column];
    return NAN;
}

pada_study_mean pada_study_table_difference(const pada_study_table *table,
                                            const pada_study_pair *pair, pada_study_column column)
{
    pada_study_mean m = {0};

    for (int i = 0; i < table->n_rows; i++) {
        const pada_study_row *row = &table->rows[i];
        if (row->run == pair->run)
            add_value(&m,
                      row->values[column] - find_value(table, pair->against, row->seed, column));
    }
    return finish(m);
}

double pada_study_standard_error(const pada_study_mean *mean)
{
    return mean->deviation / sqrt(mean->n);
}

/* ---- against the truth ---- */

pada_study_errors pada_study_table_errors(const pada_study_table *table)
{
    pada_study_errors errors = {0};
    double sum = 0, absolute = 0;

    for (int run = 0; run < table->plan->n_runs; run++) {
        if (!table->plan->runs[run].is_alone) continue;
        const double error = pada_study_table_mean(table, run, PADA_STUDY_TEST_TOP1).mean -
                             pada_study_table_mean(table, run, PADA_STUDY_FOUND_TRUTH).mean;
        if (isnan(error)) continue;
        errors.n++;
        sum += error;
        absolute += fabs(error);
        if (fabs(error) > errors.largest) errors.largest = fabs(error);
    }
    errors.mean = errors.n > 0 ? sum / errors.n : NAN;
    errors.absolute = errors.n > 0 ? absolute / errors.n : NAN;
    if (errors.n == 0) errors.largest = NAN;
    return errors;
}

/* ---- files ---- */

/* A field, with the comma before it; nothing is known: empty. */
static void add_field(pada_text *out, double x)
{
    pada_text_add(out, ",");
    if (!isnan(x)) pada_text_add_double(out, x);
}

void pada_study_table_write(const pada_study_table *table, pada_text *out)
{
    pada_text_add(out, "run,seed,status");
    for (int c = 0; c < PADA_STUDY_COLUMNS; c++)
        pada_text_add(out, ",%s", pada_study_column_table[c].key);
    pada_text_add(out, ",weights_hash,arch\n");
    for (int i = 0; i < table->n_rows; i++) {
        const pada_study_row *row = &table->rows[i];

        pada_text_add(out, "%s,%" PRIu64 ",%s", table->plan->runs[row->run].name, row->seed,
                      row->status);
        for (int c = 0; c < PADA_STUDY_COLUMNS; c++)
            add_field(out, row->values[c]);
        pada_text_add(out, ",%s,\"%s\"\n", row->weights_hash, pada_text_str(&row->arch));
    }
}

void pada_study_table_write_summary(const pada_study_table *table, pada_text *out)
{
    pada_text_add(out, "run");
    for (int c = 0; c < PADA_STUDY_COLUMNS; c++)
        pada_text_add(out, ",%s,%s_sd,%s_seeds", pada_study_column_table[c].key,
                      pada_study_column_table[c].key, pada_study_column_table[c].key);
    pada_text_add(out, "\n");
    for (int run = 0; run < table->plan->n_runs; run++) {
        pada_text_add(out, "%s", table->plan->runs[run].name);
        for (int c = 0; c < PADA_STUDY_COLUMNS; c++) {
            const pada_study_mean m = pada_study_table_mean(table, run, (pada_study_column)c);
            add_field(out, m.mean);
            add_field(out, m.deviation);
            pada_text_add(out, ",%d", m.n);
        }
        pada_text_add(out, "\n");
    }
}

void pada_study_table_write_differences(const pada_study_table *table, pada_text *out)
{
    pada_text_add(out, "run,against,number,seeds,difference,standard_error\n");
    for (int i = 0; i < table->plan->n_pairs; i++) {
        const pada_study_pair *pair = &table->plan->pairs[i];

        for (int c = 0; c < PADA_STUDY_COLUMNS; c++) {
            const pada_study_mean m =
                pada_study_table_difference(table, pair, (pada_study_column)c);
            if (m.n == 0 || !pada_study_column_table[c].heading) continue;
            pada_text_add(out, "%s,%s,%s,%d", table->plan->runs[pair->run].name,
                          table->plan->runs[pair->against].name, pada_study_column_table[c].key,
                          m.n);
            add_field(out, m.mean);
            add_field(out, pada_study_standard_error(&m));
            pada_text_add(out, "\n");
        }
    }
}
