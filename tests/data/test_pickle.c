/* test_pickle.c - pickles as Python writes them, and as nobody should. */
#include "base/scratch.h"

#include "check.h"
#include "data/pickle.h"

static const char *const fixtures[] = {"p2", "p3", "p4", "p5", "numpy1"};
enum { N_FIXTURES = sizeof fixtures / sizeof fixtures[0] };

/* In memory of exactly its size, so that a sanitizer sees a byte too far. */
typedef struct blob {
    uint8_t *bytes;
    size_t n;
} blob;

static blob copy(const void *bytes, size_t n)
{
    blob b = {malloc(n ? n : 1), n};

    assert_non_null(b.bytes);
    memcpy(b.bytes, bytes, n);
    return b;
}

static blob read_fixture(const char *name)
{
    const char *root = getenv("PADA_SOURCE");
    char path[1024];
    pada_file file;

    assert_non_null(root);
    snprintf(path, sizeof path, "%s/tests/data/pickles/%s.pickle", root, name);
    assert_ok(pada_file_open(&file, path));
    const blob b = copy(file.data, file.bytes);
    pada_file_close(&file);
    return b;
}

/* What make_pickles.py put in. */
static void check_contents(const pada_pickle *p)
{
    static const uint8_t data[] = {0, 1, 127, 128, 200, 255, 10, 92, 39, 46, 194, 3};
    static const int64_t wanted[] = {1, 120, 1000};
    pada_pickle_rows rows;
    int64_t *labels;
    int n;

    assert_ok(pada_pickle_find_rows(p, "data", &rows));
    assert_int_equal(rows.n_rows, 3);
    assert_int_equal(rows.n_columns, 4);
    assert_memory_equal(rows.bytes, data, sizeof data);
    assert_ok(pada_pickle_find_ints(p, "labels", &labels, &n));
    assert_int_equal(n, 3);
    assert_memory_equal(labels, wanted, sizeof wanted);
    pada_free(labels);
}

static void test_fixtures(void **state)
{
    pada_pickle_rows rows;
    int64_t *labels;
    pada_pickle *p;
    int n;

    (void)state;
    for (int i = 0; i < N_FIXTURES; i++) {
        const blob b = read_fixture(fixtures[i]);
        assert_ok(pada_pickle_parse(&p, "x", b.bytes, b.n));
        check_contents(p);
        assert_fails(pada_pickle_find_rows(p, "labels", &rows), PADA_EDATA,
                     "x: 'labels' is not a numpy array");
        assert_fails(pada_pickle_find_rows(p, "mean", &rows), PADA_EDATA,
                     "x: 'mean' is not a uint8 array of two dimensions in C order");
        assert_fails(pada_pickle_find_ints(p, "data", &labels, &n), PADA_EDATA,
                     "x: 'data' is not a list");
        assert_fails(pada_pickle_find_ints(p, "dat", &labels, &n), PADA_EDATA,
                     "x: the dict has no 'dat'");
        pada_pickle_destroy(p);
        free(b.bytes);
    }
    pada_pickle_destroy(NULL);
}

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

/* As Python 2 wrote them: strings of bytes, the memo from 1, integers for truth values. */
#define ARRAY_OF_1(order)                                                                   \
    "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tU\1btR(K\1K\1K\2\x86"     \
    "cnumpy\ndtype\n(U\2u1K\0K\1tR(K\3U\1|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb" order \
    "U\2\x80\xfftb"

static void test_python2(void **state)
{
    static const uint8_t row[] = {128, 255};
    pada_pickle_rows rows;
    int64_t *labels;
    pada_pickle *p;
    int n;

    (void)state;
    assert_ok(pada_pickle_parse(&p, "x",
                                BYTES("\x80\2}q\1(U\4dataq\2" ARRAY_OF_1(
                                    "K\0") "U\6labels]q\3"
                                           "(J\xfe\xff\xff\xffM\1\2\x8a\1\xff\x8a\0euU\1a]s.")));
    assert_ok(pada_pickle_find_rows(p, "data", &rows));
    assert_int_equal(rows.n_rows, 1);
    assert_int_equal(rows.n_columns, 2);
    assert_memory_equal(rows.bytes, row, 2);
    assert_ok(pada_pickle_find_ints(p, "labels", &labels, &n));
    assert_int_equal(n, 4);
    assert_int_equal(labels[0], -2);
    assert_int_equal(labels[1], 513);
    assert_int_equal(labels[2], -1);
    assert_int_equal(labels[3], 0);
    pada_free(labels);
    assert_ok(pada_pickle_find_ints(p, "a", &labels, &n));
    assert_int_equal(n, 0);
    pada_free(labels);
    pada_pickle_destroy(p);

    assert_ok(pada_pickle_parse(&p, "x", BYTES("\x80\2}U\1d" ARRAY_OF_1("K\1") "s.")));
    assert_fails(pada_pickle_find_rows(p, "d", &rows), PADA_EDATA,
                 "x: 'd' is not a uint8 array of two dimensions in C order");
    pada_pickle_destroy(p);
}

static void test_refused(void **state)
{
    static const struct {
        const char *message;
        const uint8_t *bytes;
        size_t n;
    } cases[] = {
        {"x: not a Python pickle of protocol 2 to 5", BYTES("")},
        {"x: not a Python pickle of protocol 2 to 5", BYTES("(dp0\n.")},
        {"x: byte 0: opcode 0x80: not a protocol from 2 to 5", BYTES("\x80\1}.")},
        {"x: byte 0: opcode 0x80: not a protocol from 2 to 5", BYTES("\x80\6}.")},
        {"x: byte 2: the pickle ends without a result", BYTES("\x80\2")},
        {"x: byte 3: opcode 0x2e: bytes after the end", BYTES("\x80\2}..")},
        {"x: byte 3: opcode 0x2e: the result is not a dict", BYTES("\x80\2].")},
        {"x: byte 4: opcode 0x2e: the result is not a dict", BYTES("\x80\2}}.")},
        {"x: byte 2: opcode 0x2e: the result is not a dict", BYTES("\x80\2.")},
        /* What a pickle may name, and call. */
        {"x: byte 2: opcode 0x63: global 'os system' is not of a numpy array",
         BYTES("\x80\2cos\nsystem\nU\2ls\x85R.")},
        {"x: byte 18: opcode 0x93: global 'builtins ev?l' is not of a numpy array",
         BYTES("\x80\4\x8c\x8"
               "builtins\x8c\4ev\nl\x93.")},
        {"x: byte 2: opcode 0x63: reaches beyond the end of the file", BYTES("\x80\2cos\nsys")},
        {"x: byte 4: opcode 0x93: the name is not a text", BYTES("\x80\4NN\x93.")},
        {"x: byte 18: opcode 0x52: calls ndarray, which is only for _reconstruct",
         BYTES("\x80\2cnumpy\nndarray\n)R.")},
        {"x: byte 4: opcode 0x52: calls something that is no function", BYTES("\x80\2N)R.")},
        {"x: byte 2: opcode 0x69: not needed for arrays of numbers, so not read",
         BYTES("\x80\2ios\nsystem\n.")},
        {"x: byte 2: opcode 0x97: not needed for arrays of numbers, so not read",
         BYTES("\x80\5\x97.")},
        {"x: byte 4: opcode 0x62: builds something that is no array", BYTES("\x80\2}Nb.")},
        {"x: byte 16: opcode 0x52: a dtype without a code", BYTES("\x80\2cnumpy\ndtype\n)R.")},
        {"x: byte 28: opcode 0x52: not the encoding of a text as latin1",
         BYTES("\x80\2c_codecs\nencode\nU\1bU\4utf8\x86R.")},
        {"x: byte 31: opcode 0x52: the text is not latin1",
         BYTES("\x80\2c_codecs\nencode\nU\2\xc4\x80U\6latin1\x86R.")},
        {"x: byte 30: opcode 0x52: the text is not latin1",
         BYTES("\x80\2c_codecs\nencode\nU\1\xc3U\6latin1\x86R.")},
        /* Lengths and numbers. */
        {"x: byte 2: opcode 0x58: reaches beyond the end of the file",
         BYTES("\x80\2X\xff\xff\xff\xff"
               "abc.")},
        {"x: byte 2: opcode 0x8e: reaches beyond the end of the file",
         BYTES("\x80\4\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
               "abc.")},
        {"x: byte 2: opcode 0x95: reaches beyond the end of the file",
         BYTES("\x80\4\x95\3\0\0\0\0\0\0\0}.")},
        {"x: byte 2: opcode 0x4a: reaches beyond the end of the file", BYTES("\x80\2J\0\0.")},
        {"x: byte 2: opcode 0x8a: an integer of more than 64 bits", BYTES("\x80\2\x8a\x9"
                                                                          "123456789.")},
        {"x: byte 3: opcode 0x72: the number in the memo is too large", BYTES("\x80\2}r\0\1\0\0.")},
        {"x: byte 3: opcode 0x68: not in the memo", BYTES("\x80\2}h\0.")},
        {"x: byte 5: opcode 0x75: a key without a value", BYTES("\x80\2}(Nu.")},
        /* The stack. */
        {"x: byte 2: opcode 0x85: the stack is empty", BYTES("\x80\2\x85.")},
        {"x: byte 4: opcode 0x86: the stack is empty", BYTES("\x80\2N(\x86.")},
        {"x: byte 2: opcode 0x74: no mark on the stack", BYTES("\x80\2t.")},
        {"x: byte 4: opcode 0x61: not for the kind of value on the stack", BYTES("\x80\2}Na.")},
        {"x: byte 18: opcode 0x28: too many marks", BYTES("\x80\2((((((((((((((((((.")},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t live = pada_mem_live();
        const blob b = copy(cases[i].bytes, cases[i].n);
        pada_pickle *p;
        assert_fails(pada_pickle_parse(&p, "x", b.bytes, b.n), PADA_EDATA, cases[i].message);
        assert_null(p);
        assert_int_equal(pada_mem_live(), live);
        free(b.bytes);
    }
}

/* Parts that do not fit together are found when they are asked for. */
static void test_wrong_parts(void **state)
{
    pada_pickle_rows rows;
    int64_t *labels;
    pada_pickle *p;
    int n;

    (void)state;
    const blob b = read_fixture("p4");
    uint8_t *shape = b.bytes; /* BININT1 3, BININT1 4, TUPLE2 */
    while (memcmp(shape, "K\3K\4\x86", 5) != 0)
        shape++;
    shape[1] = 2;
    assert_ok(pada_pickle_parse(&p, "x", b.bytes, b.n));
    assert_fails(pada_pickle_find_rows(p, "data", &rows), PADA_EDATA,
                 "x: 'data' has 12 bytes, not 2 x 4");
    pada_pickle_destroy(p);
    free(b.bytes);

    assert_ok(pada_pickle_parse(&p, "x", BYTES("\x80\2}U\1l](K\1NesU\1lNs.")));
    assert_fails(pada_pickle_find_ints(p, "l", &labels, &n), PADA_EDATA, "x: 'l' is not a list");
    pada_pickle_destroy(p);
    assert_ok(pada_pickle_parse(&p, "x", BYTES("\x80\2}U\1l](K\1Nes.")));
    assert_fails(pada_pickle_find_ints(p, "l", &labels, &n), PADA_EDATA,
                 "x: 'l' has something at 1 that is no integer");
    pada_pickle_destroy(p);

    /* Circles are allowed: a list and a dict that hold themselves. */
    assert_ok(pada_pickle_parse(&p, "x", BYTES("\x80\2}q\0U\1l]q\1h\1asU\1dh\0s.")));
    assert_fails(pada_pickle_find_ints(p, "l", &labels, &n), PADA_EDATA,
                 "x: 'l' has something at 0 that is no integer");
    pada_pickle_destroy(p);
}

/* 1 << 22 values and no more, from a file of 8 MiB. */
static void test_too_many_values(void **state)
{
    const size_t n = (1 << 22) + 16;
    uint8_t *bytes = malloc(n);
    pada_pickle *p;

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'N', n);
    memcpy(bytes, "\x80\2", 2);
    assert_fails(pada_pickle_parse(&p, "x", bytes, n), PADA_EDATA,
                 "x: byte 4194306: opcode 0x4e: too many values");
    memset(bytes + 2, ']', n - 2);
    assert_fails(pada_pickle_parse(&p, "x", bytes, n), PADA_EDATA,
                 "x: byte 258: opcode 0x5d: too many objects");
    free(bytes);
}

/* Either understood or refused; nothing else happens. */
static void survive(const uint8_t *bytes, size_t n)
{
    const int64_t live = pada_mem_live();
    pada_pickle_rows rows;
    int64_t *labels;
    pada_pickle *p;
    int n_labels;

    const pada_status st = pada_pickle_parse(&p, "x", bytes, n);
    if (st == PADA_OK) {
        if (pada_pickle_find_rows(p, "data", &rows) == PADA_OK && rows.n_rows * rows.n_columns > 0)
            assert_true(rows.bytes[0] + rows.bytes[rows.n_rows * rows.n_columns - 1] >= 0);
        if (pada_pickle_find_ints(p, "labels", &labels, &n_labels) == PADA_OK) pada_free(labels);
        pada_pickle_destroy(p);
    } else {
        assert_int_equal(st, PADA_EDATA);
    }
    assert_int_equal(pada_mem_live(), live);
}

static void test_truncated(void **state)
{
    (void)state;
    for (int i = 0; i < N_FIXTURES; i++) {
        const blob whole = read_fixture(fixtures[i]);
        for (size_t n = 0; n < whole.n; n++) {
            const blob b = copy(whole.bytes, n);
            pada_pickle *p;
            assert_int_equal(pada_pickle_parse(&p, "x", b.bytes, n), PADA_EDATA);
            survive(b.bytes, n);
            free(b.bytes);
        }
        free(whole.bytes);
    }
}

/* Every byte replaced by every other. */
static void test_mutated(void **state)
{
    (void)state;
    for (int i = 0; i < N_FIXTURES; i++) {
        const blob b = read_fixture(fixtures[i]);
        for (size_t at = 0; at < b.n; at++)
            for (int change = 1; change < 256; change++) {
                b.bytes[at] = (uint8_t)(b.bytes[at] ^ change);
                survive(b.bytes, b.n);
                b.bytes[at] = (uint8_t)(b.bytes[at] ^ change);
            }
        free(b.bytes);
    }
}

/* Several bytes at once, pieces moved; PADA_FUZZ runs, 20,000 unless told. */
static void test_random(void **state)
{
    const char *runs = getenv("PADA_FUZZ");
    const int n_runs = runs ? atoi(runs) : 20000;
    blob all[N_FIXTURES];
    pada_rng rng;

    (void)state;
    for (int i = 0; i < N_FIXTURES; i++)
        all[i] = read_fixture(fixtures[i]);
    pada_rng_init(&rng, 1, "fuzz", 0);
    for (int run = 0; run < n_runs; run++) {
        const blob *from = &all[pada_rng_below(&rng, N_FIXTURES)];
        const blob b = copy(from->bytes, from->n);
        for (uint32_t k = 1 + pada_rng_below(&rng, 6); k > 0; k--) {
            const size_t at = 2 + pada_rng_below(&rng, (uint32_t)b.n - 2);
            const size_t other = 2 + pada_rng_below(&rng, (uint32_t)b.n - 2);
            const size_t room = b.n - (at > other ? at : other);
            if (pada_rng_below(&rng, 2) == 0)
                b.bytes[at] = (uint8_t)pada_rng_u32(&rng);
            else
                memmove(b.bytes + at, b.bytes + other, pada_rng_below(&rng, (uint32_t)room + 1));
        }
        survive(b.bytes, b.n);
        free(b.bytes);
    }
    for (int i = 0; i < N_FIXTURES; i++)
        free(all[i].bytes);
}

static void test_oom(void **state)
{
    pada_pickle *p = NULL;

    (void)state;
    for (int i = 0; i < N_FIXTURES; i++) {
        const blob b = read_fixture(fixtures[i]);
        assert_survives_oom(pada_pickle_parse(&p, "x", b.bytes, b.n), pada_pickle_destroy(p));
        free(b.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_python2),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wrong_parts),
        cmocka_unit_test(test_too_many_values),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_mutated),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
