/* fuzz_cifar.c - a file of CIFAR-10 or CIFAR-100.
 *
 *   [ version | n | bytes ]     n 0: the bytes are the file; else n records with these labels, black, and
 *                               what is left of the bytes */
#include "fuzz/dataset_bytes.h"

enum { PIXELS = 3072 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t black[PIXELS];
    pada_text file = {0};

    if (n < 2) return 0;
    const size_t label_bytes = data[0] % 2 == 0 ? 1 : 2;
    const char *name = data[0] % 2 == 0 ? "cifar/test_batch.bin" : "cifar/test.bin";
    int n_records = data[1] % 16;
    data += 2, n -= 2;
    for (; n_records > 0 && n >= label_bytes; n_records--, data += label_bytes, n -= label_bytes) {
        pada_text_add_bytes(&file, data, label_bytes);
        pada_text_add_bytes(&file, black, sizeof black);
    }
    pada_text_add_bytes(&file, data, n);
    FUZZ_CHECK(file.status == PADA_OK);

    const char *folder = fuzz_empty_folder("cifar");
    (void)fuzz_file(name, pada_text_str(&file), file.length);
    fuzz_open_dataset(
        &(pada_dataset_desc){.where = folder, .splits = PADA_SPLIT_BIT(PADA_SPLIT_TEST)});
    pada_text_deinit(&file);
    return 0;
}
