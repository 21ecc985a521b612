/* test_data_card.c - what a run remembers of its images: hashes, classes, and cards of others. */
#include "base/scratch.h"

#include "data/data_card.h"

enum { SIDE = 4, N = 6, BYTES = PADA_IMAGE_CHANNELS * SIDE * SIDE };

/* A data set whose images, labels and names can be changed. */
typedef struct album {
    pada_dataset base;
    uint8_t pixels[PADA_N_SPLITS][N][BYTES];
    int labels[PADA_N_SPLITS][N];
    const char *classes[3];
} album;

static const uint8_t *album_image(const pada_dataset *ds, pada_split split, int i)
{
    return ((const album *)ds)->pixels[split][i];
}

static int album_label(const pada_dataset *ds, pada_split split, int i)
{
    return ((const album *)ds)->labels[split][i];
}

static const char *album_class(const pada_dataset *ds, int i)
{
    return ((const album *)ds)->classes[i];
}

static album make_album(void)
{
    static const pada_dataset_ops ops = {
        .name = "album", .image = album_image, .label = album_label, .class_name = album_class};
    album a = {.base = {.ops = &ops,
                        .name = "album",
                        .n_classes = 3,
                        .shape = {PADA_IMAGE_CHANNELS, SIDE, SIDE},
                        .mean = {0.1, 0.5, 1 / 3.0},
                        .deviation = {0.25, 0.125, 2 / 3.0}},
               .classes = {"cat", "dog", "horse"}};

    for (int split = 0; split < PADA_N_SPLITS; split++) {
        a.base.n_images[split] = N - split;
        for (int i = 0; i < N; i++) {
            a.labels[split][i] = i % 3;
            for (int k = 0; k < BYTES; k++)
                a.pixels[split][i][k] = (uint8_t)(100 * split + 13 * i + k);
        }
    }
    return a;
}

static pada_data_card card_of(const album *a)
{
    pada_data_card card;

    assert_ok(pada_data_card_init(&card, &a->base));
    return card;
}

/* The card of a text that was printed. */
static pada_data_card reread(const pada_data_card *card)
{
    pada_text text = {0};
    pada_data_card again;

    assert_ok(pada_data_card_print(card, true, &text));
    assert_ok(pada_data_card_parse(&again, text.data, text.length, "text"));
    pada_text_deinit(&text);
    return again;
}

static void test_hash_is_of_the_contents(void **state)
{
    const album a = make_album();
    const uint64_t train = pada_dataset_hash(&a.base, PADA_SPLIT_TRAIN);
    album b = a;

    (void)state;
    assert_int_equal(pada_dataset_hash(&b.base, PADA_SPLIT_TRAIN), train);
    assert_int_not_equal(pada_dataset_hash(&b.base, PADA_SPLIT_TEST), train);
    b.pixels[PADA_SPLIT_TRAIN][N - 1][BYTES - 1] ^= 1;
    assert_int_not_equal(pada_dataset_hash(&b.base, PADA_SPLIT_TRAIN), train);
    b = a;
    b.labels[PADA_SPLIT_TRAIN][N - 1] = 0;
    assert_int_not_equal(pada_dataset_hash(&b.base, PADA_SPLIT_TRAIN), train);
    b = a;
    b.base.n_images[PADA_SPLIT_TRAIN]--;
    assert_int_not_equal(pada_dataset_hash(&b.base, PADA_SPLIT_TRAIN), train);
    b = a; /* two images of one class change places */
    memcpy(b.pixels[PADA_SPLIT_TRAIN][0], a.pixels[PADA_SPLIT_TRAIN][3], BYTES);
    memcpy(b.pixels[PADA_SPLIT_TRAIN][3], a.pixels[PADA_SPLIT_TRAIN][0], BYTES);
    assert_int_not_equal(pada_dataset_hash(&b.base, PADA_SPLIT_TRAIN), train);
    /* Part of the format of data.json. */
    assert_int_equal(train, 0x89a4872b688da0ae);
}

static void test_round_trip(void **state)
{
    album a = make_album();
    pada_data_card card, again;

    (void)state;
    a.base.where = (char *)"/photos";
    card = card_of(&a);
    again = reread(&card);
    assert_string_equal(again.name, "album");
    assert_string_equal(again.where, "/photos");
    assert_int_equal(again.n_classes, 3);
    assert_int_equal(again.image_size, SIDE);
    assert_string_equal(pada_data_card_class(&again, 2), "horse");
    assert_memory_equal(again.mean, a.base.mean, sizeof again.mean);
    assert_memory_equal(again.deviation, a.base.deviation, sizeof again.deviation);
    assert_int_equal(again.n_images[PADA_SPLIT_TRAIN], N);
    assert_int_equal(again.hash[PADA_SPLIT_TEST], pada_dataset_hash(&a.base, PADA_SPLIT_TEST));
    assert_ok(pada_data_card_check_same(&card, &again, "a", "b"));
    pada_data_card_deinit(&again);
    pada_data_card_deinit(&card);
}

/* Files of weights do not say where the images were: that differs between equal runs. */
static void test_without_place(void **state)
{
    album a = make_album();
    pada_text text = {0};

    (void)state;
    a.base.where = (char *)"/photos";
    pada_data_card card = card_of(&a);
    assert_ok(pada_data_card_print(&card, false, &text));
    assert_null(strstr(text.data, "photos"));
    assert_string_equal(card.where, "/photos");
    pada_text_deinit(&text);
    pada_data_card_deinit(&card);
}

static void test_names_that_are_not_utf8(void **state)
{
    album a = make_album(), b = a;

    (void)state;
    a.classes[0] = "b\xe4r";
    b.classes[0] = "b\xf6r";
    pada_data_card card = card_of(&a), other = card_of(&b), again = reread(&card);
    assert_string_equal(pada_data_card_class(&card, 0), "b\xc3\xa4r");
    assert_ok(pada_data_card_check_classes(&card, &again, "a", "b"));
    assert_int_equal(pada_data_card_check_classes(&card, &other, "a", "b"), PADA_EDATA);
    pada_data_card_deinit(&again);
    pada_data_card_deinit(&other);
    pada_data_card_deinit(&card);
}

static void test_other_classes(void **state)
{
    const album a = make_album();
    album b = a;
    pada_data_card run = card_of(&a), images;

    (void)state;
    b.classes[0] = "zcat";
    images = card_of(&b);
    assert_fails(pada_data_card_check_classes(&run, &images, "run", "photos"), PADA_EDATA,
                 "photos: class 0 is 'zcat', but run was trained on cat, dog, horse");
    pada_data_card_deinit(&images);
    b = a;
    b.base.n_classes = 2;
    images = card_of(&b);
    assert_fails(pada_data_card_check_classes(&run, &images, "run", "photos"), PADA_EDATA,
                 "photos: the classes are cat, dog, but run was trained on cat, dog, horse");
    assert_fails(pada_data_card_check_classes(&images, &run, "run", "photos"), PADA_EDATA,
                 "photos: class 2 is 'horse', but run was trained on cat, dog");
    pada_data_card_deinit(&images);
    /* Classes that have numbers only are those of the same data set. */
    b = a;
    b.classes[0] = NULL;
    images = card_of(&b);
    assert_ok(pada_data_card_check_classes(&images, &images, "run", "photos"));
    assert_fails(pada_data_card_check_classes(&run, &images, "run", "photos"), PADA_EDATA,
                 "photos: the classes are the 3 of album, but run was trained on cat, dog, horse");
    b.base.name = "generated";
    pada_data_card other = card_of(&b);
    assert_int_equal(pada_data_card_check_classes(&images, &other, "run", "x"), PADA_EDATA);
    pada_data_card_deinit(&other);
    pada_data_card_deinit(&images);
    pada_data_card_deinit(&run);
}

static void test_other_images(void **state)
{
    const album a = make_album();
    album b = a;
    pada_data_card run = card_of(&a), images;

    (void)state;
    b.pixels[PADA_SPLIT_TEST][0][0] ^= 1;
    images = card_of(&b);
    assert_ok(pada_data_card_check_classes(&run, &images, "run", "photos"));
    assert_int_equal(pada_data_card_check_same(&run, &images, "run", "photos"), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "photos: not the images of run: those of test have"));
    pada_data_card_deinit(&images);
    b.base.n_images[PADA_SPLIT_TEST] = 0; /* not opened: nothing is said about it */
    images = card_of(&b);
    assert_ok(pada_data_card_check_same(&run, &images, "run", "photos"));
    assert_ok(pada_data_card_check_same(&images, &run, "run", "photos"));
    pada_data_card_deinit(&images);
    b.base.n_images[PADA_SPLIT_TRAIN]--;
    images = card_of(&b);
    assert_fails(pada_data_card_check_same(&run, &images, "run", "photos"), PADA_EDATA,
                 "photos: not the images of run: 5 of them in train, 6 there");
    pada_data_card_deinit(&images);
    b = a;
    b.base.shape.h = b.base.shape.w = 2;
    images = card_of(&b);
    assert_fails(pada_data_card_check_same(&run, &images, "run", "photos"), PADA_EDATA,
                 "photos: images of 2 pixels a side, but run was trained on 4");
    pada_data_card_deinit(&images);
    pada_data_card_deinit(&run);
}

/* A card with one part replaced. */
static void assert_bad(const char *from, const char *to, const char *message)
{
    const album a = make_album();
    pada_data_card card = card_of(&a);
    pada_text text = {0}, bad = {0};

    assert_ok(pada_data_card_print(&card, true, &text));
    pada_data_card_deinit(&card);
    const char *at = strstr(text.data, from);
    assert_non_null(at);
    pada_text_add(&bad, "%.*s%s%s", (int)(at - text.data), text.data, to, at + strlen(from));
    assert_fails(pada_data_card_parse(&card, bad.data, bad.length, "data.json"), PADA_EDATA,
                 message);
    assert_null(card.json);
    pada_text_deinit(&text);
    pada_text_deinit(&bad);
}

static void test_bad_cards(void **state)
{
    pada_data_card card;

    (void)state;
    assert_bad("\"format\": 1", "\"format\": 2",
               "data.json: format 2 is of a newer pada; this one knows 1");
    assert_bad("\"format\": 1", "\"format\": 0",
               "data.json: no data card: 'format' is missing or wrong");
    assert_bad("\"album\"", "7", "data.json: no data card: 'name' is missing or wrong");
    assert_bad("\"n_classes\": 3", "\"n_classes\": 2",
               "data.json: no data card: 'classes' is missing or wrong");
    assert_bad("\"n_classes\": 3", "\"n_classes\": 0",
               "data.json: no data card: 'n_classes' is missing or wrong");
    assert_bad("\"dog\"", "null", "data.json: no data card: 'classes' is missing or wrong");
    assert_bad("\"image_size\": 4", "\"image_size\": -4",
               "data.json: no data card: 'image_size' is missing or wrong");
    assert_bad("\"mean\": [", "\"mean\": [0.5, ",
               "data.json: no data card: 'mean' is missing or wrong");
    assert_bad("0.25", "0", "data.json: no data card: 'deviation' is missing or wrong");
    assert_bad("\"images\": 6", "\"images\": 6.5",
               "data.json: no data card: 'splits' is missing or wrong");
    assert_bad("\"hash\": \"", "\"hash\": \"x",
               "data.json: no data card: 'splits' is missing or wrong");
    assert_int_equal(pada_data_card_parse(&card, "{", 1, "data.json"), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "data.json:1: "));
    assert_int_equal(pada_data_card_parse(&card, "[]", 2, "data.json"), PADA_EDATA);
    assert_int_equal(pada_data_card_parse(&card, "", 0, "data.json"), PADA_EDATA);
}

static void test_of_a_run(void **state)
{
    const album a = make_album();
    pada_data_card card = card_of(&a), read;
    pada_text text = {0};

    (void)state;
    assert_ok(pada_data_card_read(&read, scratch_dir));
    assert_null(read.json); /* no card there */
    assert_ok(pada_data_card_print(&card, true, &text));
    scratch_write(scratch_path("data.json"), text.data, text.length);
    assert_ok(pada_data_card_read(&read, scratch_dir));
    assert_ok(pada_data_card_check_same(&card, &read, "a", "b"));
    pada_data_card_deinit(&read);
    scratch_write(scratch_path("data.json"), "", 0);
    assert_int_equal(pada_data_card_read(&read, scratch_dir), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "/data.json"));
    pada_text_deinit(&text);
    pada_data_card_deinit(&card);
}

/* The place is absolute, so that a run finds its images from every folder. */
static void test_place(void **state)
{
    static uint8_t records[10 * 3073]; /* ten black images of class 0 */
    pada_dataset *ds;
    char path[1024];

    (void)state;
    assert_ok(pada_dataset_open(&ds, &(pada_dataset_desc){.where = "builtin"}));
    assert_string_equal(ds->where, "builtin");
    pada_dataset_close(ds);
    scratch_write(scratch_path("test_batch.bin"), records, sizeof records);
    snprintf(path, sizeof path, "%s/../%s/.", scratch_dir, strrchr(scratch_dir, '/'));
    assert_ok(pada_dataset_open(
        &ds, &(pada_dataset_desc){.where = path, .splits = PADA_SPLIT_BIT(PADA_SPLIT_TEST)}));
    assert_string_equal(ds->where, scratch_dir);
    pada_dataset_close(ds);
}

/* Images of others are normalised as those of the training were. */
static void test_normalise(void **state)
{
    const double mean[] = {0, 0.5, 1}, deviation[] = {1, 0.5, 0.25};
    pada_dataset *ds;

    (void)state;
    assert_ok(pada_dataset_open(&ds, &(pada_dataset_desc){.where = "builtin"}));
    pada_dataset_normalise(ds, mean, deviation);
    assert_true(ds->levels[0][255] == 1 && ds->levels[0][0] == 0);
    assert_true(ds->levels[1][255] == 1 && ds->levels[1][0] == -1);
    assert_true(ds->levels[2][255] == 0 && ds->levels[2][0] == -4);
    assert_memory_equal(ds->mean, mean, sizeof mean);
    pada_dataset_close(ds);
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup(f, scratch_clear)
    const struct CMUnitTest tests[] = {
        unit(test_hash_is_of_the_contents),
        unit(test_round_trip),
        unit(test_without_place),
        unit(test_names_that_are_not_utf8),
        unit(test_other_classes),
        unit(test_other_images),
        unit(test_bad_cards),
        unit(test_of_a_run),
        unit(test_place),
        unit(test_normalise),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
