/* export_runtime.h - the part that all networks exported to C share: export_runtime.c.in as text. */
#ifndef PADA_MODEL_EXPORT_RUNTIME_H
#define PADA_MODEL_EXPORT_RUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char pada_export_runtime[]; /* followed by a zero byte, which is not counted */
extern const size_t pada_export_runtime_bytes;

#ifdef __cplusplus
}
#endif
#endif
