/* npy.c - writes NumPy's .npy format, version 1.0:
 *
 *   93 'N' 'U' 'M' 'P' 'Y' | 1 | 0 | u16 header length | header, blanks, '\n' | data
 *   <-------------------- a multiple of 64 bytes ------------------------->
 *
 * The header is a Python dictionary with the keys in this order. */
#include "tensor/npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the data are written as they lie in memory, and the header says little endian"
#endif

#define PREAMBLE_BYTES 10
#define ALIGN_BYTES    64
#define MAX_DIMS       32 /* of NumPy 1; also keeps the header far below 64 KiB */

static void add_header(pada_text *out, const int64_t *dims, int n_dims)
{
    pada_text_add(out, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
    for (int i = 0; i < n_dims; i++)
        pada_text_add(out, "%s%" PRId64, i > 0 ? ", " : "", dims[i]);
    pada_text_add(out, "%s), }", n_dims == 1 ? "," : ""); /* a tuple of one needs its comma */
    while ((PREAMBLE_BYTES + out->length + 1) % ALIGN_BYTES != 0 && out->status == PADA_OK)
        pada_text_add(out, " ");
    pada_text_add(out, "\n");
}

pada_status pada_npy_write_f32(const char *path, const float *data, const int64_t *dims, int n_dims)
{
    size_t count = 1, bytes;
    pada_writer *writer = NULL;
    pada_text header = {0};
    pada_status st;

    if (n_dims < 0 || n_dims > MAX_DIMS)
        return PADA_FAIL(PADA_EINVAL, "%s: %d dimensions are not 0 to %d", path, n_dims, MAX_DIMS);
    for (int i = 0; i < n_dims; i++) {
        if (dims[i] < 0)
            return PADA_FAIL(PADA_EINVAL, "%s: dimension %d is %" PRId64, path, i, dims[i]);
        if (!pada_size_mul(count, (size_t)dims[i], &count))
            return PADA_FAIL(PADA_EINVAL, "%s: the array is too large", path);
    }
    if (!pada_size_mul(count, sizeof *data, &bytes))
        return PADA_FAIL(PADA_EINVAL, "%s: the array is too large", path);

    add_header(&header, dims, n_dims);
    if ((st = header.status) != PADA_OK) goto out;
    const uint8_t preamble[PREAMBLE_BYTES] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)header.length, (uint8_t)(header.length >> 8)};
    if ((st = pada_writer_begin(&writer, path)) != PADA_OK) goto out;
    if ((st = pada_writer_write(writer, preamble, sizeof preamble)) != PADA_OK) goto out;
    if ((st = pada_writer_write(writer, header.data, header.length)) != PADA_OK) goto out;
    if ((st = pada_writer_write(writer, data, bytes)) != PADA_OK) goto out;
    st = pada_writer_commit(writer);
    writer = NULL;
out:
    pada_writer_abort(writer);
    pada_text_deinit(&header);
    return st;
}
