/* fuzz_yaml.c - configuration files. */
#include "fuzz/option_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_values values = {0};
    pada_options *options = fuzz_options(&values);
    const char *path = fuzz_file("input.yaml", data, n);

    if (pada_options_load(options, path) == PADA_OK) fuzz_check_dump(options);
    pada_options_destroy(options);

    options = fuzz_options(&values);
    (void)pada_options_load_known(options, path);
    pada_options_destroy(options);
    return 0;
}
