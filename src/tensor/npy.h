/* npy.h - writes float32 arrays in NumPy's .npy format, version 1.0. */
#ifndef PADA_TENSOR_NPY_H
#define PADA_TENSOR_NPY_H

#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes data, row major, [dims[0], ..], atomically (base/file.h). */
pada_status pada_npy_write_f32(const char *path, const float *data, const int64_t *dims,
                               int n_dims);

#ifdef __cplusplus
}
#endif
#endif
