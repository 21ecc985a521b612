/* test_match.c - the grouping of instructions into launches, for the plans of many random paths: every
 * instruction belongs to one step of its stage, and a step finds what it reads. No device is needed to
 * run programs here, only to plan them. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_level_known.h"
#include "backend/cuda/cuda_match.h"
#include "graph/plan_fixture.h"

enum { MAX_NODES = PLAN_MAX_NODES, N_PATHS = 400 };

typedef struct fixture {
    plan_fixture plans;
    cuda_match match;
} fixture;

static void make_fixture(fixture *f, pada_space_config config)
{
    plan_fixture_open(&f->plans, "cuda", config);
    f->match = (cuda_match){0};
}

static void free_fixture(fixture *f)
{
    pada_cuda_match_deinit(&f->match);
    plan_fixture_close(&f->plans);
}

static int stage_of(const pada_program *q, int instr)
{
    int s = 0;

    while (instr >= q->stages[s].first + q->stages[s].count)
        s++;
    return s;
}

/* Tensors an instruction reads and writes: value v is v, gradient v is n_nodes + v. */
typedef struct access {
    int reads[32], writes[4], n_reads, n_writes;
} access;

static access access_of(const pada_program *q, const pada_instr *instr)
{
    const pada_node *node = &q->nodes[instr->v];
    const int grad = q->n_nodes;
    access a = {.n_reads = 0};

    switch (instr->code) {
    case PADA_CODE_CONSTANT_FWD: a.writes[a.n_writes++] = instr->v; break;
    case PADA_CODE_CONSTANT_BWD: a.reads[a.n_reads++] = grad + instr->v; break;
    case PADA_CODE_COMBINE_FWD:
    case PADA_CODE_CONCAT_FWD:
    case PADA_CODE_GATE_FWD:
        for (int t = 0; t < node->n_terms; t++)
            a.reads[a.n_reads++] = q->terms[node->first_term + t].x;
        a.writes[a.n_writes++] = instr->v;
        break;
    case PADA_CODE_CONV_FWD:
    case PADA_CODE_GAP_FWD:
    case PADA_CODE_POOL_FWD:
    case PADA_CODE_DROP_FWD:
    case PADA_CODE_LINEAR_FWD:
        if (node->x != PADA_ZERO) a.reads[a.n_reads++] = node->x;
        a.writes[a.n_writes++] = instr->v;
        break;
    case PADA_CODE_LOSS_FWD:
        a.reads[a.n_reads++] = node->x;
        a.writes[a.n_writes++] = grad + node->x;
        break;
    case PADA_CODE_LINEAR_BWD:
    case PADA_CODE_GAP_BWD:
    case PADA_CODE_POOL_BWD:
    case PADA_CODE_DROP_BWD:
        a.reads[a.n_reads++] = grad + instr->v;
        if (node->x != PADA_ZERO) a.writes[a.n_writes++] = grad + node->x;
        break;
    case PADA_CODE_TAP_KEEP:
    case PADA_CODE_ALIGN_FWD:
        if (node->x != PADA_ZERO) a.reads[a.n_reads++] = node->x;
        break;
    case PADA_CODE_ALIGN_BWD:
        a.reads[a.n_reads++] = node->x;
        a.writes[a.n_writes++] = grad + node->x;
        break;
    case PADA_CODE_NORM_SUMS: a.reads[a.n_reads++] = grad + instr->dy; break;
    case PADA_CODE_COMBINE_BWD:
    case PADA_CODE_CONCAT_BWD:
    case PADA_CODE_GATE_BWD:
        assert_true(instr->term >= 0); /* gathered */
        a.reads[a.n_reads++] = grad + instr->v;
        a.writes[a.n_writes++] = grad + q->terms[instr->term].x;
        break;
    case PADA_CODE_CONV_BWD:
        a.reads[a.n_reads++] = grad + instr->dy;
        if (!instr->no_grad_in) a.writes[a.n_writes++] = grad + node->x;
        break;
    }
    return a;
}

static bool contains(const int *list, int n, int x)
{
    for (int i = 0; i < n; i++)
        if (list[i] == x) return true;
    return false;
}

/* Every contribution to what step s reads stands in steps before it, or (a convolution of the sum) in it. */
static void check_order(const pada_program *q, const cuda_match *m, const int *step_of, int s)
{
    for (int k = 0; k < m->steps[s].count; k++) {
        const int i = m->members[m->steps[s].first + k];
        const access mine = access_of(q, &q->instrs[i]);
        for (int other = 0; other < q->n_instrs; other++) {
            const access theirs = access_of(q, &q->instrs[other]);
            for (int w = 0; w < theirs.n_writes; w++) {
                if (!contains(mine.reads, mine.n_reads, theirs.writes[w])) continue;
                if (step_of[other] > s)
                    fail_msg("step %d reads what step %d writes", s, step_of[other]);
            }
        }
    }
}

/* The first contribution stores, all others add. A step writes one gradient, but for the head: that of the
 * pooled features and, from it, that of what was pooled. */
static void check_accumulate(const pada_program *q, const cuda_match *m)
{
    bool begun[2 * MAX_NODES] = {false};

    for (int s = 0; s < m->n_steps; s++) {
        const cuda_step *step = &m->steps[s];
        int to = -1;
        for (int k = 0; k < step->count; k++) {
            const pada_instr *instr = &q->instrs[m->members[step->first + k]];
            const access a = access_of(q, instr);
            if (stage_of(q, m->members[step->first + k]) < q->n_forward || a.n_writes == 0)
                continue;
            if (to >= 0 && step->kind != CUDA_STEP_HEAD_BACKWARD)
                assert_true(to == a.writes[0]);
            else if (step->accumulate != begun[a.writes[0]])
                fail_msg("step %d: accumulate is %d", s, step->accumulate);
            to = a.writes[0];
        }
        for (int k = 0; k < step->count; k++) {
            const access a = access_of(q, &q->instrs[m->members[step->first + k]]);
            for (int w = 0; w < a.n_writes; w++)
                begun[a.writes[w]] = true;
        }
    }
}

/* What adding up batch `batch` reads for a weight: every partial sum of its convolutions, and nothing else. */
static void check_partials(const pada_program *q, const cuda_match *m, int batch)
{
    int n_sums = 0, n_added = 0;

    for (int v = 0; v < q->n_nodes; v++) {
        const cuda_node_match *first = &m->nodes[v];
        if (first->blocks == 0 || first->batch != batch) continue;
        const int64_t weights = pada_conv_weights(&q->nodes[v].conv);
        n_sums += first->blocks;
        n_added += first->n_partials;
        assert_true(first->partial >= 0 &&
                    first->partial + weights * first->blocks <= m->partial_floats);
        for (int u = 0; u < q->n_nodes && first->n_partials > 0; u++) {
            const cuda_node_match *at = &m->nodes[u];
            const bool inside = at->partial >= first->partial &&
                                at->partial < first->partial + weights * first->n_partials;
            if (at->blocks == 0 || at->batch != batch) continue;
            assert_int_equal(inside, q->nodes[u].weight == q->nodes[v].weight);
            if (inside)
                assert_int_equal((at->partial - first->partial) % (weights * at->blocks), 0);
            assert_true(u == v || !inside || at->partial != first->partial);
        }
    }
    assert_int_equal(n_sums, n_added);
}

static void check_match(const pada_program *q, const cuda_match *m)
{
    int step_of[4 * MAX_NODES];

    assert_int_equal(m->n_members, q->n_instrs);
    for (int i = 0; i < q->n_instrs; i++)
        step_of[i] = -1;
    for (int s = 0; s < m->n_steps; s++) {
        const cuda_step *step = &m->steps[s];
        assert_true(step->count > 0 && (s == 0 || step->stage >= m->steps[s - 1].stage));
        for (int k = 0; k < step->count; k++) {
            const int i = m->members[step->first + k];
            assert_true(i >= 0 && i < q->n_instrs && step_of[i] == -1);
            assert_int_equal(stage_of(q, i), step->stage);
            step_of[i] = s;
        }
    }
    for (int s = 0; s < m->n_steps; s++)
        check_order(q, m, step_of, s);
    check_accumulate(q, m);
    for (int batch = 0; batch <= m->n_batches; batch++)
        check_partials(q, m, batch);
}

static pada_path random_path(pada_rng *rng)
{
    pada_path path = {{0}};

    for (int e = 0; e < 6; e++)
        path.choice[e] = (uint8_t)pada_rng_below(rng, 5);
    return path;
}

static void test_random_paths(void **state)
{
    fixture f;
    pada_rng rng;
    int64_t steps = 0, single = 0;

    (void)state;
    make_fixture(&f, (pada_space_config){.channels = 16, .cells = 5});
    pada_rng_init(&rng, 1, "paths", 0);
    for (int i = 0; i < N_PATHS; i++) {
        const pada_path path = random_path(&rng);
        const bool train = i % 4 != 0;
        const pada_program *q = plan_fixture_plan(&f.plans, &path, 1 + i, train);
        CHECK_OK(pada_cuda_match(&f.match, q, true));
        if (i % 21 == 0) check_match(q, &f.match);
        steps += train ? f.match.n_steps : 0;
        for (int s = 0; train && s < f.match.n_steps; s++)
            single += f.match.steps[s].kind == CUDA_STEP_INSTR;
    }
    print_message("%.1f steps a training step, %.1f of them single instructions\n",
                  (double)steps / (N_PATHS * 3 / 4), (double)single / (N_PATHS * 3 / 4));
    free_fixture(&f);
}

/* Few cells and shapes that no node kernel knows: all paths, all checks. */
static void test_all_cells(void **state)
{
    static const pada_space_config configs[] = {{.channels = 16, .cells = 1},
                                                {.channels = 1, .cells = 1, .image_size = 8}};

    (void)state;
    for (int c = 0; c < 2; c++) {
        fixture f;
        make_fixture(&f, configs[c]);
        for (int i = c; i < 15625; i += 7) {
            pada_path path = {{0}};
            for (int e = 0, rest = i; e < 6; e++, rest /= 5)
                path.choice[e] = (uint8_t)(rest % 5);
            const pada_program *q = plan_fixture_plan(&f.plans, &path, 3, i % 3 != 0);
            CHECK_OK(pada_cuda_match(&f.match, q, true));
            check_match(q, &f.match);
            for (int s = 0; c == 1 && s < f.match.n_steps; s++)
                assert_true(f.match.steps[s].kind == CUDA_STEP_INSTR ||
                            f.match.steps[s].kind >= CUDA_STEP_HEAD_FORWARD);
        }
        free_fixture(&f);
    }
}

/* How often parts of levels take each instruction. */
static void count_uses(const pada_program *q, const cuda_match *m, int *uses)
{
    for (int s = 0; s < m->n_steps; s++) {
        const cuda_step *step = &m->steps[s];
        if (step->kind != CUDA_STEP_LEVEL) {
            for (int k = 0; k < (step->kind == CUDA_STEP_HEAD_FORWARD    ? 3
                                 : step->kind == CUDA_STEP_HEAD_BACKWARD ? 2
                                                                         : 1);
                 k++)
                uses[m->members[step->first + k]]++;
            continue;
        }
        for (int p = step->first; p < step->first + step->count; p++) {
            assert_int_equal(m->parts[p].kind, m->parts[step->first].kind);
            assert_int_equal(m->parts[p].level, m->parts[step->first].level);
            for (int k = 0; k < m->parts[p].count; k++)
                uses[m->members[m->parts[p].first + k]]++;
            for (int i = 0; i < q->n_instrs && m->parts[p].norms >= 0; i++)
                if (q->instrs[i].code == PADA_CODE_NORM_SUMS && q->instrs[i].v == m->parts[p].norms)
                    uses[i]++;
        }
    }
}

/* Sizes that only kernels of levels know: every instruction is taken, those of convolutions backward for both of their
 * gradients, and only sums of one batch norm are left to their readers. */
static void test_levels(void **state)
{
    static const pada_space_config config = {.channels = 8, .cells = 1, .image_size = 8};
    int n_level = 0;
    fixture f;

    (void)state;
    make_fixture(&f, config);
    for (int i = 0; i < 15625; i += 31) {
        int uses[4 * MAX_NODES] = {0};
        pada_path path = {{0}};
        for (int e = 0, rest = i; e < 6; e++, rest /= 5)
            path.choice[e] = (uint8_t)(rest % 5);
        const pada_program *q = plan_fixture_plan(&f.plans, &path, 3, i % 3 != 0);
        CHECK_OK(pada_cuda_match(&f.match, q, true));
        if (!f.match.levels) continue; /* a dead cell has no convolutions */
        count_uses(q, &f.match, uses);
        for (int k = 0; k < q->n_instrs; k++) {
            const pada_instr *instr = &q->instrs[k];
            const bool both = instr->code == PADA_CODE_CONV_BWD && !instr->no_grad_in;
            const cuda_node_match *node = &f.match.nodes[instr->v];
            n_level += both && uses[k] == 2;
            assert_true(node->viewed || uses[k] == (both && node->plain ? 2 : 1));
            if (node->viewed) assert_int_equal(q->nodes[instr->v].n_terms, 1);
        }
        for (int batch = 0; batch <= f.match.n_batches; batch++)
            check_partials(q, &f.match, batch);
    }
    assert_true(n_level > 0);
    free_fixture(&f);
}

/* Parts that take an instruction. */
static int wanted_uses(const pada_program *q, const cuda_match *m, const pada_instr *instr)
{
    const pada_node *node = &q->nodes[instr->v];
    int n = 0;

    switch (instr->code) {
    case PADA_CODE_COMBINE_FWD: return m->nodes[instr->v].viewed ? 0 : 1;
    case PADA_CODE_CONCAT_FWD: /* operands that are not there already */
        if (!pada_cuda_is_level_concat(q, instr->v)) return 1;
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
            n += m->nodes[q->terms[t].x].home != t;
        return n;
    case PADA_CODE_CONV_BWD: /* both gradients of a depthwise convolution at once */
        return m->nodes[instr->v].plain && node->conv.groups == 1 && !instr->no_grad_in ? 2 : 1;
    default: return 1;
    }
}

/* DARTS: every instruction is in as many parts as it takes; operands of concatenations are written to where those want them. */
static void test_darts_levels(void **state)
{
    const pada_space_config config = {
        .image_size = 32, .flags = (const char *[]){"--channels=16", "--cells=4", NULL}};
    int n_homes = 0;
    const pada_space_ops *ops;
    pada_space space;
    pada_rng rng;
    fixture f = {.match = {0}};

    (void)state;
    CHECK_OK(pada_space_find(&ops, "darts"));
    CHECK_OK(pada_space_init(&space, ops, &config));
    plan_fixture_open_space(&f.plans, "cuda", &space);
    pada_rng_init(&rng, 1, "paths", 0);
    for (int i = 0; i < 30; i++) {
        int uses[4 * MAX_NODES] = {0};
        pada_path path;
        pada_path_random(&space, &rng, &path);
        const pada_program *q = plan_fixture_plan(&f.plans, &path, 64, i % 3 != 0);
        CHECK_OK(pada_cuda_match(&f.match, q, true));
        assert_true(f.match.levels);
        count_uses(q, &f.match, uses);
        for (int k = 0; k < q->n_instrs; k++)
            if (uses[k] != wanted_uses(q, &f.match, &q->instrs[k]))
                fail_msg("%d parts take instruction %d, code %d", uses[k], k, q->instrs[k].code);
        for (int v = 0; v < q->n_nodes; v++)
            n_homes += f.match.nodes[v].home >= 0;
        for (int batch = 0; batch <= f.match.n_batches; batch++)
            check_partials(q, &f.match, batch);
    }
    assert_true(n_homes > 30);
    free_fixture(&f);
}

/* Whether node kernels make all gradients of cells, also where edges share weights or are probed. */
static bool has_general_gradients(const pada_program *q, const cuda_match *m)
{
    for (int s = 0; s < m->n_steps; s++) {
        const pada_code code = q->instrs[m->members[m->steps[s].first]].code;
        if (m->steps[s].kind != CUDA_STEP_INSTR) continue;
        if (code == PADA_CODE_CONV_BWD || code == PADA_CODE_NORM_SUMS) return true;
    }
    return false;
}

/* The network of a path by itself. */
static void finalise(fixture *f, const pada_path *path)
{
    const pada_space whole = f->plans.space;

    pada_params_destroy(f->plans.params);
    pada_space_finalise(&f->plans.space, &whole, path);
    CHECK_OK(pada_params_create(&f->plans.params));
    CHECK_OK(pada_space_declare(&f->plans.space, f->plans.params));
}

/* Scales and shifts of batch norms change no launch. */
static void test_final_forms(void **state)
{
    static const pada_path paths[] = {
        {{3, 3, 3, 3, 3, 3}}, {{3, 1, 4, 2, 1, 3}}, {{1, 1, 4, 1, 4, 1}}, {{2, 4, 1, 3, 2, 1}}};

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const pada_space_config config = {.channels = 16, .cells = 5};
        fixture f;
        make_fixture(&f, config);
        CHECK_OK(
            pada_cuda_match(&f.match, plan_fixture_plan(&f.plans, &paths[i], 256, true), true));
        const int n_steps = f.match.n_steps;
        finalise(&f, &paths[i]);
        const pada_program *q = plan_fixture_plan(&f.plans, &paths[i], 256, true);
        CHECK_OK(pada_cuda_match(&f.match, q, true));
        check_match(q, &f.match);
        assert_false(f.match.levels || has_general_gradients(q, &f.match));
        assert_int_equal(f.match.n_steps, n_steps);
        free_fixture(&f);
    }
}

/* A probe has its own sums but where the sum that it probes has them. */
static void check_probes(const pada_program *q, const cuda_match *m)
{
    for (int v = 0; v < q->n_nodes; v++) {
        const pada_node *probe = &q->nodes[v];
        if (probe->op != PADA_OP_PROBE) continue;
        const pada_node *sum = &q->nodes[probe->x];
        for (int t = probe->first_term; t < probe->first_term + probe->n_terms; t++) {
            bool known = false;
            for (int own = sum->first_term; own < sum->first_term + sum->n_terms; own++) {
                const bool same = q->terms[own].x == q->terms[t].x;
                known = known || same;
                assert_true(same == (m->terms[own].slopes == m->terms[t].slopes));
            }
            assert_true(m->terms[t].slopes >= 0 && m->terms[t].known == known);
        }
    }
}

/* Taps contribute to gradients that kernels for reductions and the head make, probes read gradients: cells
 * with taps, with probes of blocks, with both. */
static void test_taps_and_probes(void **state)
{
    (void)state;
    for (int c = 1; c < 4; c++) {
        const bool taps = c & 1, probes = c & 2;
        int n_taps = 0, n_probes = 0;
        fixture f;
        make_fixture(&f, (pada_space_config){.channels = 16, .cells = 1, .blocks = probes ? 3 : 0});
        f.plans.graph->taps = taps;
        for (int i = c; i < 15625; i += 29) {
            const bool train = i % 4 != 0;
            pada_path path = {{0}};
            for (int e = 0, rest = i; e < 6; e++, rest /= 5) {
                path.choice[e] = (uint8_t)(rest % 5);
                path.choice[6 + e] = (uint8_t)(probes ? (i + e) % 3 : 0);
            }
            f.plans.graph->probes = probes && train ? 3 : 0;
            const pada_program *q = plan_fixture_plan(&f.plans, &path, 3, train);
            CHECK_OK(pada_cuda_match(&f.match, q, true));
            check_match(q, &f.match);
            check_probes(q, &f.match);
            assert_false(has_general_gradients(q, &f.match));
            for (int v = 0; v < q->n_nodes; v++) {
                n_taps += q->nodes[v].op == PADA_OP_TAP && q->nodes[v].x != PADA_ZERO;
                n_probes += q->nodes[v].op == PADA_OP_PROBE;
            }
        }
        assert_true((n_taps > 0) == taps && (n_probes > 0) == probes);
        free_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_paths), cmocka_unit_test(test_all_cells),
        cmocka_unit_test(test_levels),       cmocka_unit_test(test_darts_levels),
        cmocka_unit_test(test_final_forms),  cmocka_unit_test(test_taps_and_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
