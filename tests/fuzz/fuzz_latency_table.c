/* fuzz_latency_table.c - latency tables, as CSV and as YAML, and sums over them. */
#include "fuzz/nb201.h"

#include <math.h>

#include "study/latency_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_space space = nb201_space(NULL);
    const pada_path path = {{0}};
    pada_latency_table *table;
    int64_t us;
    double ms;

    if (pada_latency_table_read(&table, "input", (const char *)data, n) != PADA_OK) {
        FUZZ_CHECK(!table);
        return 0;
    }
    const int n_keys = pada_latency_table_count(table);
    FUZZ_CHECK(n_keys > 0);
    for (int i = 0; i < n_keys; i++) {
        FUZZ_CHECK(isfinite(pada_latency_table_ms(table, i)));
        FUZZ_CHECK(pada_latency_table_ms(table, i) >= 0);
        if (i > 0)
            FUZZ_CHECK(
                strcmp(pada_latency_table_key(table, i - 1), pada_latency_table_key(table, i)) < 0);
    }
    if (pada_latency_of(table, &space, &path, &ms) == PADA_OK) FUZZ_CHECK(isfinite(ms));
    if (pada_latency_path_us(table, &space, &path, &us) == PADA_OK) FUZZ_CHECK(us >= 0);
    pada_latency_table_close(table);
    return 0;
}
