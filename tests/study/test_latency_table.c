/* test_latency_table.c - latency tables: both formats, what is refused, sums of small tables and of the published one
 * (reference/spaces.md section F; that part is skipped without ../shared/data/latency). */
#include "base/scratch.h"

#include "check.h"
#include "space/space.h"
#include "study/latency_table.h"

#define HEADER "op,in_h,in_w,in_c,out_h,out_w,out_c,expand,kernel,stride,skip,ms,std,count\n"

static pada_space space_of(const char *name)
{
    const pada_space_ops *ops;
    pada_space space;

    assert_ok(pada_space_find(&ops, name));
    assert_ok(pada_space_init(&space, ops, NULL));
    return space;
}

static pada_status read_text(pada_latency_table **out, const char *text)
{
    return pada_latency_table_read(out, "t", text, strlen(text));
}

/* ---- reading ---- */

static void test_csv(void **state)
{
    static const char text[] = HEADER "expanded_conv,7,7,192,7,7,320,6,3,1,0,1.25,0.1,25\r\n"
                                      "\n"
                                      "Logits,7,7,1280,0,0,1000,0,0,0,0,0.5,0,3";
    pada_latency_table *t;

    (void)state;
    assert_ok(read_text(&t, text));
    assert_int_equal(pada_latency_table_count(t), 2);
    assert_string_equal(pada_latency_table_key(t, 0), "Logits-input:7x7x1280-output:1000");
    CHECK_CLOSE(pada_latency_table_ms(t, 0), 0.5, 0);
    assert_string_equal(
        pada_latency_table_key(t, 1),
        "expanded_conv-input:7x7x192-output:7x7x320-expand:6-kernel:3-stride:1-idskip:0");
    CHECK_CLOSE(pada_latency_table_ms(t, 1), 1.25, 0);
    pada_latency_table_close(t);
}

static void test_yaml(void **state)
{
    static const char text[] =
        "---\n# a comment\n"
        "Conv-input:2x2x3-output:2x2x4:\n  count: 3\n  mean: 0.25\n  std: 0.1\n"
        "\nB:\n    mean: 2\r\n";
    pada_latency_table *t;

    (void)state;
    assert_ok(read_text(&t, text));
    assert_int_equal(pada_latency_table_count(t), 2);
    assert_string_equal(pada_latency_table_key(t, 1), "Conv-input:2x2x3-output:2x2x4");
    CHECK_CLOSE(pada_latency_table_ms(t, 1), 0.25, 0);
    CHECK_CLOSE(pada_latency_table_ms(t, 0), 2, 0);
    pada_latency_table_close(t);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "t: no keys; this is no latency table"},
        {HEADER, "t: no keys; this is no latency table"},
        {"hello\n", "t:1: neither a CSV table nor a YAML key that ends with a colon"},
        {"a b:\n  mean: 1\n", "t:1: neither a CSV table nor a YAML key that ends with a colon"},
        {"op,in_h\n", "t:1: neither a CSV table nor a YAML key that ends with a colon"},
        {"  mean: 1\n", "t:1: a value without a key above it"},
        {"a:\n  count: 1\n", "t:2: the last key has no mean"},
        {"a:\n  count: 1\nb:\n  mean: 1\n", "t:3: the key before has no mean"},
        {"a:\n  mean: 1\n  mean: 1\n", "t:3: a second mean of the key"},
        {"a:\n  mean 1\n", "t:2: not a name, a colon and a number"},
        {"a:\n  mean: -1\n", "t:2: ms: -1 is not in 0..1e+09"},
        {"a:\n  mean: nan\n", "t:2: ms: 'nan' is not a number"},
        {"a:\n  mean: 1\nb:\n  mean: 2\na:\n  mean: 1\n", "t: lines 1 and 5 both have the key 'a'"},
        {HEADER "a,1,1,1,1,1,1,0,0,0,0,1,0,1\na,1,1,1,1,1,1,0,0,0,0,2,0,1\n",
         "t: lines 2 and 3 both have the key 'a-input:1x1x1-output:1x1x1'"},
        {HEADER "a,1,1,1,1,1,1,0,0,0,0,1,0\n", "t:2: too few columns"},
        {HEADER "a,1,1,1,1,1,1,0,0,0,0,1,0,1,1\n", "t:2: too many columns"},
        {HEADER "a b,1,1,1,1,1,1,0,0,0,0,1,0,1\n", "t:2: op 'a b' is not a word"},
        {HEADER ",1,1,1,1,1,1,0,0,0,0,1,0,1\n", "t:2: op is empty"},
        {HEADER "a,0,1,1,1,1,1,0,0,0,0,1,0,1\n", "t:2: a size: 0 is outside 1 to 1000000"},
        {HEADER "a,1,1,1,1,1,1,0,0,0,0,1e10,0,1\n", "t:2: ms: 1e10 is not in 0..1e+09"},
    };
    pada_latency_table *t;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_fails(read_text(&t, wrong[i].text), PADA_EDATA, wrong[i].message);
        assert_null(t);
    }
    assert_int_equal(pada_latency_table_read(&t, "t", "a\0:\n", 4), PADA_EDATA);
    assert_int_equal(pada_latency_table_open(&t, scratch_path("absent")), PADA_ENOENT);
}

static void test_memory(void **state)
{
    static const char csv[] = HEADER "a,1,1,1,1,1,1,0,0,0,0,1,0,1\n";
    static const char yaml[] = "a:\n  mean: 1\n";
    pada_latency_table *t;

    (void)state;
    assert_survives_oom(read_text(&t, csv), pada_latency_table_close(t));
    assert_survives_oom(read_text(&t, yaml), pada_latency_table_close(t));
}

/* ---- sums ---- */

/* Keeps every part as a row; the i-th takes i + 1.0004 ms. */
typedef struct rows {
    pada_latency_row row[64];
    int n;
} rows;

static pada_status add_row(void *user, const pada_part *part, const pada_part_place *place)
{
    rows *r = user;

    (void)place;
    for (int i = 0; i < r->n; i++) {
        const pada_part *old = &r->row[i].part;
        if (strcmp(old->op, part->op) == 0 && pada_shape_equal(old->in, part->in) &&
            pada_shape_equal(old->out, part->out) && old->kernel == part->kernel)
            return PADA_OK;
    }
    assert_true(r->n < 64);
    r->row[r->n] = (pada_latency_row){.part = *part, .ms = r->n + 1.0004, .count = 1};
    r->n++;
    return PADA_OK;
}

/* A table of the space without its last `n_missing` rows. */
static pada_latency_table *table_of(const pada_space *space, int n_missing)
{
    static rows r;
    pada_latency_table *t;
    pada_text text = {0};

    r.n = 0;
    assert_ok(pada_space_visit_parts(space, NULL, add_row, &r));
    pada_latency_rows_write(r.row, r.n - n_missing, &text);
    assert_ok(text.status);
    assert_ok(read_text(&t, text.data));
    assert_int_equal(pada_latency_table_count(t), r.n - n_missing);
    pada_text_deinit(&text);
    return t;
}

/* Parts in the order of the walk: stem 1, skip 2, 1x1 3, 3x3 4, pool 5 of the first stage, reduction 6, .., head 16. */
static void test_sums(void **state)
{
    const pada_space space = space_of("nb201");
    pada_latency_table *t = table_of(&space, 0);
    pada_path path = {{0}};
    int64_t us;
    double ms;

    (void)state;
    path.choice[3] = 3; /* one 3x3 from input to output, and a dead 1x1 */
    path.choice[0] = 2;
    assert_ok(pada_latency_of(t, &space, &path, &ms));
    CHECK_CLOSE(ms, 1 + 6 + 11 + 16 + 5 * (4 + 9 + 14) + 19 * 0.0004, 1e-9);
    assert_ok(pada_latency_path_us(t, &space, &path, &us)); /* rounded, and the dead one counts */
    assert_int_equal(us, 1000 * (1 + 6 + 11 + 16 + 5 * (4 + 9 + 14) + 5 * (3 + 8 + 13)));
    pada_latency_table_close(t);
}

static void test_missing_key(void **state)
{
    const pada_space space = space_of("macro");
    pada_latency_table *t = table_of(&space, 1);
    const pada_path path = {{0}};
    int64_t us;
    double ms = -1;

    (void)state;
    assert_fails(pada_latency_of(t, &space, &path, &ms), PADA_EDATA,
                 "t: no key 'Logits-input:4x4x1280-output:10', which the network needs");
    assert_int_equal(pada_latency_path_us(t, &space, &path, &us), PADA_EDATA);
    CHECK_CLOSE(ms, -1, 0);
    pada_latency_table_close(t);
}

/* ---- the published tables ---- */

static void published_path(char path[4096], const char *name)
{
    const char *source = getenv("PADA_SOURCE");

    snprintf(path, 4096, "%s/../shared/data/latency/%s", source ? source : ".", name);
    if (!pada_path_exists(path)) {
        print_message("skipped: %s is not there\n", path);
        skip();
    }
}

static void test_proxyless_table(void **state)
{
    static const double of_all[] = {76.0481, 136.4663, 87.7203, 158.9527, 103.6662, 191.0299};
    static const uint8_t genes[] = {0, 6, 2, 5, 3, 6, 4, 1, 0, 1, 6, 2, 3, 4, 5, 6, 0, 1, 2, 3, 5};
    const pada_space space = space_of("proxyless");
    pada_latency_table *t;
    pada_path path = {{0}};
    char file[4096];
    double ms;

    (void)state;
    published_path(file, "proxyless_mobile.yaml");
    assert_ok(pada_latency_table_open(&t, file));
    assert_int_equal(pada_latency_table_count(t), 72);
    for (int op = 0; op < 6; op++) {
        memset(path.choice, op, sizeof genes);
        assert_ok(pada_latency_of(t, &space, &path, &ms));
        CHECK_CLOSE(ms, of_all[op], 0.00005);
    }
    for (int layer = 0; layer < 21; layer++) /* the smallest network */
        path.choice[layer] = layer % 4 == 0 ? 0 : 6;
    assert_ok(pada_latency_of(t, &space, &path, &ms));
    CHECK_CLOSE(ms, 29.6088, 0.00005);
    memcpy(path.choice, genes, sizeof genes);
    assert_ok(pada_latency_of(t, &space, &path, &ms));
    CHECK_CLOSE(ms, 100.9154, 0.00005);
    pada_latency_table_close(t);
}

/* Adds up what no slot decides. */
typedef struct fixed_part {
    const pada_latency_table *table;
    double ms;
} fixed_part;

static pada_status add_fixed(void *user, const pada_part *part, const pada_part_place *place)
{
    fixed_part *f = user;
    pada_text key = {0};

    if (place->slot >= 0) return PADA_OK;
    pada_part_key(part, &key);
    for (int i = 0; i < pada_latency_table_count(f->table); i++)
        if (strcmp(pada_latency_table_key(f->table, i), key.data) == 0)
            f->ms += pada_latency_table_ms(f->table, i);
    pada_text_deinit(&key);
    return PADA_OK;
}

static void test_fixed_part(void **state)
{
    const pada_space space = space_of("proxyless");
    fixed_part fixed = {.ms = 0};
    pada_latency_table *t;
    char file[4096];

    (void)state;
    published_path(file, "proxyless_mobile.yaml");
    assert_ok(pada_latency_table_open(&t, file));
    fixed.table = t;
    assert_ok(pada_space_visit_parts(&space, NULL, add_fixed, &fixed));
    CHECK_CLOSE(fixed.ms, 11.3642, 0.00005);
    pada_latency_table_close(t);
}

/* That of Once-for-all is read, and says which key of ours it does not have. */
static void test_ofa_table(void **state)
{
    const pada_space space = space_of("proxyless");
    const pada_path path = {{0}};
    pada_latency_table *t;
    char file[4096];
    double ms;

    (void)state;
    published_path(file, "ofa_note10_224.yaml");
    assert_ok(pada_latency_table_open(&t, file));
    assert_true(pada_latency_table_count(t) > 90);
    assert_int_equal(pada_latency_of(t, &space, &path, &ms), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "no key 'Conv-input:224x224x3-output:112x112x32'"));
    pada_latency_table_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_missing_key),
        cmocka_unit_test(test_proxyless_table),
        cmocka_unit_test(test_fixed_part),
        cmocka_unit_test(test_ofa_table),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
