/* predict.h - what a model sees in picture files, which it gets as evaluation does: decoded, scaled, normalised. */
#ifndef PADA_MODEL_PREDICT_H
#define PADA_MODEL_PREDICT_H

#include "data/image_file.h"
#include "model/model_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_predictor pada_predictor;

/* Of an engine with the weights of the model, which takes batches of batch_size; all borrowed. n_threads: for
 * decoding; 0: the machine's default. */
pada_status pada_predictor_create(pada_predictor **out, const pada_model_about *about,
                                  pada_engine *e, int batch_size, int n_threads);
void pada_predictor_destroy(pada_predictor *p); /* NULL is fine */

/* What became of a picture. Borrowed until the next call. */
typedef struct pada_prediction {
    const double *p;     /* [classes] probabilities; NULL: it could not be read */
    const char *problem; /* why not, a line that begins with the file */
} pada_prediction;

/* n files, at most batch_size: out [n]. A file that cannot be read has its problem, and is no failure. */
pada_status pada_predict(pada_predictor *p, char *const *files, int n, pada_prediction *out);
/* The same of pictures in memory. */
pada_status pada_predict_sources(pada_predictor *p, const pada_image_source *sources, int n,
                                 pada_prediction *out);

#ifdef __cplusplus
}
#endif
#endif
