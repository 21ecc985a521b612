/* fuzz_pickle.c - pickles of arrays and lists. */
#include "fuzz/fuzz.h"

#include "base/hash.h"
#include "base/mem.h"
#include "data/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    pada_pickle_rows rows;
    pada_pickle *pickle;
    int64_t *labels;
    int n_labels;

    if (pada_pickle_parse(&pickle, "input", data, n) == PADA_OK) {
        if (pada_pickle_find_rows(pickle, "data", &rows) == PADA_OK)
            (void)pada_hash(rows.bytes, (size_t)rows.n_rows * (size_t)rows.n_columns, 0);
        if (pada_pickle_find_ints(pickle, "labels", &labels, &n_labels) == PADA_OK) {
            (void)pada_hash(labels, (size_t)n_labels * sizeof *labels, 0);
            pada_free(labels);
        }
    }
    pada_pickle_destroy(pickle);
    return 0;
}
