/* fuzz_path_list.c - lists of networks. */
#include "fuzz/nb201.h"

#include "study/path_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_space space = nb201_space(NULL);
    pada_path_list list = {0};

    if (pada_path_list_read(&list, &space, fuzz_file("input.txt", data, n), NULL, NULL) ==
        PADA_OK) {
        FUZZ_CHECK(list.n > 0);
        for (int i = 0; i < list.n; i++)
            fuzz_check_path(&space, &list.paths[i], space.ops->dialects[0]);
    }
    pada_path_list_deinit(&list);
    return 0;
}
