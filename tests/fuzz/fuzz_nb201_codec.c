/* fuzz_nb201_codec.c - cells in all dialects; the first byte says which one. */
#include "fuzz/nb201.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_space space = nb201_space(NULL);
    const char *const *dialects = space.ops->dialects;
    int n_dialects = 0;
    pada_path path;

    if (n == 0) return 0;
    while (dialects[n_dialects])
        n_dialects++;
    const char *dialect = dialects[data[0] % (n_dialects + 1)]; /* NULL: any */
    char *text = fuzz_string(data + 1, n - 1);
    if (space.ops->parse(&space, text, dialect, &path) == PADA_OK)
        for (int i = 0; i < n_dialects; i++)
            fuzz_check_path(&space, &path, dialects[i]);
    free(text);
    return 0;
}
