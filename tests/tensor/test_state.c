/* test_state.c - states: saved and loaded by one function, and never taken from a damaged file. */
#include "base/scratch.h"
#include "tensor/state.h"

typedef struct thing {
    double reals[3];
    int32_t numbers[2];
    int64_t position;
    uint8_t flags[5];
    float weight[6]; /* [2, 3] */
} thing;

static void visit(thing *t, pada_state *s)
{
    static const int dims[] = {2, 3};

    pada_state_note(s, "kind", "thing");
    pada_state_array(s, "reals", PADA_STATE_F64, t->reals, 3);
    pada_state_array(s, "numbers", PADA_STATE_I32, t->numbers, 2);
    pada_state_array(s, "position", PADA_STATE_I64, &t->position, 1);
    pada_state_array(s, "flags", PADA_STATE_U8, t->flags, 5);
    pada_state_array(s, "nothing", PADA_STATE_F64, NULL, 0);
    pada_state_tensor(s, "weight", PADA_STATE_F32, dims, 2, t->weight);
}

static const thing example = {
    {1.5, -0.0, 1e300}, {-7, 2147483647}, INT64_MIN, {0, 1, 255, 2, 3}, {1, 2, 3, 4, 5, 6.5f}};

static pada_status save(const char *path)
{
    pada_state *s;
    thing t = example;

    PADA_TRY(pada_state_create(&s));
    visit(&t, s);
    const pada_status st = pada_state_write(s, path);
    pada_state_destroy(s);
    return st;
}

static pada_status load(const char *path, thing *t)
{
    pada_state *s;

    memset(t, 0, sizeof *t);
    PADA_TRY(pada_state_open(&s, path));
    visit(t, s);
    const pada_status st = pada_state_finish(s);
    pada_state_destroy(s);
    return st;
}

static void what_is_saved_is_loaded(void **state)
{
    const char *path = scratch_path("a");
    pada_state *s;
    thing t;

    (void)state;
    assert_ok(save(path));
    assert_ok(load(path, &t));
    assert_memory_equal(t.reals, example.reals, sizeof t.reals);
    assert_memory_equal(t.numbers, example.numbers, sizeof t.numbers);
    assert_true(t.position == example.position);
    assert_memory_equal(t.flags, example.flags, sizeof t.flags);
    assert_memory_equal(t.weight, example.weight, sizeof t.weight);
    assert_ok(pada_state_open(&s, path));
    assert_true(pada_state_loading(s));
    assert_string_equal(pada_state_get_note(s, "kind"), "thing");
    assert_null(pada_state_get_note(s, "other"));
    assert_int_equal(pada_state_count(s, "reals"), 3);
    assert_int_equal(pada_state_count(s, "weight"), 0);
    pada_state_destroy(s);
}

/* Every byte of the data is under the hash. */
static void damage_is_noticed(void **state)
{
    const char *path = scratch_path("b"), *bad = scratch_path("bad");
    pada_file file = {0};
    uint8_t copy[4096];
    int noticed = 0;
    thing t;

    (void)state;
    assert_ok(save(path));
    assert_ok(pada_file_open(&file, path));
    assert_true(file.bytes < sizeof copy);
    for (size_t i = 0; i < file.bytes; i++) {
        memcpy(copy, file.data, file.bytes);
        copy[i] ^= 1;
        assert_ok(pada_file_replace(bad, copy, file.bytes));
        /* A changed note or a blank of the header may pass; then nothing may be different. */
        if (load(bad, &t) == PADA_OK)
            assert_memory_equal(t.reals, example.reals, sizeof t.reals);
        else
            noticed++;
    }
    assert_true(noticed >= 24 + 8 + 8 + 5 + 24); /* all of the data at least */
    for (size_t n = 0; n < file.bytes; n++) {
        assert_ok(pada_file_replace(bad, file.data, n));
        assert_int_equal(load(bad, &t), PADA_EDATA);
    }
    pada_file_close(&file);
    assert_int_equal(load(scratch_path("none"), &t), PADA_ENOENT);
}

static void other_fields_are_errors(void **state)
{
    const char *path = scratch_path("c");
    double reals[4];
    pada_state *s;

    (void)state;
    assert_ok(save(path));
    assert_ok(pada_state_open(&s, path)); /* another count */
    pada_state_array(s, "reals", PADA_STATE_F64, reals, 4);
    assert_int_equal(pada_state_finish(s), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "pada/reals has 24 bytes of type F64, not 32"));
    pada_state_destroy(s);
    assert_ok(pada_state_open(&s, path)); /* another type of the same size */
    pada_state_array(s, "reals", PADA_STATE_I64, reals, 3);
    assert_int_equal(pada_state_finish(s), PADA_EDATA);
    pada_state_destroy(s);
    assert_ok(pada_state_open(&s, path)); /* not there */
    pada_state_array(s, "unreal", PADA_STATE_F64, reals, 3);
    assert_int_equal(pada_state_finish(s), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "pada/unreal is missing"));
    pada_state_destroy(s);
    assert_ok(pada_state_open(&s, path)); /* not all of them */
    pada_state_array(s, "reals", PADA_STATE_F64, reals, 3);
    assert_int_equal(pada_state_finish(s), PADA_EDATA);
    pada_state_destroy(s);
}

static void out_of_memory(void **state)
{
    const char *path = scratch_path("d");
    thing t;

    (void)state;
    assert_survives_oom(save(path), (void)0);
    assert_survives_oom(load(path, &t), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(other_fields_are_errors),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
