/* print_operators.c - how often networks have each operator, for people and for programs. */
#include "cli/print_operators.h"

void pada_add_operators(pada_text *out, const pada_operator_counts *counts)
{
    const double n = counts->n_networks;
    const char *cell = NULL;

    for (int i = 0; i < counts->n; i++) {
        const pada_operator_count *c = &counts->list[i];
        const bool is_first = i == 0 || c->cell != cell;

        pada_text_add(out, is_first ? "  " : ", ");
        if (is_first && c->cell) pada_text_add(out, "%s: ", c->cell);
        cell = c->cell;
        pada_text_add(out, "%s %.4g", c->label, c->n / n);
        if (c->cell) pada_text_add(out, " (%.4g from inputs)", c->n_from_inputs / n);
    }
}

json_t *pada_json_operators(pada_text *out, const pada_operator_counts *counts)
{
    json_t *list = json_array();

    for (int i = 0; i < counts->n; i++) {
        const pada_operator_count *c = &counts->list[i];
        json_t *object = json_object();

        if (c->cell) pada_json_set(out, object, "cell", json_string(c->cell));
        pada_json_set(out, object, "operator", json_string(c->label));
        pada_json_set(out, object, "count", json_integer(c->n));
        pada_json_set(out, object, "from_inputs", json_integer(c->n_from_inputs));
        pada_json_append(out, list, object);
    }
    return list;
}
