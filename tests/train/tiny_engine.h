/* tiny_engine.h - an engine of the smallest NB201 supernet that reads the images of tiny_data.h. */
#ifndef PADA_TESTS_TRAIN_TINY_ENGINE_H
#define PADA_TESTS_TRAIN_TINY_ENGINE_H

#include "check.h"
#include "engine/engine.h"

#include "train/tiny_data.h"

static inline pada_engine *tiny_wide_engine(pada_space *space, const pada_backend *backend,
                                            int n_threads, int batch_size, int blocks, int channels)
{
    const pada_space_ops *ops;
    pada_engine *e;

    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(space, ops,
                             &(pada_space_config){.channels = channels,
                                                  .cells = 1,
                                                  .classes = TINY_CLASSES,
                                                  .image_size = TINY_SIDE,
                                                  .blocks = blocks}));
    CHECK_OK(pada_engine_create(&e, &(pada_engine_desc){.space = space,
                                                        .backend = backend,
                                                        .n_threads = n_threads,
                                                        .batch_size = batch_size,
                                                        .mode = PADA_TRAIN}));
    return e;
}

static inline pada_engine *tiny_block_engine(pada_space *space, const pada_backend *backend,
                                             int n_threads, int batch_size, int blocks)
{
    return tiny_wide_engine(space, backend, n_threads, batch_size, blocks, 4);
}

static inline pada_engine *tiny_engine(pada_space *space, const pada_backend *backend,
                                       int n_threads, int batch_size)
{
    return tiny_block_engine(space, backend, n_threads, batch_size, 0);
}

#endif
