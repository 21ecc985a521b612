/* free_az_nas.c - four proxies whose ranks are added (AZ-NAS: Lee and Ham, CVPR 2024).
 *
 * Images are 64 of normal noise; weights have the variance 2 / fan_in. Of the outputs of all blocks:
 *
 *   expressivity    the sum of the entropies of the shares of the eigenvalues of their covariance over channels
 *   progressivity   the smallest growth of that entropy from a block to the next
 *   trainability    the mean over blocks of 2 - s - 1 / s, where s is the largest singular value of the mean over images
 *                   and pixels of (gradient of the input) (gradient of the output)^T, with signs drawn at random for the
 *                   latter: 0 where a block keeps the size of gradients. Pixels of the input that share one of the output
 *                   count as channels
 *   complexity      multiply-adds */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/symmetric.h"
#include "study/block_graph.h"
#include "study/free_score.h"

enum { N_IMAGES = 64, EXPRESSIVITY = 0, PROGRESSIVITY, TRAINABILITY, COMPLEXITY };

/* A value that everything passes through: the stem, the end of a block. */
typedef struct feature {
    pada_value value; /* of the whole graph; PADA_ZERO: zeros */
    pada_shape shape;
    double *data; /* [N_IMAGES, c, h, w], owned */
} feature;

typedef struct features {
    feature *list; /* [n], owned */
    int n;
} features;

static void free_features(features *f)
{
    for (int i = 0; i < f->n; i++)
        pada_free(f->list[i].data);
    pada_free(f->list);
}

/* ---- the forward pass ---- */

static pada_status list_features(const pada_trial *t, features *f)
{
    const pada_graph *g = t->graph;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)g->n_nodes, sizeof *f->list));
    f->list = mem;
    for (int v = 0; v < g->n_nodes; v++)
        if (g->nodes[v].op == PADA_OP_TAP)
            f->list[f->n++] = (feature){.value = g->nodes[v].x, .shape = g->nodes[v].shape};
    if (f->n < 2)
        return PADA_FAIL(PADA_EUNSUPPORTED, "space %s does not say where its blocks end",
                         t->space.ops->name);
    return PADA_OK;
}

static pada_status run_network(pada_trial *t, const pada_batch *noise, const features *f)
{
    void *mem;

    PADA_TRY(pada_trial_build(t, t->graph, true));
    PADA_TRY(pada_trial_plan(t, t->graph, noise->n, false));
    pada_trial_forward(t, noise, 0);
    for (int i = 0; i < f->n; i++) {
        const int64_t count = noise->n * pada_shape_count(f->list[i].shape);
        PADA_TRY(pada_calloc(&mem, (size_t)count, sizeof(double)));
        f->list[i].data = mem;
        pada_trial_read_tap(t, i, mem);
    }
    return PADA_OK;
}

/* ---- expressivity and progressivity ---- */

/* Covariance of the channels over images and pixels, [c, c]. */
static void covariance(const feature *f, double *means, double *out)
{
    const int c = f->shape.c;
    const int64_t plane = (int64_t)f->shape.h * f->shape.w;
    const double count = (double)(N_IMAGES * plane);

    memset(means, 0, (size_t)c * sizeof *means);
    memset(out, 0, (size_t)c * (size_t)c * sizeof *out);
    for (int64_t k = 0; k < N_IMAGES * c; k++)
        for (int64_t i = 0; i < plane; i++)
            means[k % c] += f->data[k * plane + i] / count;
    for (int n = 0; n < N_IMAGES; n++)
        for (int a = 0; a < c; a++)
            for (int b = a; b < c; b++) {
                const double *x = f->data + (n * (int64_t)c + a) * plane;
                const double *y = f->data + (n * (int64_t)c + b) * plane;
                double sum = 0;
                for (int64_t i = 0; i < plane; i++)
                    sum += (x[i] - means[a]) * (y[i] - means[b]);
                out[a * c + b] += sum / count;
            }
}

/* NaN where nothing varies. */
static pada_status entropy(const feature *f, double *out)
{
    const size_t c = (size_t)f->shape.c;
    double sum = 0;
    void *mem;

    PADA_TRY(pada_calloc(&mem, c * (c + 2), sizeof(double)));
    double *matrix = mem, *values = matrix + c * c;
    covariance(f, values + c, matrix);
    const pada_status st = pada_symmetric_eigenvalues(matrix, f->shape.c, values);
    for (size_t i = 0; i < c; i++)
        sum += values[i];
    *out = 0;
    for (size_t i = 0; i < c; i++)
        *out -= values[i] / sum * log(values[i] / sum + 1e-8);
    pada_free(mem);
    return st;
}

static pada_status measure_entropies(const features *f, double *values)
{
    double last = 0, now = 0;

    values[EXPRESSIVITY] = 0;
    values[PROGRESSIVITY] = INFINITY;
    for (int i = 0; i < f->n; i++) {
        PADA_TRY(entropy(&f->list[i], &now));
        values[EXPRESSIVITY] += now;
        if (i > 0) values[PROGRESSIVITY] = fmin(values[PROGRESSIVITY], now - last);
        last = now;
    }
    if (isnan(values[EXPRESSIVITY])) values[PROGRESSIVITY] = NAN; /* fmin passes over it */
    return PADA_OK;
}

/* ---- trainability ---- */

/* Random signs for the output of a block, and its input beside them: pixel (i, j) of the input meets the signs of the pixel
 * of the output that it belongs to in the channels of its place in there. */
static void fill_inputs(const feature *in, const feature *out, pada_rng *rng, double *signs,
                        float *images)
{
    const int stride = in->shape.h / out->shape.h, places = stride * stride;
    const int64_t plane = (int64_t)in->shape.h * in->shape.w;
    const int64_t per_image = (in->shape.c + (int64_t)places * out->shape.c) * plane;

    for (int64_t n = 0; n < N_IMAGES; n++) {
        float *image = images + n * per_image;
        for (int64_t i = 0; i < in->shape.c * plane; i++)
            image[i] = (float)in->data[n * in->shape.c * plane + i];
        float *beside = image + in->shape.c * plane;
        memset(beside, 0, (size_t)(places * out->shape.c * plane) * sizeof *beside);
        for (int c = 0; c < out->shape.c; c++)
            for (int y = 0; y < out->shape.h; y++)
                for (int x = 0; x < out->shape.w; x++) {
                    const double sign = pada_rng_u32(rng) >> 31 ? 1 : -1;
                    signs[((n * out->shape.c + c) * out->shape.h + y) * out->shape.w + x] = sign;
                    for (int p = 0; p < places; p++) {
                        const int row = y * stride + p / stride, column = x * stride + p % stride;
                        beside[((int64_t)p * out->shape.c + c) * plane + row * in->shape.w +
                               column] = (float)sign;
                    }
                }
    }
}

/* The largest singular value of m [rows, columns]. */
static pada_status largest_singular(const double *m, int rows, int columns, double *out)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)columns * (size_t)(columns + 1), sizeof(double)));
    double *gram = mem, *values = gram + columns * columns;
    for (int i = 0; i < columns; i++)
        for (int j = i; j < columns; j++)
            for (int k = 0; k < rows; k++)
                gram[i * columns + j] += m[k * columns + i] * m[k * columns + j];
    const pada_status st = pada_symmetric_eigenvalues(gram, columns, values);
    *out = sqrt(fmax(values[columns - 1], 0));
    pada_free(mem);
    return st;
}

/* The weight gradients of the block's convolution, [c_in, c_in + places * c_out], as the matrix [c_in * places, c_out] of
 * mean products. */
static pada_status judge_jacobian(const pada_trial *t, const feature *in, const feature *out,
                                  double *score)
{
    const int stride = in->shape.h / out->shape.h, places = stride * stride;
    const int c_in = in->shape.c, c_out = out->shape.c, c_read = c_in + places * c_out;
    const double count = (double)N_IMAGES * out->shape.h * out->shape.w;
    double s = 0;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)c_in * (size_t)(c_read + places * c_out), sizeof(double)));
    double *grads = mem, *m = grads + c_in * c_read;
    pada_trial_read_grads(t, t->extra, (int64_t)c_in * c_read, grads);
    for (int i = 0; i < c_in; i++)
        for (int k = 0; k < places * c_out; k++)
            m[i * places * c_out + k] = grads[i * c_read + c_in + k] / count;
    const pada_status st = largest_singular(m, c_in * places, c_out, &s);
    *score = 2 - s - 1 / (s + 1e-6);
    pada_free(mem);
    return st;
}

/* Room for the pass of a block. */
typedef struct block_room {
    double *signs, *output;
    float *images;
} block_room;

/* The block between two features, with the convolution that its Jacobian is read from. */
static pada_block_graph block_of(const pada_trial *t, const feature *in, const feature *out)
{
    const int stride = in->shape.h / out->shape.h;

    return (pada_block_graph){t->graph, in->value, out->value, stride * stride * out->shape.c,
                              t->extra};
}

/* Cuts all blocks out: what cannot be measured is said before anything is. */
static pada_status check_blocks(pada_trial *t, const features *f)
{
    for (int i = 1; i < f->n; i++) {
        const feature *in = &f->list[i - 1], *out = &f->list[i];
        const pada_block_graph block = block_of(t, in, out);
        if (in->value != PADA_ZERO && out->value != PADA_ZERO)
            PADA_TRY(pada_block_graph_build(&block, t->part));
    }
    return PADA_OK;
}

static pada_status run_block(pada_trial *t, const feature *in, const feature *out, pada_rng *rng,
                             const block_room *room, const pada_batch *labels)
{
    const pada_block_graph block = block_of(t, in, out);
    const int c_in = in->shape.c, c_beside = block.c_beside;
    const int64_t count = pada_shape_count(out->shape);
    const pada_batch batch = {.n = N_IMAGES, .images = room->images, .labels = labels->labels};
    const double one = 1;
    void *zeros;

    PADA_TRY(pada_calloc(&zeros, (size_t)c_in * (size_t)(c_in + c_beside), sizeof(double)));
    pada_trial_write_weights(t, t->extra, (int64_t)c_in * (c_in + c_beside), zeros);
    pada_free(zeros);
    for (int i = 0; i < c_in; i++)
        pada_trial_write_weights(t, t->extra + (int64_t)i * (c_in + c_beside) + i, 1, &one);
    PADA_TRY(pada_block_graph_build(&block, t->part));
    fill_inputs(in, out, rng, room->signs, room->images);
    for (int64_t i = 0; i < N_IMAGES * count; i++) /* what is kept is the output less its signs */
        room->output[i] = out->data[i] - room->signs[i];
    PADA_TRY(pada_trial_plan(t, t->part, N_IMAGES, true));
    pada_trial_write_tap(t, 0, room->output);
    /* the gradient of the distance is align * 2 / count * sign, that of the loss its mean over the images */
    pada_trial_forward(t, &batch, (double)count * N_IMAGES / 2);
    pada_trial_backward(t, NULL);
    return PADA_OK;
}

static int64_t floats_of_block(const feature *in, const feature *out)
{
    return N_IMAGES * (pada_shape_count(in->shape) +
                       (int64_t)in->shape.h * in->shape.w * out->shape.c *
                           (in->shape.h / out->shape.h) * (in->shape.h / out->shape.h));
}

static pada_status make_block_room(const features *f, block_room *room)
{
    int64_t images = 1, output = 1;
    void *mem;

    for (int i = 1; i < f->n; i++) {
        const int64_t floats = floats_of_block(&f->list[i - 1], &f->list[i]);
        const int64_t values = N_IMAGES * pada_shape_count(f->list[i].shape);
        if (floats > images) images = floats;
        if (values > output) output = values;
    }
    PADA_TRY(pada_calloc(&mem, (size_t)output, sizeof(double)));
    room->signs = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)output, sizeof(double)));
    room->output = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)images, sizeof(float)));
    room->images = mem;
    return PADA_OK;
}

/* Whether a block passes its input on as it is. Convolutions of zeros may stand in it all the same. */
static bool is_identity(const feature *in, const feature *out)
{
    return pada_shape_equal(in->shape, out->shape) &&
           memcmp(in->data, out->data,
                  (size_t)(N_IMAGES * pada_shape_count(in->shape)) * sizeof *in->data) == 0;
}

/* -inf of an identity, as published. */
static pada_status judge_block(pada_trial *t, const feature *in, const feature *out, pada_rng *rng,
                               const block_room *room, const pada_batch *labels, double *score)
{
    *score = 2 - 1 / 1e-6;
    if (in->value == PADA_ZERO || out->value == PADA_ZERO) return PADA_OK;
    *score = -INFINITY;
    if (is_identity(in, out)) return PADA_OK;
    PADA_TRY(run_block(t, in, out, rng, room, labels));
    return judge_jacobian(t, in, out, score);
}

static pada_status judge_blocks(pada_trial *t, const features *f, uint64_t seed,
                                const pada_batch *labels, double *mean)
{
    block_room room = {0};
    pada_status st = make_block_room(f, &room);
    pada_rng rng;
    double score;

    *mean = 0;
    for (int i = 1; i < f->n && st == PADA_OK; i++) {
        pada_rng_init(&rng, seed, "az_nas signs", (uint64_t)i);
        st = judge_block(t, &f->list[i - 1], &f->list[i], &rng, &room, labels, &score);
        *mean += score / (f->n - 1);
    }
    pada_free(room.signs);
    pada_free(room.output);
    pada_free(room.images);
    return st;
}

/* ---- the score ---- */

/* Further weights that the convolution of any block needs. */
static int64_t weights_of_blocks(const features *f)
{
    int64_t most = 0;

    for (int i = 1; i < f->n; i++) {
        const feature *in = &f->list[i - 1], *out = &f->list[i];
        const int stride = in->shape.h / out->shape.h;
        const int64_t n = in->shape.c * (in->shape.c + (int64_t)stride * stride * out->shape.c);
        if (n > most) most = n;
    }
    return most;
}

static pada_status run_all(pada_trial *t, uint64_t seed, const pada_batch *noise, double *values)
{
    features f = {0};
    pada_cost cost;

    pada_space_cost(&t->space, &t->space.network, &cost);
    values[COMPLEXITY] = (double)cost.macs;
    pada_status st = pada_trial_build(t, t->graph, true);
    if (st == PADA_OK) st = list_features(t, &f);
    if (st == PADA_OK) st = pada_trial_reserve(t, weights_of_blocks(&f));
    if (st == PADA_OK) st = check_blocks(t, &f);
    if (st == PADA_OK) st = pada_trial_init_weights(t, seed, sqrt(6), false);
    if (st == PADA_OK) st = run_network(t, noise, &f);
    if (st == PADA_OK) st = measure_entropies(&f, values);
    if (st == PADA_OK) st = pada_trial_build(t, t->graph, true); /* which the plan has simplified */
    if (st == PADA_OK) st = judge_blocks(t, &f, seed, noise, &values[TRAINABILITY]);
    free_features(&f);
    return st;
}

static pada_status measure(pada_trial *t, const pada_batch *batch, uint64_t seed, double *values)
{
    static const int32_t labels[N_IMAGES];
    const int side = t->space.config.image_size;
    const int64_t count = (int64_t)N_IMAGES * 3 * side * side;
    pada_rng rng;
    void *mem;

    (void)batch;
    PADA_TRY(pada_calloc(&mem, (size_t)count, sizeof(float)));
    float *images = mem;
    pada_rng_init(&rng, seed, "az_nas images", 0);
    for (int64_t i = 0; i < count; i++)
        images[i] = (float)pada_rng_normal(&rng);
    const pada_status st =
        run_all(t, seed, &(pada_batch){.n = N_IMAGES, .images = images, .labels = labels}, values);
    for (int k = 0; k < PADA_MAX_FREE_VALUES; k++)
        if (!(values[k] > PADA_FREE_WORST)) values[k] = PADA_FREE_WORST;
    pada_free(mem);
    return st;
}

extern const pada_free_score pada_free_az_nas;
const pada_free_score pada_free_az_nas = {
    .name = "az_nas",
    .label = "ranks of four proxies (AZ-NAS: Lee and Ham, 2024)",
    .n_values = 4,
    .values = {"expressivity", "progressivity", "trainability", "complexity"},
    .version = 1,
    .measure = measure};
