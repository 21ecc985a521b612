/* darts_codec.h - architectures of DARTS as text, in the dialects of the tools that write them.
 *
 *   darts       |sep_conv_3x3~0|skip_connect~1|+|..|+|..|+|..|/|..   operators of nodes 2 to 5; normal cell / reduction
 *   genotype    Genotype(normal=[('sep_conv_3x3', 0), ..], normal_concat=[2, 3, 4, 5], reduce=[..], reduce_concat=[..])
 *   pt_darts    the same with a list of two pairs for every node
 *   randomnas   ([(0, 4), (1, 3), ..], [..])     (input, operator), numbers of pada_darts_op
 *   nsas        ([(4, 0), (3, 1), ..], [..])     (operator, input), the same numbers
 *   nb301       ([(0, 3), (1, 2), ..], [..])     (input, operator), numbers without none: NAS-Bench-301 and NASLib
 *
 * Pairs are written in the order of their inputs; either order is read. */
#ifndef PADA_SPACE_DARTS_CODEC_H
#define PADA_SPACE_DARTS_CODEC_H

#include "space/darts_cell.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char *const pada_darts_dialects[]; /* NULL-terminated, canonical first */

/* Reads one architecture; the whole text must be one. Lists may be written as tuples and the other way round; strings
 * have either quotes; one space may follow a comma; concatenations may be range(2, 6). dialect NULL takes any but the
 * lists of numbers, which look the same. A node that reads one value twice, a value that does not come before it and an
 * operator that the space does not have are PADA_EINVAL. */
pada_status pada_darts_parse(const pada_space *space, const char *text, const char *dialect,
                             pada_path *path);
/* An operator that the dialect has no number for is PADA_EINVAL. */
pada_status pada_darts_format(const pada_space *space, const pada_path *path, const char *dialect,
                              pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
