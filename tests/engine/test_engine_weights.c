/* test_engine_weights.c - files of weights: what is read from them, what is refused, and the hash. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "engine/engine_weights.h"
#include "tensor/state.h"
#include "train/tiny_engine.h"

static pada_space space;
static pada_engine *e;
static const pada_params *params;

static int open_engine(void **state)
{
    const pada_backend *backend;

    CHECK_OK(pada_backend_find(&backend, "ref"));
    e = tiny_engine(&space, backend, 1, 2);
    params = pada_engine_params(e);
    CHECK_OK(pada_engine_init_weights(e, 3));
    return scratch_setup(state);
}

static int close_engine(void **state)
{
    pada_engine_destroy(e);
    return scratch_teardown(state);
}

static void the_hash_sees_every_parameter(void **state)
{
    const uint64_t hash = pada_engine_weights_hash(e);
    double *values = calloc((size_t)pada_params_elements(params), sizeof *values);

    (void)state;
    for (int i = 0; i < pada_params_count(params); i++) {
        const int64_t places[] = {0, pada_params_get(params, i)->count - 1};
        pada_engine_read_weight(e, i, values);
        for (int k = 0; k < 2; k++) {
            const double kept = values[places[k]];
            values[places[k]] = kept + 0.25;
            pada_engine_write_weight(e, i, values);
            assert_true(pada_engine_weights_hash(e) != hash);
            values[places[k]] = kept;
            pada_engine_write_weight(e, i, values);
        }
        assert_true(pada_engine_weights_hash(e) == hash);
    }
    free(values);
}

/* What a file has that is not as it should be: its type, the parameter whose first dimension is one too
 * large, the one that is not there, a last number that is none, a tensor of no parameter. */
typedef struct flaw {
    pada_state_type type;
    int changed, missing; /* or NONE */
    bool nan, stray;
} flaw;

enum { NONE = -1 };

/* Number k of parameter i. */
static double value_of(int i, int64_t k)
{
    return 1 / 3.0 + i + (double)k / 1024;
}

static pada_status load(const flaw *f)
{
    const char *file = scratch_path("weights.safetensors");
    pada_state *state;

    CHECK_OK(pada_state_create(&state));
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        int dims[4];
        int64_t n = 1;
        memcpy(dims, p->dims, sizeof dims);
        dims[0] += i == f->changed;
        for (int d = 0; d < p->n_dims; d++)
            n *= dims[d];
        double *doubles = calloc((size_t)n, sizeof *doubles);
        float *floats = calloc((size_t)n, sizeof *floats);
        for (int64_t k = 0; k < n; k++)
            floats[k] = (float)(doubles[k] = value_of(i, k));
        if (f->nan && i == pada_params_count(params) - 1) floats[n - 1] = (float)NAN;
        if (i != f->missing)
            pada_state_tensor(state, p->name, f->type, dims, p->n_dims,
                              f->type == PADA_STATE_F64 ? (void *)doubles : (void *)floats);
        free(doubles);
        free(floats);
    }
    if (f->stray)
        pada_state_tensor(state, "stray.weight", PADA_STATE_F32, (const int[]){1}, 1, &(float){1});
    pada_state_array(state, "of/the/run", PADA_STATE_F32, &(float){1}, 1); /* is passed over */
    CHECK_OK(pada_state_write(state, file));
    pada_state_destroy(state);
    return pada_engine_load_weights(e, file);
}

static void check_loaded(double tolerance)
{
    double *values = calloc((size_t)pada_params_elements(params), sizeof *values);

    for (int i = 0; i < pada_params_count(params); i++) {
        pada_engine_read_weight(e, i, values);
        for (int64_t k = 0; k < pada_params_get(params, i)->count; k++)
            CHECK_CLOSE(values[k], value_of(i, k), tolerance * value_of(i, k));
    }
    free(values);
}

static void both_types_are_read(void **state)
{
    const flaw none = {.type = PADA_STATE_F64, .changed = NONE, .missing = NONE};
    flaw single = none;

    (void)state;
    CHECK_OK(load(&none));
    check_loaded(0);
    single.type = PADA_STATE_F32;
    CHECK_OK(load(&single));
    check_loaded(1e-7);
}

static void wrong_files_change_nothing(void **state)
{
    const int last = pada_params_count(params) - 1;
    const struct {
        flaw flaw;
        const char *message;
    } cases[] = {
        {{.type = PADA_STATE_F32, .changed = 0, .missing = NONE}, "has shape"},
        {{.type = PADA_STATE_F32, .changed = last, .missing = NONE}, "has shape"},
        {{.type = PADA_STATE_F32, .changed = NONE, .missing = 0}, "is missing"},
        {{.type = PADA_STATE_F32, .changed = NONE, .missing = last}, "is missing"},
        {{.type = PADA_STATE_F32, .changed = NONE, .missing = NONE, .stray = true},
         "tensor stray.weight is not a parameter of this network"},
        {{.type = PADA_STATE_I32, .changed = NONE, .missing = NONE},
         "has type I32, not F32 or F64"},
        {{.type = PADA_STATE_F32, .changed = NONE, .missing = NONE, .nan = true},
         "has the value nan at element"},
    };

    (void)state;
    CHECK_OK(pada_engine_init_weights(e, 5));
    const uint64_t hash = pada_engine_weights_hash(e);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(load(&cases[i].flaw), PADA_EDATA);
        if (!strstr(pada_message(), cases[i].message))
            fail_msg("'%s' lacks '%s'", pada_message(), cases[i].message);
        assert_true(pada_engine_weights_hash(e) == hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_sees_every_parameter),
        cmocka_unit_test(both_types_are_read),
        cmocka_unit_test(wrong_files_change_nothing),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
