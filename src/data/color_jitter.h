/* color_jitter.h - random changes of brightness, contrast and saturation. */
#ifndef PADA_DATA_COLOR_JITTER_H
#define PADA_DATA_COLOR_JITTER_H

#include <stdbool.h>

#include "base/rng.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The factor of each is uniform in [1 - x, 1 + x], not below 0; 0: it stays. */
typedef struct pada_jitter {
    double brightness, contrast, saturation; /* x, finite and >= 0 */
} pada_jitter;

/* "0.4" for all three, or "0.125,0,0.5" for brightness, contrast, saturation. Others are PADA_EINVAL
 * naming `option`. */
pada_status pada_jitter_parse(pada_jitter *out, const char *text, const char *option);
bool pada_jitter_is_none(const pada_jitter *jitter);

/* Draws and applies the changes to planes [3, n] of red, green, blue bytes:
 *
 *   1. order       pada_rng_below(6), of the permutations of b, c, s in the order of the alphabet
 *   2. brightness  pada_rng_uniform()
 *   3. contrast    pada_rng_uniform()
 *   4. saturation  pada_rng_uniform()
 *
 * A pixel v becomes g + f (v - g), rounded and limited to 0 .. 255, where f is the factor and g black
 * (brightness), the mean grey of the image (contrast) or the grey of the pixel (saturation); grey is
 * 0.299 R + 0.587 G + 0.114 B. Integer arithmetic, so that all machines agree. */
void pada_jitter_apply(const pada_jitter *jitter, pada_rng *rng, uint8_t *pixels, int n);

#ifdef __cplusplus
}
#endif
#endif
