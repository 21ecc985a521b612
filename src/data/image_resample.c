/* image_resample.c - brings a part of a picture to a small square by the bilinear filter, row by row.
 *
 * Fixed-point numbers, so that all machines agree and rows may come in any order:
 *
 *   weights          2^14 is one            the largest has what the rounding of the others left
 *   rows, new width  2^6 is a level         255 * 2^14 >> 8 fits 16 bits
 *   sums             2^20 is a level        255 * 2^20 fits 32 bits
 *
 * Weights are computed by additions, multiplications and divisions of doubles alone. */
#include "data/image_resample.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define ONE 16384 /* of the weights */

/* The filter: falls to 0 at a distance of 1. */
static double triangle(double distance)
{
    return distance < -1 || distance > 1 ? 0 : 1 - fabs(distance);
}

/* The weights of pixel i of the result, [n_taps], for the pixels from `first` to before `end`; `scale`
 * pixels of the picture are one of the result. */
static void fill_weights(int16_t *weights, double centre, double support, int first, int end)
{
    double total = 0;
    int largest = 0, left = ONE;

    for (int j = first; j < end; j++)
        total += triangle((j + 0.5 - centre) / support);
    for (int j = first; j < end; j++) {
        const double share = triangle((j + 0.5 - centre) / support) / total;
        weights[j - first] = (int16_t)(share * ONE + 0.5);
        left -= weights[j - first];
        if (weights[j - first] > weights[largest]) largest = j - first;
    }
    weights[largest] = (int16_t)(weights[largest] + left);
}

static int clamp(double x, int low, int high)
{
    return x < low ? low : x > high ? high : (int)x;
}

/* [begin, begin + length) of n pixels. */
static pada_status init_axis(pada_resample_axis *a, int n, double begin, double length, int size)
{
    const double scale = length / size, support = scale > 1 ? scale : 1;
    const int low = clamp(floor(begin), 0, n - 1), high = clamp(ceil(begin + length), low + 1, n);
    void *memory;

    a->n_taps = (int)(2 * support) + 3;
    PADA_TRY(pada_calloc(&memory, (size_t)size, sizeof *a->first));
    a->first = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)size * (size_t)a->n_taps, sizeof *a->weights));
    a->weights = memory;
    for (int i = 0; i < size; i++) {
        const double centre = begin + (i + 0.5) * scale;
        const int first = clamp(floor(centre - support - 0.5) + 1, low, high - 1);
        const int end = clamp(ceil(centre + support - 0.5), first + 1, high);
        a->first[i] = first;
        fill_weights(a->weights + (size_t)i * (size_t)a->n_taps, centre, support, first, end);
    }
    return PADA_OK;
}

pada_status pada_resampler_init(pada_resampler *r, const pada_resample_desc *d)
{
    const size_t size = (size_t)d->size;
    void *memory;

    *r = (pada_resampler){.size = d->size};
    PADA_TRY(init_axis(&r->x, d->width, d->x, d->across, d->size));
    PADA_TRY(init_axis(&r->y, d->height, d->y, d->down, d->size));
    r->begin_row = r->y.first[0];
    r->end_row = r->y.first[size - 1] + r->y.n_taps;
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
    pada_free(r->row);
    pada_free(r->sums);
    *r = (pada_resampler){0};
}

/* The row along x alone, from pixels that follow each other. */
static void narrow(pada_resampler *r, const pada_image_row *row)
{
    const pada_resample_axis *a = &r->x;

    for (int i = 0; i < r->size; i++) {
        const int16_t *weights = a->weights + (size_t)i * (size_t)a->n_taps;
        int t = a->first[i] < row->x ? row->x - a->first[i] : 0;
        const int left = row->x + row->n - a->first[i];
        const int n = left < a->n_taps ? left : a->n_taps;
        int32_t sum[3] = {0};
        for (const uint8_t *from = row->pixels + 3 * (a->first[i] + t - row->x); t < n;
             t++, from += 3)
            for (int c = 0; c < 3; c++)
                sum[c] += weights[t] * from[c];
        for (int c = 0; c < 3; c++)
            r->row[3 * i + c] = (int16_t)(sum[c] >> 8);
    }
}

/* The same from pixels that are `step` apart, of an interlaced picture. */
static void narrow_apart(pada_resampler *r, const pada_image_row *row)
{
    const pada_resample_axis *a = &r->x;

    for (int i = 0; i < r->size; i++) {
        const int before = a->first[i] - row->x; /* of the first pixel with a weight */
        const int skipped = before > 0 ? (before + row->step - 1) / row->step : 0;
        int32_t sum[3] = {0};
        for (int k = skipped; k < row->n; k++) {
            const int t = row->x + k * row->step - a->first[i];
            if (t >= a->n_taps) break;
            for (int c = 0; c < 3; c++)
                sum[c] +=
                    a->weights[(size_t)i * (size_t)a->n_taps + (size_t)t] * row->pixels[3 * k + c];
        }
        for (int c = 0; c < 3; c++)
            r->row[3 * i + c] = (int16_t)(sum[c] >> 8);
    }
}

void pada_resampler_add(pada_resampler *r, const pada_image_row *row)
{
    const pada_resample_axis *a = &r->y;
    const int width = 3 * r->size;

    if (row->y < r->begin_row || row->y >= r->end_row) return;
    if (row->step == 1)
        narrow(r, row);
    else
        narrow_apart(r, row);
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
