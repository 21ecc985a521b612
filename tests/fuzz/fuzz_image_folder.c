/* fuzz_image_folder.c - a tree of folders and image files.
 *
 *   [ length of the name | name | bytes of the file: u16, little endian | its bytes ] ...
 *
 * A name that ends with '/' makes a folder. Names stay inside the tree. */
#include "fuzz/dataset_bytes.h"

enum { MAX_NAME = 60, MAX_FILES = 24 };

/* Letters as they are but zero bytes; no name goes up. */
static bool take_name(char *name, const uint8_t *bytes, size_t n)
{
    if (n == 0 || n > MAX_NAME || bytes[0] == '/') return false;
    memcpy(name, bytes, n);
    name[n] = '\0';
    return strlen(name) == n && !strstr(name, "..") && !strstr(name, "//");
}

/* Makes the folders of the path, then the file. What the file system refuses is left out. */
static void make_entry(const char *name, const uint8_t *bytes, size_t n)
{
    char path[MAX_NAME + 64], folder[MAX_NAME + 64];

    snprintf(path, sizeof path, "tree/%s", name);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    if (pada_make_dirs(fuzz_path(folder)) != PADA_OK) return;
    if (path[strlen(path) - 1] == '/' || pada_path_is_dir(fuzz_path(path))) return;
    (void)fuzz_file(path, bytes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char name[MAX_NAME + 1];
    const char *tree = fuzz_empty_folder("tree");
    char where[512];

    snprintf(where, sizeof where, "%s", tree);
    for (int i = 0; i < MAX_FILES && n > 0; i++) {
        const size_t name_bytes = data[0];
        if (n < 3 + name_bytes) break;
        const uint8_t *size = data + 1 + name_bytes;
        size_t bytes = (size_t)size[0] | (size_t)size[1] << 8;
        const bool is_good = take_name(name, data + 1, name_bytes);
        data = size + 2, n -= 3 + name_bytes;
        if (bytes > n) bytes = n;
        if (is_good) make_entry(name, data, bytes);
        data += bytes, n -= bytes;
    }
    fuzz_open_dataset(&(pada_dataset_desc){.where = where, .image_size = 8});
    return 0;
}
