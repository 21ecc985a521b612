/* fuzz_arch_codec.c - networks of all spaces in all dialects; the first byte says which one. */
#include "fuzz/nb201.h"

/* Dialects are counted over all spaces, each followed by "any"; the number is taken modulo their number. */
static pada_space find_dialect(int number, const char **dialect)
{
    pada_space space;

    for (int i = 0;; i = (i + 1) % pada_space_count()) {
        const char *const *name = pada_space_get(i)->dialects;
        while (*name && number > 0)
            name++, number--;
        *dialect = *name;
        if (number-- == 0) {
            FUZZ_CHECK(pada_space_init(&space, pada_space_get(i), NULL) == PADA_OK);
            return space;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *dialect;
    pada_path path;

    if (n == 0) return 0;
    const pada_space space = find_dialect(data[0], &dialect);
    char *text = fuzz_string(data + 1, n - 1);
    if (space.ops->parse(&space, text, dialect, &path) == PADA_OK)
        for (const char *const *name = space.ops->dialects; *name; name++)
            fuzz_check_path(&space, &path, *name);
    free(text);
    return 0;
}
