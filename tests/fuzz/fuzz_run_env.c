/* fuzz_run_env.c - env.json of a run folder, as the report reads it. */
#include "fuzz/fuzz.h"

#include "report/run_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *run = fuzz_empty_folder("run");
    pada_run_info info = {0};
    pada_text notes = {0};

    (void)fuzz_file("run/config.yaml", "method: spos\n", 13);
    (void)fuzz_file("run/env.json", data, n);
    FUZZ_CHECK(pada_run_info_read(&info, run, &notes) == PADA_OK);
    FUZZ_CHECK(info.method && strcmp(info.method, "spos") == 0);
    pada_run_info_deinit(&info);
    pada_text_deinit(&notes);
    return 0;
}
