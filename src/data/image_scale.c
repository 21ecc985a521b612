/* image_scale.c - brings pictures of any size to a small square, while they are decoded.
 *
 * Along each side a window of `from` pixels becomes `size` pixels; the picture begins `offset` pixels
 * behind the begin of the window, which is negative where it is cropped. In units of which a pixel of
 * the picture has `size` and one of the result has `from`, all borders are integers:
 *
 *   picture  |--size--|--size--|--size--|        pixel j covers [p, p + size), p = (offset + j) * size
 *   result   |----from----|----from----|         pixel i covers [i * from, (i + 1) * from)
 *
 * and the weight of j in i is the length that they have in common. Sums of weighted pixels are kept
 * for the whole result, so rows may come in any order and in parts. The result is turned upright at
 * the very end: only the small square is ever turned. */
#include "data/image_scale.h"

#include "base/mem.h"
#include "data/image_exif.h"

/* A JPEG is decoded in a smaller size only if that still has so many pixels for each wanted one. */
#define ENOUGH_PER_PIXEL 2

typedef struct axis {
    int n; /* pixels of the picture */
    int64_t from, offset;
} axis;

typedef struct scaler {
    pada_image_fit fit;
    pada_image_head head;
    axis x, y;
    int *columns;   /* [width] the first pixel of the result that a column lies in, owned */
    uint32_t *row;  /* [size, 3] sums of one row of the picture, owned */
    uint64_t *sums; /* [size, size, 3], owned; at most 255 * 20,000^2 each */
} scaler;

/* ---- geometry ---- */

/* The offset is rounded such that the upright picture has it rounded down. */
static axis make_axis(int n, int other, pada_resize resize, bool is_mirrored)
{
    axis a = {.n = n, .from = n};

    if (resize == PADA_RESIZE_CROP && other < n) a.from = other;
    if (resize == PADA_RESIZE_PAD && other > n) a.from = other;
    const int64_t left = a.from < n ? -((n - a.from) / 2) : (a.from - n) / 2;
    a.offset = is_mirrored ? a.from - n - left : left;
    return a;
}

/* The first pixel of the result that pixel j of the picture lies in; `size` if it is cropped. The
 * following ones are those with an overlap. */
static int find_first(const axis *a, int size, int j)
{
    const int64_t begin = a->offset + j;

    return begin < 0 || begin >= a->from ? size : (int)(begin * size / a->from);
}

/* The length that pixel j of the picture and pixel i of the result have in common; not positive if
 * there is none. */
static int64_t overlap(const axis *a, int size, int j, int i)
{
    const int64_t p = (a->offset + j) * size, q = i * a->from;
    const int64_t begin = p > q ? p : q;
    const int64_t end = p + size < q + a->from ? p + size : q + a->from;

    return end - begin;
}

/* ---- rows ---- */

static pada_status begin(void *context, const pada_image_head *head)
{
    scaler *s = context;
    const size_t size = (size_t)s->fit.size;
    void *memory;

    s->head = *head;
    s->x =
        make_axis(head->width, head->height, s->fit.resize, pada_is_mirrored_x(head->orientation));
    s->y =
        make_axis(head->height, head->width, s->fit.resize, pada_is_mirrored_y(head->orientation));
    PADA_TRY(pada_calloc(&memory, (size_t)head->width, sizeof *s->columns));
    s->columns = memory;
    for (int j = 0; j < head->width; j++)
        s->columns[j] = find_first(&s->x, s->fit.size, j);
    PADA_TRY(pada_calloc(&memory, size * 3, sizeof *s->row));
    s->row = memory;
    PADA_TRY(pada_calloc(&memory, size * size * 3, sizeof *s->sums));
    s->sums = memory;
    return PADA_OK;
}

/* The row along x alone: sums [size, 3] of at most 255 * 20,000. */
static void scale_row(scaler *s, const pada_image_row *row)
{
    const int size = s->fit.size;

    for (int i = 0; i < 3 * size; i++)
        s->row[i] = 0;
    for (int k = 0; k < row->n; k++) {
        const int j = row->x + k * row->step;
        int64_t weight;
        for (int i = s->columns[j]; i < size && (weight = overlap(&s->x, size, j, i)) > 0; i++)
            for (int c = 0; c < 3; c++)
                s->row[3 * i + c] += (uint32_t)weight * row->pixels[3 * k + c];
    }
}

static void take_row(void *context, const pada_image_row *row)
{
    scaler *s = context;
    const int size = s->fit.size;
    const int first = find_first(&s->y, size, row->y);
    int64_t weight;

    if (first == size) return; /* cropped */
    scale_row(s, row);
    for (int i = first; i < size && (weight = overlap(&s->y, size, row->y, i)) > 0; i++) {
        uint64_t *to = s->sums + 3 * (size_t)i * (size_t)size;
        for (int k = 0; k < 3 * size; k++)
            to[k] += (uint64_t)weight * s->row[k];
    }
}

/* ---- result ---- */

/* Where pixel (x, y) of the upright result is in the sums. */
static size_t find_sum(const scaler *s, int x, int y)
{
    const int last = s->fit.size - 1, how = s->head.orientation;
    const int a = pada_is_transposed(how) ? y : x, b = pada_is_transposed(how) ? x : y;
    const int column = pada_is_mirrored_x(how) ? last - a : a;
    const int row = pada_is_mirrored_y(how) ? last - b : b;

    return 3 * ((size_t)row * (size_t)s->fit.size + (size_t)column);
}

static void divide(const scaler *s, uint8_t *out)
{
    const uint64_t area = (uint64_t)(s->x.from * s->y.from);
    const int size = s->fit.size;

    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            const uint64_t *sum = s->sums + find_sum(s, x, y);
            for (int c = 0; c < 3; c++)
                out[((size_t)c * (size_t)size + (size_t)y) * (size_t)size + (size_t)x] =
                    (uint8_t)((sum[c] + area / 2) / area);
        }
}

pada_status pada_image_read(const pada_image_source *source, const pada_image_fit *fit,
                            uint8_t *out, pada_image_head *head)
{
    scaler s = {.fit = *fit};
    const pada_image_sink sink = {
        .context = &s, .enough = ENOUGH_PER_PIXEL * fit->size, .begin = begin, .row = take_row};

    PADA_ASSERT(fit->size >= 1);
    const pada_status st = pada_image_decode(source, &sink);
    if (st == PADA_OK) divide(&s, out);
    if (head) *head = s.head;
    pada_free(s.columns);
    pada_free(s.row);
    pada_free(s.sums);
    return st;
}
