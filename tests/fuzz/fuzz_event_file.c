/* fuzz_event_file.c - an event file for TensorBoard that a run goes on with. */
#include "fuzz/fuzz.h"

#include "report/event_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *run = fuzz_empty_folder("run");
    const int64_t step = n > 0 ? data[0] % 8 : 0; /* the rest is the file */
    pada_event_file *file;
    pada_text summary = {0};

    (void)fuzz_file("run/events.out.tfevents.0000000001.host", n > 0 ? data + 1 : data,
                    n > 0 ? n - 1 : 0);
    pada_summary_scalar(&summary, "loss", 1.5);
    for (int i = 0; i < 2; i++) { /* the second time what the first one wrote */
        FUZZ_CHECK(pada_event_file_open(&file, run) == PADA_OK);
        FUZZ_CHECK(pada_event_file_append(file, step, 1e9, &summary) == PADA_OK);
        pada_event_file_close(file);
    }
    pada_text_deinit(&summary);
    return 0;
}
