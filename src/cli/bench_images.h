/* bench_images.h - random images for timing: a data set in memory, and one batch of it. */
#ifndef PADA_CLI_BENCH_IMAGES_H
#define PADA_CLI_BENCH_IMAGES_H

#include "data/batch_maker.h"
#include "data/dataset.h"
#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_bench_images {
    pada_dataset data; /* first: its functions get a pointer to it */
    uint8_t *bytes;    /* [n, 3, h, w] */
    int32_t *labels;
    pada_batch_maker maker;
    pada_batch batch; /* the first images, cut and flipped at random */
} pada_bench_images;

/* n images of the size and classes of the engine's space, the first n_batch of which are the batch. As in
 * training, a device gets them once and every batch as picks. Start from zeros; deinit also after a failure,
 * and after the engine. */
pada_status pada_bench_images_init(pada_bench_images *b, pada_engine *engine, int n, int n_batch,
                                   uint64_t seed);
void pada_bench_images_deinit(pada_bench_images *b);

#ifdef __cplusplus
}
#endif
#endif
