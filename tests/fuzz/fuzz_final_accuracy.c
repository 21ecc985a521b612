/* fuzz_final_accuracy.c - test.json of a run; what was taken are shares in their intervals. */
#include "fuzz/fuzz.h"

#include "study/final_accuracy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    pada_final_accuracy a;
    double low, high;

    if (pada_final_accuracy_parse(&a, n > 0 ? (const char *)data : "", n, "input") != PADA_OK)
        return 0;
    FUZZ_CHECK(a.n_images > 0 && memchr(a.split, '\0', sizeof a.split));
    FUZZ_CHECK(a.low >= 0 && a.low <= a.top1 + 1e-9 && a.top1 <= a.high + 1e-9 && a.high <= 100);
    pada_accuracy_difference(&a, &a, &low, &high);
    FUZZ_CHECK(low <= 0 && high >= 0);
    return 0;
}
