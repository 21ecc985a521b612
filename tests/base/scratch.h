/* scratch.h - for tests: cmocka, one temporary folder per executable, and the out-of-memory loop.
 */
#ifndef PADA_TESTS_BASE_SCRATCH_H
#define PADA_TESTS_BASE_SCRATCH_H

/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define assert_ok(call)                                                   \
    do {                                                                  \
        if ((call) != PADA_OK) fail_msg("%s: %s", #call, pada_message()); \
    } while (0)

/* A failure with this status and exactly this message. */
#define assert_fails(call, status, message)             \
    do {                                                \
        assert_int_equal((call), (status));             \
        assert_string_equal(pada_message(), (message)); \
    } while (0)

/* Runs `call` with the first, second, .. allocation failing until it succeeds. `cleanup` runs after
 * the success and must give everything back; each failure must have done so by itself. */
#define assert_survives_oom(call, cleanup)                            \
    do {                                                              \
        const int64_t live_before = pada_mem_live();                  \
        for (int64_t n_oom = 0;; n_oom++) {                           \
            assert_true(n_oom < 100000);                              \
            pada_mem_fail_after(n_oom);                               \
            const pada_status st_oom = (call);                        \
            pada_mem_fail_after(-1);                                  \
            if (st_oom == PADA_OK) break;                             \
            assert_int_equal(st_oom, PADA_ENOMEM);                    \
            assert_non_null(strstr(pada_message(), "out of memory")); \
            assert_int_equal(pada_mem_live(), live_before);           \
        }                                                             \
        cleanup;                                                      \
        assert_int_equal(pada_mem_live(), live_before);               \
    } while (0)

static char scratch_dir[512];

static inline int scratch_setup(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(scratch_dir, sizeof scratch_dir, "%s/pada-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(scratch_dir) ? 0 : -1;
}

/* A path in the folder. Four of them can be in use at a time. */
static inline const char *scratch_path(const char *name)
{
    static char paths[4][1200];
    static int next;
    char *path = paths[next++ % 4];

    assert_true(*scratch_dir); /* without scratch_setup it would be the root of the machine */
    assert_true(snprintf(path, sizeof paths[0], "%s/%s", scratch_dir, name) < (int)sizeof paths[0]);
    return path;
}

/* Files and folders directly in the folder. */
static inline int scratch_count(void)
{
    DIR *dir = opendir(scratch_dir);
    int n = 0;

    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static inline void scratch_remove_tree(const char *path)
{
    DIR *dir = opendir(path);

    if (!dir) {
        unlink(path);
        return;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        char child[1536];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (snprintf(child, sizeof child, "%s/%s", path, e->d_name) >= (int)sizeof child) continue;
        if (unlink(child) != 0) scratch_remove_tree(child);
    }
    closedir(dir);
    rmdir(path);
}

static inline int scratch_teardown(void **state)
{
    (void)state;
    scratch_remove_tree(scratch_dir);
    return 0;
}

/* Before each test: an empty folder. */
static inline int scratch_clear(void **state)
{
    (void)state;
    scratch_remove_tree(scratch_dir);
    return pada_make_dirs(scratch_dir) == PADA_OK ? 0 : -1;
}

static inline void scratch_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void assert_file_holds(const char *path, const void *bytes, size_t n)
{
    pada_file file;

    assert_ok(pada_file_open(&file, path));
    assert_int_equal(file.bytes, n);
    if (n > 0) assert_memory_equal(file.data, bytes, n);
    pada_file_close(&file);
}

#endif
