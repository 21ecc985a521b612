/* test_params.c - the map of a parameter buffer. */
#include "tensor/params.h"

#include <limits.h>
#include <math.h>

#include "base/scratch.h"

static pada_param make(const char *name, int site, int choice, int n_dims, int d0, int d1)
{
    pada_param p = {
        .n_dims = n_dims, .dims = {d0, d1}, .site = site, .choice = choice, .bound = 0.5};

    snprintf(p.name, sizeof p.name, "%s", name);
    return p;
}

static pada_status add(pada_params *params, const char *name, int site, int choice, int n_dims,
                       int d0, int d1, int *id)
{
    const pada_param p = make(name, site, choice, n_dims, d0, d1);

    return pada_params_add(params, &p, id);
}

static void empty_map_has_nothing(void **state)
{
    pada_params *params;

    (void)state;
    assert_ok(pada_params_create(&params));
    assert_int_equal(pada_params_count(params), 0);
    assert_int_equal(pada_params_elements(params), 0);
    assert_int_equal(pada_params_find(params, "x"), -1);
    assert_int_equal(pada_params_range(params, PADA_SHARED, 0).count, 0);
    assert_int_equal(pada_params_range(params, 3, 1).count, 0);
    pada_params_destroy(params);
    pada_params_destroy(NULL);
}

static void tensors_lie_one_behind_the_other(void **state)
{
    pada_params *params;
    int id;

    (void)state;
    assert_ok(pada_params_create(&params));
    assert_ok(add(params, "stem.weight", PADA_SHARED, 0, 2, 5, 7, &id)); /* 35 elements in 48 */
    assert_int_equal(id, 0);
    assert_ok(add(params, "stem.bias", PADA_SHARED, 0, 1, 16, 0, &id));
    assert_ok(add(params, "scale", PADA_SHARED, 0, 0, 0, 0, &id)); /* a scalar has one element */
    assert_int_equal(id, 2);
    const pada_param *w = pada_params_get(params, 0), *b = pada_params_get(params, 1),
                     *s = pada_params_get(params, 2);
    assert_string_equal(w->name, "stem.weight");
    assert_int_equal(w->offset, 0);
    assert_int_equal(w->count, 35);
    assert_int_equal(w->dims[1], 7);
    assert_int_equal(w->dims[2], 1);
    assert_int_equal(w->dims[3], 1);
    assert_true(w->bound == 0.5);
    assert_int_equal(b->offset, 48);
    assert_int_equal(b->count, 16);
    assert_int_equal(s->offset, 64);
    assert_int_equal(s->count, 1);
    assert_int_equal(s->dims[0], 1);
    assert_int_equal(pada_params_elements(params), 80);
    pada_params_destroy(params);
}

static void ranges_tile_the_buffer(void **state)
{
    pada_params *params;
    int id;

    (void)state;
    assert_ok(pada_params_create(&params));
    assert_ok(add(params, "stem", PADA_SHARED, 0, 1, 3, 0, &id));
    assert_ok(add(params, "head", PADA_SHARED, 0, 1, 3, 0, &id));
    /* site 0 has no parameters; choice 1 of site 1 has two tensors, choice 2 none */
    assert_ok(add(params, "s1c0", 1, 0, 1, 20, 0, &id));
    assert_ok(add(params, "s1c1.w", 1, 1, 1, 20, 0, &id));
    assert_ok(add(params, "s1c1.b", 1, 1, 1, 2, 0, &id));
    assert_ok(add(params, "s1c3", 1, 3, 1, 1, 0, &id));
    assert_ok(add(params, "s2c0", 2, 0, 1, 1, 0, &id));
    static const int expected[][4] = {
        /* site, choice, first, count */
        {PADA_SHARED, 0, 0, 32}, {0, 0, 32, 0},  {0, 9, 32, 0},   {1, 0, 32, 32},
        {1, 1, 64, 48},          {1, 2, 112, 0}, {1, 3, 112, 16}, {1, 4, 128, 0},
        {2, 0, 128, 16},         {2, 1, 144, 0}, {3, 0, 144, 0},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const pada_range r = pada_params_range(params, expected[i][0], expected[i][1]);
        assert_int_equal(r.first, expected[i][2]);
        assert_int_equal(r.count, expected[i][3]);
    }
    assert_int_equal(pada_params_elements(params), 144);
    pada_params_destroy(params);
}

static void names_are_found_among_many(void **state)
{
    enum { N = 3000 };
    pada_params *params;
    const pada_param *first = NULL;
    char name[32];
    int id;

    (void)state;
    assert_ok(pada_params_create(&params));
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "cells.%d.weight", i);
        assert_ok(add(params, name, i / 5, i % 5, 1, 1, 0, &id));
        assert_int_equal(id, i);
        if (i == 0) first = pada_params_get(params, 0);
    }
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "cells.%d.weight", i);
        assert_int_equal(pada_params_find(params, name), i);
        assert_int_equal(pada_params_range(params, i / 5, i % 5).first, i * PADA_PARAM_ALIGN);
    }
    assert_int_equal(pada_params_find(params, "cells.3000.weight"), -1);
    assert_int_equal(pada_params_find(params, ""), -1);
    assert_ptr_equal(pada_params_get(params, 0), first); /* borrowed pointers stay valid */
    pada_params_destroy(params);
}

static void wrong_tensors_are_refused(void **state)
{
    pada_params *params;
    pada_param p;
    int id = 77;

    (void)state;
    assert_ok(pada_params_create(&params));
    assert_ok(add(params, "a", 1, 2, 1, 4, 0, &id));
    id = 77;
    assert_fails(add(params, "a", 1, 2, 1, 4, 0, &id), PADA_EINVAL, "parameter 'a' stands twice");
    assert_fails(add(params, "b", PADA_SHARED, 0, 1, 4, 0, &id), PADA_EINVAL,
                 "parameter 'b' (site -1, choice 0) comes after site 1, choice 2");
    assert_fails(add(params, "b", 1, 1, 1, 4, 0, &id), PADA_EINVAL,
                 "parameter 'b' (site 1, choice 1) comes after site 1, choice 2");
    assert_fails(add(params, "b", -2, 0, 1, 4, 0, &id), PADA_EINVAL,
                 "parameter 'b': there is no site -2, choice 0");
    assert_fails(add(params, "b", PADA_SHARED, 1, 1, 4, 0, &id), PADA_EINVAL,
                 "parameter 'b': there is no site -1, choice 1");
    assert_fails(add(params, "b", 1, 2, 2, 4, 0, &id), PADA_EINVAL,
                 "parameter 'b': dimension 1 is 0");
    assert_fails(add(params, "b", 1, 2, 1, -4, 0, &id), PADA_EINVAL,
                 "parameter 'b': dimension 0 is -4");
    assert_fails(add(params, "b", 1, 2, 5, 1, 1, &id), PADA_EINVAL,
                 "parameter 'b': 5 dimensions are not 0 to 4");
    assert_fails(add(params, "b", 1, 2, -1, 1, 1, &id), PADA_EINVAL,
                 "parameter 'b': -1 dimensions are not 0 to 4");
    assert_fails(add(params, "", 1, 2, 1, 1, 1, &id), PADA_EINVAL,
                 "parameter '': the name is empty or too long");
    p = make("x", 1, 2, 1, 1, 1);
    memset(p.name, 'n', sizeof p.name);
    assert_int_equal(pada_params_add(params, &p, &id), PADA_EINVAL);
    p = make("b", 1, 2, 1, 1, 1);
    p.bound = NAN;
    assert_int_equal(pada_params_add(params, &p, &id), PADA_EINVAL);
    p.bound = -1;
    assert_int_equal(pada_params_add(params, &p, &id), PADA_EINVAL);
    assert_int_equal(id, 77);
    assert_int_equal(pada_params_count(params), 1);
    assert_int_equal(pada_params_elements(params), 16);
    pada_params_destroy(params);
}

static void huge_shapes_do_not_wrap(void **state)
{
    pada_params *params;
    pada_param p = make("huge", 0, 0, 4, INT_MAX, INT_MAX);
    int id;

    (void)state;
    assert_ok(pada_params_create(&params));
    p.dims[2] = p.dims[3] = INT_MAX;
    assert_fails(pada_params_add(params, &p, &id), PADA_EINVAL, "parameter 'huge': too large");
    /* Two that fit alone but not together. */
    p = make("half", 0, 0, 3, 1 << 30, 1 << 28);
    p.dims[2] = 1;
    assert_ok(pada_params_add(params, &p, &id));
    snprintf(p.name, sizeof p.name, "other");
    assert_fails(pada_params_add(params, &p, &id), PADA_EINVAL,
                 "parameter 'other': the buffer is too large");
    pada_params_destroy(params);
}

static pada_status whole_life(void)
{
    pada_params *params;
    pada_status st = PADA_OK;
    char name[32];
    int id;

    PADA_TRY(pada_params_create(&params));
    for (int i = 0; i < 200 && st == PADA_OK; i++) {
        snprintf(name, sizeof name, "p%d", i);
        st = add(params, name, i, 0, 1, 1, 1, &id);
        if (st != PADA_OK) {
            /* Nothing has changed, and the map works on. */
            assert_int_equal(pada_params_count(params), i);
            assert_int_equal(pada_params_find(params, name), -1);
            assert_ok(add(params, name, i, 0, 1, 1, 1, &id));
            assert_int_equal(pada_params_find(params, name), i);
            if (i > 0) assert_int_equal(pada_params_find(params, "p0"), 0);
        }
    }
    pada_params_destroy(params);
    return st;
}

static void params_survive_failing_memory(void **state)
{
    (void)state;
    assert_survives_oom(whole_life(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_map_has_nothing),
        cmocka_unit_test(tensors_lie_one_behind_the_other),
        cmocka_unit_test(ranges_tile_the_buffer),
        cmocka_unit_test(names_are_found_among_many),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(huge_shapes_do_not_wrap),
        cmocka_unit_test(params_survive_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
