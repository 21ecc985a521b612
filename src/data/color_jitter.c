/* color_jitter.c - random changes of brightness, contrast and saturation. */
#include "data/color_jitter.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "data/image_blend.h"

#define BITS     16 /* behind the point of factors */
#define ONE      (1 << BITS)
#define HALF     (ONE / 2)
#define MAX_X    10 /* of an option: more is a mistake */
#define N_ORDERS 6

/* from + factor * (value - from), by a factor of 2^BITS. Factors up to 1 + MAX_X leave the sum in 32
 * bits. */
static uint8_t blend(int value, int from, int32_t factor)
{
    const int32_t sum = factor * value + (ONE - factor) * from + HALF;

    return (uint8_t)(sum < 0 ? 0 : sum > 255 * ONE ? 255 : sum >> BITS);
}

/* Blends all pixels with the same grey. */
static void blend_all(uint8_t *pixels, int n, int from, int32_t factor)
{
    uint8_t table[256];

    for (int value = 0; value < 256; value++)
        table[value] = blend(value, from, factor);
    for (int i = 0; i < 3 * n; i++)
        pixels[i] = table[pixels[i]];
}

static void change_saturation(uint8_t *pixels, int n, int32_t factor)
{
    for (int i = 0; i < n; i++) {
        const int from = pada_grey(pixels + i, n);
        for (int c = 0; c < 3; c++)
            pixels[c * n + i] = blend(pixels[c * n + i], from, factor);
    }
}

static int32_t draw_factor(double x, pada_rng *rng)
{
    const double low = x > 1 ? 0 : 1 - x;

    return (int32_t)floor((low + (1 + x - low) * pada_rng_uniform(rng)) * ONE + 0.5);
}

pada_status pada_jitter_parse(pada_jitter *out, const char *text, const char *option)
{
    double *const to[] = {&out->brightness, &out->contrast, &out->saturation};
    char number[40];
    int n = 0;

    *out = (pada_jitter){0};
    for (const char *p = text;; p++) {
        const size_t length = strcspn(p, ",");
        if (n == 3 || length >= sizeof number) break;
        memcpy(number, p, length);
        number[length] = '\0';
        PADA_TRY(pada_parse_double(number, option, 0, MAX_X, to[n++]));
        p += length;
        if (*p) continue;
        if (n == 1) out->contrast = out->saturation = out->brightness;
        if (n != 2) return PADA_OK;
        break;
    }
    return PADA_FAIL(PADA_EINVAL,
                     "%s: '%s' is neither one number nor three: brightness,contrast,saturation",
                     option, text);
}

bool pada_jitter_is_none(const pada_jitter *jitter)
{
    return jitter->brightness <= 0 && jitter->contrast <= 0 && jitter->saturation <= 0;
}

void pada_jitter_apply(const pada_jitter *jitter, pada_rng *rng, uint8_t *pixels, int n)
{
    static const char orders[N_ORDERS][4] = {"bcs", "bsc", "cbs", "csb", "sbc", "scb"};
    const char *order = orders[pada_rng_below(rng, N_ORDERS)];
    const int32_t brightness = draw_factor(jitter->brightness, rng);
    const int32_t contrast = draw_factor(jitter->contrast, rng);
    const int32_t saturation = draw_factor(jitter->saturation, rng);

    for (; *order; order++) {
        if (*order == 'b' && brightness != ONE) blend_all(pixels, n, 0, brightness);
        if (*order == 'c' && contrast != ONE)
            blend_all(pixels, n, pada_mean_grey(pixels, n), contrast);
        if (*order == 's' && saturation != ONE) change_saturation(pixels, n, saturation);
    }
}
