/* tensor.h - the shape and the element type of tensors. */
#ifndef PADA_TENSOR_TENSOR_H
#define PADA_TENSOR_TENSOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_dtype { PADA_F32, PADA_F64 } pada_dtype;

static inline int pada_dtype_bytes(pada_dtype type)
{
    return type == PADA_F32 ? 4 : 8;
}

/* One image of an activation: channels, rows, columns. The batch belongs to the plan, not to the
 * shape. */
typedef struct pada_shape {
    int c, h, w;
} pada_shape;

static inline int64_t pada_shape_count(pada_shape s)
{
    return (int64_t)s.c * s.h * s.w;
}

static inline int pada_shape_equal(pada_shape a, pada_shape b)
{
    return a.c == b.c && a.h == b.h && a.w == b.w;
}

#ifdef __cplusplus
}
#endif
#endif
