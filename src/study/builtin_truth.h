/* builtin_truth.h - the truth table that is part of the program: builtin_truth.csv as text.
 *
 * Networks of --channels 8 --cells 1, trained alone on the built-in data set; docs/truth.md has the
 * command that made it. */
#ifndef PADA_STUDY_BUILTIN_TRUTH_H
#define PADA_STUDY_BUILTIN_TRUTH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char pada_builtin_truth[]; /* followed by a zero byte, which is not counted */
extern const size_t pada_builtin_truth_bytes;

#ifdef __cplusplus
}
#endif
#endif
