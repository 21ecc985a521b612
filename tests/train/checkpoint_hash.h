/* checkpoint_hash.h - the bits of a run: two runs whose newest checkpoints are equal would go on alike. */
#ifndef PADA_TESTS_TRAIN_CHECKPOINT_HASH_H
#define PADA_TESTS_TRAIN_CHECKPOINT_HASH_H

#include "base/file.h"
#include "base/hash.h"
#include "check.h"
#include "train/checkpoint.h"

/* Of the newest checkpoint of a run folder, byte for byte. */
static inline uint64_t hash_checkpoint(const char *folder)
{
    pada_text path = {0};
    pada_file file = {0};

    CHECK_OK(pada_checkpoint_newest(folder, &path, NULL));
    CHECK_OK(pada_file_open(&file, pada_text_str(&path)));
    const uint64_t hash = pada_hash(file.data, file.bytes, 0);
    pada_file_close(&file);
    pada_text_deinit(&path);
    return hash;
}

#endif
