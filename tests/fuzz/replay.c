/* replay.c - in the place of a fuzzer: gives a target every file of a folder. replay FOLDER */
#include "fuzz/fuzz.h"

#include <dirent.h>

/* The input has an allocation of its own, so that the sanitizers see a read past its end. */
static void run_file(const char *path)
{
    pada_file file;

    FUZZ_CHECK(pada_file_open(&file, path) == PADA_OK);
    uint8_t *copy = malloc(file.bytes > 0 ? file.bytes : 1);
    FUZZ_CHECK(copy);
    if (file.bytes > 0) memcpy(copy, file.data, file.bytes);
    (void)LLVMFuzzerTestOneInput(copy, file.bytes);
    free(copy);
    pada_file_close(&file);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    int n = 0;

    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];

        if (entry->d_name[0] == '.') continue;
        FUZZ_CHECK(snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name) < (int)sizeof path);
        printf("%s\n", entry->d_name);
        fflush(stdout); /* the last line names the input that ends the process */
        run_file(path);
        n++;
    }
    closedir(folder);
    printf("%d inputs\n", n);
    return n > 0 ? 0 : 1;
}
