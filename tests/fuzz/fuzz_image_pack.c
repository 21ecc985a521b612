/* fuzz_image_pack.c - a file of the cache of decoded images, damaged.
 *
 *   length of the file, then [ place | bits to turn ] ...
 *
 * A pack is taken for whole only as it was written: its hashes are of no use to a fuzzer that writes
 * all of the file. Whatever else lies there, there is room for the images, and they can be kept. */
#include "data/image_pack.h"
#include "fuzz/fuzz.h"

enum { N_IMAGES = 3, IMAGE_BYTES = 12, PIXEL_BYTES = N_IMAGES * IMAGE_BYTES, MAX_BYTES = 256 };

static void fill(uint8_t *pixels)
{
    for (int i = 0; i < PIXEL_BYTES; i++)
        pixels[i] = (uint8_t)(7 * i);
}

static size_t read_file(const char *path, uint8_t *bytes)
{
    FILE *file = fopen(path, "rb");

    FUZZ_CHECK(file);
    const size_t n = fread(bytes, 1, MAX_BYTES, file);
    FUZZ_CHECK(fclose(file) == 0);
    return n;
}

/* Opens the pack, fills it where it is empty, and looks at all of it; whether it was found whole. */
static bool use_pack(const pada_pack_desc *desc)
{
    pada_pack pack;
    uint8_t wanted[PIXEL_BYTES];

    FUZZ_CHECK(pada_pack_open(&pack, desc) == PADA_OK);
    const bool was_found = pack.is_filled;
    if (!was_found) {
        fill(pack.pixels);
        pada_pack_commit(&pack);
    }
    fill(wanted);
    FUZZ_CHECK(memcmp(pack.pixels, wanted, PIXEL_BYTES) == 0);
    pada_pack_close(&pack);
    return was_found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint8_t whole[MAX_BYTES], damaged[MAX_BYTES] = {0};
    const char *folder = fuzz_empty_folder("cache");
    const pada_pack_desc desc = {.folder = folder,
                                 .max_bytes = 1 << 20,
                                 .key = 1,
                                 .n = N_IMAGES,
                                 .image_bytes = IMAGE_BYTES};

    FUZZ_CHECK(!use_pack(&desc));
    const size_t whole_bytes = read_file(fuzz_path("cache/0000000000000001.pack"), whole);
    const size_t bytes = n > 0 ? data[0] : whole_bytes;
    memcpy(damaged, whole, whole_bytes);
    for (size_t i = 1; i + 1 < n; i += 2)
        damaged[data[i]] ^= data[i + 1];
    (void)fuzz_file("cache/0000000000000001.pack", damaged, bytes);
    const bool is_as_written = bytes == whole_bytes && memcmp(damaged, whole, bytes) == 0;
    FUZZ_CHECK(use_pack(&desc) == is_as_written);
    FUZZ_CHECK(use_pack(&desc));
    return 0;
}
