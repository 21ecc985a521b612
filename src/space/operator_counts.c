/* operator_counts.c - how often networks have each operator, by kind of cell. */
#include "space/operator_counts.h"

#include <string.h>

#include "space/choice_labels.h"

/* Names are constants of the space, but one name may have two places. */
static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static pada_operator_count *find_or_add(pada_operator_counts *counts, const char *cell,
                                        const char *label)
{
    for (int i = 0; i < counts->n; i++) {
        pada_operator_count *c = &counts->list[i];
        if (is_same(c->cell, cell) && strcmp(c->label, label) == 0) return c;
    }
    PADA_ASSERT(counts->n < PADA_MAX_OPERATORS);
    counts->list[counts->n] = (pada_operator_count){.cell = cell, .label = label};
    return &counts->list[counts->n++];
}

static void add_operator(pada_operator_counts *counts, const pada_sketch *sketch, const char *cell,
                         const char *label)
{
    for (int i = 0; i < sketch->n_arrows; i++) {
        const pada_sketch_arrow *arrow = &sketch->arrows[i];
        if (arrow->is_dead || !is_same(sketch->cells[arrow->to], cell) ||
            strcmp(arrow->label, label) != 0)
            continue;
        pada_operator_count *count = find_or_add(counts, cell, label);
        count->n++;
        count->n_from_inputs += arrow->from == 0 || sketch->is_input[arrow->from];
    }
}

pada_status pada_operator_counts_add(pada_operator_counts *counts, const pada_space *space,
                                     const pada_path *path)
{
    pada_choice_labels labels;
    pada_sketch sketch;

    if (!space->ops->sketch)
        return PADA_FAIL(PADA_EUNSUPPORTED,
                         "space %s has no drawing whose operators could be counted",
                         space->ops->name);
    space->ops->sketch(space, path, &sketch);
    pada_choice_labels_init(&labels, space, false);
    for (int node = 0; node < sketch.n_nodes; node++) {
        if (node > 0 && is_same(sketch.cells[node], sketch.cells[node - 1])) continue;
        for (int label = 0; label < labels.n; label++)
            add_operator(counts, &sketch, sketch.cells[node], labels.names[label]);
    }
    counts->n_networks++;
    return PADA_OK;
}
