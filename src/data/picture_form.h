/* picture_form.h - what becomes of the pictures of a folder: images of one size, cut out of all of a picture
 * or of its middle. */
#ifndef PADA_DATA_PICTURE_FORM_H
#define PADA_DATA_PICTURE_FORM_H

#include "data/dataset.h"
#include "data/picture_list.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_picture_form {
    pada_image_fit fit; /* its size, and without resized crops how pictures become squares */
    /* With resized crops: the pixels to which the shorter side is scaled before evaluation takes the
     * middle of the picture; else 0. */
    int scaled;
} pada_picture_form;

/* As the description says, with images of this size. Resized crops of pictures that are squashed or
 * padded, and an evaluation crop above 1, are PADA_EINVAL. */
pada_status pada_picture_form_init(pada_picture_form *form, const pada_dataset_desc *desc,
                                   int size);

/* A picture as it is kept, and as evaluation sees it: out [3, size, size]. */
pada_status pada_picture_form_read(const pada_picture_form *form, const pada_image_source *source,
                                   uint8_t *out);

/* Of the pictures of an arranged list and of all that decides what becomes of them. The second includes
 * labels and is never 0. */
uint64_t pada_picture_form_key(const pada_picture_form *form, const pada_pictures *list);
uint64_t pada_picture_form_hash(const pada_picture_form *form, const pada_pictures *list);

#ifdef __cplusplus
}
#endif
#endif
