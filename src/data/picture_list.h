/* picture_list.h - the image files of one split of an image folder, and the order they come in.
 *
 * Pictures are found in the order of their names. Their final order knows nothing of names and of
 * the size they are scaled to: classes take turns (image_order.h), and the pictures of a class come
 * by the hash of their files. */
#ifndef PADA_DATA_PICTURE_LIST_H
#define PADA_DATA_PICTURE_LIST_H

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "data/findings.h"
#include "data/image_scale.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_picture {
    char *path; /* owned */
    int label;
    int found;     /* how many were found before it */
    uint64_t hash; /* of the file; 0 before pada_pictures_arrange */
} pada_picture;

/* Zero-initialise; deinit accepts that and half-made ones. */
typedef struct pada_pictures {
    pada_picture *items; /* owned */
    int n, cap;
} pada_pictures;

void pada_pictures_deinit(pada_pictures *list);
pada_status pada_pictures_add(pada_pictures *list, const char *path, int label);

/* Calls use(context, picture, its place in the list) for all of them, in threads. Of several
 * failures that of the picture found first is returned, whoever meets it first, with the number of the
 * others in the message. Out of memory is returned rather than any other, and at once. */
typedef pada_status pada_picture_use(void *context, pada_picture *picture, int place);
pada_status pada_pictures_each(const pada_pictures *list, pada_picture_use *use, void *context);

/* Tries to decode all pictures. Those that fail, and those that are odd, are findings in the order in
 * which they were found; those that fail leave the list. To be called before the list is arranged.
 * Fails with PADA_ENOMEM only. */
pada_status pada_pictures_check(pada_pictures *list, const pada_image_fit *fit,
                                pada_findings *findings);

/* Reads all files once and puts the list into its final order. Files that are missing or cannot be
 * read are PADA_ENOENT and PADA_EIO. */
pada_status pada_pictures_arrange(pada_pictures *list, int n_classes);

/* Loads the file of a picture of an arranged list once more. What has changed since is PADA_EDATA, what
 * is gone PADA_ENOENT. */
pada_status pada_picture_load(pada_file *file, const pada_picture *picture);

/* Moves a share of each class (pada_hold_out) of a list in its final order to another one, which is
 * empty; both are in their final order then. On failure pictures may be in either of them. */
pada_status pada_pictures_hold_out(pada_pictures *list, pada_pictures *to, int n_classes,
                                   double share);

#ifdef __cplusplus
}
#endif
#endif
