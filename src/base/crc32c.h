/* crc32c.h - the checksum CRC-32C (Castagnoli) of iSCSI, ext4 and TensorFlow's records. */
#ifndef PADA_BASE_CRC32C_H
#define PADA_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t pada_crc32c(const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif
