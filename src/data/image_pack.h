/* image_pack.h - decoded images kept in a file of a cache folder, so that they are decoded once.
 *
 * A pack is room for n images of one size. With a cache folder the room is a mapped file, so that it
 * may be larger than the memory; without one, or where the folder cannot be used, it is memory. A
 * cache is never needed: whatever is wrong with it, the images are decoded again. */
#ifndef PADA_DATA_IMAGE_PACK_H
#define PADA_DATA_IMAGE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_pack_desc {
    const char *folder; /* NULL: memory. Made if need be */
    int64_t max_bytes;  /* of all packs in the folder; the longest unused are removed */
    uint64_t key;       /* of what the images are */
    size_t n, image_bytes;
} pada_pack_desc;

/* Zero-initialise; close accepts that and a failed open. */
typedef struct pada_pack {
    uint8_t *pixels;  /* [n, image_bytes] */
    bool is_filled;   /* the images are there; else the caller fills them in and commits */
    bool is_mapped;   /* from a file */
    char remark[200]; /* why a cache that was asked for is not used; "": it is */
    /* The rest is for image_pack.c. */
    void *block;        /* memory or mapping, owned; pixels are in it */
    size_t block_bytes; /* of a mapping */
    char *path, *temp;  /* owned; temp: a file that has no name yet but this one, else NULL */
    int64_t max_bytes;
    uint64_t key;
    size_t n, image_bytes;
} pada_pack;

/* Finds the images, or makes room for them. Only a lack of memory is a failure. */
pada_status pada_pack_open(pada_pack *pack, const pada_pack_desc *desc);
/* Keeps what was filled in for the next time, if there is a cache. */
void pada_pack_commit(pada_pack *pack);
void pada_pack_close(pada_pack *pack);

#ifdef __cplusplus
}
#endif
#endif
