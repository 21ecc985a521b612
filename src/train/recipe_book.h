/* recipe_book.h - the recipes of retraining that the program has with it: recipes/retrain-NAME.yaml. */
#ifndef PADA_TRAIN_RECIPE_BOOK_H
#define PADA_TRAIN_RECIPE_BOOK_H

#include <stddef.h>

#include "base/option.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a recipe the defaults of bound options. NULL is the one of the space; what is no name of the book is a file,
 * and one that is not there PADA_ENOENT. */
pada_status pada_recipe_book_preset(pada_options *options, const char *recipe, const char *space);
/* The i-th name, NULL after the last. */
const char *pada_recipe_book_name(int i);

/* The files (tools/embed-file.cmake). */
extern const char pada_retrain_nb201[], pada_retrain_macro[], pada_retrain_darts[],
    pada_retrain_mobile[];
extern const size_t pada_retrain_nb201_bytes, pada_retrain_macro_bytes, pada_retrain_darts_bytes,
    pada_retrain_mobile_bytes;

#ifdef __cplusplus
}
#endif
#endif
