/* fuzz_run_config.c - config.yaml of a run folder, compared with the options of another start. */
#include "fuzz/fuzz.h"

#include "train/run_config.h"

static const char config[] =
    "method: \"spos\"\ndata: \"builtin\"\nepochs: 4\nbatch-size: 64\nlr: 0.05\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *run = fuzz_empty_folder("run");
    char *text = fuzz_string(data, n);

    (void)fuzz_file("run/config.yaml", data, n);
    if (pada_run_check_config(run, config, NULL) == PADA_OK) /* then it says the same */
        FUZZ_CHECK(n > 0);
    (void)pada_run_check_config(run, text, NULL);
    free(text);
    return 0;
}
