/* fuzz_imagenet16.c - a file of ImageNet16-120. */
#include "fuzz/dataset_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *folder = fuzz_empty_folder("imagenet16");

    (void)fuzz_file("imagenet16/val_data", data, n);
    fuzz_open_dataset(
        &(pada_dataset_desc){.where = folder, .splits = PADA_SPLIT_BIT(PADA_SPLIT_TEST)});
    return 0;
}
