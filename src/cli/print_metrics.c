/* print_metrics.c - how well scores rank networks, as tables and as JSON. */
#include "cli/print_metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/print.h"

enum { COLUMN = 10, MIN_NAME = 12 };

void pada_add_number(pada_text *out, double x, int decimals, int width)
{
    if (isnan(x))
        pada_text_add(out, "%*s", width, "-");
    else
        pada_text_add(out, "%*.*f", width, decimals, x);
}

void pada_add_interval(pada_text *out, const pada_interval *interval, int decimals, int width)
{
    char text[80] = "-";

    if (!isnan(interval->low))
        snprintf(text, sizeof text, "[%.*f, %.*f]", decimals, interval->low, decimals,
                 interval->high);
    pada_text_add(out, "%-*s", width, text);
}

void pada_add_metrics(pada_text *out, const pada_scoreboard *board, int set)
{
    pada_interval interval;

    pada_text_add(out, "%-14s %10s   95 %% interval\n", "metric", "value");
    for (int m = 0; m < PADA_N_METRICS; m++) {
        const pada_metric_info *info = &pada_metric_table[m];

        pada_bootstrap_interval(board->bootstrap, set, (pada_metric)m, &interval);
        pada_text_add(out, "%-14s ", info->label);
        pada_add_number(out, board->metrics[set].value[m], info->decimals, 10);
        pada_text_add(out, "   ");
        pada_add_interval(out, &interval, info->decimals, 0);
        pada_text_add(out, "\n");
    }
}

void pada_add_sets(pada_text *out, const pada_scoreboard *board, const char *const *names)
{
    int width = MIN_NAME;

    for (int i = 0; i < board->n_sets; i++)
        if ((int)strlen(names[i]) > width) width = (int)strlen(names[i]);
    pada_text_add(out, "%-*s", width, "scores");
    for (int m = 0; m < PADA_N_METRICS; m++)
        pada_text_add(out, "%*s", COLUMN, pada_metric_table[m].heading);
    pada_text_add(out, "\n");
    for (int i = 0; i < board->n_sets; i++) {
        pada_text_add(out, "%-*s", width, names[i]);
        for (int m = 0; m < PADA_N_METRICS; m++)
            pada_add_number(out, board->metrics[i].value[m], pada_metric_table[m].decimals, COLUMN);
        pada_text_add(out, "\n");
    }
}

void pada_json_set_number(pada_text *out, json_t *object, const char *key, double x)
{
    pada_json_set(out, object, key, isnan(x) ? json_null() : json_real(x));
}

void pada_json_set_metrics(pada_text *out, json_t *object, const pada_scoreboard *board, int set)
{
    pada_interval interval;
    char key[64];

    pada_json_set(out, object, "n", json_integer(board->n));
    for (int m = 0; m < PADA_N_METRICS; m++) {
        const char *name = pada_metric_table[m].key;

        pada_bootstrap_interval(board->bootstrap, set, (pada_metric)m, &interval);
        pada_json_set_number(out, object, name, board->metrics[set].value[m]);
        snprintf(key, sizeof key, "%s_lo", name);
        pada_json_set_number(out, object, key, interval.low);
        snprintf(key, sizeof key, "%s_hi", name);
        pada_json_set_number(out, object, key, interval.high);
    }
}
