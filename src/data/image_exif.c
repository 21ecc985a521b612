/* image_exif.c - how a camera was held, from the Exif block of a picture.
 *
 * An Exif block is a TIFF file without pixels, of either byte order:
 *
 *   0  "II*\0" or "MM\0*"   4  offset of the first directory
 *   directory: number of entries (2 bytes), then entries of 12: tag (2), type (2), count (4), value */
#include "data/image_exif.h"

#include <string.h>

enum { ORIENTATION = 0x112, SHORT = 3, ENTRY_BYTES = 12 };

typedef struct block {
    const uint8_t *data;
    size_t bytes;
    int big_endian;
} block;

/* n bytes as a number; the caller has checked that they are there. */
static uint32_t number(const block *b, size_t at, int n)
{
    uint32_t value = 0;

    for (int i = 0; i < n; i++)
        value = value << 8 | b->data[at + (size_t)(b->big_endian ? i : n - 1 - i)];
    return value;
}

int pada_exif_orientation(const uint8_t *data, size_t bytes)
{
    block b = {data, bytes, 0};

    if (bytes >= 6 && memcmp(data, "Exif\0\0", 6) == 0) b = (block){data + 6, bytes - 6, 0};
    if (b.bytes < 8) return 1;
    b.big_endian = b.data[0] == 'M';
    if (memcmp(b.data, b.big_endian ? "MM\0*" : "II*\0", 4) != 0) return 1;
    const size_t at = number(&b, 4, 4);
    if (at > b.bytes - 2) return 1;
    size_t n = number(&b, at, 2);
    if (n > (b.bytes - at - 2) / ENTRY_BYTES) n = (b.bytes - at - 2) / ENTRY_BYTES;
    for (size_t entry = at + 2; n > 0; n--, entry += ENTRY_BYTES) {
        if (number(&b, entry, 2) != ORIENTATION || number(&b, entry + 2, 2) != SHORT) continue;
        const uint32_t value = number(&b, entry + 8, 2);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}
