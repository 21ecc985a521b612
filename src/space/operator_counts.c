/* operator_counts.c - how often networks have each operator, by kind of cell. */
#include "space/operator_counts.h"

#include <string.h>

#include "space/choice_labels.h"

/* Names are constants of the space, but one name may have two places. */
static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static pada_operator_count *find_or_insert(pada_operator_counts *counts,
                                           const pada_operator_count *wanted)
{
    int i = 0;

    while (i < counts->n && counts->list[i].place < wanted->place)
        i++;
    if (i < counts->n && counts->list[i].place == wanted->place) return &counts->list[i];
    PADA_ASSERT(counts->n < PADA_MAX_OPERATORS);
    memmove(&counts->list[i + 1], &counts->list[i],
            (size_t)(counts->n++ - i) * sizeof counts->list[0]);
    counts->list[i] = *wanted;
    return &counts->list[i];
}

static void add_operator(pada_operator_counts *counts, const pada_sketch *sketch,
                         const pada_operator_count *wanted)
{
    for (int i = 0; i < sketch->n_arrows; i++) {
        const pada_sketch_arrow *arrow = &sketch->arrows[i];
        if (arrow->is_dead || !is_same(sketch->cells[arrow->to], wanted->cell) ||
            strcmp(arrow->label, wanted->label) != 0)
            continue;
        pada_operator_count *count = find_or_insert(counts, wanted);
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
            add_operator(counts, &sketch,
                         &(pada_operator_count){.cell = sketch.cells[node],
                                                .label = labels.names[label],
                                                .place = node * PADA_MAX_LABELS + label});
    }
    counts->n_networks++;
    return PADA_OK;
}
