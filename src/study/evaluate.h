/* evaluate.h - how well a path does on the images of a data set.
 *
 * The images come in their own order, not augmented, in batches of one size; the last batch is what
 * is left. What batch norm takes its statistics from is up to the engine (engine.h): from each batch, so that a result
 * belongs to its batch size; from the training of the weights; or from training images that the path is run on first.
 * What comes out is public: pada_evaluation of include/pada.h.
 *
 * Usually the backend counts. Several views of an image, whose logits are averaged, and margins are counted here, from the
 * logits of every batch. */
#ifndef PADA_STUDY_EVALUATE_H
#define PADA_STUDY_EVALUATE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"
#include "data/dataset.h"
#include "engine/engine.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_evaluator_desc {
    const pada_dataset *data; /* borrowed until destroy; the split must be open */
    pada_split split;
    int limit;      /* the first so many images; 0: all */
    int batch_size; /* must be positive; a batch never has more than `limit` images */
    /* For engines that recalibrate: the first so many images of the training split, which must be open then, not
     * augmented, in batches of the same size; the first so many there are. 0: it is none of these engines. */
    int statistics_images;
    int views;    /* of each image: 0 and 1, itself; 2, itself and its mirror image */
    bool margins; /* are wanted, too */
} pada_evaluator_desc;

/* The room for one batch and the choice of images: made once, used for any number of paths. */
typedef struct pada_evaluator pada_evaluator;

/* A batch size below 1 and a limit beyond the data are PADA_EINVAL. */
pada_status pada_evaluator_create(pada_evaluator **out, const pada_evaluator_desc *desc);
void pada_evaluator_destroy(pada_evaluator *ev); /* NULL is fine */

int pada_evaluator_n_images(const pada_evaluator *ev);
int pada_evaluator_batch_size(const pada_evaluator *ev); /* that the engine must be able to take */
int pada_evaluator_views(const pada_evaluator *ev);      /* at least 1 */
bool pada_evaluator_has_margins(const pada_evaluator *ev);

/* Appends what a result belongs to: "CIFAR-10 test, 10000 images in batches of 512, hash 0123456789abcdef", and
 * ", 2 views" and ", with margins" where that is so.
 * The hash is of the images and labels of the split as the network sees them; it reads all of them, once. */
void pada_evaluator_describe(pada_evaluator *ev, pada_text *out);

/* Appends what the statistics of an engine's batch norms are of, where it is not the batch: ", running statistics, hash
 * 0123456789abcdef", ", statistics of 2048 train images, hash 0123456789abcdef". */
void pada_evaluator_describe_statistics(pada_evaluator *ev, const pada_engine *e, pada_text *out);

/* Runs the path on all images. `logits`, if not NULL, gets [n_images, classes], the means over the views. An engine whose
 * classes or image size are not those of the data, or with room for smaller batches only, is
 * PADA_EINVAL; a loss that is not finite is PADA_ENUMERIC. */
pada_status pada_evaluator_run(pada_evaluator *ev, pada_engine *e, const pada_path *path,
                               float *logits, pada_evaluation *out);
/* Mean margin (judgement.h) of the last run, of an evaluator that has them. */
double pada_evaluator_margin(const pada_evaluator *ev);

#ifdef __cplusplus
}
#endif
#endif
