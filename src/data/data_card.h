/* data_card.h - what a run remembers of its images: RUN/data.json, and the same in files of weights.
 *
 *   {"format": 1, "name": "image folder", "where": "/home/me/photos", "n_classes": 2,
 *    "classes": ["cat", "dog"], "image_size": 32, "mean": [..3], "deviation": [..3],
 *    "splits": {"train": {"images": 80, "hash": "90c4.."}, "test": {..}}}
 *
 * `where` is only a hint: the same images under another path are the same data. */
#ifndef PADA_DATA_DATA_CARD_H
#define PADA_DATA_DATA_CARD_H

#include "data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_DATA_CARD_FILE "data.json" /* in a run folder */
#define PADA_DATA_CARD_KEY  "data"      /* of the metadata of weights */

/* Zero-initialise; deinit accepts that and failed ones. Strings are borrowed from `json`. */
typedef struct pada_data_card {
    const char *name;  /* of the data set, for people */
    const char *where; /* an absolute path, or a name; NULL: not said */
    int n_classes, image_size;
    double mean[PADA_IMAGE_CHANNELS], deviation[PADA_IMAGE_CHANNELS];
    int n_images[PADA_N_SPLITS]; /* 0: not opened */
    uint64_t hash[PADA_N_SPLITS];
    void *json; /* json_t, owned; NULL: there is no card */
} pada_data_card;

/* Of an open data set. Reads all its images once. */
pada_status pada_data_card_init(pada_data_card *card, const pada_dataset *ds);
/* From a text; `origin` is for messages. What is no card, or one of a newer pada, is PADA_EDATA. */
pada_status pada_data_card_parse(pada_data_card *card, const char *text, size_t bytes,
                                 const char *origin);
/* From RUN/data.json; without that file json is NULL and the status PADA_OK. */
pada_status pada_data_card_read(pada_data_card *card, const char *run);
/* From the metadata of a file of weights; without it, or without the file, json is NULL and the status
 * PADA_OK. */
pada_status pada_data_card_of_weights(pada_data_card *card, const char *path);
void pada_data_card_deinit(pada_data_card *card);

/* Appends the text, without newline; `with_where`: with the place of the images. */
pada_status pada_data_card_print(const pada_data_card *card, bool with_where, pada_text *out);

/* The name of a class, 0 <= i < n_classes. NULL: the classes have numbers only. */
const char *pada_data_card_class(const pada_data_card *card, int i);

/* Whether images mean by their labels what a run means; else PADA_EDATA naming a class that one of
 * them lacks. The last two are names for the message. */
pada_status pada_data_card_check_classes(const pada_data_card *run, const pada_data_card *images,
                                         const char *run_name, const char *images_name);
/* Whether both are the same data: classes, size, and the images of the splits that both have. */
pada_status pada_data_card_check_same(const pada_data_card *run, const pada_data_card *images,
                                      const char *run_name, const char *images_name);

#ifdef __cplusplus
}
#endif
#endif
