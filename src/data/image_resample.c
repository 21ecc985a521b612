/* image_resample.c - brings a part of a picture to a small square by the bilinear filter, row by row.
 *
 * Fixed-point numbers, so that all machines agree and rows may come in any order:
 *
 *   weights          2^13 is one
 *   rows, new width  2^6 is a level         255 * 2^13 >> 7 fits 16 bits
 *   sums             2^19 is a level        255 * 2^19 fits 32 bits
 *
 * The three channels of a pixel are the digits of one number to the base 2^21, which 255 * 2^13 does not
 * reach: a multiplication weighs them all. Weights are computed by additions, multiplications and
 * divisions of doubles alone. */
#include "data/image_resample.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define ONE   8192 /* of the weights */
#define DIGIT 21   /* bits */

/* The filter: falls to 0 at a distance of 1. */
static double triangle(double distance)
{
    return distance < -1 || distance > 1 ? 0 : 1 - fabs(distance);
}

/* Where a pixel of the result lies in the picture. */
typedef struct reach {
    double centre, support;
    int first, end; /* the pixels within the support */
} reach;

static int clamp(double x, int low, int high)
{
    return x < low ? low : x > high ? high : (int)x;
}

/* Of pixel i; the rectangle touches the pixels low .. high - 1. */
static reach find_reach(double begin, double scale, int i, int low, int high)
{
    reach r = {.centre = begin + (i + 0.5) * scale, .support = scale > 1 ? scale : 1};

    r.first = clamp(floor(r.centre - r.support - 0.5) + 1, low, high - 1);
    r.end = clamp(ceil(r.centre + r.support - 0.5), r.first + 1, high);
    return r;
}

/* weights [end - first]. Sums are rounded, not weights: so they end with ONE, none is negative however small
 * they are, and a mirrored picture has the mirrored ones. */
static void fill_weights(int16_t *weights, const reach *r)
{
    double total = 0, sum = 0;
    int before = 0;

    for (int j = r->first; j < r->end; j++)
        total += triangle((j + 0.5 - r->centre) / r->support);
    for (int j = r->first; j < r->end; j++) {
        sum += triangle((j + 0.5 - r->centre) / r->support);
        const int up_to = (int)(sum / total * ONE + 0.5);
        weights[j - r->first] = (int16_t)(up_to - before);
        before = up_to;
    }
}

/* [begin, begin + length) of n pixels. Every pixel of the result has as many taps as the one with most,
 * none of them outside of the rectangle. */
static pada_status init_axis(pada_resample_axis *a, int n, double begin, double length, int size)
{
    const double scale = length / size;
    const int low = clamp(floor(begin), 0, n - 1), high = clamp(ceil(begin + length), low + 1, n);
    void *memory;

    for (int i = 0; i < size; i++) {
        const reach r = find_reach(begin, scale, i, low, high);
        if (r.end - r.first > a->n_taps) a->n_taps = r.end - r.first;
    }
    PADA_TRY(pada_calloc(&memory, (size_t)size, sizeof *a->first));
    a->first = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)size * (size_t)a->n_taps, sizeof *a->weights));
    a->weights = memory;
    for (int i = 0; i < size; i++) {
        const reach r = find_reach(begin, scale, i, low, high);
        a->first[i] = r.first < high - a->n_taps ? r.first : high - a->n_taps;
        fill_weights(a->weights + (size_t)i * (size_t)a->n_taps + (r.first - a->first[i]), &r);
    }
    return PADA_OK;
}

pada_status pada_resampler_init(pada_resampler *r, const pada_resample_desc *d)
{
    const size_t size = (size_t)d->size;
    void *memory;

    *r = (pada_resampler){.width = d->width, .size = d->size};
    PADA_TRY(init_axis(&r->x, d->width, d->x, d->across, d->size));
    PADA_TRY(init_axis(&r->y, d->height, d->y, d->down, d->size));
    r->begin_row = r->y.first[0];
    r->end_row = r->y.first[size - 1] + r->y.n_taps;
    PADA_TRY(pada_calloc(&memory, (size_t)d->width, sizeof *r->packed));
    r->packed = memory;
    PADA_TRY(pada_calloc(&memory, 3 * size, sizeof *r->row));
    r->row = memory;
    PADA_TRY(pada_calloc(&memory, 3 * size * size, sizeof *r->sums));
    r->sums = memory;
    return PADA_OK;
}

void pada_resampler_deinit(pada_resampler *r)
{
    pada_free(r->x.first);
    pada_free(r->x.weights);
    pada_free(r->y.first);
    pada_free(r->y.weights);
    pada_free(r->packed);
    pada_free(r->row);
    pada_free(r->sums);
    *r = (pada_resampler){0};
}

/* The pixels of a row as numbers. Those that an interlaced picture has elsewhere are 0 here. */
static void pack(pada_resampler *r, const pada_image_row *row)
{
    const uint8_t *from = row->pixels;

    if (row->step > 1) memset(r->packed, 0, (size_t)r->width * sizeof *r->packed);
    for (int k = 0; k < row->n; k++, from += 3)
        r->packed[row->x + k * row->step] =
            from[0] | (uint64_t)from[1] << DIGIT | (uint64_t)from[2] << 2 * DIGIT;
}

/* The row along x alone. */
static void narrow(pada_resampler *r)
{
    const uint64_t digit = ((uint64_t)1 << DIGIT) - 1;
    const pada_resample_axis *a = &r->x;
    const int16_t *weights = a->weights;

    for (int i = 0; i < r->size; i++) {
        const uint64_t *from = r->packed + a->first[i];
        uint64_t sum = 0;
        for (int t = 0; t < a->n_taps; t++)
            sum += (uint64_t)*weights++ * from[t];
        r->row[3 * i] = (int16_t)((sum & digit) >> 7);
        r->row[3 * i + 1] = (int16_t)((sum >> DIGIT & digit) >> 7);
        r->row[3 * i + 2] = (int16_t)(sum >> 2 * DIGIT >> 7);
    }
}

void pada_resampler_add(pada_resampler *r, const pada_image_row *row)
{
    const pada_resample_axis *a = &r->y;
    const int width = 3 * r->size;

    if (row->y < r->begin_row || row->y >= r->end_row) return;
    pack(r, row);
    narrow(r);
    for (int i = 0; i < r->size && a->first[i] <= row->y; i++) {
        const int t = row->y - a->first[i];
        const int32_t weight =
            t < a->n_taps ? a->weights[(size_t)i * (size_t)a->n_taps + (size_t)t] : 0;
        int32_t *to = r->sums + (size_t)i * (size_t)width;
        if (weight == 0) continue;
        for (int k = 0; k < width; k++)
            to[k] += weight * r->row[k];
    }
}
