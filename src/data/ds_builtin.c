/* ds_builtin.c - generated images: a data set for machines without one.
 *
 * An image shows one object on a background. Its class is shape and texture together,
 *
 *   class = 2 * shape (disc, square, triangle, ring, cross) + texture (fine or coarse stripes)
 *
 * and everything else is random: place, size, rotation, direction, phase and contrast of the
 * stripes, colours, gradient, spots that lie on top, noise. The object is brighter than the
 * background, so learning starts at once; but its outline and its stripes, two to five pixels wide,
 * drown in the noise, and a network has to find short edges of every direction before it can put
 * them together. It does better with more and deeper 3x3 convolutions, and worse by averaging.
 * Colours say nothing about the class. Images are small, so that a network is trained in seconds.
 *
 * Image i of a split comes from the random stream (SEED, split, i): the images do not depend on how
 * many there are. Only exactly rounded operations are used (no sine, no exponential), so they are
 * the same on every machine. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset.h"

#define SIDE        16
#define CHANNELS    PADA_IMAGE_CHANNELS
#define IMAGE_BYTES (CHANNELS * SIDE * SIDE)
#define N_SHAPES    5
#define N_CLASSES   (2 * N_SHAPES)
#define SEED        201
#define NOISE       30.0 /* standard deviation, in grey levels */
#define MAX_SPOTS   4

static const int n_images[PADA_N_SPLITS] = {[PADA_SPLIT_TRAIN] = 2000, [PADA_SPLIT_TEST] = 1000};

typedef struct builtin {
    pada_dataset base;
    uint8_t *pixels[PADA_N_SPLITS]; /* [n, 3, SIDE, SIDE], owned; NULL: not opened */
} builtin;

/* Grey levels of the three channels. */
typedef struct colour {
    double level[CHANNELS];
} colour;

typedef struct direction {
    double x, y; /* of length 1 */
} direction;

typedef struct spot {
    double x, y, radius;
    colour paint;
} spot;

/* What is random about an image, but for the noise. */
typedef struct scene {
    colour background;
    direction slope; /* of the background */
    double slope_levels;
    int shape;
    double x, y, radius; /* of the object, in pixels */
    direction turn;
    colour paint;
    direction stripes;
    double period, phase, contrast;
    spot spots[MAX_SPOTS];
    int n_spots;
} scene;

static double between(pada_rng *rng, double low, double high)
{
    return low + (high - low) * pada_rng_uniform(rng);
}

static direction random_direction(pada_rng *rng)
{
    /* The half circle without trigonometry; its ends come a little less often. Then perhaps the
     * other half. */
    const double t = between(rng, -1, 1), d = 1 + t * t;
    const double sign = pada_rng_below(rng, 2) ? 1 : -1;

    return (direction){sign * (1 - t * t) / d, sign * 2 * t / d};
}

static colour random_colour(pada_rng *rng, double low, double high)
{
    colour c;

    for (int k = 0; k < CHANNELS; k++)
        c.level[k] = between(rng, low, high);
    return c;
}

static scene random_scene(pada_rng *rng, int class)
{
    const bool coarse = class % 2 != 0;
    scene s = {.shape = class / 2};

    s.background = random_colour(rng, 90, 130);
    s.slope = random_direction(rng);
    s.slope_levels = between(rng, 0, 2);
    s.x = between(rng, 6, 10);
    s.y = between(rng, 6, 10);
    s.radius = between(rng, 4.5, 6.5);
    s.turn = random_direction(rng);
    s.paint = random_colour(rng, 20, 70);
    for (int k = 0; k < CHANNELS; k++)
        s.paint.level[k] += s.background.level[k];
    s.stripes = random_direction(rng);
    s.period = coarse ? between(rng, 4, 5.5) : between(rng, 2.2, 2.8);
    s.phase = pada_rng_uniform(rng);
    s.contrast = between(rng, 20, 50);
    s.n_spots = (int)pada_rng_below(rng, MAX_SPOTS + 1);
    for (int i = 0; i < s.n_spots; i++)
        s.spots[i] = (spot){.x = between(rng, 0, SIDE),
                            .y = between(rng, 0, SIDE),
                            .radius = between(rng, 0.5, 1.5),
                            .paint = random_colour(rng, 50, 205)};
    return s;
}

/* Whether the point is inside the shape; all of them are about as large as the unit disc. */
static bool inside(int shape, double u, double v)
{
    const double squares = u * u + v * v;
    const double near = fmin(fabs(u), fabs(v)), far = fmax(fabs(u), fabs(v));

    switch (shape) {
    case 0: return squares < 1;
    case 1: return far < 0.85;
    case 2: return v > -0.6 && 1.75 * fabs(u) + v < 1.15;
    case 3: return squares > 0.3 && squares < 1.15;
    default: return near < 0.33 && far < 1.1;
    }
}

/* A triangle wave between -1 and 1 of period 1. */
static double wave(double t)
{
    return 4 * fabs(t - floor(t) - 0.5) - 1;
}

/* The scene at the middle of a pixel, without noise. */
static colour look(const scene *s, double x, double y)
{
    const double dx = x - s->x, dy = y - s->y;
    const double u = (dx * s->turn.x + dy * s->turn.y) / s->radius;
    const double v = (dy * s->turn.x - dx * s->turn.y) / s->radius;
    colour c = s->background;
    double shade = s->slope_levels * ((x - SIDE / 2) * s->slope.x + (y - SIDE / 2) * s->slope.y);

    for (int i = 0; i < s->n_spots; i++) {
        const spot *p = &s->spots[i];
        if ((x - p->x) * (x - p->x) + (y - p->y) * (y - p->y) < p->radius * p->radius)
            return p->paint;
    }
    if (inside(s->shape, u, v)) {
        c = s->paint;
        shade = s->contrast * wave((x * s->stripes.x + y * s->stripes.y) / s->period + s->phase);
    }
    for (int k = 0; k < CHANNELS; k++)
        c.level[k] += shade;
    return c;
}

/* Nearly normal, deviation 1: the four bytes of one draw added up. */
static double noise(pada_rng *rng)
{
    const uint32_t r = pada_rng_u32(rng);
    const int sum = (int)((r & 255) + (r >> 8 & 255) + (r >> 16 & 255) + (r >> 24)) - 510;

    return sum / 147.8; /* sqrt(4 * (256 * 256 - 1) / 12) */
}

static int class_of(int i)
{
    return i % N_CLASSES; /* any part of the images has all classes equally often */
}

static void draw(pada_split split, int i, uint8_t *to)
{
    static const char *const streams[PADA_N_SPLITS] = {"builtin train", "builtin test"};
    pada_rng rng;

    pada_rng_init(&rng, SEED, streams[split], (uint64_t)i);
    const scene s = random_scene(&rng, class_of(i));
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const colour c = look(&s, x + 0.5, y + 0.5);
            for (int k = 0; k < CHANNELS; k++) {
                const double level = floor(c.level[k] + NOISE * noise(&rng) + 0.5);
                to[(k * SIDE + y) * SIDE + x] = (uint8_t)fmin(fmax(level, 0), 255);
            }
        }
}

static bool recognises(const char *where)
{
    return strcmp(where, "builtin") == 0;
}

static void close_builtin(pada_dataset *ds)
{
    builtin *b = (builtin *)ds;

    for (int split = 0; split < PADA_N_SPLITS; split++)
        pada_free(b->pixels[split]);
    pada_free(b);
}

static pada_status draw_split(builtin *b, pada_split split)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)n_images[split], IMAGE_BYTES));
    b->pixels[split] = memory;
    b->base.n_images[split] = n_images[split];
    for (int i = 0; i < n_images[split]; i++)
        draw(split, i, b->pixels[split] + (size_t)i * IMAGE_BYTES);
    return PADA_OK;
}

static pada_status open_builtin(pada_dataset **out, const pada_dataset_desc *desc)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof(builtin)));
    builtin *b = memory;
    b->base =
        (pada_dataset){.name = "builtin",
                       .n_classes = N_CLASSES,
                       .shape = {CHANNELS, SIDE, SIDE},
                       .mean = {0.4864, 0.4857, 0.4838}, /* measured; the test measures again */
                       .deviation = {0.1621, 0.1619, 0.1624}};
    for (int split = 0; split < PADA_N_SPLITS; split++) {
        if (!(desc->splits & PADA_SPLIT_BIT(split))) continue;
        const pada_status st = draw_split(b, (pada_split)split);
        if (st != PADA_OK) {
            close_builtin(&b->base);
            return st;
        }
    }
    *out = &b->base;
    return PADA_OK;
}

static const uint8_t *image(const pada_dataset *ds, pada_split split, int i)
{
    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    return ((const builtin *)ds)->pixels[split] + (size_t)i * IMAGE_BYTES;
}

static int label(const pada_dataset *ds, pada_split split, int i)
{
    PADA_ASSERT(i >= 0 && i < ds->n_images[split]);
    return class_of(i);
}

const pada_dataset_ops pada_dataset_builtin = {
    .name = "builtin",
    .names = (const char *const[]){"builtin", NULL},
    .summary = "ten classes of generated 16x16 images, 2,000 to train and 1,000 to test",
    .wanted = "the word builtin",
    .recognises = recognises,
    .open = open_builtin,
    .close = close_builtin,
    .image = image,
    .label = label,
};
