/* test_epoch_metrics.c - metrics.csv: what stays of it when a run goes on, and when it is on the disk.
 *
 * mmap and fsync are wrapped by the linker: behind every mapped file lies a page that must not be read,
 * and every fsync is seen. */
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "check.h"
#include "train/trainer.h"

#include "train/tiny_engine.h"

void *__real_mmap(void *where, size_t bytes, int access, int flags, int fd, off_t offset);
void *__wrap_mmap(void *where, size_t bytes, int access, int flags, int fd, off_t offset);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

void *__wrap_mmap(void *where, size_t bytes, int access, int flags, int fd, off_t offset)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;

    if (where || fd < 0) return __real_mmap(where, bytes, access, flags, fd, offset);
    where = __real_mmap(NULL, room + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (where == MAP_FAILED) return where;
    return __real_mmap(where, bytes, access, flags | MAP_FIXED, fd, offset);
}

static off_t synced_bytes;  /* of metrics.csv */
static int n_folder_syncs;  /* of the run, since metrics.csv was there */
static int n_unsynced_rows; /* checkpoints that were written while rows were not on the disk */
static int n_checkpoints;

/* Not by scratch_path: its buffers are in use while files are synced. */
static bool look_at(const char *name, struct stat *info)
{
    char path[1200];

    snprintf(path, sizeof path, "%s/%s", scratch_dir, name);
    return stat(path, info) == 0;
}

static off_t metrics_bytes(void)
{
    struct stat info;

    return look_at("run/metrics.csv", &info) ? info.st_size : 0;
}

static bool is_same_file(int fd, const char *name)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && look_at(name, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int __wrap_fsync(int fd)
{
    struct stat info;

    if (is_same_file(fd, "run/metrics.csv")) {
        synced_bytes = metrics_bytes();
    } else if (is_same_file(fd, "run")) {
        n_folder_syncs += metrics_bytes() > 0;
    } else if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 4096) {
        n_checkpoints++; /* nothing else is that large */
        n_unsynced_rows += synced_bytes != metrics_bytes();
    }
    return __real_fsync(fd);
}

/* ---- the file ---- */

static void assert_rewound(const char *before, size_t bytes, int epoch, const char *after,
                           int missing)
{
    const char *path = scratch_path("metrics.csv");
    int n_missing = -1;

    scratch_write(path, before, bytes);
    assert_ok(pada_epoch_metrics_rewind(scratch_dir, epoch, &n_missing));
    assert_file_holds(path, after, strlen(after));
    assert_int_equal(n_missing, missing);
}

static void rewind_keeps_earlier_epochs(void **state)
{
    static const struct {
        const char *before;
        int epoch;
        const char *after;
        int missing;
    } cases[] = {
        {"epoch,a\n0,1\n1,2\n2,3\n", 2, "epoch,a\n0,1\n1,2\n", 0},
        {"epoch,a\n0,1\n1,2\n", 2, "epoch,a\n0,1\n1,2\n", 0},
        {"epoch,a\n0,1\n1,2\n2,", 3, "epoch,a\n0,1\n1,2\n", 1},         /* torn */
        {"epoch,a\n0,1\n3,2\n4,3\n", 5, "epoch,a\n0,1\n3,2\n4,3\n", 2}, /* a gap */
        {"epoch,a\n0,1\n0,2\n1,3\n", 2, "epoch,a\n0,1\n", 1},           /* out of order */
        {"epoch,a\n0,1\n\n1,3\n", 2, "epoch,a\n0,1\n", 1},
        {"epoch,a\n0,1\nx,3\n", 2, "epoch,a\n0,1\n", 1},
        {"epoch,a\n-1,1\n", 1, "epoch,a\n", 1},
        {"epoch,a\n0,1\n99999999999999999999,3\n", 2, "epoch,a\n0,1\n", 1},
        {"epoch,a\n0\n", 1, "epoch,a\n", 1},
        {"epoch,a", 1, "", 1},
        {"", 3, "", 3},
        {"epoch,a\n0,1\n", 0, "", 0},
    };
    int missing;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_rewound(cases[i].before, strlen(cases[i].before), cases[i].epoch, cases[i].after,
                       cases[i].missing);
    assert_rewound("epoch,a\n0,1\n\0\0\0\0\n", 17, 2, "epoch,a\n0,1\n", 1); /* after a power cut */
    assert_ok(pada_epoch_metrics_rewind(scratch_path("none"), 2, &missing));
    assert_int_equal(missing, 2);
}

/* A file that fills its pages and ends with an empty line, or with a number. */
static void nothing_is_read_behind_the_file(void **state)
{
    static const char *const ends[] = {"\n\n", "\n1\n", "\n \n", "\n1"};
    char text[4096 + 1];

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char kept[sizeof text];
        memset(text, 'x', sizeof text);
        memcpy(text, "epoch,a\n0,", 10);
        strcpy(text + 4096 - strlen(ends[i]), ends[i]);
        snprintf(kept, sizeof kept, "%.*s", (int)(4096 - strlen(ends[i]) + 1), text);
        assert_rewound(text, 4096, 2, kept, 1);
    }
}

static void sync_needs_no_file(void **state)
{
    (void)state;
    assert_ok(pada_epoch_metrics_sync(scratch_path("none")));
    assert_int_equal(pada_file_sync(scratch_path("none")), PADA_ENOENT);
    scratch_write(scratch_path("metrics.csv"), "epoch\n", 6);
    assert_survives_oom(pada_epoch_metrics_sync(scratch_dir), (void)0);
}

/* ---- runs ---- */

enum { EPOCHS = 5, BATCH = 22 /* two steps per epoch */ };

static tiny_data data;
static pada_engine *engine;
static char told[1024];
static volatile sig_atomic_t stop;

static void keep_message(void *context, const char *text)
{
    (void)context;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", text);
}

static void stop_after_three(void *context, const pada_progress *progress,
                             const pada_epoch_metrics *metrics)
{
    (void)context, (void)metrics;
    stop = progress->epoch == 2;
}

/* A run in the folder run/, until it stops after epoch 3 or to its end. */
static pada_status train(bool to_the_end)
{
    const pada_strategy_ops *spos;

    CHECK_OK(pada_strategy_find(&spos, "spos"));
    stop = 0;
    told[0] = '\0';
    return pada_train(&(pada_train_desc){
        .engine = engine,
        .data = &data.base,
        .recipe = &(pada_recipe){.epochs = EPOCHS, .batch_size = BATCH, .lr = 0.1},
        .strategy = spos,
        .run = scratch_path("run"),
        .checkpoint_steps = 3,
        .stop = &stop,
        .listener = {.message = keep_message, .epoch = to_the_end ? NULL : stop_after_three}});
}

static int count_rows(void)
{
    pada_file file;
    int n = -1; /* the header */

    assert_ok(pada_file_open(&file, scratch_path("run/metrics.csv")));
    for (size_t i = 0; i < file.bytes; i++)
        n += file.data[i] == '\n';
    pada_file_close(&file);
    return n;
}

static void rows_are_on_the_disk_before_checkpoints(void **state)
{
    (void)state;
    assert_ok(train(true));
    assert_int_equal(n_checkpoints, 4); /* after steps 3, 6, 9, 10 */
    assert_int_equal(n_unsynced_rows, 0);
    assert_true(synced_bytes > 0 && n_folder_syncs > 0);
    assert_int_equal(count_rows(), EPOCHS);
    assert_string_equal(told, "");
}

/* Stops, does something to metrics.csv, and goes on. */
static void lost_rows_are_told(void **state)
{
    (void)state;
    for (int removes = 0; removes < 2; removes++) {
        scratch_remove_tree(scratch_path("run"));
        assert_int_equal(train(false), PADA_ESTOPPED);
        assert_int_equal(count_rows(), 3);
        if (removes)
            assert_int_equal(unlink(scratch_path("run/metrics.csv")), 0);
        else
            scratch_write(scratch_path("run/metrics.csv"), "", 0);
        assert_ok(train(true));
        assert_non_null(
            strstr(told, "metrics.csv lacks 3 of the 3 epochs that are done; they stay missing\n"));
        assert_int_equal(count_rows(), EPOCHS - 3);
    }
    /* Rows of epochs that are run again are nothing to tell. */
    scratch_remove_tree(scratch_path("run"));
    assert_int_equal(train(false), PADA_ESTOPPED);
    FILE *longer = fopen(scratch_path("run/metrics.csv"), "a");
    assert_non_null(longer);
    fputs("3,of,an,epoch,that,was,not,saved\n", longer);
    fclose(longer);
    assert_ok(train(true));
    assert_null(strstr(told, "metrics.csv"));
    assert_int_equal(count_rows(), EPOCHS);
}

static pada_status append_copy(void *user, const pada_epoch_metrics *m)
{
    int *n_read = user;

    if (*n_read == 2) return PADA_FAIL(PADA_EIO, "no room");
    ++*n_read;
    return pada_epoch_metrics_append(scratch_path("copy"), m);
}

static void rows_are_read_as_they_were_written(void **state)
{
    pada_epoch_metrics m = {.weights_hash = 0x00c0ffee12345678, .warnings = ""};
    char text[2][1000] = {""};
    int n_read = 0;

    (void)state;
    CHECK_OK(pada_make_dirs(scratch_path("run")));
    CHECK_OK(pada_make_dirs(scratch_path("copy")));
    assert_int_equal(pada_epoch_metrics_each(scratch_path("run"), &n_read, append_copy),
                     PADA_ENOENT);
    scratch_write(scratch_path("run/metrics.csv"), "epoch", 5); /* torn in the first line */
    CHECK_OK(pada_epoch_metrics_each(scratch_path("run"), &n_read, append_copy));
    assert_int_equal(n_read, 0);
    assert_int_equal(remove(scratch_path("run/metrics.csv")), 0);
    pada_epoch_metrics_add(&m, 7, "epoch");
    pada_epoch_metrics_add(&m, NAN, "lr");
    pada_epoch_metrics_add(&m, 1.0 / 3, "loss");
    CHECK_OK(pada_epoch_metrics_append(scratch_path("run"), &m));
    m.items[0].value = 8;
    m.items[2].value = -1e-30;
    pada_epoch_metrics_warn(&m, "one");
    pada_epoch_metrics_warn(&m, "two");
    CHECK_OK(pada_epoch_metrics_append(scratch_path("run"), &m));
    CHECK_OK(pada_epoch_metrics_each(scratch_path("run"), &n_read, append_copy));
    assert_int_equal(n_read, 2);
    const char *const names[] = {"run/metrics.csv", "copy/metrics.csv"};
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(scratch_path(names[i]), "r");
        assert_non_null(file);
        assert_true(fread(text[i], 1, sizeof text[i] - 1, file) > 50);
        fclose(file);
    }
    assert_string_equal(text[0], text[1]);

    FILE *longer = fopen(scratch_path("run/metrics.csv"), "a"); /* a row that lacks columns */
    assert_non_null(longer);
    fputs("9,1\n", longer);
    fclose(longer);
    n_read = 0;
    CHECK_OK(pada_epoch_metrics_each(scratch_path("run"), &n_read, append_copy));
    assert_int_equal(n_read, 2);
    assert_int_equal(pada_epoch_metrics_each(scratch_path("run"), &n_read, append_copy), PADA_EIO);
}

static int open_all(void **state)
{
    const pada_backend *backend;
    static pada_space space;

    tiny_data_init(&data);
    CHECK_OK(pada_backend_find(&backend, "cpu"));
    engine = tiny_engine(&space, backend, 1, BATCH);
    return scratch_setup(state);
}

static int close_all(void **state)
{
    pada_engine_destroy(engine);
    return scratch_teardown(state);
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup(f, scratch_clear)
    const struct CMUnitTest tests[] = {
        unit(rewind_keeps_earlier_epochs), unit(nothing_is_read_behind_the_file),
        unit(sync_needs_no_file),          unit(rows_are_on_the_disk_before_checkpoints),
        unit(lost_rows_are_told),          unit(rows_are_read_as_they_were_written),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
