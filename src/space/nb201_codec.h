/* nb201_codec.h - NAS-Bench-201 cells as text, in the dialects of the tools that write them.
 *
 *   nb201    |avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|...|
 *   list     [4,2,1,2,1,1]             operator numbers of pada_nb201_op, edges in path order
 *   naslib   [4,3,3,0,0,0]             NASLib's op_indices: its own numbers and order of edges
 *   nni      {"0_1":"avg_pool_3x3","0_2":"conv_1x1",...}       JSON, keys "from_to" in any order
 *   tuples   [(('avg_pool_3x3', 0),), (('nor_conv_1x1', 0), ('skip_connect', 1)), ...]  Python
 *
 * The official index is no dialect: it is a row of the truth table (study/score_table.h). */
#ifndef PADA_SPACE_NB201_CODEC_H
#define PADA_SPACE_NB201_CODEC_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char *const pada_nb201_dialects[]; /* NULL-terminated, canonical first */

/* Reads one cell; the whole text must be one. Integers may stand in [], in () or bare; one space
 * may follow a comma; JSON allows its white space. dialect NULL takes any but list and naslib,
 * which look the same. A failure is PADA_EINVAL, names token and place, and leaves `path` alone. */
pada_status pada_nb201_parse(const pada_space *space, const char *text, const char *dialect,
                             pada_path *path);

/* Appends the cell; dialect NULL is the canonical one. */
pada_status pada_nb201_format(const pada_space *space, const pada_path *path, const char *dialect,
                              pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
