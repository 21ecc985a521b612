/* image_geometry.c - images turned, sheared and moved. */
#include "data/image_geometry.h"

#include <math.h>
#include <stdbool.h>

#include "base/elementary.h"

#define MAX_TAPS 4 /* pixels in a row that a level is made of */

/* Pillow's matrices have 15 decimals. */
static double round_off(double x)
{
    return rint(x * 1e15) / 1e15;
}

pada_affine pada_affine_rotation(double degrees, int h, int w)
{
    const double cosine = round_off(pada_cos_turns(degrees / 360));
    const double sine = round_off(pada_cos_turns(degrees / 360 - 0.25));
    const double x = w / 2.0, y = h / 2.0;

    return (pada_affine){.xx = cosine,
                         .xy = -sine,
                         .x0 = cosine * -x + -sine * -y + x,
                         .yx = sine,
                         .yy = cosine,
                         .y0 = sine * -x + cosine * -y + y};
}

/* Where a level comes from: pixels of up to 4 rows and columns, and how far behind the last one before it
 * the point lies. */
typedef struct spot {
    int columns[MAX_TAPS], rows[MAX_TAPS];
    double dx, dy; /* 0 .. 1 */
} spot;

/* The n pixels around x on an axis of `size`, where those outside are the nearest inside; returns the rest
 * of x. */
static double find_taps(double x, int n, int size, int *taps)
{
    const double before = floor(x - 0.5);

    for (int t = 0; t < n; t++) {
        const int at = (int)before - (n / 2 - 1) + t;
        taps[t] = at < 0 ? 0 : at >= size ? size - 1 : at;
    }
    return x - 0.5 - before;
}

/* False: outside of the image. */
static bool find_spot(const pada_affine *map, int x, int y, int n_taps, int h, int w, spot *s)
{
    const double from_x = map->xx * (x + 0.5) + map->xy * (y + 0.5) + map->x0;
    const double from_y = map->yx * (x + 0.5) + map->yy * (y + 0.5) + map->y0;

    if (!(from_x >= 0 && from_x < w && from_y >= 0 && from_y < h)) return false;
    s->dx = find_taps(from_x, n_taps, w, s->columns);
    s->dy = find_taps(from_y, n_taps, h, s->rows);
    return true;
}

static double linear(const double v[2], double d)
{
    return v[0] + (v[1] - v[0]) * d;
}

/* The cubic through v[1] and v[2] whose slopes there are the differences of their neighbours: the
 * filter with a coefficient of -1, which Pillow's transforms have. */
static double cubic(const double v[4], double d)
{
    const double slope = -v[0] + v[2];
    const double square = 2 * (v[0] - v[1]) + v[2] - v[3];
    const double cube = -v[0] + v[1] - v[2] + v[3];

    return v[1] + d * (slope + d * (square + d * cube));
}

static double mix_linear(const uint8_t *plane, int w, const spot *s)
{
    double rows[2];

    for (int r = 0; r < 2; r++) {
        const uint8_t *row = plane + s->rows[r] * w;
        rows[r] = linear((double[]){row[s->columns[0]], row[s->columns[1]]}, s->dx);
    }
    return linear(rows, s->dy);
}

static double mix_cubic(const uint8_t *plane, int w, const spot *s)
{
    double rows[4];

    for (int r = 0; r < 4; r++) {
        const uint8_t *row = plane + s->rows[r] * w;
        const double v[] = {row[s->columns[0]], row[s->columns[1]], row[s->columns[2]],
                            row[s->columns[3]]};
        rows[r] = cubic(v, s->dx);
    }
    return cubic(rows, s->dy);
}

void pada_image_warp(const pada_affine *map, pada_filter filter, const uint8_t fill[3],
                     const uint8_t *from, int h, int w, uint8_t *to)
{
    const bool is_cubic = filter == PADA_BICUBIC;
    spot s;

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, to++) {
            const bool inside = find_spot(map, x, y, is_cubic ? 4 : 2, h, w, &s);
            for (int c = 0; c < 3; c++) {
                const uint8_t *plane = from + c * h * w;
                const double level = !inside    ? fill[c]
                                     : is_cubic ? mix_cubic(plane, w, &s)
                                                : mix_linear(plane, w, &s);
                to[c * h * w] = (uint8_t)(level <= 0 ? 0 : level >= 255 ? 255 : level);
            }
        }
}
