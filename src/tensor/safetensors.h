/* safetensors.h - named tensors in one file: u64 little-endian header length, JSON header, data
 * without holes.
 *
 * The reader trusts nothing: lengths, offsets, types, doubled names, holes and overlaps are
 * checked, and the answer to a bad file is PADA_EDATA with its name and the offending value. */
#ifndef PADA_TENSOR_SAFETENSORS_H
#define PADA_TENSOR_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_st_tensor {
    const char *name;  /* borrowed from the reader (or the caller, when writing) */
    const char *dtype; /* F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U64 U32 U16 U8 BOOL */
    int n_dims;
    int64_t dims[8];
    const void *data; /* little endian, row major; not necessarily aligned when read */
    size_t bytes;
} pada_st_tensor;

typedef struct pada_safetensors pada_safetensors;

pada_status pada_safetensors_open(pada_safetensors **out, const char *path);
void pada_safetensors_close(pada_safetensors *st);
int pada_safetensors_count(const pada_safetensors *st);
const pada_st_tensor *pada_safetensors_get(const pada_safetensors *st,
                                           int i); /* by place of the data */
const pada_st_tensor *pada_safetensors_find(const pada_safetensors *st,
                                            const char *name);                      /* NULL: none */
const char *pada_safetensors_metadata(const pada_safetensors *st, const char *key); /* NULL: none */

/* Writes the file atomically (base/file.h). `metadata` is a list of n_metadata pairs key, value.
 * The header is padded with blanks so that the data start at a multiple of 8 bytes. Doubled or
 * non-UTF-8 names, unknown types and shapes that do not fit `bytes` are PADA_EINVAL. */
pada_status pada_safetensors_write(const char *path, const pada_st_tensor *tensors, int n_tensors,
                                   const char *const (*metadata)[2], int n_metadata);

#ifdef __cplusplus
}
#endif
#endif
