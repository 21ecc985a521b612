/* fuzz.h - what fuzz targets share: files for readers that take a path, and properties that must hold.
 *
 * A target gives the bytes of LLVMFuzzerTestOneInput to one reader of untrusted input. Whatever they
 * are, the reader must return: with a status and a message, within its memory, and with the
 * properties that the target checks. Files lie in one folder per process, in memory where the system
 * has such a place. */
#ifndef PADA_TESTS_FUZZ_FUZZ_H
#define PADA_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n); /* returns 0 */

/* Ends the process where a property does not hold; the fuzzer keeps the input. */
#define FUZZ_CHECK(condition)                                                           \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition, \
                    pada_message());                                                    \
            abort();                                                                    \
        }                                                                               \
    } while (0)

static char fuzz_folder[64];

static inline void fuzz_remove_folder(void)
{
    (void)pada_remove_tree(fuzz_folder);
}

/* A path in the folder of this process; eight of them can be in use at a time. */
static inline const char *fuzz_path(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];

    if (!*fuzz_folder) {
        snprintf(fuzz_folder, sizeof fuzz_folder, "%s/pada-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        FUZZ_CHECK(mkdtemp(fuzz_folder));
        FUZZ_CHECK(atexit(fuzz_remove_folder) == 0);
    }
    FUZZ_CHECK(snprintf(path, sizeof paths[0], "%s/%s", fuzz_folder, name) < (int)sizeof paths[0]);
    return path;
}

/* Writes a file; its path as above. */
static inline const char *fuzz_file(const char *name, const void *data, size_t n)
{
    const char *path = fuzz_path(name);
    FILE *file = fopen(path, "wb");

    FUZZ_CHECK(file);
    FUZZ_CHECK(fwrite(data, 1, n, file) == n);
    FUZZ_CHECK(fclose(file) == 0);
    return path;
}

/* An empty folder; its path as above. */
static inline const char *fuzz_empty_folder(const char *name)
{
    const char *path = fuzz_path(name);

    FUZZ_CHECK(pada_remove_tree(path) == PADA_OK);
    FUZZ_CHECK(pada_make_dirs(path) == PADA_OK);
    return path;
}

/* The input as a string that ends at the first zero byte; the caller frees it. */
static inline char *fuzz_string(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);

    FUZZ_CHECK(text);
    if (n > 0) memcpy(text, data, n);
    text[n] = '\0';
    return text;
}

#endif
