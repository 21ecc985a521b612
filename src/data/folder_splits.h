/* folder_splits.h - where the splits of an image folder are.
 *
 *   DIR/train/CLASS/IMAGE, and the same in DIR/test and in DIR/val or DIR/valid
 *   DIR/CLASS/IMAGE            flat: there are no folders of splits
 *
 * Val is set aside where it has no folder, and so is test in a flat one. */
#ifndef PADA_DATA_FOLDER_SPLITS_H
#define PADA_DATA_FOLDER_SPLITS_H

#include "data/dataset.h"
#include "data/ds_path.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_folder_splits {
    char roots[PADA_N_SPLITS][PADA__PATH_BYTES]; /* folders with class folders; "": there is none */
    bool flat;                                   /* the only root is that of train */
} pada_folder_splits;

/* Whether there are classes with images, in splits or flat. Takes no memory, as the next one. */
bool pada_folder_is_data(const char *where);
/* Whether something at `place`, which need not be there yet, would be taken for a class, or for a part of one. */
bool pada_folder_would_take(const char *where, const char *place);
/* The PADA_SPLIT_BITs that such a folder has, or gets by setting images aside. */
unsigned pada_folder_has_splits(const char *where);

/* Class folders that are one split of a data set, beside another one, are PADA_EDATA. */
pada_status pada_folder_find_splits(pada_folder_splits *out, const char *where);

#ifdef __cplusplus
}
#endif
#endif
