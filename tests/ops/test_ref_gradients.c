/* test_ref_gradients.c - the reference backend, operator by operator: values against the formulas
 * of op.h, one output at a time, and gradients against central differences. */
#include "check.h"

#include <string.h>

#include "backend/drop_mask.h"
#include "ops/join_cases.h"
#include "ops/loss_cases.h"
#include "ops/op_changes.h"
#include "ops/oracle.h"

static double objective(const graph_case *c)
{
    case_result r;

    case_run(c, ref, oracle, c->graph->taps || c->graph->drops ? CASE_TRAIN : CASE_EVAL, &r);
    const double value = case_objective(c, &r);
    case_result_deinit(&r);
    return value;
}

/* The derivative by one parameter. The steps do not reach a kink: values are 1e-3 away from them.
 * */
static double difference(graph_case *c, int64_t at)
{
    const double step = 2e-5, centre = c->params[at];

    c->params[at] = centre + step;
    const double above = objective(c);
    c->params[at] = centre - step;
    const double below = objective(c);
    c->params[at] = centre;
    return (above - below) / (2 * step);
}

/* ---- values, from the operands that a run has kept ---- */

static int n_checked[PADA_N_OPS];

/* Element (n, c, h, w) of a value, zero outside; the images for the input. */
static double at(const graph_case *c, const case_result *r, pada_value v, int n, int k, int h,
                 int w)
{
    const pada_shape s = c->graph->nodes[v].shape;

    if (h < 0 || h >= s.h || w < 0 || w >= s.w) return 0;
    const int64_t i = (((int64_t)n * s.c + k) * s.h + h) * s.w + w;
    return c->graph->nodes[v].op == PADA_OP_INPUT ? c->images[i] : r->values[v][i];
}

static bool is_kept(const graph_case *c, const case_result *r, pada_value v)
{
    return v == PADA_ZERO || c->graph->nodes[v].op == PADA_OP_INPUT || r->values[v];
}

static double activated(pada_act act, double x)
{
    if (act != PADA_ACT_NONE && x < 0) x = 0;
    if (act == PADA_ACT_RELU6 && x > 6) x = 6;
    return x;
}

static double conv_at(const graph_case *c, const case_result *r, const pada_node *node, int n,
                      int o, int h, int w)
{
    const pada_conv *f = &node->conv;
    double sum = node->bias >= 0 ? c->params[node->bias + o] : 0;

    /* weights that do not exist, between channels of different groups, are zero */
    for (int i = 0; i < f->c_in; i++) {
        const int group = i / (f->c_in / f->groups), row = i % (f->c_in / f->groups);
        if (o / (f->c_out / f->groups) != group) continue;
        for (int t = 0; t < f->kernel * f->kernel; t++)
            sum += c->params[node->weight +
                             (o * (f->c_in / f->groups) + row) * f->kernel * f->kernel + t] *
                   activated(f->act,
                             at(c, r, node->x, n, i,
                                h * f->stride + t / f->kernel * f->dilation - f->pad + f->offset,
                                w * f->stride + t % f->kernel * f->dilation - f->pad + f->offset));
    }
    return sum;
}

static double norm_at(const graph_case *c, const case_result *r, pada_value x, int n, int k, int h,
                      int w)
{
    const pada_shape s = c->graph->nodes[x].shape;
    double mean = 0, variance = 0;

    for (int i = 0; i < c->n_images * s.h * s.w; i++)
        mean += at(c, r, x, i / (s.h * s.w), k, i / s.w % s.h, i % s.w) / (c->n_images * s.h * s.w);
    for (int i = 0; i < c->n_images * s.h * s.w; i++) {
        const double d = at(c, r, x, i / (s.h * s.w), k, i / s.w % s.h, i % s.w) - mean;
        variance += d * d / (c->n_images * s.h * s.w);
    }
    return (at(c, r, x, n, k, h, w) - mean) / sqrt(variance + c->graph->norm_epsilon);
}

static double pool_at(const graph_case *c, const case_result *r, const pada_term *t, int n, int k,
                      int h, int w)
{
    const pada_shape s = c->graph->nodes[t->x].shape;
    double sum = 0;
    int count = 0;

    for (int i = 0; i < t->pool.kernel * t->pool.kernel; i++) {
        const int ih = h * t->pool.stride - t->pool.pad + i / t->pool.kernel;
        const int iw = w * t->pool.stride - t->pool.pad + i % t->pool.kernel;
        sum += at(c, r, t->x, n, k, ih, iw);
        count += ih >= 0 && ih < s.h && iw >= 0 && iw < s.w;
    }
    return sum / count;
}

static double combine_at(const graph_case *c, const case_result *r, const pada_node *node, int n,
                         int k, int h, int w)
{
    double sum = 0;

    for (int i = node->first_term; i < node->first_term + node->n_terms; i++) {
        const pada_term *t = &c->graph->terms[i];
        switch (t->kind) {
        case PADA_TERM_IDENTITY: sum += at(c, r, t->x, n, k, h, w); break;
        case PADA_TERM_BATCHNORM:
            sum += norm_at(c, r, t->x, n, k, h, w) *
                       (t->norm.scale >= 0 ? c->params[t->norm.scale + k] : 1) +
                   (t->norm.shift >= 0 ? c->params[t->norm.shift + k] : 0);
            break;
        case PADA_TERM_AVGPOOL: sum += pool_at(c, r, t, n, k, h, w); break;
        }
    }
    return sum;
}

static double gap_at(const graph_case *c, const case_result *r, const pada_node *node, int n, int k)
{
    const pada_shape s = c->graph->nodes[node->x].shape;
    double sum = 0;

    for (int i = 0; i < s.h * s.w; i++)
        sum += activated(node->act, at(c, r, node->x, n, k, i / s.w, i % s.w));
    return sum / (s.h * s.w);
}

/* A pool that is a node. */
static double window_at(const graph_case *c, const case_result *r, const pada_node *node, int n,
                        int k, int h, int w)
{
    const pada_shape s = c->graph->nodes[node->x].shape;
    double sum = 0, largest = -INFINITY;
    int count = 0;

    for (int i = 0; i < node->pool.kernel * node->pool.kernel; i++) {
        const int ih = h * node->pool.stride - node->pool.pad + i / node->pool.kernel;
        const int iw = w * node->pool.stride - node->pool.pad + i % node->pool.kernel;
        if (ih < 0 || ih >= s.h || iw < 0 || iw >= s.w) continue;
        const double a = activated(node->act, at(c, r, node->x, n, k, ih, iw));
        sum += a;
        largest = fmax(largest, a);
        count++;
    }
    return node->pool_kind == PADA_POOL_MAX ? largest : sum / count;
}

/* The term that has channel k, or zero. */
static double concat_at(const graph_case *c, const case_result *r, const pada_node *node, int n,
                        int k, int h, int w)
{
    for (int i = node->first_term; i < node->first_term + node->n_terms; i++) {
        const pada_term *t = &c->graph->terms[i];
        if (k >= t->channel && k < t->channel + c->graph->nodes[t->x].shape.c)
            return at(c, r, t->x, n, k - t->channel, h, w);
    }
    return 0;
}

static double drop_at(const graph_case *c, const case_result *r, const pada_node *node, int n,
                      int k, int h, int w)
{
    const int64_t element = ((int64_t)k * node->shape.h + h) * node->shape.w + w;

    return at(c, r, node->x, n, k, h, w) *
           pada_drop_factor(&c->drops, &node->drop, n,
                            node->drop.kind == PADA_DROP_IMAGES ? 0 : element);
}

static double gate_at(const graph_case *c, const case_result *r, const pada_node *node, int n,
                      int k, int h, int w)
{
    const pada_term *terms = &c->graph->terms[node->first_term];

    return activated(node->act, at(c, r, terms[0].x, n, k, h, w)) /
           (1 + exp(-at(c, r, terms[1].x, n, k, 0, 0)));
}

static double linear_at(const graph_case *c, const case_result *r, const pada_node *node, int n,
                        int o)
{
    double sum = node->bias >= 0 ? c->params[node->bias + o] : 0;

    for (int i = 0; node->x != PADA_ZERO && i < c->graph->nodes[node->x].shape.c; i++)
        sum += c->params[node->weight + o * c->graph->nodes[node->x].shape.c + i] *
               at(c, r, node->x, n, i, 0, 0);
    return sum;
}

/* Every value that was kept together with its operands. */
static bool values_agree(const graph_case *c, const case_result *r, const char *name)
{
    for (int v = 0; v < c->graph->n_nodes; v++) {
        const pada_node *node = &c->graph->nodes[v];
        const pada_shape s = node->shape;
        bool kept = r->values[v] && is_kept(c, r, node->x);
        for (int i = node->first_term; i < node->first_term + node->n_terms; i++)
            kept = kept && is_kept(c, r, c->graph->terms[i].x);
        if (!kept) continue;
        n_checked[node->op]++;
        for (int i = 0; i < r->counts[v]; i++) {
            const int w = i % s.w, h = i / s.w % s.h, k = i / (s.w * s.h) % s.c,
                      n = i / (s.w * s.h * s.c);
            double want = 0;
            switch (node->op) {
            case PADA_OP_CONV: want = conv_at(c, r, node, n, k, h, w); break;
            case PADA_OP_COMBINE: want = combine_at(c, r, node, n, k, h, w); break;
            case PADA_OP_GAP: want = gap_at(c, r, node, n, k); break;
            case PADA_OP_LINEAR: want = linear_at(c, r, node, n, k); break;
            case PADA_OP_POOL: want = window_at(c, r, node, n, k, h, w); break;
            case PADA_OP_CONCAT: want = concat_at(c, r, node, n, k, h, w); break;
            case PADA_OP_DROP: want = drop_at(c, r, node, n, k, h, w); break;
            case PADA_OP_GATE: want = gate_at(c, r, node, n, k, h, w); break;
            case PADA_OP_CONSTANT: want = c->params[node->bias + k]; break;
            default: break;
            }
            if (fabs(r->values[v][i] - want) <= 1e-11) continue;
            print_error("%s: value %d (%s) is %.12g, not %.12g at %d\n", name, v,
                        pada_op_name(node->op), r->values[v][i], want, i);
            return false;
        }
    }
    return true;
}

/* ---- gradients ---- */

/* All elements of small tensors, a sample of large ones. Returns whether all are right, and
 * the values as well. */
static bool is_right(graph_case *c, const char *name)
{
    enum { SAMPLE = 10 };
    case_result r;

    case_run(c, ref, oracle, CASE_TRAIN_STAGED, &r);
    bool agree = values_agree(c, &r, name);
    for (int i = 0; i < c->n_images; i++)
        if (!isfinite(r.loss[i])) fail_msg("%s: loss %g", name, r.loss[i]);
    for (int t = 0; t < c->n_tensors && agree; t++) {
        const pada_range range = c->tensors[t].range;
        const int64_t step = range.count > SAMPLE ? range.count / SAMPLE : 1;
        double size = 1e-3; /* differences resolve about 1e-10 */
        for (int64_t i = range.first; i < range.first + range.count; i++)
            if (fabs(r.grads[i]) > size) size = fabs(r.grads[i]);
        for (int64_t i = range.first; i < range.first + range.count && agree; i += step) {
            const double want = difference(c, i);
            agree = fabs(r.grads[i] - want) <= 1e-6 * size;
            if (c->tensors[t].zero_grad) agree = fabs(r.grads[i]) <= 1e-12;
            if (!agree)
                print_error("%s: tensor %d, element %d: gradient %.12g, difference %.12g\n", name,
                            t, (int)(i - range.first), r.grads[i], want);
        }
    }
    case_result_deinit(&r);
    return agree;
}

static bool is_right_conv(const conv_case *k, int seed)
{
    graph_case c;
    char name[128];

    conv_case_name(k, name, sizeof name);
    conv_case_build(&c, k, (uint64_t)seed);
    const bool right = is_right(&c, name);
    case_deinit(&c);
    return right;
}

static void test_convolutions(void **state)
{
    int wrong = 0;

    (void)state;
    for (int i = 0; i < N_CONV_GRID; i++) {
        const conv_case k = conv_grid(i);
        wrong += !is_right_conv(&k, i);
    }
    assert_int_equal(wrong, 0);
}

static void test_groups_and_dilation(void **state)
{
    int wrong = 0;
    conv_case k;

    (void)state;
    for (int i = 0; group_grid(i, &k); i++)
        wrong += !is_right_conv(&k, i);
    assert_int_equal(wrong, 0);
}

static void test_pools_and_concatenations(void **state)
{
    int wrong = 0;
    graph_case c;
    char name[64];

    (void)state;
    for (int i = 0; join_case(i, &c, name, sizeof name); i++) {
        wrong += !is_right(&c, name);
        case_deinit(&c);
    }
    assert_int_equal(wrong, 0);
}

static void test_drops(void **state)
{
    int wrong = 0;
    graph_case c;
    char name[64];

    (void)state;
    for (int i = 0; drop_case(i, &c, name, sizeof name); i++) {
        wrong += !is_right(&c, name);
        case_deinit(&c);
    }
    assert_int_equal(wrong, 0);
}

/* Builds a case whose values are away from kinks. */
static void build_away_from_kinks(graph_case *c, const sum_case *s)
{
    for (uint64_t seed = 0;; seed++) {
        case_result r;
        case_init(c, (pada_shape){3, 6, 5}, 2, seed);
        s->build(c);
        if (!s->kinks) return;
        case_run(c, ref, oracle, CASE_TRAIN_STAGED, &r);
        const double distance = case_kink_distance(c, &r);
        case_result_deinit(&r);
        if (distance > 5e-4) return;
        case_deinit(c);
        assert_true(seed < 1000);
    }
}

static void test_everything_else(void **state)
{
    int wrong = 0;

    (void)state;
    for (int i = 0; i < n_sum_cases; i++) {
        graph_case c;
        build_away_from_kinks(&c, &sum_cases[i]);
        wrong += !is_right(&c, sum_cases[i].name);
        case_deinit(&c);
    }
    assert_int_equal(wrong, 0);
}

static void test_every_operator_was_checked(void **state)
{
    (void)state;
    assert_true(n_checked[PADA_OP_CONV] > 2 * N_CONV_GRID);
    assert_true(n_checked[PADA_OP_COMBINE] > N_CONV_GRID / 2 + n_sum_cases / 2);
    assert_true(n_checked[PADA_OP_GAP] > N_CONV_GRID);
    assert_true(n_checked[PADA_OP_LINEAR] > N_CONV_GRID);
    assert_true(n_checked[PADA_OP_POOL] > 10);
    assert_true(n_checked[PADA_OP_CONCAT] > 1);
    assert_true(n_checked[PADA_OP_CONSTANT] > 1);
    assert_true(n_checked[PADA_OP_DROP] > 1);
    assert_true(n_checked[PADA_OP_GATE] > 1);
}

/* Gradients of two losses add up, with the weight of the auxiliary one; results are those of the loss. */
static void test_auxiliary_losses(void **state)
{
    static const unsigned losses[] = {THE_LOSS | AUXILIARY_LOSS, THE_LOSS, AUXILIARY_LOSS};
    char name[64];
    int n = 0;

    (void)state;
    for (graph_case c[3]; auxiliary_case(n, losses[0], &c[0], name, sizeof name); n++) {
        case_result r[3];
        for (int k = 0; k < 3; k++) {
            if (k > 0) assert_true(auxiliary_case(n, losses[k], &c[k], name, sizeof name));
            case_run(&c[k], ref, oracle, CASE_TRAIN, &r[k]);
        }
        for (int64_t i = 0; i < c[0].n_params; i++) {
            const double want = r[1].grads[i] + AUXILIARY_WEIGHT * r[2].grads[i];
            CHECK_CLOSE(r[0].grads[i], want, 1e-14);
        }
        for (int i = 0; i < c[0].n_images; i++) {
            assert_true(r[0].loss[i] == r[1].loss[i] && r[0].norm[i] == r[1].norm[i]);
            assert_true(r[0].loss[i] != r[2].loss[i]);
        }
        for (int k = 0; k < 3; k++) {
            case_result_deinit(&r[k]);
            case_deinit(&c[k]);
        }
    }
    assert_int_equal(n, 6);
}

/* The gradient is added to what the buffer holds. */
static void test_gradients_add_up(void **state)
{
    case_result first, second;
    graph_case c;

    (void)state;
    case_init(&c, (pada_shape){3, 6, 5}, 2, 1);
    sum_cases[0].build(&c);
    case_run(&c, ref, oracle, CASE_TRAIN, &first);
    c.grad_start = 2;
    case_run(&c, ref, oracle, CASE_TRAIN, &second);
    for (int t = 0; t < c.n_tensors; t++)
        for (int64_t k = 0; k < c.tensors[t].range.count; k++) {
            const int64_t i = c.tensors[t].range.first + k;
            CHECK_CLOSE(second.grads[i], 2 + first.grads[i], 1e-12);
        }
    case_result_deinit(&first);
    case_result_deinit(&second);
    case_deinit(&c);
}

/* A probe is sum(dy * batchnorm(z)), whether the sum has z or not. */
static void test_probe(void **state)
{
    int n_probed = 0;
    case_result r;
    graph_case c;

    (void)state;
    for (int i = 0; i < n_sum_cases; i++) {
        if (strncmp(sum_cases[i].name, "probe", 5) != 0) continue;
        case_init(&c, (pada_shape){3, 6, 5}, 3, 8);
        sum_cases[i].build(&c);
        case_run(&c, ref, oracle, CASE_TRAIN_STAGED, &r);
        for (int v = 0; v < c.graph->n_nodes; v++) {
            const pada_node *node = &c.graph->nodes[v];
            const pada_shape s = node->shape;
            if (node->op != PADA_OP_PROBE) continue;
            assert_non_null(r.node_grads[node->x]);
            for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
                double sum = 0;
                for (int k = 0; k < r.counts[v]; k++)
                    sum += r.node_grads[node->x][k] *
                           norm_at(&c, &r, c.graph->terms[t].x, k / (s.w * s.h * s.c),
                                   k / (s.w * s.h) % s.c, k / s.w % s.h, k % s.w);
                assert_true(fabs(sum) > 1e-5);
                CHECK_CLOSE(r.probes[c.graph->terms[t].mark], sum, 1e-11);
                n_probed++;
            }
        }
        case_result_deinit(&r);
        case_deinit(&c);
    }
    assert_int_equal(n_probed, 5);
}

/* The gradients that reach a batch norm's input add up to zero in every channel. */
static void test_norm_input_gradient(void **state)
{
    case_result r;
    graph_case c;

    (void)state;
    case_init(&c, (pada_shape){3, 6, 5}, 4, 3);
    const pada_value x = case_probe(&c, 1);
    const pada_value s = case_sum2(&c, case_norm(x), case_pool(x, 3, 1, 1));
    case_readout(&c, case_sum1(&c, case_norm(s)));
    case_run(&c, ref, oracle, CASE_TRAIN_STAGED, &r);
    assert_non_null(r.node_grads[s]);
    for (int channel = 0; channel < 3; channel++) {
        double sum = 0, size = 0;
        for (int n = 0; n < 4; n++)
            for (int i = 0; i < 30; i++) {
                sum += r.node_grads[s][(n * 3 + channel) * 30 + i];
                size += fabs(r.node_grads[s][(n * 3 + channel) * 30 + i]);
            }
        assert_true(size > 1e-6);
        CHECK_CLOSE(sum / size, 0, 1e-13);
    }
    case_result_deinit(&r);
    case_deinit(&c);
}

/* What the loss is for logits that are known: the bias of a classifier that is fed nothing. */
static void test_loss_of_known_logits(void **state)
{
    case_result r;
    graph_case c;

    (void)state;
    case_init(&c, (pada_shape){1, 1, 1}, 3, 1);
    pada_graph_loss(c.graph, case_linear(&c, PADA_ZERO, true));
    pada_graph_simplify(c.graph);
    double *bias = &c.params[c.tensors[1].range.first];
    memset(bias, 0, CASE_CLASSES * sizeof *bias);
    c.labels[0] = 0;
    c.labels[1] = 4;
    c.labels[2] = 9;
    case_run(&c, ref, oracle, CASE_TRAIN, &r);
    for (int n = 0; n < 3; n++) {
        CHECK_CLOSE(r.norm[n], 0.948683, 5e-7); /* sqrt(0.9^2 + 9 * 0.1^2) */
        CHECK_CLOSE(r.loss[n], log(10), 1e-12);
        assert_int_equal(r.rank[n], c.labels[n]); /* ties count for lower class numbers */
    }
    /* dL/db = mean of p - onehot */
    CHECK_CLOSE(r.grads[c.tensors[1].range.first + 0], (0.3 - 1) / 3, 1e-12);
    CHECK_CLOSE(r.grads[c.tensors[1].range.first + 1], 0.3 / 3, 1e-12);
    case_result_deinit(&r);

    bias[3] = 1000; /* does not overflow */
    bias[4] = 2;
    case_run(&c, ref, oracle, CASE_EVAL, &r);
    CHECK_CLOSE(r.loss[1], 998, 1e-9);
    CHECK_CLOSE(r.norm[1], sqrt(2), 1e-12);
    assert_int_equal(r.rank[1], 1);
    assert_int_equal(r.rank[0], 2);
    assert_int_equal(r.rank[2], 9);
    CHECK_CLOSE(r.logits[3], 1000, 0);
    case_result_deinit(&r);
    case_deinit(&c);
}

/* The same with a part of the label spread over the classes: PyTorch's cross_entropy with label_smoothing in float64. */
static void test_smoothed_loss_of_known_logits(void **state)
{
    case_result r;
    graph_case c;

    (void)state;
    case_init(&c, (pada_shape){1, 1, 1}, 2, 1);
    c.graph->label_smoothing = 0.1;
    pada_graph_loss(c.graph, case_linear(&c, PADA_ZERO, true));
    for (int k = 0; k < CASE_CLASSES; k++)
        c.params[c.tensors[1].range.first + k] = 0.5 * k - 1;
    c.labels[0] = 7;
    c.labels[1] = 2;
    case_run(&c, ref, oracle, CASE_TRAIN, &r);
    CHECK_CLOSE(r.loss[0], 2.0509913801177, 1e-12);
    CHECK_CLOSE(r.loss[1], 4.3009913801177, 1e-12);
    CHECK_CLOSE(r.norm[0], 0.8915858743987004, 1e-12);
    CHECK_CLOSE(r.norm[1], 1.0176980527822075, 1e-12);
    CHECK_CLOSE(r.grads[c.tensors[1].range.first + 7], -0.31426878980659173, 1e-12);
    CHECK_CLOSE(r.grads[c.tensors[1].range.first + 9], 0.38613850050808723, 1e-12);
    case_result_deinit(&r);
    case_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_groups_and_dilation),
        cmocka_unit_test(test_pools_and_concatenations),
        cmocka_unit_test(test_drops),
        cmocka_unit_test(test_everything_else),
        cmocka_unit_test(test_every_operator_was_checked),
        cmocka_unit_test(test_auxiliary_losses),
        cmocka_unit_test(test_gradients_add_up),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_norm_input_gradient),
        cmocka_unit_test(test_loss_of_known_logits),
        cmocka_unit_test(test_smoothed_loss_of_known_logits),
    };
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}
