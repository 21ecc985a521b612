/* graph_case.c - small networks with random data, run between guard zones. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "graph/plan.h"
#include "ops/graph_case.h"

enum { GUARD = 256 /* elements on each side */ };
static const double guard_value = 1234.5;

static void *zeroed(int64_t n, size_t size)
{
    void *memory = calloc(n > 0 ? (size_t)n : 1, size);

    assert_non_null(memory);
    return memory;
}

/* ---- building ---- */

/* +-[0.1, 1.1), and not within 0.05 of +-0.6, so that ten times it is not near 6. */
static float away_from_kinks(pada_rng *rng)
{
    double x = 0.1 + pada_rng_uniform(rng);

    if (x > 0.55 && x < 0.65) x += 0.1;
    return (float)(pada_rng_below(rng, 2) ? x : -x);
}

/* Room for n floats or integers between two guards of NaN (as an integer: -1); returned without the
 * guard. */
static void *guarded_host(int64_t n, size_t size)
{
    char *memory = zeroed(n + 2 * GUARD, size);

    memset(memory, 0xff, GUARD * size);
    memset(memory + ((size_t)n + GUARD) * size, 0xff, GUARD * size);
    return memory + GUARD * size;
}

static void check_guarded_host(const void *at, int64_t n, size_t size, const char *what)
{
    const unsigned char *before = (const unsigned char *)at - GUARD * size;
    const unsigned char *behind = (const unsigned char *)at + (size_t)n * size;

    for (size_t i = 0; i < GUARD * size; i++)
        if (before[i] != 0xff || behind[i] != 0xff) fail_msg("%s: the guard is overwritten", what);
}

static void free_guarded_host(void *at, size_t size)
{
    if (at) free((char *)at - GUARD * size);
}

void case_init(graph_case *c, pada_shape image, int n_images, uint64_t seed)
{
    const int64_t pixels = n_images * pada_shape_count(image);

    *c = (graph_case){.image = image,
                      .n_images = n_images,
                      .cap_images = n_images,
                      .classes = CASE_CLASSES,
                      .grad_scale = 1,
                      .align = 0.7,
                      .leftover = 3e5};
    pada_rng_init(&c->rng, seed, "graph case", 0);
    CHECK_OK(pada_graph_create(&c->graph, CASE_MAX_NODES, CASE_MAX_TERMS));
    c->images_value = pada_graph_input(c->graph, image);
    c->images = guarded_host(pixels, sizeof(float));
    c->labels = guarded_host(n_images, sizeof(int32_t));
    for (int64_t i = 0; i < pixels; i++)
        c->images[i] = away_from_kinks(&c->rng);
    for (int i = 0; i < n_images; i++)
        c->labels[i] = (int32_t)pada_rng_below(&c->rng, CASE_CLASSES);
}

void case_deinit(graph_case *c)
{
    pada_graph_destroy(c->graph);
    free(c->params);
    free_guarded_host(c->images, sizeof(float));
    free_guarded_host(c->labels, sizeof(int32_t));
    free_guarded_host(c->weights, sizeof(float));
}

void case_random_weights(graph_case *c)
{
    c->weights = guarded_host(c->cap_images, sizeof(float));
    for (int i = 0; i < c->cap_images; i++)
        c->weights[i] = (float)(0.5 + pada_rng_uniform(&c->rng));
}

/* A new tensor of normal numbers with this deviation; returns its offset. */
static int64_t declare(graph_case *c, int64_t count, double deviation)
{
    const int64_t first = c->n_params;

    assert_true(c->n_tensors < CASE_MAX_TENSORS);
    c->tensors[c->n_tensors++] = (case_tensor){.range = {first, count}};
    c->n_params +=
        (count + PADA_PARAM_ALIGN) / PADA_PARAM_ALIGN * PADA_PARAM_ALIGN; /* always a gap */
    c->params = realloc(c->params, (size_t)c->n_params * sizeof *c->params);
    assert_non_null(c->params);
    for (int64_t i = first; i < c->n_params; i++)
        c->params[i] = i < first + count ? (float)(deviation * pada_rng_normal(&c->rng)) : 0;
    return first;
}

pada_value case_conv(graph_case *c, pada_value x, pada_conv conv, bool bias)
{
    if (conv.c_in == 0) conv.c_in = c->graph->nodes[x].shape.c;
    const double fan_in = (double)(conv.c_in / conv.groups) * conv.kernel * conv.kernel;
    const int64_t weight = declare(c, pada_conv_weights(&conv), 1 / sqrt(fan_in));

    return pada_graph_conv(c->graph, x, &conv, weight, bias ? declare(c, conv.c_out, 0.5) : -1);
}

pada_value case_constant(graph_case *c, pada_shape shape)
{
    return pada_graph_constant(c->graph, shape, declare(c, shape.c, 0.5));
}

pada_value case_linear(graph_case *c, pada_value x, bool bias)
{
    const int in = x == PADA_ZERO ? 4 : c->graph->nodes[x].shape.c;
    const int64_t weight = declare(c, (int64_t)c->classes * in, 1 / sqrt(in));

    return pada_graph_linear(c->graph, x, c->classes, weight,
                             bias ? declare(c, c->classes, 0.5) : -1);
}

pada_value case_probe(graph_case *c, double scale)
{
    const int channels = c->image.c;
    const pada_value v =
        case_conv(c, c->images_value, pada_conv_make(0, channels, 1, 1, 0, 0), false);

    for (int o = 0; o < channels; o++)
        for (int i = 0; i < channels; i++)
            c->params[c->graph->nodes[v].weight + o * channels + i] = o == i ? scale : 0;
    return v;
}

pada_term case_same(pada_value x)
{
    return (pada_term){.kind = PADA_TERM_IDENTITY, .x = x};
}

pada_term case_norm(pada_value x)
{
    return pada_norm_term(x);
}

pada_term case_affine(graph_case *c, pada_value x, bool scale, bool shift)
{
    const int channels = c->graph->nodes[x].shape.c;
    pada_term term = pada_norm_term(x);

    if (scale) {
        term.norm.scale = declare(c, channels, 0.3);
        for (int64_t i = term.norm.scale; i < term.norm.scale + channels; i++)
            c->params[i] = (float)(1 + c->params[i]);
    }
    if (shift) term.norm.shift = declare(c, channels, 0.5);
    return term;
}

pada_term case_pool(pada_value x, int kernel, int stride, int pad)
{
    return (pada_term){.kind = PADA_TERM_AVGPOOL, .x = x, .pool = {kernel, stride, pad}};
}

pada_value case_sum(graph_case *c, const pada_term *terms, int n)
{
    return pada_graph_combine(c->graph, terms, n);
}

pada_value case_sum1(graph_case *c, pada_term a)
{
    return case_sum(c, &a, 1);
}

pada_value case_sum2(graph_case *c, pada_term a, pada_term b)
{
    return case_sum(c, (const pada_term[]){a, b}, 2);
}

void case_tap(graph_case *c, pada_value x)
{
    c->graph->taps = true;
    pada_graph_tap(c->graph, x, x == PADA_ZERO ? c->image : c->graph->nodes[x].shape);
}

void case_probe_sum(graph_case *c, pada_value y, const pada_term *terms, int n)
{
    pada_term marked[CASE_MAX_TERMS];

    for (int i = 0; i < n; i++) {
        marked[i] = terms[i];
        marked[i].mark = i;
    }
    pada_graph_probe(c->graph, y, marked, n);
}

void case_head(graph_case *c, pada_value x, pada_act act)
{
    pada_graph_loss(c->graph, case_linear(c, pada_graph_gap(c->graph, x, act), true));
}

void case_readout(graph_case *c, pada_value x)
{
    case_head(c, case_conv(c, x, pada_conv_make(0, 6, 3, 2, 1, PADA_ACT_NONE), false),
              PADA_ACT_NONE);
}

void case_mark_zero_grad(graph_case *c)
{
    c->tensors[c->n_tensors - 1].zero_grad = true;
}

/* ---- running ---- */

/* Memory of the backend: guard, `count` elements of its type, guard. */
typedef struct guarded {
    char *memory;
    int64_t count;
    int size; /* bytes of an element */
} guarded;

static void fill(const pada_backend *b, pada_device *d, guarded *g, int64_t first, int64_t count,
                 double value)
{
    double values[GUARD];

    for (int i = 0; i < GUARD; i++)
        values[i] = value;
    for (int64_t at = 0; at < count; at += GUARD)
        b->write(d, g->memory, (pada_range){first + at, count - at < GUARD ? count - at : GUARD},
                 values);
}

static guarded guarded_make(const pada_backend *b, pada_device *d, int64_t count, double inside,
                            double outside)
{
    guarded g = {NULL, count, pada_dtype_bytes(b->dtype)};
    void *memory;

    CHECK_OK(b->alloc(d, &memory, (count + 2 * GUARD) * g.size));
    g.memory = memory;
    fill(b, d, &g, 0, GUARD, outside);
    fill(b, d, &g, GUARD, count, inside);
    fill(b, d, &g, GUARD + count, GUARD, outside);
    return g;
}

static void *inside(const guarded *g)
{
    return g->memory + (int64_t)GUARD * g->size;
}

static void guarded_check(const pada_backend *b, pada_device *d, const guarded *g, const char *what)
{
    double before[GUARD], behind[GUARD];

    b->read(d, g->memory, (pada_range){0, GUARD}, before);
    b->read(d, g->memory, (pada_range){GUARD + g->count, GUARD}, behind);
    for (int i = 0; i < GUARD; i++)
        if (before[i] != guard_value || behind[i] != guard_value)
            fail_msg("%s: the guard holds %g, %g at %d", what, before[i], behind[i], i);
}

/* Whether a backward instruction contributes to the gradient of v. */
static bool writes_grad(const pada_program *q, const pada_instr *instr, pada_value v)
{
    const pada_node *node = &q->nodes[instr->v];

    if (instr->code == PADA_CODE_NORM_SUMS) return false;
    if (pada_op_get(node->op)->operands == PADA_OPERANDS_X)
        return node->x == v && !instr->no_grad_in;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (q->terms[t].x == v && !q->term_plans[t].lazy &&
            (q->terms[t].kind == PADA_TERM_BATCHNORM) == instr->norms)
            return true;
    return false;
}

/* The stage after which the value (or gradient) of v is complete; -1: nobody writes it. */
static int last_write(const pada_program *q, pada_value v, bool grad)
{
    int last = -1;

    for (int s = 0; s < q->n_stages; s++)
        for (int i = q->stages[s].first; i < q->stages[s].first + q->stages[s].count; i++) {
            const pada_instr *instr = &q->instrs[i];
            const pada_node *node = &q->nodes[instr->v];
            const bool forward = s < q->n_forward;
            if (!grad && forward && instr->v == v) last = s;
            if (grad &&
                (forward ? node->op == PADA_OP_LOSS && node->x == v : writes_grad(q, instr, v)))
                last = s;
        }
    return last;
}

/* A sum of one batch norm, which a backend that gathers may leave to its readers. */
static bool may_be_left_out(const pada_program *q, const pada_backend *b, int v)
{
    const pada_node *node = &q->nodes[v];

    return b->gather && node->op == PADA_OP_COMBINE && node->n_terms == 1 &&
           q->terms[node->first_term].kind == PADA_TERM_BATCHNORM;
}

/* Copies the tensors that stage s completes out of the work buffer. */
static void capture(const pada_program *q, const pada_backend *b, pada_device *d, const char *work,
                    int s, case_result *r)
{
    for (int v = 0; v < q->n_nodes; v++) {
        const pada_shape shape = q->nodes[v].shape;
        r->counts[v] = q->n_images * pada_shape_count(shape);
        for (int grad = 0; grad < 2; grad++) {
            const pada_place *place = grad ? &q->node_plans[v].grad : &q->node_plans[v].value;
            double **to = grad ? &r->node_grads[v] : &r->values[v];
            if (place->in != PADA_WORK || last_write(q, v, grad) != s) continue;
            if (!grad && may_be_left_out(q, b, v)) continue;
            *to = zeroed(r->counts[v], sizeof **to);
            b->unpack(d, work + place->offset, q->n_images, shape, *to);
        }
    }
}

static void read_results(const graph_case *c, const pada_program *q, const pada_backend *b,
                         pada_device *d, const pada_bindings *with, case_result *r)
{
    const pada_node *loss = &q->nodes[q->n_nodes - 1];
    const pada_place *place = &q->node_plans[loss->x].value;
    const pada_range images = {0, c->n_images};

    *r = (case_result){.n_images = c->n_images,
                       .classes = c->classes,
                       .n_nodes = q->n_nodes,
                       .n_params = c->n_params};
    r->logits = zeroed((int64_t)c->n_images * c->classes, sizeof(double));
    r->loss = zeroed(c->n_images, sizeof(double));
    r->norm = zeroed(c->n_images, sizeof(double));
    r->rank = zeroed(c->n_images, sizeof(int32_t));
    r->grads = zeroed(c->n_params, sizeof(double));
    r->align = zeroed(c->n_images, sizeof(double));
    b->read(d, with->results.align, images, r->align);
    if (q->n_stages > q->n_forward) {
        double room[3 * 16 * 64];
        assert_true(q->probes_bytes <= (int64_t)sizeof room);
        pada_program_probes(q, b, d, with->work, room, r->probes);
    }
    b->unpack(d, (const char *)with->work + place->offset, c->n_images, loss->shape, r->logits);
    b->read(d, with->results.loss, images, r->loss);
    b->read(d, with->results.norm, images, r->norm);
    b->read(d, with->grads, (pada_range){0, c->n_params}, r->grads);
    b->read_i32(d, with->results.rank, images, r->rank);
}

/* What belongs to no tensor must still be zero. */
static void check_gaps(const graph_case *c, const double *grads)
{
    int64_t at = 0;

    for (int t = 0; t <= c->n_tensors; t++) {
        const int64_t end = t < c->n_tensors ? c->tensors[t].range.first : c->n_params;
        for (; at < end; at++)
            if (grads[at] != 0) fail_msg("gradient gap holds %g at %d", grads[at], (int)at);
        if (t < c->n_tensors) at += c->tensors[t].range.count;
    }
}

/* What taps are compared with: numbers that every type can hold. */
static void fill_taps(const pada_program *q, const pada_backend *b, pada_device *d, char *taps)
{
    for (int v = 0; v < q->n_nodes; v++) {
        if (q->nodes[v].op != PADA_OP_TAP) continue;
        const int64_t n = q->n_images * pada_shape_count(q->nodes[v].shape);
        double *numbers = zeroed(n, sizeof *numbers);
        pada_rng rng;
        pada_rng_init(&rng, 3, "taps", (uint64_t)v);
        for (int64_t i = 0; i < n; i++)
            numbers[i] = (double)pada_rng_below(&rng, 64) / 32 - 1;
        b->pack(d, taps + q->node_plans[v].value.offset, q->n_images, q->nodes[v].shape, numbers);
        free(numbers);
    }
}

bool case_is_refused(const graph_case *c, const pada_backend *b, pada_device *d)
{
    pada_plan *plan;

    CHECK_OK(pada_graph_status(c->graph));
    CHECK_OK(pada_plan_create(&plan, CASE_MAX_NODES, CASE_MAX_TERMS));
    pada_plan_build(plan, c->graph, b, d, c->n_images, true);
    const pada_status st = b->prepare(d, pada_plan_program(plan));
    pada_plan_destroy(plan);
    if (st == PADA_OK) return false;
    if (st != PADA_EUNSUPPORTED || strlen(pada_message()) == 0 || strchr(pada_message(), '\n'))
        fail_msg("%s: status %d, '%s'", b->name, (int)st, pada_message());
    return true;
}

void case_run(const graph_case *c, const pada_backend *b, pada_device *d, case_mode mode,
              case_result *r)
{
    const int size = pada_dtype_bytes(b->dtype);
    case_result kept = {0};
    pada_plan *plan;

    CHECK_OK(pada_graph_status(c->graph));
    CHECK_OK(pada_plan_create(&plan, CASE_MAX_NODES, CASE_MAX_TERMS));
    pada_plan_build(plan, c->graph, b, d, c->n_images, mode != CASE_EVAL);
    const pada_program *q = pada_plan_program(plan);
    CHECK_OK(b->prepare(d, q));
    guarded params = guarded_make(b, d, c->n_params, 0, NAN);
    guarded grads = guarded_make(b, d, c->n_params, 0, guard_value);
    guarded work = guarded_make(b, d, q->work_bytes / size, c->leftover, guard_value);
    guarded loss = guarded_make(b, d, c->n_images, 0, guard_value);
    guarded norm = guarded_make(b, d, c->n_images, 0, guard_value);
    const int64_t rank_bytes = c->n_images * (int64_t)sizeof(int32_t);
    guarded rank = guarded_make(b, d, (rank_bytes + size - 1) / size, 0, guard_value);
    guarded align = guarded_make(b, d, c->n_images, 0, guard_value);
    guarded taps = guarded_make(b, d, q->taps_bytes / size, c->leftover, guard_value);
    if (mode != CASE_EVAL) fill_taps(q, b, d, inside(&taps));
    b->write(d, inside(&params), (pada_range){0, c->n_params}, c->params);
    for (int t = 0; t < c->n_tensors && c->grad_start != 0; t++)
        fill(b, d, &grads, GUARD + c->tensors[t].range.first, c->tensors[t].range.count,
             c->grad_start);

    const pada_bindings with = {
        .params = inside(&params),
        .grads = inside(&grads),
        .work = inside(&work),
        .images = c->images,
        .labels = c->labels,
        .weights = c->weights,
        .grad_scale = c->grad_scale,
        .drops = c->drops,
        .taps = inside(&taps),
        .align = c->align,
        .results = {inside(&loss), inside(&norm), inside(&rank), inside(&align)}};
    if (mode == CASE_TRAIN_STAGED) {
        for (int s = 0; s < q->n_stages; s++) {
            b->run(d, q, &with, s, 1);
            capture(q, b, d, with.work, s, &kept);
        }
    } else {
        b->run(d, q, &with, 0, q->n_forward);
        if (mode == CASE_TRAIN) b->run(d, q, &with, q->n_forward, q->n_stages - q->n_forward);
    }
    read_results(c, q, b, d, &with, r);
    memcpy(r->values, kept.values, sizeof kept.values);
    memcpy(r->node_grads, kept.node_grads, sizeof kept.node_grads);
    memcpy(r->counts, kept.counts, sizeof kept.counts);

    CHECK_OK(pada_backend_finish(b, d));
    guarded_check(b, d, &grads, "gradients");
    guarded_check(b, d, &work, "work buffer");
    guarded_check(b, d, &loss, "losses");
    guarded_check(b, d, &norm, "norms");
    guarded_check(b, d, &rank, "ranks");
    guarded_check(b, d, &align, "distances");
    guarded_check(b, d, &taps, "taps");
    check_guarded_host(c->images, c->cap_images * pada_shape_count(c->image), sizeof(float),
                       "images");
    check_gaps(c, r->grads);
    b->release(d, params.memory);
    b->release(d, grads.memory);
    b->release(d, work.memory);
    b->release(d, loss.memory);
    b->release(d, norm.memory);
    b->release(d, rank.memory);
    b->release(d, align.memory);
    b->release(d, taps.memory);
    pada_plan_destroy(plan);
}

void case_result_deinit(case_result *r)
{
    free(r->logits);
    free(r->loss);
    free(r->norm);
    free(r->rank);
    free(r->grads);
    free(r->align);
    for (int v = 0; v < CASE_MAX_NODES; v++) {
        free(r->values[v]);
        free(r->node_grads[v]);
    }
}

double case_objective(const graph_case *c, const case_result *r)
{
    double sum = 0;

    for (int i = 0; i < c->n_images; i++)
        sum += (c->weights ? c->weights[i] : 1) * (r->loss[i] + c->align * r->align[i]);
    return c->grad_scale * sum / c->n_images;
}

double case_kink_distance(const graph_case *c, const case_result *r)
{
    double least = INFINITY;

    for (int v = 0; v < c->graph->n_nodes; v++) {
        const pada_node *node = &c->graph->nodes[v];
        const pada_act act = node->op == PADA_OP_CONV  ? node->conv.act
                             : node->op == PADA_OP_GAP ? node->act
                                                       : PADA_ACT_NONE;
        if (act == PADA_ACT_NONE || c->graph->nodes[node->x].op == PADA_OP_INPUT) continue;
        assert_non_null(r->values[node->x]);
        for (int64_t i = 0; i < r->counts[node->x]; i++) {
            const double x = r->values[node->x][i];
            if (fabs(x) < least) least = fabs(x);
            if (act == PADA_ACT_RELU6 && fabs(x - 6) < least) least = fabs(x - 6);
        }
    }
    return least;
}
