/* test_plan.c - programs of all NB201 cells: the invariants P1 to P4 of plan.c, worked out anew
 * from what the instructions say that they read and write. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_fixture.h"

enum { MAX_NODES = PLAN_MAX_NODES, MAX_INSTRS = 4 * MAX_NODES, N_IMAGES = 3 };

static void make_fixture_of(plan_fixture *f, pada_space_config config)
{
    plan_fixture_open(f, "null", config);
}

static void make_fixture(plan_fixture *f, int cells)
{
    make_fixture_of(f, (pada_space_config){.channels = 4, .cells = cells, .image_size = 8});
}

static const pada_program *plan_cell(plan_fixture *f, const pada_path *path, bool train)
{
    return plan_fixture_plan(f, path, N_IMAGES, train);
}

/* ---- the checker ---- */

/* One tensor, value or gradient of a node. Times are instructions. */
typedef struct tensor {
    const pada_place *place;
    pada_shape shape;
    int first, last; /* access; -1: none */
    int first_write, last_write;
    int first_read;
} tensor;

/* A part of the work buffer that is taken during stages [from, to]. */
typedef struct region {
    int64_t begin, end;
    int from, to;
} region;

typedef struct checker {
    const plan_fixture *f;
    const pada_program *q;
    bool train;
    int stage_of[MAX_INSTRS];
    tensor tensors[2 * MAX_NODES]; /* values, then gradients */
    int stats_stage
        [MAX_NODES];           /* in which the moments of a value are collected; -1: they are not */
    int sums_stage[MAX_NODES]; /* in which the sums of a combine's gradient are collected; -1 */
    int earliest;              /* stage of the instruction at hand, worked out */
    region regions[6 * MAX_NODES];
    int n_regions, n_compared;
} checker;

static checker k; /* large */

static tensor *value_of(pada_value v)
{
    return &k.tensors[v];
}

static tensor *grad_of(pada_value v)
{
    return &k.tensors[k.q->n_nodes + v];
}

static void access_at(tensor *t, int i)
{
    if (t->first < 0) t->first = i;
    t->last = i;
}

/* Instruction i reads a tensor: somebody has written it before. */
static void reads(tensor *t, int i)
{
    assert_true(t->first_write >= 0); /* P2 */
    if (t->first_read < 0) t->first_read = i;
    if (k.stage_of[t->last_write] > k.earliest) k.earliest = k.stage_of[t->last_write];
    access_at(t, i);
}

static void reads_value(pada_value v, int i)
{
    if (k.q->nodes[v].op != PADA_OP_INPUT) reads(value_of(v), i);
}

/* What a reduction of `stage` gives is there one stage later. */
static void reads_reduction(int stage)
{
    assert_true(stage >= 0);
    if (stage + 1 > k.earliest) k.earliest = stage + 1;
}

static void writes(tensor *t, int i, bool adds)
{
    assert_int_equal(adds, t->first_write >= 0); /* P3 */
    assert_true(t->first_read < 0);              /* complete before it is read */
    if (t->first_write < 0) t->first_write = i;
    t->last_write = i;
    access_at(t, i);
}

static void combine_backward(const pada_instr *instr, const pada_node *node, int i)
{
    int n = 0;

    reads(grad_of(instr->v), i);
    if (instr->norms) reads_reduction(k.sums_stage[instr->v]);
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const pada_term *term = &k.q->terms[t];
        if (k.q->term_plans[t].lazy || k.q->nodes[term->x].op == PADA_OP_INPUT) continue;
        if ((term->kind == PADA_TERM_BATCHNORM) != instr->norms) continue;
        if (instr->norms) reads_value(term->x, i);
        writes(grad_of(term->x), i, k.q->term_plans[t].accumulate);
        n++;
    }
    assert_true(n > 0); /* no idle instruction */
}

static void conv_backward(const pada_instr *instr, const pada_node *node, int i)
{
    const pada_node *from = &k.q->nodes[instr->dy];
    bool found = instr->dy == instr->v;

    reads(grad_of(instr->dy), i);
    reads_value(node->x, i);
    assert_true(pada_shape_equal(from->shape, node->shape));
    if (instr->dy != instr->v) { /* the one term through which v feeds dy says so */
        assert_int_equal(from->op, PADA_OP_COMBINE);
        for (int t = from->first_term; t < from->first_term + from->n_terms; t++) {
            if (k.q->terms[t].x != instr->v) continue;
            assert_false(found);
            found = true;
            assert_true(k.q->term_plans[t].lazy);
            assert_true(k.q->terms[t].kind != PADA_TERM_AVGPOOL);
            assert_int_equal(instr->term, k.q->terms[t].kind == PADA_TERM_BATCHNORM ? t : -1);
        }
    }
    assert_true(found);
    if (instr->term >= 0) {
        reads_value(instr->v, i);
        reads_reduction(k.sums_stage[instr->dy]);
    }
    assert_int_equal(instr->no_grad_in, k.q->nodes[node->x].op == PADA_OP_INPUT);
    if (!instr->no_grad_in) writes(grad_of(node->x), i, instr->accumulate);
}

static void run_instr(int i)
{
    const pada_instr *instr = &k.q->instrs[i];
    const pada_node *node = &k.q->nodes[instr->v];
    const bool backward = instr->code >= PADA_CODE_LINEAR_BWD;

    k.earliest = backward ? k.q->n_forward : 0;
    assert_int_equal(k.stage_of[i] >= k.q->n_forward, backward);
    switch (instr->code) {
    case PADA_CODE_COMBINE_FWD:
    case PADA_CODE_CONCAT_FWD:
    case PADA_CODE_GATE_FWD:
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            reads_value(k.q->terms[t].x, i);
            if (k.q->terms[t].kind == PADA_TERM_BATCHNORM)
                reads_reduction(k.stats_stage[k.q->terms[t].x]);
        }
        writes(value_of(instr->v), i, false);
        break;
    case PADA_CODE_CONV_FWD:
    case PADA_CODE_GAP_FWD:
    case PADA_CODE_POOL_FWD:
    case PADA_CODE_CONSTANT_FWD:
    case PADA_CODE_DROP_FWD:
    case PADA_CODE_LINEAR_FWD:
        if (node->x != PADA_ZERO) reads_value(node->x, i);
        writes(value_of(instr->v), i, false);
        break;
    case PADA_CODE_LOSS_FWD:
        reads_value(node->x, i);
        if (k.train) writes(grad_of(node->x), i, false);
        break;
    case PADA_CODE_LINEAR_BWD:
    case PADA_CODE_GAP_BWD:
    case PADA_CODE_POOL_BWD:
    case PADA_CODE_CONSTANT_BWD:
        reads(grad_of(instr->v), i);
        if (node->x == PADA_ZERO) break;
        reads_value(node->x, i);
        writes(grad_of(node->x), i, instr->accumulate);
        break;
    case PADA_CODE_DROP_BWD:
        reads(grad_of(instr->v), i);
        writes(grad_of(node->x), i, instr->accumulate);
        break;
    case PADA_CODE_NORM_SUMS:
        reads(grad_of(instr->dy), i);
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            if (k.q->terms[t].kind != PADA_TERM_BATCHNORM) continue;
            reads_value(k.q->terms[t].x, i);
            reads_reduction(k.stats_stage[k.q->terms[t].x]);
        }
        k.sums_stage[instr->v] = k.stage_of[i];
        break;
    case PADA_CODE_TAP_KEEP:
    case PADA_CODE_ALIGN_FWD:
        assert_int_equal(instr->code == PADA_CODE_ALIGN_FWD, k.train);
        assert_true(instr->accumulate == (k.n_compared > 0));
        k.n_compared += k.train;
        if (node->x != PADA_ZERO) reads_value(node->x, i);
        break;
    case PADA_CODE_ALIGN_BWD:
        reads_value(node->x, i);
        writes(grad_of(node->x), i, instr->accumulate);
        k.earliest = k.stage_of[i]; /* the exception of P1 */
        break;
    case PADA_CODE_GATE_BWD:
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
            reads_value(k.q->terms[t].x, i);
        combine_backward(instr, node, i);
        break;
    case PADA_CODE_CONCAT_BWD:
    case PADA_CODE_COMBINE_BWD: combine_backward(instr, node, i); break;
    case PADA_CODE_CONV_BWD: conv_backward(instr, node, i); break;
    }
    if (instr->stats) k.stats_stage[instr->v] = k.stage_of[i];
    assert_int_equal(k.stage_of[i], k.earliest); /* P1 */
}

static bool is_only_probed(pada_value z)
{
    int readers = 0, probes = 0;

    for (int v = 0; v < k.q->n_nodes; v++) {
        const pada_node *node = &k.q->nodes[v];
        readers += node->op != PADA_OP_COMBINE && node->x == z;
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
            *(node->op == PADA_OP_PROBE ? &probes : &readers) += k.q->terms[t].x == z;
    }
    return probes > 0 && readers == 0;
}

/* Every node is computed once and, in training, gives its gradient to its operands once. */
static void check_complete(void)
{
    int forward[MAX_NODES] = {0}, backward[MAX_NODES] = {0};

    for (int i = 0; i < k.q->n_instrs; i++)
        (k.q->instrs[i].code < PADA_CODE_LINEAR_BWD ? forward : backward)[k.q->instrs[i].v]++;
    for (int v = 0; v < k.q->n_nodes; v++) {
        const pada_node *node = &k.q->nodes[v];
        int now = 0, later = 0, norms = 0;
        assert_int_equal(forward[v], node->op != PADA_OP_INPUT && node->op != PADA_OP_PROBE);
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            const bool norm = k.q->terms[t].kind == PADA_TERM_BATCHNORM;
            norms += norm;
            if (!k.train || k.q->term_plans[t].lazy) continue;
            if (norm)
                later++;
            else
                now++;
        }
        int want = 0;
        if (node->op == PADA_OP_COMBINE || node->op == PADA_OP_CONCAT || node->op == PADA_OP_GATE)
            want = (norms > 0) + (now > 0) + (later > 0);
        if (node->op == PADA_OP_CONV || node->op == PADA_OP_LINEAR || node->op == PADA_OP_GAP ||
            node->op == PADA_OP_POOL || node->op == PADA_OP_CONSTANT || node->op == PADA_OP_DROP)
            want = 1;
        if (node->op == PADA_OP_TAP) want = node->x != PADA_ZERO;
        if (node->op == PADA_OP_CONV && is_only_probed(v)) want = 0;
        if (node->op == PADA_OP_PROBE) want = 1;
        assert_int_equal(backward[v], k.train ? want : 0);
    }
}

static void add_region(int64_t offset, int64_t bytes, int from, int to)
{
    assert_true(offset >= 0 && offset % PADA_ALIGN == 0 && offset + bytes <= k.q->work_bytes);
    assert_true(k.n_regions < (int)(sizeof k.regions / sizeof *k.regions));
    k.regions[k.n_regions++] = (region){offset, offset + bytes, from, to};
}

static bool overlap(int64_t a, int64_t a_end, int64_t b, int64_t b_end)
{
    return a < b_end && b < a_end;
}

/* P4 for tensors inside a stage: they live for instructions. */
static void check_local(void)
{
    const tensor *local[2 * MAX_NODES];
    int n = 0;

    for (int t = 0; t < 2 * k.q->n_nodes; t++) {
        const tensor *x = &k.tensors[t];
        if (x->place->in != PADA_LOCAL) continue;
        assert_true(x->first >= 0);
        assert_int_equal(k.stage_of[x->first], k.stage_of[x->last]);
        assert_true(x->place->offset >= 0 && x->place->offset % PADA_ALIGN == 0);
        assert_true(x->place->offset + x->place->image_bytes <= k.q->local_bytes);
        for (int o = 0; o < n; o++)
            if (x->first <= local[o]->last && local[o]->first <= x->last)
                assert_false(overlap(x->place->offset, x->place->offset + x->place->image_bytes,
                                     local[o]->place->offset,
                                     local[o]->place->offset + local[o]->place->image_bytes));
        local[n++] = x;
    }
}

/* P4 for the work buffer: whole stages, with statistics for ever and partial sums for one stage. */
static void check_work(void)
{
    const plan_fixture *f = k.f;
    const int last = k.q->n_stages - 1;

    for (int t = 0; t < 2 * k.q->n_nodes; t++) {
        const tensor *x = &k.tensors[t];
        if (x->place->in != PADA_WORK) continue;
        const bool logits = t < k.q->n_nodes && k.q->nodes[t].op == PADA_OP_LINEAR;
        add_region(x->place->offset, N_IMAGES * x->place->image_bytes, k.stage_of[x->first],
                   logits ? last : k.stage_of[x->last]);
    }
    for (int v = 0; v < k.q->n_nodes; v++) {
        if (k.stats_stage[v] < 0) continue;
        add_region(k.q->node_plans[v].stats,
                   2 * f->backend->channel_bytes(f->device, k.q->nodes[v].shape.c), 0, last);
    }
    for (int v = 0; v < k.q->n_nodes; v++)
        for (int t = k.q->nodes[v].first_term; t < k.q->nodes[v].first_term + k.q->nodes[v].n_terms;
             t++)
            if (k.q->terms[t].kind == PADA_TERM_BATCHNORM && k.train)
                add_region(k.q->term_plans[t].coef,
                           3 * f->backend->channel_bytes(f->device, k.q->nodes[v].shape.c), 0,
                           last);
    for (int i = 0; i < k.q->n_instrs; i++) {
        const pada_instr *instr = &k.q->instrs[i];
        const pada_node *node = &k.q->nodes[instr->v];
        int vectors = instr->stats ? 3 : 0;
        if (instr->code == PADA_CODE_NORM_SUMS) vectors = 1 + node->n_terms;
        if (vectors > 0)
            add_region(instr->partial,
                       vectors * N_IMAGES * f->backend->channel_bytes(f->device, node->shape.c),
                       k.stage_of[i], k.stage_of[i]);
    }
    for (int a = 0; a < k.n_regions; a++)
        for (int b = 0; b < a; b++)
            if (k.regions[a].from <= k.regions[b].to && k.regions[b].from <= k.regions[a].to &&
                overlap(k.regions[a].begin, k.regions[a].end, k.regions[b].begin, k.regions[b].end))
                fail_msg("two tensors at %d", (int)k.regions[a].begin);
}

static void check_program(const plan_fixture *f, const pada_program *q, bool train)
{
    k.f = f;
    k.q = q;
    k.train = train;
    k.n_regions = k.n_compared = 0;
    assert_true(q->n_nodes <= MAX_NODES && q->n_instrs <= MAX_INSTRS);
    assert_int_equal(q->n_images, N_IMAGES);
    int i = 0;
    for (int s = 0; s < q->n_stages; s++) {
        assert_int_equal(q->stages[s].first, i);
        assert_true(q->stages[s].count > 0);
        for (; i < q->stages[s].first + q->stages[s].count; i++)
            k.stage_of[i] = s;
    }
    assert_int_equal(i, q->n_instrs);
    if (!train) assert_int_equal(q->n_stages, q->n_forward);
    for (int t = 0; t < 2 * q->n_nodes; t++) {
        const int v = t % q->n_nodes;
        k.tensors[t] =
            (tensor){.place = t < q->n_nodes ? &q->node_plans[v].value : &q->node_plans[v].grad,
                     .shape = q->nodes[v].shape,
                     .first = -1,
                     .first_write = -1,
                     .first_read = -1};
        k.stats_stage[v] = k.sums_stage[v] = -1;
    }
    for (i = 0; i < q->n_instrs; i++)
        run_instr(i);
    for (int t = 0; t < 2 * q->n_nodes; t++) {
        const tensor *x = &k.tensors[t];
        assert_int_equal(x->place->in == PADA_TAPS,
                         t < q->n_nodes && q->nodes[t].op == PADA_OP_TAP);
        if (x->place->in == PADA_TAPS) continue;
        assert_int_equal(x->first >= 0, x->place->in != PADA_NOWHERE);
        if (x->first < 0) continue;
        assert_int_equal(x->place->image_bytes, f->backend->image_bytes(f->device, x->shape));
    }
    check_complete();
    check_local();
    check_work();
}

/* ---- NB201 ---- */

static void check_cell(plan_fixture *f, int number)
{
    const pada_path path = cell_at(number);

    for (int train = 0; train < 2; train++)
        check_program(f, plan_cell(f, &path, train), train);
}

static void test_all_cells(void **state)
{
    plan_fixture f;

    (void)state;
    make_fixture(&f, 1);
    const int64_t before = pada_mem_count();
    for (int number = 0; number < N_CELLS; number++)
        check_cell(&f, number);
    assert_int_equal(pada_mem_count(), before); /* planning allocates nothing */
    plan_fixture_close(&f);
}

static void test_deep_networks(void **state)
{
    plan_fixture f;

    (void)state;
    make_fixture(&f, 5);
    for (int number = 7; number < N_CELLS; number += 271)
        check_cell(&f, number);
    check_cell(&f, N_CELLS - 1);
    check_cell(&f, 0);
    plan_fixture_close(&f);
}

/* Taps, too, are read where they are complete and add to gradients that are not. Their places are
 * the same for every path. */
static void test_taps(void **state)
{
    plan_fixture f;

    (void)state;
    make_fixture(&f, 1);
    f.graph->taps = true;
    for (int number = 0; number < N_CELLS; number += 7) {
        const pada_path path = cell_at(number);
        check_cell(&f, number);
        const pada_program *q = plan_cell(&f, &path, number % 2);
        int64_t offset = 0;
        assert_int_equal(q->n_taps, 3);
        for (int v = 0, stage = 0; v < q->n_nodes; v++) {
            if (q->nodes[v].op != PADA_OP_TAP) continue;
            assert_int_equal(q->node_plans[v].value.offset, offset);
            assert_int_equal(q->nodes[v].shape.h, f.space.config.image_size >> stage++);
            offset += N_IMAGES * f.backend->image_bytes(f.device, q->nodes[v].shape);
        }
        assert_int_equal(q->taps_bytes, offset);
    }
    plan_fixture_close(&f);
}

/* The engine makes room for the extreme paths of the space once; no path may need more. */
static void check_extremes(plan_fixture *f, bool train, int step)
{
    int64_t work_bytes = 0, local_bytes = 0;
    pada_path extreme;

    for (int i = 0; pada_space_extreme(&f->space, i, &extreme); i++) {
        const pada_program *q = plan_cell(f, &extreme, train);
        if (q->work_bytes > work_bytes) work_bytes = q->work_bytes;
        if (q->local_bytes > local_bytes) local_bytes = q->local_bytes;
    }
    for (int number = 0; number < N_CELLS; number += step) {
        const pada_path path = cell_at(number);
        const pada_program *q = plan_cell(f, &path, train);
        if (q->work_bytes > work_bytes || q->local_bytes > local_bytes)
            fail_msg("cell %d needs %lld and %lld bytes, the extremes %lld and %lld", number,
                     (long long)q->work_bytes, (long long)q->local_bytes, (long long)work_bytes,
                     (long long)local_bytes);
    }
}

static void test_extremes_are_extreme(void **state)
{
    plan_fixture f;

    (void)state;
    make_fixture_of(&f, (pada_space_config){.channels = 16, .cells = 1});
    check_extremes(&f, false, 1);
    check_extremes(&f, true, 1);
    plan_fixture_close(&f);
    make_fixture_of(&f, (pada_space_config){.channels = 16, .cells = 5});
    check_extremes(&f, false, 1);
    check_extremes(&f, true, 1);
    plan_fixture_close(&f);
}

/* Stages are cut by batch norms only: 6 on the way through the fixed part of the network (stem, two
 * per reduction, head), and the longest chain of convolutions in a cell, three times. Backward
 * there are as many. */
static void test_numbers_of_stages(void **state)
{
    static const struct {
        uint8_t choice[6]; /* 1<-0, 2<-0, 2<-1, 3<-0, 3<-1, 3<-2 */
        int norms;         /* on the longest way through one cell; -1: nothing gets through */
    } cells[] = {
        {{0, 0, 0, 0, 0, 0}, -1}, {{3, 3, 3, 0, 0, 0}, -1}, {{1, 1, 1, 1, 1, 1}, 0},
        {{4, 4, 4, 4, 4, 4}, 0},  {{0, 0, 0, 1, 0, 0}, 0},  {{0, 0, 0, 3, 0, 0}, 1},
        {{2, 2, 2, 2, 2, 2}, 3},  {{3, 3, 3, 3, 3, 3}, 3},  {{3, 0, 0, 1, 1, 0}, 1},
        {{3, 0, 4, 0, 0, 3}, 2},  {{0, 3, 3, 0, 3, 1}, 1},  {{1, 3, 2, 4, 3, 1}, 1},
    };
    plan_fixture f;

    (void)state;
    for (int n = 1; n <= 2; n++) {
        make_fixture(&f, n);
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
            pada_path path = {{0}};
            memcpy(path.choice, cells[i].choice, 6);
            const int norms = cells[i].norms < 0 ? 0 : 6 + 3 * n * cells[i].norms;
            const pada_program *q = plan_cell(&f, &path, true);
            assert_int_equal(q->n_forward, norms + 1);
            assert_int_equal(q->n_stages, 2 * (norms + 1));
            q = plan_cell(&f, &path, false);
            assert_int_equal(q->n_stages, norms + 1);
        }
        plan_fixture_close(&f);
    }
}

/* Small graphs with what no cell has: a pool as the only reader of a convolution, values read in
 * many ways. */
static void test_other_graphs(void **state)
{
    static const pada_conv first = {3, 4, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0},
                           conv = {4, 4, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0};
    plan_fixture f;

    (void)state;
    make_fixture(&f, 1);
    for (int variant = 0; variant < 6; variant++)
        for (int train = 0; train < 2; train++) {
            pada_graph *g = f.graph;
            pada_graph_reset(g);
            const pada_value x = pada_graph_input(g, (pada_shape){3, 8, 8});
            const pada_value z = pada_graph_conv(g, x, &first, 0, -1);
            const pada_term same = {.kind = PADA_TERM_IDENTITY, .x = z}, norm = pada_norm_term(z);
            const pada_term pool = {.kind = PADA_TERM_AVGPOOL, .x = z, .pool = {3, 1, 1}};
            const pada_term half = {.kind = PADA_TERM_AVGPOOL, .x = z, .pool = {2, 2, 0}};
            const pada_term variants[6][2] = {{same, norm}, {pool, pool}, {norm, norm},
                                              {half, half}, {pool, norm}, {same, same}};
            pada_value y =
                pada_graph_combine(g, variants[variant], 1 + (variant != 3 && variant != 1));
            y = pada_graph_conv(g, y, &conv, 128, -1);
            y = pada_graph_combine(g, (pada_term[]){pada_norm_term(y)}, 1);
            pada_graph_loss(
                g, pada_graph_linear(g, pada_graph_gap(g, y, PADA_ACT_RELU), 10, 512, 640));
            CHECK_OK(pada_graph_status(g));
            pada_graph_simplify(g);
            pada_plan_build(f.plan, g, f.backend, f.device, N_IMAGES, train);
            check_program(&f, pada_plan_program(f.plan), train);
        }
    plan_fixture_close(&f);
}

/* Pools and concatenations: a convolution and a sum that only a concatenation reads, parts that others read. */
static void test_pools_and_concatenations(void **state)
{
    static const pada_conv first = {3, 4, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0},
                           conv = {4, 4, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0},
                           wide = {16, 4, 1, 1, 0, PADA_ACT_RELU, 1, 1, 0};
    static const pada_pool window = {3, 1, 1};
    plan_fixture f;

    (void)state;
    make_fixture(&f, 1);
    for (int train = 0; train < 2; train++) {
        pada_graph *g = f.graph;
        pada_graph_reset(g);
        const pada_value x = pada_graph_input(g, (pada_shape){3, 8, 8});
        const pada_value z = pada_graph_conv(g, x, &first, 0, -1);
        const pada_value y = pada_graph_combine(g, (pada_term[]){pada_norm_term(z)}, 1);
        const pada_value m = pada_graph_pool(g, y, &window, PADA_POOL_MAX, PADA_ACT_RELU);
        const pada_value a = pada_graph_pool(g, m, &window, PADA_POOL_AVG, PADA_ACT_NONE);
        const pada_value s = pada_graph_combine(g,
                                                (pada_term[]){{.kind = PADA_TERM_IDENTITY, .x = a},
                                                              {.kind = PADA_TERM_IDENTITY, .x = y}},
                                                2);
        const pada_value parts[] = {pada_graph_conv(g, y, &conv, 128, -1), PADA_ZERO, s, m};
        const pada_value all = pada_graph_concat(g, parts, (const int[]){0, 4, 0, 0}, 4);
        const pada_value w = pada_graph_conv(g, all, &wide, 512, -1);
        const pada_value end = pada_graph_combine(g, (pada_term[]){pada_norm_term(w)}, 1);
        pada_graph_loss(g,
                        pada_graph_linear(g, pada_graph_gap(g, end, PADA_ACT_RELU), 10, 640, 768));
        CHECK_OK(pada_graph_status(g));
        pada_graph_simplify(g);
        assert_int_equal(g->n_nodes, 13);
        pada_plan_build(f.plan, g, f.backend, f.device, N_IMAGES, train);
        check_program(&f, pada_plan_program(f.plan), train);
    }
    plan_fixture_close(&f);
}

/* Training only: drops, one of them beside another reader, and an auxiliary loss in the middle. */
static void test_drops_and_auxiliary_losses(void **state)
{
    static const pada_conv first = {3, 4, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0},
                           conv = {4, 4, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0};
    plan_fixture f;

    (void)state;
    make_fixture(&f, 1);
    pada_graph *g = f.graph;
    for (int train = 0; train < 2; train++) {
        pada_graph_reset(g);
        g->drops = train ? PADA_ANY : 0;
        g->auxiliary = train;
        const pada_value x = pada_graph_input(g, (pada_shape){3, 8, 8});
        const pada_value z = pada_graph_conv(g, x, &first, 0, -1);
        const pada_value y = pada_graph_combine(g, (pada_term[]){pada_norm_term(z)}, 1);
        const pada_value side = pada_graph_gap(g, y, PADA_ACT_RELU);
        pada_graph_auxiliary_loss(g, pada_graph_linear(g, side, 10, 768, 832), 0.4);
        const pada_value w = pada_graph_conv(g, y, &conv, 128, -1);
        const pada_value branch = pada_graph_drop(
            g, pada_graph_combine(g, (pada_term[]){pada_norm_term(w)}, 1), PADA_DROP_IMAGES, 1);
        const pada_value end = pada_graph_combine(
            g,
            (pada_term[]){{.kind = PADA_TERM_IDENTITY, .x = branch},
                          {.kind = PADA_TERM_IDENTITY, .x = y},
                          pada_norm_term(pada_graph_drop(g, y, PADA_DROP_IMAGES, 1))},
            3);
        const pada_value features =
            pada_graph_drop(g, pada_graph_gap(g, end, PADA_ACT_RELU), PADA_DROP_ELEMENTS, 1);
        pada_graph_loss(g, pada_graph_linear(g, features, 10, 512, 640));
        CHECK_OK(pada_graph_status(g));
        pada_graph_simplify(g);
        assert_int_equal(g->n_nodes, train ? 15 : 8);
        pada_plan_build(f.plan, g, f.backend, f.device, N_IMAGES, train);
        check_program(&f, pada_plan_program(f.plan), train);
    }
    plan_fixture_close(&f);
}

static void test_out_of_memory(void **state)
{
    const int64_t live = pada_mem_live();
    pada_plan *plan = NULL;

    (void)state;
    for (int n = 0;; n++) {
        pada_mem_fail_after(n);
        const pada_status st = pada_plan_create(&plan, 4, 4);
        pada_mem_fail_after(-1);
        if (st == PADA_OK) {
            assert_true(n >= 3);
            break;
        }
        assert_int_equal(st, PADA_ENOMEM);
        assert_null(plan);
        assert_int_equal(pada_mem_live(), live);
    }
    pada_plan_destroy(plan);
    pada_plan_destroy(NULL);
    assert_int_equal(pada_mem_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_cells),
        cmocka_unit_test(test_deep_networks),
        cmocka_unit_test(test_pools_and_concatenations),
        cmocka_unit_test(test_drops_and_auxiliary_losses),
        cmocka_unit_test(test_taps),
        cmocka_unit_test(test_extremes_are_extreme),
        cmocka_unit_test(test_numbers_of_stages),
        cmocka_unit_test(test_other_graphs),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
