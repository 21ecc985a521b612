/* test_ds_folder.c - folders of images: layouts, order, numbers, and what is refused. */
#include "base/scratch.h"

#include <sys/stat.h>

#include "check.h"
#include "data/dataset.h"
#include "data/make_images.h"

#define TRAIN PADA_SPLIT_TRAIN
#define TEST  PADA_SPLIT_TEST
#define VAL   PADA_SPLIT_VAL

/* A picture of one grey level, PNG or JPEG by its name; its folder is made if need be. */
static void write_level(const char *name, int level)
{
    static uint8_t pixels[40 * 40];
    char path[1200];

    snprintf(path, sizeof path, "%s", scratch_path(name));
    *strrchr(path, '/') = '\0';
    assert_ok(pada_make_dirs(path));
    memset(pixels, level, sizeof pixels);
    if (strstr(name, ".png"))
        write_png(scratch_path(name), 40, 36, (picture_format){.channels = 1}, pixels);
    else
        write_jpeg(scratch_path(name), 36, 40, (picture_format){.channels = 1}, pixels);
}

/* Two classes of seven and three images. The level says class and number. */
static void write_flat(void)
{
    char name[40];

    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "cat/%d.png", i);
        write_level(name, 10 + i);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "Dog/x%d.JPEG", 9 - i);
        write_level(name, 100 + 9 - i);
    }
}

/* n images of each of three classes in the folder of a split; the level says class and number. */
static void write_split(const char *folder, int n, int first_level)
{
    char name[40];

    for (int class = 0; class < 3; class ++)
        for (int i = 0; i < n; i++) {
            snprintf(name, sizeof name, "%s/c%d/%d.png", folder, class, i);
            write_level(name, first_level + 10 * class + i);
        }
}

/* All that there are: nothing has to be cut off. */
static void write_splits(void)
{
    write_split("train", 2, 0);
    write_split("test", 3, 100);
    write_split("val", 1, 200);
}

static pada_status open_sized(pada_dataset **out, unsigned splits, int image_size)
{
    return pada_dataset_open(
        out,
        &(pada_dataset_desc){.where = scratch_dir, .splits = splits, .image_size = image_size});
}

static void assert_refused(unsigned splits, pada_status status, const char *rest)
{
    const int64_t live = pada_mem_live();
    pada_dataset *ds;
    char message[2048];

    assert_int_equal(open_sized(&ds, splits, 0), status);
    assert_null(ds);
    snprintf(message, sizeof message, "%s%s", scratch_dir, rest);
    if (strncmp(pada_message(), message, strlen(message)) != 0) fail_msg("%s", pada_message());
    assert_int_equal(pada_mem_live(), live);
}

/* The level of image i, which is the same everywhere. */
static int level_of(const pada_dataset *ds, pada_split split, int i)
{
    const uint8_t *image = ds->ops->image(ds, split, i);

    for (int k = 1; k < pada_shape_count(ds->shape); k++)
        assert_int_equal(image[k], image[0]);
    return image[0];
}

/* Classes in the order of their bytes, so that Dog comes before cat. Of each class one image is for
 * tests and one to choose on. */
static void test_flat(void **state)
{
    static const struct {
        pada_split split;
        int n, labels[6];
    } expected[] = {{TRAIN, 6, {1, 1, 0, 1, 1, 1}}, {VAL, 2, {0, 1}}, {TEST, 2, {0, 1}}};
    bool seen[256] = {false};
    pada_dataset *ds;

    (void)state;
    write_flat();
    write_level(".hidden/a.png", 1);
    write_level("cat/.a.png", 1);
    scratch_write(scratch_path("cat/notes.txt"), "hello", 5);
    scratch_write(scratch_path("readme.png"), "hello", 5);
    assert_ok(open_sized(&ds, 0, 0));
    assert_string_equal(ds->name, "image folder");
    assert_int_equal(ds->n_classes, 2);
    assert_string_equal(ds->ops->class_name(ds, 0), "Dog");
    assert_string_equal(ds->ops->class_name(ds, 1), "cat");
    assert_true(pada_shape_equal(ds->shape, (pada_shape){3, 32, 32}));
    assert_int_equal(ds->pad, 4);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(ds->n_images[expected[k].split], expected[k].n);
        for (int i = 0; i < expected[k].n; i++) {
            const int label = ds->ops->label(ds, expected[k].split, i),
                      level = level_of(ds, expected[k].split, i);
            assert_int_equal(label, expected[k].labels[i]);
            assert_int_equal(level < 100, label); /* cats are dark */
            assert_false(seen[level]);
            seen[level] = true;
        }
    }
    assert_string_equal(ds->set_aside,
                        "no folders train, val and test: 2 images, a fifth of each class, are for "
                        "tests, and 2, a fifth of the rest, to choose networks on");
    pada_dataset_close(ds);
}

static void check_equal(const pada_dataset *a, const pada_dataset *b)
{
    for (int split = 0; split < PADA_N_SPLITS; split++) {
        assert_int_equal(a->n_images[split], b->n_images[split]);
        for (int i = 0; i < a->n_images[split]; i++) {
            assert_int_equal(a->ops->label(a, (pada_split)split, i),
                             b->ops->label(b, (pada_split)split, i));
            assert_int_equal(level_of(a, (pada_split)split, i), level_of(b, (pada_split)split, i));
        }
    }
}

/* Neither names of files nor the size say which image is where. */
static void test_names_do_not_matter(void **state)
{
    static const char *const names[] = {"cat/0.png", "cat/3.png", "cat/6.png", "Dog/x8.JPEG"},
                             *const others[] = {"cat/z.png", "cat/5b.png", "cat/+.png",
                                                "Dog/1.JPEG"};
    pada_dataset *before, *after;
    char name[2048];

    (void)state;
    write_flat();
    assert_ok(open_sized(&before, 0, 0));
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s", scratch_path(names[i]));
        assert_int_equal(rename(name, scratch_path(others[i])), 0);
    }
    assert_ok(open_sized(&after, 0, 20));
    check_equal(before, after);
    pada_dataset_close(after);
    pada_dataset_close(before);
}

/* Three classes as write_split writes them, one of each in turn. */
static void check_turns(const pada_dataset *ds, pada_split split, int n, int first_level)
{
    bool seen[30] = {false};

    assert_int_equal(ds->n_images[split], 3 * n);
    for (int i = 0; i < 3 * n; i++) {
        const int level = level_of(ds, split, i) - first_level;
        assert_int_equal(ds->ops->label(ds, split, i), i % 3);
        assert_in_range(level, i % 3 * 10, i % 3 * 10 + n - 1);
        assert_false(seen[level]);
        seen[level] = true;
    }
}

static void assert_splits(unsigned expected)
{
    unsigned splits;

    assert_ok(pada_dataset_splits(scratch_dir, &splits));
    assert_int_equal(splits, expected);
}

static void test_splits(void **state)
{
    static const char *const folders[] = {"valid", "val"}; /* the later one wins */
    const unsigned all = PADA_SPLIT_BIT(TRAIN) | PADA_SPLIT_BIT(VAL) | PADA_SPLIT_BIT(TEST);
    pada_dataset *ds;

    (void)state;
    write_split("train", 2, 0);
    write_split("test", 3, 100);
    for (int k = 0; k < 2; k++) {
        write_split(folders[k], 4, 200);
        if (k > 0) write_level("valid/c0/more.png", 7);
        assert_splits(all);
        assert_ok(open_sized(&ds, 0, 16));
        assert_int_equal(ds->n_classes, 3);
        assert_true(pada_shape_equal(ds->shape, (pada_shape){3, 16, 16}));
        assert_int_equal(ds->pad, 2);
        check_turns(ds, TRAIN, 2, 0);
        check_turns(ds, TEST, 3, 100);
        check_turns(ds, VAL, 4, 200);
        assert_string_equal(ds->set_aside, "");
        pada_dataset_close(ds);
    }
    /* Networks are chosen on val, and results are those of test. */
    assert_int_equal(pada_split_to_choose(all), VAL);
    assert_int_equal(pada_split_to_report(all), TEST);
    assert_int_equal(pada_split_to_choose(all & ~PADA_SPLIT_BIT(VAL)), TEST);
    assert_int_equal(pada_split_to_report(all & ~PADA_SPLIT_BIT(TEST)), VAL);
}

/* Without val, a fifth of each class of train, which is then neither trained on nor measured. */
static void test_split_is_made(void **state)
{
    pada_dataset *all, *train;

    (void)state;
    write_split("train", 9, 0);
    write_split("test", 3, 100);
    assert_ok(open_sized(&all, 0, 0));
    check_turns(all, TEST, 3, 100);
    assert_int_equal(all->n_images[TRAIN], 21);
    assert_int_equal(all->n_images[VAL], 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(all->ops->label(all, VAL, i), i % 3);
        for (int k = 0; k < 21; k++)
            assert_int_not_equal(level_of(all, VAL, i), level_of(all, TRAIN, k));
    }
    assert_string_equal(
        all->set_aside,
        "no folder val: 6 train images, a fifth of each class, are set aside to choose networks on");
    assert_ok(open_sized(&train, PADA_SPLIT_BIT(TRAIN), 0));
    assert_int_equal(train->n_images[TRAIN], 21);
    CHECK_CLOSE(train->mean[0], all->mean[0], 0);
    pada_dataset_close(train);
    pada_dataset_close(all);

    /* No test either: there is none, rather than one that was chosen on. */
    scratch_remove_tree(scratch_path("test"));
    assert_splits(PADA_SPLIT_BIT(TRAIN) | PADA_SPLIT_BIT(VAL));
    assert_ok(open_sized(&all, 0, 0));
    assert_int_equal(all->n_images[TEST], 0);
    assert_int_equal(all->n_images[VAL], 6);
    assert_non_null(strstr(all->set_aside, "; no folder test either"));
    pada_dataset_close(all);
    assert_refused(PADA_SPLIT_BIT(TEST), PADA_EINVAL, ": the data set has no test images");
}

/* One split of a data set is none. */
static void test_part_of_data_set(void **state)
{
    static const char *const parts[][2] = {
        {"train", "train"}, {"test", "test"}, {"val", "val"}, {"val/../valid/", "val"}};
    pada_dataset *ds;
    char where[2048], message[4096];

    (void)state;
    write_splits();
    write_split("valid", 3, 0);
    for (int i = 0; i < 4; i++) {
        snprintf(where, sizeof where, "%s", scratch_path(parts[i][0]));
        snprintf(message, sizeof message, "%s: only the %s images of the data set %s; give that",
                 where, parts[i][1], scratch_dir);
        assert_fails(pada_dataset_open(&ds, &(pada_dataset_desc){.where = where}), PADA_EDATA,
                     message);
    }
    /* A folder of that name with nothing beside it is one. */
    scratch_remove_tree(scratch_path("train"));
    scratch_remove_tree(scratch_path("val"));
    scratch_remove_tree(scratch_path("valid"));
    snprintf(where, sizeof where, "%s", scratch_path("test"));
    assert_ok(pada_dataset_open(&ds, &(pada_dataset_desc){.where = where}));
    pada_dataset_close(ds);
}

/* Of the train images, whatever was opened. */
static void test_normalisation(void **state)
{
    const double levels[] = {0, 1, 10, 11, 20, 21};
    double mean = 0, squares = 0;
    pada_dataset *ds;

    (void)state;
    for (int i = 0; i < 6; i++) {
        mean += levels[i] / 255 / 6;
        squares += pow(levels[i] / 255, 2) / 6;
    }
    write_splits();
    for (unsigned splits = 1; splits < PADA_SPLIT_BIT(PADA_N_SPLITS); splits++) {
        assert_ok(open_sized(&ds, splits, 0));
        assert_int_equal(ds->n_images[TRAIN], splits & PADA_SPLIT_BIT(TRAIN) ? 6 : 0);
        assert_int_equal(ds->n_images[TEST], splits & PADA_SPLIT_BIT(TEST) ? 9 : 0);
        assert_int_equal(ds->n_images[VAL], splits & PADA_SPLIT_BIT(VAL) ? 3 : 0);
        for (int c = 0; c < 3; c++) {
            CHECK_CLOSE(ds->mean[c], mean, 1e-12);
            CHECK_CLOSE(ds->deviation[c], sqrt(squares - mean * mean), 1e-12);
        }
        pada_dataset_close(ds);
    }
    /* All of one colour: nothing to divide by. */
    scratch_clear(NULL);
    write_level("a/0.png", 51);
    write_level("b/0.png", 51);
    assert_ok(open_sized(&ds, PADA_SPLIT_BIT(TRAIN), 0));
    CHECK_CLOSE(ds->mean[1], 0.2, 1e-12);
    CHECK_CLOSE(ds->deviation[1], 1, 0);
    pada_dataset_close(ds);
}

static void test_wrong_folders(void **state)
{
    pada_dataset *ds;

    (void)state;
    assert_refused(0, PADA_EDATA, ": no data set in this folder; looked for: ");
    assert_ok(pada_make_dirs(scratch_path("train/cat")));
    assert_ok(pada_make_dirs(scratch_path("dog")));
    assert_refused(0, PADA_EDATA, ": no data set in this folder; looked for: ");

    scratch_clear(NULL);
    write_level("cat/0.png", 1);
    assert_refused(0, PADA_EDATA, ": 1 class folders; at least 2 are needed");
    write_level("dog/0.png", 1);
    assert_refused(0, PADA_EDATA, ": no test images: no class has 2 images");
    assert_ok(open_sized(&ds, PADA_SPLIT_BIT(TRAIN), 0));
    pada_dataset_close(ds);
    assert_ok(pada_make_dirs(scratch_path("emu")));
    assert_refused(PADA_SPLIT_BIT(TRAIN), PADA_EDATA, "/emu: no PNG, JPEG or WebP images");

    scratch_clear(NULL);
    write_splits();
    write_level("test/c11/0.png", 1);
    assert_refused(0, PADA_EDATA, "/train: no class 'c11', which is in ");
    scratch_remove_tree(scratch_path("test/c11"));
    scratch_remove_tree(scratch_path("test/c2"));
    assert_refused(0, PADA_EDATA, "/test: no class 'c2', which is in ");
    scratch_clear(NULL);
    write_splits();
    write_level("val/c11/0.png", 1);
    assert_refused(0, PADA_EDATA, "/train: no class 'c11', which is in ");
    scratch_remove_tree(scratch_path("val"));
    assert_ok(pada_make_dirs(scratch_path("val")));
    assert_refused(0, PADA_EDATA, "/val: no class 'c0', which is in ");
    assert_fails(open_sized(&ds, 0, 1025), PADA_EINVAL, "image size 1025 is not in 1 to 1024");
}

/* Whether an image of this level is among those of a class. */
static bool has_level(const pada_dataset *ds, int label, int level)
{
    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int i = 0; i < ds->n_images[split]; i++)
            if (ds->ops->label(ds, split, i) == label && ds->ops->image(ds, split, i)[0] == level)
                return true;
    return false;
}

/* Folders in class folders belong to the class, on all levels, also by links; each is read once. */
static void test_nested(void **state)
{
    pada_dataset *ds;

    (void)state;
    write_level("cat/0.png", 1);
    write_level("cat/deep/er/1.png", 2);
    write_level("dog/only/nested/2.png", 3);
    write_level("dog/only/nested/3.png", 4);
    write_level("dog/.hidden/4.png", 5);
    write_level("elsewhere/x/5.png", 6);
    assert_int_equal(symlink("..", scratch_path("cat/deep/up")), 0);
    assert_int_equal(symlink(".", scratch_path("dog/self")), 0);
    assert_int_equal(symlink("../elsewhere/x", scratch_path("cat/link")), 0);
    assert_ok(open_sized(&ds, 0, 8));
    assert_int_equal(ds->n_classes, 3);
    assert_int_equal(ds->n_images[TRAIN] + ds->n_images[TEST] + ds->n_images[VAL], 6);
    assert_true(has_level(ds, 0, 1) && has_level(ds, 0, 2) && has_level(ds, 0, 6));
    assert_true(has_level(ds, 1, 3) && has_level(ds, 1, 4));
    pada_dataset_close(ds);
    /* Nothing but nested pictures is a data set all the same. */
    unlink(scratch_path("cat/0.png"));
    assert_ok(open_sized(&ds, PADA_SPLIT_BIT(TEST), 8));
    pada_dataset_close(ds);
}

static void test_resize(void **state)
{
    static const int corners[] = {255, 255, 0}; /* crop, squash, pad */
    pada_dataset *ds;
    uint8_t white[16 * 4];

    (void)state;
    memset(white, 255, sizeof white);
    write_level("a/0.png", 1);
    write_level("a/1.png", 1);
    assert_ok(pada_make_dirs(scratch_path("b")));
    write_png(scratch_path("b/0.png"), 16, 4, (picture_format){.channels = 1}, white);
    for (int resize = 0; resize < 3; resize++) {
        assert_ok(pada_dataset_open(&ds, &(pada_dataset_desc){.where = scratch_dir,
                                                              .splits = PADA_SPLIT_BIT(TRAIN),
                                                              .image_size = 8,
                                                              .resize = (pada_resize)resize}));
        for (int i = 0; i < ds->n_images[TRAIN]; i++)
            if (ds->ops->label(ds, TRAIN, i) == 1)
                assert_int_equal(ds->ops->image(ds, TRAIN, i)[0], corners[resize]);
        pada_dataset_close(ds);
    }
}

static void count_image(void *context, int n_done, int n_total)
{
    assert_in_range(n_done, 1, n_total);
    ++*(int *)context;
}

/* Opens with a cache and says how many images had to be decoded. */
static int count_decoded(const char *where, int size, pada_resize resize, pada_dataset **ds)
{
    int n = 0;

    assert_ok(pada_dataset_open(
        ds, &(pada_dataset_desc){.where = where,
                                 .image_size = size,
                                 .resize = resize,
                                 .cache = scratch_path("cache"),
                                 .cache_bytes = 1000000,
                                 .listener = {.context = &n, .progress = count_image}}));
    return n;
}

/* Kept by the contents of files, size and way to resize, wherever the folder is. */
static void test_cache(void **state)
{
    pada_dataset *plain, *kept;

    (void)state;
    for (int i = 0; i < 12; i++) {
        char name[40];
        snprintf(name, sizeof name, "set/%s/%d.png", i % 2 ? "a" : "b", i);
        write_level(name, 10 + i);
    }
    assert_ok(pada_dataset_open(
        &plain, &(pada_dataset_desc){.where = scratch_path("set"), .image_size = 8}));
    for (int time = 0; time < 3; time++) {
        if (time == 2) assert_int_equal(rename(scratch_path("set"), scratch_path("moved")), 0);
        const char *where = scratch_path(time == 2 ? "moved" : "set");
        assert_int_equal(count_decoded(where, 8, PADA_RESIZE_CROP, &kept), time == 0 ? 12 : 0);
        for (int split = 0; split < PADA_N_SPLITS; split++)
            assert_true(pada_dataset_hash(kept, split) == pada_dataset_hash(plain, split));
        pada_dataset_close(kept);
    }
    assert_int_equal(count_decoded(scratch_path("moved"), 4, PADA_RESIZE_CROP, &kept), 12);
    pada_dataset_close(kept);
    assert_int_equal(count_decoded(scratch_path("moved"), 8, PADA_RESIZE_PAD, &kept), 12);
    pada_dataset_close(kept);
    write_level("moved/a/1.png", 99); /* its split is decoded again, at least */
    assert_true(count_decoded(scratch_path("moved"), 8, PADA_RESIZE_CROP, &kept) > 0);
    pada_dataset_close(kept);
    pada_dataset_close(plain);
}

/* A PNG of so many pixels a side without its end: the larger, the later it is found to be broken. */
static void write_cut_png(const char *name, int side)
{
    uint8_t *pixels = calloc((size_t)side, (size_t)side);
    pada_file file;

    assert_non_null(pixels);
    write_png(scratch_path(name), side, side, (picture_format){.channels = 1}, pixels);
    assert_ok(pada_file_open(&file, scratch_path(name)));
    assert_int_equal(truncate(scratch_path(name), (off_t)file.bytes - 8), 0);
    pada_file_close(&file);
    free(pixels);
}

/* Of two broken images always the first one is named, even if the second takes longer. */
static void test_first_failure(void **state)
{
    (void)state;
    write_splits();
    write_cut_png("train/c0/0.png", 1500);
    write_cut_png("train/c0/1.png", 4000);
    for (int i = 0; i < 3; i++)
        assert_refused(0, PADA_EDATA, "/train/c0/0.png: broken PNG: the file is cut short");
    write_cut_png("train/c0/0.png", 4000);
    write_cut_png("train/c0/1.png", 1500);
    write_cut_png("train/c1/1.png", 20);
    for (int i = 0; i < 3; i++)
        assert_refused(0, PADA_EDATA,
                       "/train/c0/0.png: broken PNG: the file is cut short, and 2 more files: "
                       "`pada data verify` lists them");
}

/* One finding, by kind and by what its file and text begin with. */
static void check_finding(const pada_findings *list, int i, const char *kind, bool is_problem,
                          const char *file, const char *text)
{
    const pada_finding *f = &list->items[i];

    assert_true(i < list->n);
    if (strcmp(f->kind, kind) != 0 || f->is_problem != is_problem ||
        strcmp(f->file, scratch_path(file)) != 0 || strncmp(f->text, text, strlen(text)) != 0)
        fail_msg("%d: %s %d %s %s", i, f->kind, f->is_problem, f->file, f->text);
}

/* Everything that is wrong or odd is said once, and the rest is opened. */
static void write_odd_files(void)
{
    static uint8_t pixels[40 * 40];

    write_splits();
    write_level("test/c0/.DS.png", 9);
    scratch_write(scratch_path("test/c0/b.gif"), "GIF89a", 6);
    scratch_write(scratch_path("test/c0/notes.txt"), "hello", 5);
    write_level("test/c1/deep/x.png", 77);
    write_level("test/c1/photo.png", 78);
    assert_int_equal(rename(scratch_path("test/c1/photo.png"), scratch_path("test/c1/photo")), 0);
    write_level("test/c3/0.png", 79); /* a class that is not trained */
    scratch_write(scratch_path("train/c0/0.png"), "", 0);
    write_level("train/c0/2.png", 5);
    assert_int_equal(rename(scratch_path("train/c0/2.png"), scratch_path("train/c0/2.jpg")), 0);
    write_png(scratch_path("train/c0/3.png"), 40, 8, (picture_format){.channels = 1}, pixels);
    write_cut_png("train/c1/0.png", 20);
    scratch_write(scratch_path("train/c1/2.png"), "II*\0....", 8);
    assert_int_equal(symlink("nowhere", scratch_path("train/c1/3.png")), 0);
    assert_ok(pada_make_dirs(scratch_path("train/c4")));
}

static pada_status open_tolerant(pada_dataset **ds, pada_findings *found)
{
    const pada_status st = pada_dataset_open(
        ds, &(pada_dataset_desc){.where = scratch_dir,
                                 .splits = PADA_SPLIT_BIT(TRAIN) | PADA_SPLIT_BIT(TEST),
                                 .findings = found});

    if (st != PADA_OK) pada_findings_deinit(found);
    return st;
}

static void test_findings(void **state)
{
    pada_findings found = {0};
    pada_dataset *ds = NULL;
    int i = 0;

    (void)state;
    write_odd_files();
    assert_ok(open_tolerant(&ds, &found));
    check_finding(&found, i++, "class", true, "train/c4", "no PNG, JPEG or WebP images");
    check_finding(&found, i++, "empty", true, "train/c0/0.png", "an empty file");
    check_finding(&found, i++, "ending", false, "train/c0/2.jpg", "a PNG image by its contents");
    check_finding(&found, i++, "aspect", false, "train/c0/3.png",
                  "40 x 8 pixels: one side is 5.0 times");
    check_finding(&found, i++, "broken", true, "train/c1/0.png", "broken PNG: ");
    check_finding(&found, i++, "unsupported", true, "train/c1/2.png", "a TIFF image, which ");
    check_finding(&found, i++, "unreadable", true, "train/c1/3.png", "No such file or directory");
    check_finding(&found, i++, "class", true, "train", "no class 'c3', which is in ");
    check_finding(&found, i++, "class", true, "test", "no class 'c4', which is in ");
    check_finding(&found, i++, "skipped", false, "test/c0/.DS.png", "left out: its name begins");
    check_finding(&found, i++, "unsupported", false, "test/c0/b.gif", "left out: a GIF image");
    check_finding(&found, i++, "skipped", false, "test/c0/notes.txt", "left out: no image by its");
    check_finding(&found, i++, "nested", false, "test/c1/deep", "a folder inside a class; its 1 ");
    check_finding(&found, i++, "skipped", false, "test/c1/photo", "left out: a PNG image by its");
    assert_int_equal(found.n, i);
    assert_int_equal(ds->n_classes, 4);
    assert_int_equal(ds->n_images[TRAIN], 6);
    assert_int_equal(ds->n_images[TEST], 10);
    assert_string_equal(strrchr(ds->ops->file(ds, TRAIN, 0), '.') + 1, "png");
    pada_dataset_close(ds);
    pada_findings_deinit(&found);
    assert_survives_oom(open_tolerant(&ds, &found),
                        (pada_dataset_close(ds), pada_findings_deinit(&found)));
}

static void test_wrong_images(void **state)
{
    (void)state;
    write_splits();
    scratch_write(scratch_path("train/c2/1.png"), "hello", 5);
    assert_refused(PADA_SPLIT_BIT(TEST), PADA_EDATA, "/train/c2/1.png: no PNG, JPEG or WebP image");
    write_level("train/c2/1.png", 3);
    unlink(scratch_path("test/c0/1.png"));
    assert_int_equal(symlink("nowhere", scratch_path("test/c0/1.png")), 0);
    assert_refused(0, PADA_ENOENT, "/test/c0/1.png: No such file or directory");
    if (geteuid() != 0) { /* who may read everything cannot try this */
        unlink(scratch_path("test/c0/1.png"));
        write_level("test/c0/1.png", 3);
        assert_int_equal(chmod(scratch_path("test/c0/1.png"), 0), 0);
        assert_refused(0, PADA_EIO, "/test/c0/1.png: Permission denied");
    }
}

static void test_oom(void **state)
{
    pada_dataset *ds = NULL;

    (void)state;
    write_splits();
    assert_survives_oom(open_sized(&ds, 0, 8), pada_dataset_close(ds));
    scratch_clear(NULL);
    write_flat();
    assert_survives_oom(open_sized(&ds, PADA_SPLIT_BIT(TEST), 8), pada_dataset_close(ds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_flat, scratch_clear),
        cmocka_unit_test_setup(test_names_do_not_matter, scratch_clear),
        cmocka_unit_test_setup(test_splits, scratch_clear),
        cmocka_unit_test_setup(test_split_is_made, scratch_clear),
        cmocka_unit_test_setup(test_part_of_data_set, scratch_clear),
        cmocka_unit_test_setup(test_normalisation, scratch_clear),
        cmocka_unit_test_setup(test_wrong_folders, scratch_clear),
        cmocka_unit_test_setup(test_first_failure, scratch_clear),
        cmocka_unit_test_setup(test_nested, scratch_clear),
        cmocka_unit_test_setup(test_resize, scratch_clear),
        cmocka_unit_test_setup(test_cache, scratch_clear),
        cmocka_unit_test_setup(test_findings, scratch_clear),
        cmocka_unit_test_setup(test_wrong_images, scratch_clear),
        cmocka_unit_test_setup(test_oom, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
