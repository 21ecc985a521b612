/* draw_layout.c - where everything of a drawing goes, after Sugiyama: layers, order, coordinates. */
#include "report/draw_layout.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { ORDER_SWEEPS = 8, PLACE_SWEEPS = 40 };

/* Pixels. Characters are those of a monospaced font of 11 pixels, which are 0.6 em wide everywhere. */
static const double character = 6.7, label_padding = 6, node_padding = 9, node_least = 48;
static const double label_height = 18, node_height = 24, passing_width = 6;
static const double between_boxes = 10, between_rows = 20, margin = 4, between_ports = 16;

/* Two boxes that a line connects, one in a row and one in the next. */
typedef struct link {
    int upper, lower;
} link;

typedef struct plan {
    const pada_sketch *sketch;
    pada_draw_layout *layout;
    int layer[PADA_MAX_SKETCH]; /* of the nodes */
    int n_links;
    link *links;             /* by rows */
    int *row_links;          /* [n_rows + 1]: where the links below a row begin */
    int *row_members;        /* [n_rows + 1]: where the boxes of a row begin in `members` */
    int *members;            /* [n_boxes]: rows from the top, each from left to right */
    int *best;               /* [n_boxes]: the members with the fewest crossings so far */
    int *place;              /* [n_boxes]: of a box in its row */
    double *wanted, *weight; /* [n_boxes] */
} plan;

/* ---- layers ---- */

static void find_dead(plan *p)
{
    const pada_sketch *s = p->sketch;
    bool *is_dead = p->layout->is_dead;

    for (int i = 1; i < s->n_nodes - 1; i++)
        is_dead[i] = true;
    for (int i = 0; i < s->n_arrows; i++)
        if (!s->arrows[i].is_dead) is_dead[s->arrows[i].from] = is_dead[s->arrows[i].to] = false;
}

/* Longest ways; what is dead is not among the inputs, and nothing is beside the output. */
static void find_layers(plan *p)
{
    const pada_sketch *s = p->sketch;
    int last = 0;

    for (int i = 0; i < s->n_nodes; i++) {
        p->layer[i] = p->layout->is_dead[i];
        for (int k = 0; k < s->n_arrows; k++) {
            const pada_sketch_arrow *arrow = &s->arrows[k];
            if (arrow->to == i && p->layer[arrow->from] >= p->layer[i])
                p->layer[i] = p->layer[arrow->from] + 1;
        }
        if (i == s->n_nodes - 1 && i > 0 && p->layer[i] <= last) p->layer[i] = last + 1;
        if (p->layer[i] > last) last = p->layer[i];
    }
    p->layout->n_rows = 2 * last + 1;
}

static double text_width(const char *text)
{
    uint32_t code;
    int n = 0;

    for (int bytes; *text; text += bytes > 0 ? bytes : 1, n++)
        bytes = pada_utf8_decode(text, &code);
    return n * character;
}

static int span(const plan *p, int arrow)
{
    return p->layer[p->sketch->arrows[arrow].to] - p->layer[p->sketch->arrows[arrow].from];
}

/* The labels of short arrows have no choice; those of longer ones go where there is the most room. */
static void place_labels(plan *p)
{
    const pada_sketch *s = p->sketch;
    double used[PADA_MAX_SKETCH] = {0}; /* by the layer above */

    for (int length = 1; length < s->n_nodes; length++) {
        for (int i = 0; i < s->n_arrows; i++) {
            const int from = p->layer[s->arrows[i].from];
            int best = from;
            if (span(p, i) != length) continue;
            for (int k = from; k < from + length; k++)
                if (used[k] < used[best]) best = k;
            used[best] += text_width(s->arrows[i].label) + 2 * label_padding;
            p->layout->arrows[i].label =
                *s->arrows[i].label ? p->layout->arrows[i].first_box + 2 * (best - from) : -1;
        }
    }
}

static void count_boxes(plan *p)
{
    pada_draw_layout *layout = p->layout;

    layout->n_boxes = p->sketch->n_nodes;
    for (int i = 0; i < p->sketch->n_arrows; i++) {
        layout->arrows[i] =
            (pada_draw_arrow){.first_box = layout->n_boxes, .n_boxes = 2 * span(p, i) - 1};
        layout->n_boxes += layout->arrows[i].n_boxes;
        p->n_links += layout->arrows[i].n_boxes + 1;
    }
}

static void size_boxes(plan *p)
{
    const pada_sketch *s = p->sketch;
    pada_draw_box *boxes = p->layout->boxes;

    for (int i = 0; i < s->n_nodes; i++)
        boxes[i] = (pada_draw_box){
            .row = 2 * p->layer[i],
            .width = fmax(text_width(s->nodes[i]) + 2 * node_padding, node_least),
            .height = node_height,
        };
    for (int i = 0; i < s->n_arrows; i++) {
        const pada_draw_arrow *arrow = &p->layout->arrows[i];
        for (int k = 0; k < arrow->n_boxes; k++) {
            const int row = 2 * p->layer[s->arrows[i].from] + 1 + k;
            const bool is_label = arrow->first_box + k == arrow->label;
            boxes[arrow->first_box + k] = (pada_draw_box){
                .row = row,
                .width =
                    is_label ? text_width(s->arrows[i].label) + 2 * label_padding : passing_width,
                .height = row % 2 ? label_height : node_height,
            };
        }
    }
}

/* ---- order ---- */

static int box_on_way(const plan *p, int arrow, int k)
{
    const pada_draw_arrow *a = &p->layout->arrows[arrow];

    if (k == 0) return p->sketch->arrows[arrow].from;
    return k <= a->n_boxes ? a->first_box + k - 1 : p->sketch->arrows[arrow].to;
}

static void sort_links(plan *p)
{
    const pada_draw_box *boxes = p->layout->boxes;
    int n = 0;

    for (int row = 0; row < p->layout->n_rows; row++) {
        p->row_links[row] = n;
        for (int i = 0; i < p->sketch->n_arrows; i++) {
            const int k = row - boxes[p->sketch->arrows[i].from].row;
            if (k < 0 || k > p->layout->arrows[i].n_boxes) continue;
            p->links[n++] = (link){box_on_way(p, i, k), box_on_way(p, i, k + 1)};
        }
    }
    p->row_links[p->layout->n_rows] = n;
}

static void sort_members(plan *p)
{
    int n = 0;

    for (int row = 0; row < p->layout->n_rows; row++) {
        p->row_members[row] = n;
        for (int i = 0; i < p->layout->n_boxes; i++)
            if (p->layout->boxes[i].row == row) p->members[n++] = i;
    }
    p->row_members[p->layout->n_rows] = n;
}

static void number_places(plan *p)
{
    for (int row = 0; row < p->layout->n_rows; row++)
        for (int i = p->row_members[row]; i < p->row_members[row + 1]; i++)
            p->place[p->members[i]] = i - p->row_members[row];
}

static int count_crossings(const plan *p)
{
    int n = 0;

    for (int row = 0; row < p->layout->n_rows; row++)
        for (int i = p->row_links[row]; i < p->row_links[row + 1]; i++)
            for (int k = p->row_links[row]; k < i; k++)
                n += (p->place[p->links[i].upper] - p->place[p->links[k].upper]) *
                         (p->place[p->links[i].lower] - p->place[p->links[k].lower]) <
                     0;
    return n;
}

/* Sorts a row by the mean place of its neighbours above, or below; equals keep their order. */
static void sort_row(plan *p, int row, bool is_down)
{
    const int first = p->row_members[row], end = p->row_members[row + 1];
    const int links_row = is_down ? row - 1 : row;

    for (int i = first; i < end; i++)
        p->wanted[p->members[i]] = p->weight[p->members[i]] = 0;
    for (int i = p->row_links[links_row]; i < p->row_links[links_row + 1]; i++) {
        const int self = is_down ? p->links[i].lower : p->links[i].upper;
        p->wanted[self] += p->place[is_down ? p->links[i].upper : p->links[i].lower];
        p->weight[self]++;
    }
    for (int i = first; i < end; i++) {
        const int box = p->members[i];
        p->wanted[box] = p->weight[box] > 0 ? p->wanted[box] / p->weight[box] : p->place[box];
        int k = i;
        for (; k > first && p->wanted[p->members[k - 1]] > p->wanted[box]; k--)
            p->members[k] = p->members[k - 1];
        p->members[k] = box;
    }
    for (int i = first; i < end; i++)
        p->place[p->members[i]] = i - first;
}

static void find_order(plan *p)
{
    const size_t bytes = (size_t)p->layout->n_boxes * sizeof *p->members;
    int fewest;

    sort_members(p);
    number_places(p);
    fewest = count_crossings(p);
    memcpy(p->best, p->members, bytes);
    for (int sweep = 0; sweep < ORDER_SWEEPS && fewest > 0; sweep++) {
        if (sweep % 2 == 0)
            for (int row = 1; row < p->layout->n_rows; row++)
                sort_row(p, row, true);
        else
            for (int row = p->layout->n_rows - 2; row >= 0; row--)
                sort_row(p, row, false);
        const int n = count_crossings(p);
        if (n >= fewest) continue;
        fewest = n;
        memcpy(p->best, p->members, bytes);
    }
    memcpy(p->members, p->best, bytes);
    number_places(p);
}

/* ---- coordinates ---- */

/* How far the middle of a member of a row is from that of the one before it, at least. */
static double distance(const plan *p, int member)
{
    const pada_draw_box *boxes = p->layout->boxes;

    return (boxes[p->members[member - 1]].width + boxes[p->members[member]].width) / 2 +
           between_boxes;
}

/* Moves the boxes of a row as near as possible to where they want to be (least squares), in their
 * order and at their distances: neighbours that would come too near move as one block. */
static void settle_row(plan *p, int row)
{
    const int first = p->row_members[row], end = p->row_members[row + 1];
    struct {
        double sum, weight; /* of what its members want, each less its offset */
        int n;
    } blocks[2 * PADA_MAX_SKETCH];
    double offset = 0;
    int n_blocks = 0;

    for (int i = first; i < end; i++) {
        const int box = p->members[i];
        if (i > first) offset += distance(p, i);
        blocks[n_blocks].sum = p->weight[box] * (p->wanted[box] - offset);
        blocks[n_blocks].weight = p->weight[box];
        blocks[n_blocks++].n = 1;
        for (; n_blocks > 1 && blocks[n_blocks - 2].sum * blocks[n_blocks - 1].weight >
                                   blocks[n_blocks - 1].sum * blocks[n_blocks - 2].weight;
             n_blocks--) {
            blocks[n_blocks - 2].sum += blocks[n_blocks - 1].sum;
            blocks[n_blocks - 2].weight += blocks[n_blocks - 1].weight;
            blocks[n_blocks - 2].n += blocks[n_blocks - 1].n;
        }
    }
    offset = 0;
    for (int b = 0, i = first; b < n_blocks; b++)
        for (int k = 0; k < blocks[b].n; k++, i++) {
            if (i > first) offset += distance(p, i);
            p->layout->boxes[p->members[i]].x = blocks[b].sum / blocks[b].weight + offset;
        }
}

/* Lines that pass rows are kept straight before others are. */
static double stiffness(const plan *p, const link *l)
{
    const int n_nodes = p->sketch->n_nodes;

    return l->upper >= n_nodes && l->lower >= n_nodes ? 30 : 1;
}

static void place_row(plan *p, int row)
{
    pada_draw_box *boxes = p->layout->boxes;

    for (int i = p->row_members[row]; i < p->row_members[row + 1]; i++)
        p->wanted[p->members[i]] = p->weight[p->members[i]] = 0;
    for (int side = 0; side < 2; side++) {
        const int links_row = row - side;
        if (links_row < 0) continue;
        for (int i = p->row_links[links_row]; i < p->row_links[links_row + 1]; i++) {
            const link *l = &p->links[i];
            const int self = side ? l->lower : l->upper, other = side ? l->upper : l->lower;
            p->wanted[self] += stiffness(p, l) * boxes[other].x;
            p->weight[self] += stiffness(p, l);
        }
    }
    for (int i = p->row_members[row]; i < p->row_members[row + 1]; i++) {
        const int box = p->members[i];
        p->wanted[box] = p->weight[box] > 0 ? p->wanted[box] / p->weight[box] : boxes[box].x;
        if (p->weight[box] <= 0) p->weight[box] = 1;
    }
    settle_row(p, row);
}

static void place_boxes(plan *p)
{
    for (int row = 0; row < p->layout->n_rows; row++)
        for (int i = p->row_members[row] + 1; i < p->row_members[row + 1]; i++)
            p->layout->boxes[p->members[i]].x =
                p->layout->boxes[p->members[i - 1]].x + distance(p, i);
    for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++)
        for (int i = 0; i < p->layout->n_rows; i++)
            place_row(p, sweep % 2 ? p->layout->n_rows - 1 - i : i);
}

/* Moves everything into the picture, and gives rows their heights. */
static void frame(plan *p)
{
    pada_draw_layout *layout = p->layout;
    double left = INFINITY, right = -INFINITY;

    for (int i = 0; i < layout->n_boxes; i++) {
        left = fmin(left, layout->boxes[i].x - layout->boxes[i].width / 2);
        right = fmax(right, layout->boxes[i].x + layout->boxes[i].width / 2);
    }
    for (int i = 0; i < layout->n_boxes; i++) {
        pada_draw_box *box = &layout->boxes[i];
        const int n_nodes = (box->row + 1) / 2, n_labels = box->row / 2; /* rows above it */
        box->x += margin - left;
        box->y = margin + n_nodes * node_height + n_labels * label_height +
                 box->row * between_rows + box->height / 2;
    }
    layout->width = ceil(right - left + 2 * margin);
    layout->height = 2 * margin + (layout->n_rows + 1) / 2 * node_height +
                     layout->n_rows / 2 * label_height + (layout->n_rows - 1) * between_rows;
}

/* Spreads the arrows at one side of a node in the order of the boxes that they come from or go to. */
static void place_ports(plan *p, int node, bool is_entry)
{
    const pada_sketch *s = p->sketch;
    const pada_draw_box *boxes = p->layout->boxes;
    int ports[PADA_MAX_SKETCH], n = 0;

    for (int i = 0; i < s->n_arrows; i++) {
        const pada_draw_arrow *arrow = &p->layout->arrows[i];
        const int near = is_entry ? arrow->first_box + arrow->n_boxes - 1 : arrow->first_box;
        if ((is_entry ? s->arrows[i].to : s->arrows[i].from) != node) continue;
        int k = n++;
        for (; k > 0; k--) {
            const pada_draw_arrow *left = &p->layout->arrows[ports[k - 1]];
            if (boxes[is_entry ? left->first_box + left->n_boxes - 1 : left->first_box].x <=
                boxes[near].x)
                break;
            ports[k] = ports[k - 1];
        }
        ports[k] = i;
    }
    const double room = boxes[node].width - between_ports;
    const double step = n > 1 ? fmin(between_ports, room / (n - 1)) : 0;
    for (int k = 0; k < n; k++)
        *(is_entry ? &p->layout->arrows[ports[k]].to_x : &p->layout->arrows[ports[k]].from_x) =
            boxes[node].x + (k - (n - 1) / 2.0) * step;
}

/* ---- memory ---- */

static pada_status allocate(plan *p)
{
    const size_t n_boxes = (size_t)p->layout->n_boxes, n_rows = (size_t)p->layout->n_rows;
    void *mem;

    PADA_TRY(pada_calloc(&mem, n_boxes, sizeof *p->layout->boxes));
    p->layout->boxes = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)p->n_links, sizeof *p->links));
    p->links = mem;
    PADA_TRY(pada_calloc(&mem, n_rows + 1, sizeof *p->row_links));
    p->row_links = mem;
    PADA_TRY(pada_calloc(&mem, n_rows + 1, sizeof *p->row_members));
    p->row_members = mem;
    PADA_TRY(pada_calloc(&mem, n_boxes, sizeof *p->members));
    p->members = mem;
    PADA_TRY(pada_calloc(&mem, n_boxes, sizeof *p->best));
    p->best = mem;
    PADA_TRY(pada_calloc(&mem, n_boxes, sizeof *p->place));
    p->place = mem;
    PADA_TRY(pada_calloc(&mem, n_boxes, sizeof *p->wanted));
    p->wanted = mem;
    PADA_TRY(pada_calloc(&mem, n_boxes, sizeof *p->weight));
    p->weight = mem;
    return PADA_OK;
}

static void deinit(plan *p)
{
    pada_free(p->links);
    pada_free(p->row_links);
    pada_free(p->row_members);
    pada_free(p->members);
    pada_free(p->best);
    pada_free(p->place);
    pada_free(p->wanted);
    pada_free(p->weight);
}

pada_status pada_draw_layout_init(pada_draw_layout *layout, const pada_sketch *sketch)
{
    plan p = {.sketch = sketch, .layout = layout};

    *layout = (pada_draw_layout){0};
    find_dead(&p);
    find_layers(&p);
    count_boxes(&p);
    const pada_status st = allocate(&p);
    if (st == PADA_OK) {
        place_labels(&p);
        size_boxes(&p);
        sort_links(&p);
        find_order(&p);
        place_boxes(&p);
        frame(&p);
        for (int i = 0; i < sketch->n_nodes; i++) {
            place_ports(&p, i, false);
            place_ports(&p, i, true);
        }
    } else {
        pada_draw_layout_deinit(layout);
    }
    deinit(&p);
    return st;
}

void pada_draw_layout_deinit(pada_draw_layout *layout)
{
    pada_free(layout->boxes);
    *layout = (pada_draw_layout){0};
}
