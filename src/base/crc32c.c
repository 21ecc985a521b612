/* crc32c.c - the checksum CRC-32C, a bit at a time: what it is used for is small. */
#include "base/crc32c.h"

#define POLYNOMIAL 0x82f63b78u /* Castagnoli's, bits reversed */

uint32_t pada_crc32c(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint32_t crc = ~0u;

    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
    }
    return ~crc;
}
