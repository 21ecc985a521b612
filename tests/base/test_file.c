/* test_file.c - mapping and atomic replacement of files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/scratch.h"

static void open_maps_the_whole_file(void **state)
{
    const char *path = scratch_path("a");

    (void)state;
    scratch_write(path, "hello\0you", 9);
    assert_file_holds(path, "hello\0you", 9);
}

static void empty_file_has_no_data(void **state)
{
    pada_file file = {.bytes = 7};
    const char *path = scratch_path("empty");

    (void)state;
    scratch_write(path, "", 0);
    assert_ok(pada_file_open(&file, path));
    assert_null(file.data);
    assert_int_equal(file.bytes, 0);
    pada_file_close(&file);
    pada_file_close(&file);
}

/* What is done to the file afterwards does not change a copy; a mapping would raise SIGBUS. */
static void load_copies_the_whole_file(void **state)
{
    const char *path = scratch_path("copied");
    pada_file file;

    (void)state;
    scratch_write(path, "hello\0you", 9);
    assert_survives_oom(pada_file_load(&file, path), pada_file_close(&file));
    assert_ok(pada_file_load(&file, path));
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(file.bytes, 9);
    assert_memory_equal(file.data, "hello\0you", 9);
    pada_file_close(&file);
    assert_ok(pada_file_load(&file, path));
    assert_null(file.data);
    pada_file_close(&file);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(pada_file_load(&file, path), PADA_ENOENT);
    assert_int_equal(pada_file_load(&file, scratch_dir), PADA_ENOENT);
}

static void missing_inputs_are_enoent(void **state)
{
    pada_file file;
    char expected[1400];
    const char *path = scratch_path("missing");

    (void)state;
    snprintf(expected, sizeof expected, "%s: No such file or directory", path);
    assert_fails(pada_file_open(&file, path), PADA_ENOENT, expected);
    pada_file_close(&file);
    snprintf(expected, sizeof expected, "%s: not a regular file", scratch_dir);
    assert_fails(pada_file_open(&file, scratch_dir), PADA_ENOENT, expected);
    scratch_write(scratch_path("plain"), "x", 1);
    assert_int_equal(pada_file_open(&file, scratch_path("plain/child")), PADA_ENOENT);
    /* A pipe nobody writes to must not block. */
    path = scratch_path("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pada_file_open(&file, path), PADA_ENOENT);
}

static void unreadable_inputs_are_eio(void **state)
{
    pada_file file;
    char name[600];

    (void)state;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(pada_file_open(&file, scratch_path(name)), PADA_EIO);
    if (geteuid() == 0) return; /* root may read everything */
    const char *path = scratch_path("secret");
    scratch_write(path, "x", 1);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(pada_file_open(&file, path), PADA_EIO);
}

static void replace_writes_and_overwrites(void **state)
{
    const char *path = scratch_path("out");

    (void)state;
    assert_ok(pada_file_replace(path, "first version", 13));
    assert_file_holds(path, "first version", 13);
    assert_ok(pada_file_replace(path, "second", 6));
    assert_file_holds(path, "second", 6);
    assert_ok(pada_file_replace(path, NULL, 0));
    assert_file_holds(path, "", 0);
    assert_int_equal(scratch_count(), 1);
}

static void writer_works_without_a_folder_in_the_name(void **state)
{
    char cwd[1024];

    (void)state;
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(scratch_dir), 0);
    const pada_status st = pada_file_replace("bare", "x", 1);
    assert_int_equal(chdir(cwd), 0);
    assert_ok(st);
    assert_file_holds(scratch_path("bare"), "x", 1);
}

static void old_file_stays_until_commit(void **state)
{
    pada_writer *writer;
    const char *path = scratch_path("out");
    char temp[64];

    (void)state;
    assert_ok(pada_file_replace(path, "old", 3));
    assert_ok(pada_writer_begin(&writer, path));
    assert_ok(pada_writer_write(writer, "ne", 2));
    snprintf(temp, sizeof temp, "out.tmp.%ld", (long)getpid());
    assert_true(pada_path_exists(scratch_path(temp)));
    assert_file_holds(path, "old", 3);
    assert_ok(pada_writer_write(writer, "w", 1));
    assert_ok(pada_writer_commit(writer));
    assert_file_holds(path, "new", 3);
    assert_int_equal(scratch_count(), 1);
}

static void abort_leaves_the_old_file(void **state)
{
    pada_writer *writer;
    const char *path = scratch_path("out");

    (void)state;
    assert_ok(pada_file_replace(path, "old", 3));
    assert_ok(pada_writer_begin(&writer, path));
    assert_ok(pada_writer_write(writer, "new", 3));
    pada_writer_abort(writer);
    pada_writer_abort(NULL);
    assert_file_holds(path, "old", 3);
    assert_int_equal(scratch_count(), 1);
}

static void leftover_of_a_dead_process_is_replaced(void **state)
{
    char temp[64];

    (void)state;
    snprintf(temp, sizeof temp, "out.tmp.%ld", (long)getpid());
    scratch_write(scratch_path("precious"), "p", 1);
    assert_int_equal(symlink("precious", scratch_path(temp)), 0);
    assert_ok(pada_file_replace(scratch_path("out"), "x", 1));
    assert_file_holds(scratch_path("out"), "x", 1);
    assert_file_holds(scratch_path("precious"), "p", 1); /* the link was not followed */
    assert_int_equal(scratch_count(), 2);
}

static void places_that_cannot_be_written_are_eio(void **state)
{
    pada_writer *writer;
    char expected[1400];
    const char *path = scratch_path("no/such/out");

    (void)state;
    snprintf(expected, sizeof expected, "%s: No such file or directory", path);
    assert_fails(pada_file_replace(path, "x", 1), PADA_EIO, expected);
    snprintf(expected, sizeof expected, "%s: Is a directory", scratch_dir);
    assert_fails(pada_writer_begin(&writer, scratch_dir), PADA_EIO, expected);
    assert_null(writer);
    assert_int_equal(scratch_count(), 0);
}

/* A full disk cannot be had without privileges; a limit on the size of files takes the same way
 * through write. */
/* A pipe gets what is written, and stays one. */
static void what_is_no_file_is_written_to(void **state)
{
    const char *pipe = scratch_path("pipe");
    char have[8];
    struct stat info;

    (void)state;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const int fd = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_ok(pada_file_replace(pipe, "new", 3));
    assert_int_equal(read(fd, have, sizeof have), 3);
    assert_memory_equal(have, "new", 3);
    close(fd);
    assert_int_equal(stat(pipe, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    if (access("/dev/full", W_OK) != 0) return;
    assert_int_equal(pada_file_replace("/dev/full", "new", 3), PADA_EIO);
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void failed_write_removes_the_temporary_file(void **state)
{
    static char block[65536];
    struct rlimit old, small;
    pada_writer *writer;
    char expected[1400];
    const char *path = scratch_path("out");

    (void)state;
    assert_ok(pada_file_replace(path, "old", 3));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int64_t live = pada_mem_live();
    const pada_status begun = pada_writer_begin(&writer, path);
    const pada_status first = pada_writer_write(writer, block, sizeof block);
    const pada_status second = pada_writer_write(writer, block, sizeof block);
    const int n_files = scratch_count();
    const pada_status third = pada_writer_write(writer, block, 1);
    const pada_status commit = pada_writer_commit(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);

    snprintf(expected, sizeof expected, "%s: %s", path, strerror(EFBIG));
    assert_int_equal(begun, PADA_OK);
    assert_int_equal(first, PADA_OK);
    assert_int_equal(second, PADA_EIO);
    assert_int_equal(n_files, 1);
    assert_int_equal(third, PADA_EIO);
    assert_int_equal(commit, PADA_EIO);
    assert_string_equal(pada_message(), expected);
    assert_file_holds(path, "old", 3);
    assert_int_equal(pada_mem_live(), live);
}

/* The rename fails: something else took the name after begin. */
static void failed_commit_removes_the_temporary_file(void **state)
{
    pada_writer *writer;
    const char *path = scratch_path("out");

    (void)state;
    const int64_t live = pada_mem_live();
    assert_ok(pada_writer_begin(&writer, path));
    assert_ok(pada_writer_write(writer, "x", 1));
    assert_ok(pada_make_dirs(path));
    assert_int_equal(pada_writer_commit(writer), PADA_EIO);
    assert_int_equal(scratch_count(), 1);
    assert_int_equal(pada_mem_live(), live);
}

static pada_status replace_in_scratch(void)
{
    const pada_status st = pada_file_replace(scratch_path("oom"), "new", 3);

    assert_int_equal(scratch_count(), 1); /* the old or the new one, and no temporary file */
    return st;
}

static void replace_survives_failing_memory(void **state)
{
    (void)state;
    assert_ok(pada_file_replace(scratch_path("oom"), "old", 3));
    assert_survives_oom(replace_in_scratch(), (void)0);
    assert_file_holds(scratch_path("oom"), "new", 3);
}

static void make_dirs_makes_parents(void **state)
{
    (void)state;
    assert_ok(pada_make_dirs(scratch_path("a/b//c/")));
    assert_true(pada_path_is_dir(scratch_path("a/b/c")));
    assert_ok(pada_make_dirs(scratch_path("a/b/c")));
    assert_ok(pada_make_dirs("/"));
    assert_ok(pada_make_dirs("."));
    assert_survives_oom(pada_make_dirs(scratch_path("d/e")), (void)0);
}

static void make_dirs_reports_what_is_in_the_way(void **state)
{
    char expected[1400];

    (void)state;
    scratch_write(scratch_path("file"), "x", 1);
    snprintf(expected, sizeof expected, "%s: Not a directory", scratch_path("file"));
    assert_fails(pada_make_dirs(scratch_path("file")), PADA_EIO, expected);
    assert_fails(pada_make_dirs(scratch_path("file/below")), PADA_EIO, expected);
    assert_int_equal(pada_make_dirs(""), PADA_EINVAL);
}

static void paths_are_told_apart(void **state)
{
    (void)state;
    scratch_write(scratch_path("file"), "x", 1);
    assert_true(pada_path_exists(scratch_path("file")));
    assert_false(pada_path_is_dir(scratch_path("file")));
    assert_true(pada_path_exists(scratch_dir));
    assert_true(pada_path_is_dir(scratch_dir));
    assert_false(pada_path_exists(scratch_path("nothing")));
    assert_false(pada_path_is_dir(scratch_path("nothing")));
}

static void one_file_may_have_several_names(void **state)
{
    char link_to[1100], other[1100];

    (void)state;
    scratch_write(scratch_path("file"), "x", 1);
    snprintf(other, sizeof other, "%s/./file", scratch_dir);
    assert_true(pada_is_same_file(scratch_path("file"), other));
    snprintf(link_to, sizeof link_to, "%s", scratch_path("link"));
    assert_int_equal(symlink("file", link_to), 0);
    assert_true(pada_is_same_file(link_to, other));
    assert_false(pada_is_same_file(scratch_dir, scratch_dir)); /* no file */
    assert_false(pada_is_same_file(scratch_path("nothing"), scratch_path("nothing")));
    scratch_write(scratch_path("same"), "x", 1);
    assert_false(pada_is_same_file(scratch_path("same"), other));
}

static void remove_tree_removes_all_of_it(void **state)
{
    (void)state;
    assert_ok(pada_make_dirs(scratch_path("tree/a/b")));
    assert_ok(pada_make_dirs(scratch_path("kept")));
    scratch_write(scratch_path("tree/a/b/file"), "x", 1);
    scratch_write(scratch_path("kept/file"), "y", 1);
    assert_int_equal(symlink(scratch_path("kept"), scratch_path("tree/link")), 0);
    assert_ok(pada_remove_tree(scratch_path("tree")));
    assert_false(pada_path_exists(scratch_path("tree")));
    assert_file_holds(scratch_path("kept/file"), "y", 1); /* links are not followed */
    assert_ok(pada_remove_tree(scratch_path("kept/file")));
    assert_ok(pada_remove_tree(scratch_path("kept/file"))); /* nothing there */
    assert_ok(pada_remove_tree(scratch_path("kept")));
    assert_int_equal(scratch_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(open_maps_the_whole_file, scratch_clear),
        cmocka_unit_test_setup(empty_file_has_no_data, scratch_clear),
        cmocka_unit_test_setup(load_copies_the_whole_file, scratch_clear),
        cmocka_unit_test_setup(missing_inputs_are_enoent, scratch_clear),
        cmocka_unit_test_setup(unreadable_inputs_are_eio, scratch_clear),
        cmocka_unit_test_setup(replace_writes_and_overwrites, scratch_clear),
        cmocka_unit_test_setup(writer_works_without_a_folder_in_the_name, scratch_clear),
        cmocka_unit_test_setup(old_file_stays_until_commit, scratch_clear),
        cmocka_unit_test_setup(abort_leaves_the_old_file, scratch_clear),
        cmocka_unit_test_setup(leftover_of_a_dead_process_is_replaced, scratch_clear),
        cmocka_unit_test_setup(places_that_cannot_be_written_are_eio, scratch_clear),
        cmocka_unit_test_setup(what_is_no_file_is_written_to, scratch_clear),
        cmocka_unit_test_setup(failed_write_removes_the_temporary_file, scratch_clear),
        cmocka_unit_test_setup(failed_commit_removes_the_temporary_file, scratch_clear),
        cmocka_unit_test_setup(replace_survives_failing_memory, scratch_clear),
        cmocka_unit_test_setup(make_dirs_makes_parents, scratch_clear),
        cmocka_unit_test_setup(make_dirs_reports_what_is_in_the_way, scratch_clear),
        cmocka_unit_test_setup(paths_are_told_apart, scratch_clear),
        cmocka_unit_test_setup(one_file_may_have_several_names, scratch_clear),
        cmocka_unit_test_setup(remove_tree_removes_all_of_it, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
