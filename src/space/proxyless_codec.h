/* proxyless_codec.h - networks of ProxylessNAS as text.
 *
 *   proxyless   0 6 2 5 3 ..                    a number of pada_proxyless_labels for every layer
 *   list        [0, 6, 2, 5, 3, ..]             the same as Python writes it
 *   blocks      5.3 3.3 Z Z | 7.3 3.3 .. | ..   kernel and expansion by stages, Z: left out */
#ifndef PADA_SPACE_PROXYLESS_CODEC_H
#define PADA_SPACE_PROXYLESS_CODEC_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PADA_PROXYLESS_LAYERS = 21, PADA_PROXYLESS_REPEATS = 4 }; /* the last stage has one */
/* Choices: kernels 3, 5, 7, each with expansion 3 and 6, then the layer is left out. */
enum { PADA_PROXYLESS_IDENTITY = 6, PADA_PROXYLESS_OPS };

static inline int pada_proxyless_kernel(int choice)
{
    return 3 + choice / 2 * 2;
}

static inline int pada_proxyless_expand(int choice)
{
    return 3 + choice % 2 * 3;
}

extern const char *const pada_proxyless_labels[PADA_PROXYLESS_OPS];
extern const char *const pada_proxyless_dialects[]; /* NULL-terminated, canonical first */

/* Strict: the whole text must be one network, with single spaces where the examples have them; lists may do without
 * brackets and spaces. dialect NULL: any. A layer that must not be left out is PADA_EINVAL. */
pada_status pada_proxyless_parse(const pada_space *space, const char *text, const char *dialect,
                                 pada_path *path);
pada_status pada_proxyless_format(const pada_space *space, const pada_path *path,
                                  const char *dialect, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
