/* image_scale.c - brings images of any size to a small square.
 *
 * A side of `from` pixels is scaled to `size` pixels. In units of which a pixel of the image has
 * `size` and one of the result has `from`, all borders are integers:
 *
 *   image   |--size--|--size--|--size--|        pixel j covers [j * size, (j + 1) * size)
 *   result  |----from----|----from----|         pixel i covers [i * from, (i + 1) * from)
 *
 * and the weight of j in i is the length that they have in common. */
#include "data/image_scale.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The length that pixel j of the image and pixel i of the result have in common; > 0. */
static int64_t overlap(int64_t i, int64_t j, int64_t from, int64_t size)
{
    const int64_t begin = i * from > j * size ? i * from : j * size;

    return smaller((i + 1) * from, (j + 1) * size) - begin;
}

void pada_image_scale(const pada_image *image, int size, uint8_t *out)
{
    const int from = image->width < image->height ? image->width : image->height;
    const int left = (image->width - from) / 2, top = (image->height - from) / 2;
    const int64_t area = (int64_t)from * from;

    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            int64_t sums[3] = {0}; /* at most 255 * 20,000^2 */
            for (int64_t j = (int64_t)y * from / size; j * size < (int64_t)(y + 1) * from; j++)
                for (int64_t i = (int64_t)x * from / size; i * size < (int64_t)(x + 1) * from;
                     i++) {
                    const uint8_t *pixel =
                        image->pixels + 3 * ((top + j) * image->width + left + i);
                    const int64_t weight = overlap(y, j, from, size) * overlap(x, i, from, size);
                    for (int c = 0; c < 3; c++)
                        sums[c] += weight * pixel[c];
                }
            for (int c = 0; c < 3; c++)
                out[((int64_t)c * size + y) * size + x] = (uint8_t)((sums[c] + area / 2) / area);
        }
}
