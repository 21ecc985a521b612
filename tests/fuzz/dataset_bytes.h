/* dataset_bytes.h - opens a folder as a data set and reads every byte and label of it. */
#ifndef PADA_TESTS_FUZZ_DATASET_BYTES_H
#define PADA_TESTS_FUZZ_DATASET_BYTES_H

#include "base/hash.h"
#include "data/dataset.h"
#include "data/inspect.h"
#include "fuzz/fuzz.h"

static inline void fuzz_read_dataset(const pada_dataset *ds)
{
    const size_t bytes = (size_t)PADA_IMAGE_CHANNELS * (size_t)ds->shape.h * (size_t)ds->shape.w;
    pada_facts facts;

    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int i = 0; i < ds->n_images[split]; i++) {
            const int label = ds->ops->label(ds, (pada_split)split, i);
            FUZZ_CHECK(label >= 0 && label < ds->n_classes);
            (void)pada_hash(ds->ops->image(ds, (pada_split)split, i), bytes, 0);
        }
    FUZZ_CHECK(pada_facts_init(&facts, ds) == PADA_OK);
    pada_facts_deinit(&facts);
}

static inline void fuzz_open_dataset(const pada_dataset_desc *desc)
{
    pada_dataset *ds;

    if (pada_dataset_open(&ds, desc) == PADA_OK) fuzz_read_dataset(ds);
    pada_dataset_close(ds);
}

#endif
