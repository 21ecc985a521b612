/* bench_kernels.c - speed of single operators.
 *
 * An operator is timed as the difference between a chain of LONG and a chain of SHORT of them
 * behind the same small network, so that what surrounds it cancels. All operators of a chain run in
 * one stage, image by image, as they do in a real path. */
#include "cli/bench_kernels.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/print.h"
#include "graph/plan.h"

enum { SHORT = 1, LONG = 9, CLASSES = 10 };

typedef struct kernel_case {
    const char *name;
    pada_shape shape;
    int kernel; /* of the convolution; 0: average pooling 3x3 */
} kernel_case;

static const kernel_case cases[] = {
    {"conv3x3", {16, 32, 32}, 3},    {"conv3x3", {32, 16, 16}, 3},    {"conv3x3", {64, 8, 8}, 3},
    {"conv1x1", {16, 32, 32}, 1},    {"conv1x1", {32, 16, 16}, 1},    {"conv1x1", {64, 8, 8}, 1},
    {"avgpool3x3", {16, 32, 32}, 0}, {"avgpool3x3", {32, 16, 16}, 0}, {"avgpool3x3", {64, 8, 8}, 0},
};

/* Buffers of one chain. */
typedef struct chain {
    pada_graph *graph;
    pada_plan *plan;
    int64_t n_params;
    pada_bindings bindings;
    void *params, *images, *labels;
} chain;

/* Image with the case's size; a 1x1 convolution brings it to the case's channels. */
static void build(chain *c, const kernel_case *k, int length)
{
    const pada_conv first = pada_conv_make(3, k->shape.c, 1, 1, 0, PADA_ACT_NONE);
    const pada_conv conv =
        pada_conv_make(k->shape.c, k->shape.c, k->kernel, 1, k->kernel / 2, PADA_ACT_RELU);
    pada_graph *g = c->graph;
    int64_t at = pada_conv_weights(&first);

    pada_value x = pada_graph_input(g, (pada_shape){3, k->shape.h, k->shape.w});
    x = pada_graph_conv(g, x, &first, 0, -1);
    for (int i = 0; i < length; i++) {
        const pada_term pool = {.kind = PADA_TERM_AVGPOOL, .x = x, .pool = {3, 1, 1}};
        if (k->kernel == 0) {
            x = pada_graph_combine(g, &pool, 1);
        } else {
            x = pada_graph_conv(g, x, &conv, at, -1);
            at += pada_conv_weights(&conv);
        }
    }
    x = pada_graph_gap(g, x, PADA_ACT_NONE);
    x = pada_graph_linear(g, x, CLASSES, at, -1);
    c->n_params = at + (int64_t)CLASSES * k->shape.c;
    pada_graph_loss(g, x);
}

static void destroy(const pada_bench_kernels *b, chain *c)
{
    void *memory[] = {c->params,
                      c->bindings.grads,
                      c->bindings.work,
                      c->bindings.results.loss,
                      c->bindings.results.norm,
                      c->bindings.results.rank};

    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        b->backend->release(b->device, memory[i]);
    pada_free(c->images);
    pada_free(c->labels);
    pada_plan_destroy(c->plan);
    pada_graph_destroy(c->graph);
}

static pada_status create(const pada_bench_kernels *b, chain *c, const kernel_case *k, int length)
{
    const int64_t size = pada_dtype_bytes(b->backend->dtype),
                  pixels = 3 * (int64_t)k->shape.h * k->shape.w;
    pada_rng rng;
    void *mem;

    *c = (chain){0};
    PADA_TRY(pada_graph_create(&c->graph, 2 * LONG, 2 * LONG));
    PADA_TRY(pada_plan_create(&c->plan, 2 * LONG, 2 * LONG));
    build(c, k, length);
    PADA_TRY(pada_graph_status(c->graph));
    pada_plan_build(c->plan, c->graph, b->backend, b->device, b->batch, true);
    PADA_TRY(b->backend->alloc(b->device, &c->params, c->n_params * size));
    PADA_TRY(b->backend->alloc(b->device, &c->bindings.grads, c->n_params * size));
    PADA_TRY(
        b->backend->alloc(b->device, &c->bindings.work, pada_plan_program(c->plan)->work_bytes));
    PADA_TRY(b->backend->alloc(b->device, &c->bindings.results.loss, b->batch * size));
    PADA_TRY(b->backend->alloc(b->device, &c->bindings.results.norm, b->batch * size));
    PADA_TRY(b->backend->alloc(b->device, &mem, b->batch * (int64_t)sizeof(int32_t)));
    c->bindings.results.rank = mem;
    PADA_TRY(pada_calloc(&c->images, (size_t)(b->batch * pixels), sizeof(float)));
    PADA_TRY(pada_calloc(&c->labels, (size_t)b->batch, sizeof(int32_t)));
    pada_rng_init(&rng, 0, "bench kernels", 0);
    for (int64_t i = 0; i < b->batch * pixels; i++)
        ((float *)c->images)[i] = (float)(2 * pada_rng_uniform(&rng) - 1);
    for (int64_t i = 0; i < c->n_params; i++) {
        const double value = 0.3 * (2 * pada_rng_uniform(&rng) - 1);
        b->backend->write(b->device, c->params, (pada_range){i, 1}, &value);
    }
    c->bindings.params = c->params;
    c->bindings.images = c->images;
    c->bindings.labels = c->labels;
    c->bindings.grad_scale = 1;
    return PADA_OK;
}

/* Fastest of the repeats, forward and backward. */
static pada_status time_chain(const pada_bench_kernels *b, const kernel_case *k, int length,
                              double *forward_ms, double *backward_ms)
{
    chain c;
    pada_status st;

    *forward_ms = *backward_ms = 1e30;
    if ((st = create(b, &c, k, length)) != PADA_OK) goto out;
    const pada_program *q = pada_plan_program(c.plan);
    if ((st = b->backend->prepare(b->device, q)) != PADA_OK) goto out;
    for (int r = 0; r <= b->repeats; r++) {
        const double t0 = 1e3 * pada_clock_seconds();
        b->backend->run(b->device, q, &c.bindings, 0, q->n_forward);
        if ((st = pada_backend_finish(b->backend, b->device)) != PADA_OK) goto out;
        const double t1 = 1e3 * pada_clock_seconds();
        b->backend->run(b->device, q, &c.bindings, q->n_forward, q->n_stages - q->n_forward);
        if ((st = pada_backend_finish(b->backend, b->device)) != PADA_OK) goto out;
        const double t2 = 1e3 * pada_clock_seconds();
        if (r == 0) continue; /* warm-up */
        if (t1 - t0 < *forward_ms) *forward_ms = t1 - t0;
        if (t2 - t1 < *backward_ms) *backward_ms = t2 - t1;
    }
out:
    destroy(b, &c);
    return st;
}

static void report(const pada_bench_kernels *b, const kernel_case *k, const double ms[2],
                   pada_text *out)
{
    static const char *const directions[] = {"forward", "backward"};
    const pada_conv conv =
        pada_conv_make(k->shape.c, k->shape.c, k->kernel, 1, k->kernel / 2, PADA_ACT_RELU);
    /* 0 for pooling */
    const double macs = (double)b->batch * (double)pada_conv_macs(&conv, k->shape);

    for (int d = 0; d < 2; d++) {
        const double gflops = 2e-6 * macs * (d + 1) / ms[d], peak = 2e-9 * b->peak_macs;
        if (b->json) {
            json_t *object = json_object();
            pada_json_set(out, object, "name", json_string(k->name));
            pada_json_set(out, object, "direction", json_string(directions[d]));
            pada_json_set(out, object, "channels", json_integer(k->shape.c));
            pada_json_set(out, object, "size", json_integer(k->shape.h));
            pada_json_set(out, object, "ms", json_real(ms[d]));
            pada_json_set(out, object, "gflops", json_real(gflops));
            pada_json_set(out, object, "peak_gflops", json_real(peak));
            pada_json_line(out, object);
            continue;
        }
        pada_text_add(out, "%-11s %2d x %2dx%-2d  %-8s  %8.3f ms", k->name, k->shape.c, k->shape.h,
                      k->shape.w, directions[d], ms[d]);
        if (macs > 0) pada_text_add(out, "  %7.1f GFLOP/s", gflops);
        if (macs > 0 && peak > 0) pada_text_add(out, "  %4.0f %% of peak", 100 * gflops / peak);
        pada_text_add(out, "\n");
    }
}

pada_status pada_bench_kernels_run(const pada_bench_kernels *b, pada_text *out)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double few[2], many[2], ms[2];
        PADA_TRY(time_chain(b, &cases[i], SHORT, &few[0], &few[1]));
        PADA_TRY(time_chain(b, &cases[i], LONG, &many[0], &many[1]));
        for (int d = 0; d < 2; d++) {
            ms[d] = (many[d] - few[d]) / (LONG - SHORT);
            if (ms[d] <= 0) ms[d] = many[d] / LONG; /* noise was larger than the operators */
        }
        report(b, &cases[i], ms, out);
    }
    return out->status;
}
