/* test_parity_fixture.c - whole NB201 networks against PyTorch's float64 results, stored by
 * make_fixture.py. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "check.h"
#include "engine/engine.h"
#include "engine/engine_inspect.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "tensor/safetensors.h"

/* Largest relative errors, max|a-b|/max|b| per tensor. */
typedef struct error_limits {
    double forward, grads;
} error_limits;

static const error_limits ref_limits = {1e-9, 1e-9};
static const error_limits float32_limits = {1e-5, 1e-4};

typedef struct fixture {
    pada_safetensors *file;
    pada_space space;
    int n, n_paths;
    float *images;
    int32_t *labels;
    double *a, *b; /* room for any tensor */
} fixture;

static const pada_st_tensor *find(const fixture *f, const char *name)
{
    const pada_st_tensor *t = pada_safetensors_find(f->file, name);

    if (!t) fail_msg("the fixture has no tensor %s", name);
    return t;
}

static int64_t element_count(const pada_st_tensor *t)
{
    int64_t count = 1;

    for (int i = 0; i < t->n_dims; i++)
        count *= t->dims[i];
    return count;
}

static int64_t read_i64(const pada_st_tensor *t, int64_t i)
{
    int64_t value;

    assert_string_equal(t->dtype, "I64");
    assert_true(i < element_count(t));
    memcpy(&value, (const char *)t->data + 8 * i, sizeof value);
    return value;
}

static double read_number(const pada_st_tensor *t, int64_t i)
{
    double wide;
    float narrow;

    if (strcmp(t->dtype, "F64") == 0) {
        memcpy(&wide, (const char *)t->data + 8 * i, sizeof wide);
        return wide;
    }
    assert_string_equal(t->dtype, "F32");
    memcpy(&narrow, (const char *)t->data + 4 * i, sizeof narrow);
    return narrow;
}

static int read_size(const fixture *f, const char *key)
{
    const char *text = pada_safetensors_metadata(f->file, key);

    assert_non_null(text);
    return atoi(text);
}

static void *new_array(int64_t n, size_t size)
{
    void *mem;

    CHECK_OK(pada_calloc(&mem, (size_t)n, size));
    return mem;
}

static int open_fixture(void **state)
{
    const char *root = getenv("PADA_SOURCE");
    const pada_space_ops *ops;
    char path[4096];
    fixture *f = new_array(1, sizeof *f);
    int64_t largest = 1;

    assert_non_null(root);
    snprintf(path, sizeof path, "%s/tests/parity/nb201_small.safetensors", root);
    CHECK_OK(pada_safetensors_open(&f->file, path));
    const pada_st_tensor *images = find(f, "images"), *labels = find(f, "labels");
    f->n = (int)images->dims[0];
    f->n_paths = (int)find(f, "paths")->dims[0];
    assert_true(f->n > 1 && f->n_paths > 1);
    f->images = new_array(element_count(images), sizeof *f->images);
    for (int64_t i = 0; i < element_count(images); i++)
        f->images[i] = (float)read_number(images, i);
    f->labels = new_array(f->n, sizeof *f->labels);
    for (int i = 0; i < f->n; i++)
        f->labels[i] = (int32_t)read_i64(labels, i);
    for (int i = 0; i < pada_safetensors_count(f->file); i++) {
        const int64_t count = element_count(pada_safetensors_get(f->file, i));
        if (count > largest) largest = count;
    }
    f->a = new_array(largest, sizeof *f->a);
    f->b = new_array(largest, sizeof *f->b);

    const pada_space_config config = {.channels = read_size(f, "channels"),
                                      .cells = read_size(f, "cells"),
                                      .classes = read_size(f, "classes"),
                                      .image_size = (int)images->dims[2]};
    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(&f->space, ops, &config));
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;

    pada_safetensors_close(f->file);
    pada_free(f->images);
    pada_free(f->labels);
    pada_free(f->a);
    pada_free(f->b);
    pada_free(f);
    return 0;
}

/* An engine with the weights of the file, or NULL where this machine lacks the instructions. */
static pada_engine *make_engine(const fixture *f, const pada_backend *backend)
{
    pada_engine *e;
    char name[128];

    const pada_status st = pada_engine_create(&e, &(pada_engine_desc){.space = &f->space,
                                                                      .backend = backend,
                                                                      .n_threads = 2,
                                                                      .batch_size = f->n,
                                                                      .mode = PADA_TRAIN});
    if (st == PADA_EDEVICE) return NULL;
    CHECK_OK(st);
    const pada_params *params = pada_engine_params(e);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        snprintf(name, sizeof name, "weights.%s", p->name);
        const pada_st_tensor *t = find(f, name);
        assert_int_equal(element_count(t), p->count);
        for (int64_t k = 0; k < p->count; k++)
            f->a[k] = read_number(t, k);
        pada_engine_write_weight(e, i, f->a);
    }
    return e;
}

/* Compares f->a with the tensor "<path>.<name>" of the file. */
static void check_tensor(const fixture *f, const char *backend, int path, const char *name,
                         int64_t count, double limit)
{
    char full[160];

    snprintf(full, sizeof full, "%d.%s", path, name);
    const pada_st_tensor *t = find(f, full);
    assert_int_equal(element_count(t), count);
    for (int64_t i = 0; i < count; i++)
        f->b[i] = read_number(t, i);
    const double error = relative_error(f->a, f->b, count);
    if (getenv("PADA_VERBOSE")) print_message("%-10s %s %.1e\n", backend, full, error);
    if (!(error <= limit)) fail_msg("%s: %s differs by %g", backend, full, error);
}

static void check_forward(const fixture *f, pada_engine *e, const char *backend, int path,
                          const error_limits *limits)
{
    pada_results_view view;

    CHECK_OK(pada_engine_results(e, &view));
    f->a[0] = view.loss;
    check_tensor(f, backend, path, "loss", 1, limits->forward);
    pada_engine_losses(e, f->a);
    check_tensor(f, backend, path, "losses", f->n, limits->forward);
    pada_engine_norms(e, f->a);
    check_tensor(f, backend, path, "norms", f->n, limits->forward);
    pada_engine_logits(e, f->a);
    check_tensor(f, backend, path, "logits", (int64_t)f->n * f->space.config.classes,
                 limits->forward);
}

/* Every gradient: as stored, or exactly zero if the file has none. Returns how many were stored. */
static int check_grads(const fixture *f, pada_engine *e, const char *backend, int path,
                       const error_limits *limits)
{
    const pada_params *params = pada_engine_params(e);
    char name[128], full[160];
    int n_stored = 0;

    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        pada_engine_read_grad(e, i, f->a);
        snprintf(name, sizeof name, "grad.%s", p->name);
        snprintf(full, sizeof full, "%d.%s", path, name);
        if (pada_safetensors_find(f->file, full)) {
            check_tensor(f, backend, path, name, p->count, limits->grads);
            n_stored++;
            continue;
        }
        for (int64_t k = 0; k < p->count; k++)
            if (f->a[k] != 0) fail_msg("%s: %s is %g, not zero", backend, full, f->a[k]);
    }
    return n_stored;
}

static int count_stored(const fixture *f, int path)
{
    char prefix[32];
    int n = 0;

    snprintf(prefix, sizeof prefix, "%d.grad.", path);
    for (int i = 0; i < pada_safetensors_count(f->file); i++)
        n += strncmp(pada_safetensors_get(f->file, i)->name, prefix, strlen(prefix)) == 0;
    return n;
}

/* Runs all paths in one engine, so that what one leaves behind would show in the next. */
static void check_backend(const fixture *f, const pada_backend *backend, const error_limits *limits)
{
    const pada_st_tensor *paths = find(f, "paths");
    const pada_batch batch = {.n = f->n, .images = f->images, .labels = f->labels};
    pada_engine *e = make_engine(f, backend);

    if (!e) {
        print_message("%s: not on this machine\n", backend->name);
        return;
    }
    for (int i = 0; i < f->n_paths; i++) {
        pada_path path = {{0}};
        for (int k = 0; k < 6; k++)
            path.choice[k] = (uint8_t)read_i64(paths, 6 * i + k);
        pada_engine_zero_grad(e);
        CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_TRAIN));
        check_forward(f, e, backend->name, i, limits);
        pada_engine_backward(e);
        assert_int_equal(check_grads(f, e, backend->name, i, limits), count_stored(f, i));
    }
    pada_engine_destroy(e);
}

static void test_ref(void **state)
{
    const pada_backend *backend;

    CHECK_OK(pada_backend_find(&backend, "ref"));
    check_backend(*state, backend, &ref_limits);
}

static void test_float32(void **state)
{
    int n = 0;

    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        if (backend->dtype != PADA_F32 || backend->plans_only || backend->half) continue;
        check_backend(*state, backend, &float32_limits);
        n++;
    }
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ref),
        cmocka_unit_test(test_float32),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
