/* test_image_pack.c - the cache of decoded images: found again, damaged, too large, not writable. */
#include "base/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"
#include "data/image_pack.h"

enum { N = 3, BYTES = 100 };

static pada_pack_desc describe(uint64_t key)
{
    static char folder[1200];

    snprintf(folder, sizeof folder, "%s", scratch_path("cache"));
    return (pada_pack_desc){
        .folder = folder, .max_bytes = 1000, .key = key, .n = N, .image_bytes = BYTES};
}

/* Opens a pack that must not be there yet, and fills it with the key. */
static void fill(uint64_t key)
{
    const pada_pack_desc desc = describe(key);
    pada_pack pack;

    assert_ok(pada_pack_open(&pack, &desc));
    assert_false(pack.is_filled);
    assert_true(pack.is_mapped);
    memset(pack.pixels, (int)key, N * BYTES);
    pada_pack_commit(&pack);
    assert_string_equal(pack.remark, "");
    pada_pack_close(&pack);
}

/* Whether the pack is found, with what `fill` put there. */
static bool is_found(uint64_t key)
{
    const pada_pack_desc desc = describe(key);
    pada_pack pack;

    assert_ok(pada_pack_open(&pack, &desc));
    const bool found = pack.is_filled;
    for (int i = 0; i < N * BYTES && found; i++)
        assert_int_equal(pack.pixels[i], key);
    pada_pack_close(&pack);
    return found;
}

static int count_files(void)
{
    DIR *dir = opendir(scratch_path("cache"));
    int n = 0;

    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void test_found(void **state)
{
    (void)state;
    assert_false(is_found(7));
    assert_int_equal(count_files(), 0); /* what was not committed leaves nothing */
    fill(7);
    assert_true(is_found(7));
    assert_false(is_found(8));
    assert_int_equal(count_files(), 1);
}

/* Every byte of the file counts, and its length. */
static void test_damaged(void **state)
{
    const char *path = "cache/0000000000000007.pack";
    pada_file file;

    (void)state;
    fill(7);
    assert_ok(pada_file_open(&file, scratch_path(path)));
    const size_t n = file.bytes;
    uint8_t bytes[64 + N * BYTES];
    assert_int_equal(n, sizeof bytes);
    memcpy(bytes, file.data, n);
    pada_file_close(&file);
    for (size_t at = 0; at < n; at++) {
        bytes[at] ^= 4;
        scratch_write(scratch_path(path), bytes, n);
        assert_false(is_found(7));
        bytes[at] ^= 4;
    }
    scratch_write(scratch_path(path), bytes, n - 1);
    assert_false(is_found(7));
    fill(7); /* it is made again */
    assert_true(is_found(7));
}

static void set_age(uint64_t key, int seconds)
{
    const struct timespec times[2] = {{.tv_sec = 1000000 + seconds}, {.tv_sec = 1000000 + seconds}};
    char name[40];

    snprintf(name, sizeof name, "cache/%016llx.pack", (unsigned long long)key);
    assert_int_equal(utimensat(AT_FDCWD, scratch_path(name), times, 0), 0);
}

/* Two packs fit; the one that was not used for longest goes. */
static void test_limit(void **state)
{
    (void)state;
    fill(1);
    fill(2);
    set_age(1, 10);
    set_age(2, 20);
    assert_true(is_found(1)); /* which makes it the younger one */
    fill(3);
    assert_true(is_found(1));
    assert_false(is_found(2));
    assert_true(is_found(3));
}

/* Without a usable folder the room is memory, and somebody may say so. */
static void test_memory(void **state)
{
    pada_pack_desc desc = describe(7);
    pada_pack pack;

    (void)state;
    desc.max_bytes = 300;
    assert_ok(pada_pack_open(&pack, &desc));
    assert_false(pack.is_mapped || pack.is_filled);
    assert_string_equal(pack.remark, "364 bytes are more than its 300");
    pada_pack_commit(&pack);
    pada_pack_close(&pack);

    scratch_write(scratch_path("cache"), "a file", 6);
    desc.max_bytes = 1000;
    assert_ok(pada_pack_open(&pack, &desc));
    assert_false(pack.is_mapped || pack.is_filled);
    assert_true(pack.remark[0]);
    memset(pack.pixels, 1, N * BYTES);
    pada_pack_commit(&pack);
    pada_pack_close(&pack);

    desc.folder = NULL;
    assert_ok(pada_pack_open(&pack, &desc));
    assert_string_equal(pack.remark, "");
    pada_pack_close(&pack);
    unlink(scratch_path("cache"));
}

static pada_status open_and_fail_cleanly(pada_pack *pack, const pada_pack_desc *desc)
{
    const pada_status st = pada_pack_open(pack, desc);

    if (st != PADA_OK) pada_pack_close(pack);
    return st;
}

static void test_oom(void **state)
{
    const pada_pack_desc desc = describe(7);
    pada_pack pack;

    (void)state;
    assert_survives_oom(open_and_fail_cleanly(&pack, &desc), pada_pack_close(&pack));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_found, scratch_clear),
        cmocka_unit_test_setup(test_damaged, scratch_clear),
        cmocka_unit_test_setup(test_limit, scratch_clear),
        cmocka_unit_test_setup(test_memory, scratch_clear),
        cmocka_unit_test_setup(test_oom, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
