/* test_macro.c - NAS-Bench-Macro: codes, canonical forms, costs of all networks, names. */
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "space/path_number.h"
#include "space/space_checks.h"

enum { N_NETWORKS = 6561, N_DISTINCT = 3969 };

static pada_space macro_space(const char *const *flags)
{
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_space_find(&ops, "macro"));
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){.flags = flags}));
    return space;
}

static void check_cost(const pada_space *space, const char *code, int64_t params, int64_t macs)
{
    const pada_path path = read_path(space, code, NULL);
    pada_cost cost;

    pada_space_cost(space, &path, &cost);
    assert_int_equal(cost.params, params);
    assert_int_equal(cost.macs, macs);
}

static void test_published_costs(void **state)
{
    const pada_space space = macro_space(NULL);

    (void)state;
    check_cost(&space, "00000000", 387882, 7713280);
    check_cost(&space, "11111111", 1588874, 53246464);
    check_cost(&space, "22222222", 2932586, 105660928);
    check_cost(&space, "22212220", 1985514, 85164544);
    check_cost(&space, "12121212", 2330186, 80617984);
    check_cost(&space, "01201201", 1283434, 46109184);
}

/* What a row of the table says; its other columns are accuracies. */
static void check_row(const pada_space *space, pada_csv *row)
{
    char fields[8][PADA_CSV_FIELD];

    for (int i = 0; i < 8; i++)
        CHECK_OK(pada_csv_field(row, fields[i]));
    const pada_path path = read_path(space, fields[0], NULL);
    pada_path form;
    check_cost(space, fields[0], strtoll(fields[5], NULL, 10), strtoll(fields[6], NULL, 10));
    space->ops->canonical(space, &path, &form);
    check_text(space, &form, NULL, fields[7]);
}

static void test_costs_and_forms_of_the_whole_table(void **state)
{
    const pada_space space = macro_space(NULL);
    const char *source = getenv("PADA_SOURCE");
    char name[4096];
    pada_file file = {0};
    pada_csv csv;
    int n = 0;

    (void)state;
    snprintf(name, sizeof name, "%s/../shared/data/macro/truth.csv", source ? source : ".");
    if (!pada_path_exists(name)) skip();
    CHECK_OK(pada_file_open(&file, name));
    CHECK_OK(pada_csv_init_foreign(&csv, name, &file));
    assert_true(pada_csv_row(&csv)); /* the header */
    for (; pada_csv_row(&csv); n++)
        check_row(&space, &csv);
    assert_int_equal(n, N_NETWORKS);
    pada_file_close(&file);
}

/* A form is its own form, has the costs of its copies, and has 1, 2 or 4 of them. */
static void test_canonical_forms(void **state)
{
    static uint8_t copies[N_NETWORKS];
    const pada_space space = macro_space(NULL);
    int n_of[5] = {0};

    (void)state;
    assert_int_equal(pada_path_count(&space, 100000), N_NETWORKS);
    memset(copies, 0, sizeof copies);
    for (int i = 0; i < N_NETWORKS; i++) {
        pada_path path, form, again;
        pada_cost cost, cost_of_form;
        int number = 0;

        pada_path_of_number(&space, i, &path);
        space.ops->canonical(&space, &path, &form);
        space.ops->canonical(&space, &form, &again);
        assert_true(pada_path_equal(&space, &form, &again));
        pada_space_cost(&space, &path, &cost);
        pada_space_cost(&space, &form, &cost_of_form);
        assert_int_equal(cost.macs, cost_of_form.macs);
        assert_int_equal(cost.params, cost_of_form.params);
        for (int layer = 0; layer < 8; layer++)
            number = number * 3 + form.choice[layer];
        copies[number]++;
    }
    for (int i = 0; i < N_NETWORKS; i++) {
        assert_in_range(copies[i], 0, 4);
        n_of[copies[i]]++;
    }
    assert_int_equal(n_of[1], 2025);
    assert_int_equal(n_of[2], 1620);
    assert_int_equal(n_of[3], 0);
    assert_int_equal(n_of[4], 324);
    assert_int_equal(n_of[1] + n_of[2] + n_of[4], N_DISTINCT);
}

/* Those of the published PyTorch code. */
static void test_names_and_shapes(void **state)
{
    static const char *const of_supernet[] = {"stem.0.weight 32 3 3 3",
                                              "features.0.0.downsample.0.weight 64 32 1 1",
                                              "features.0.1.conv.0.weight 96 32 1 1",
                                              "features.0.1.conv.3.weight 96 1 3 3",
                                              "features.0.1.conv.6.weight 64 96 1 1",
                                              "features.7.2.conv.3.weight 1536 1 5 5",
                                              "out.0.weight 1280 256 1 1",
                                              "classifier.weight 10 1280",
                                              "classifier.bias 10",
                                              NULL};
    static const char *const of_network[] = {"stem.1.weight 32",
                                             "features.0.downsample.0.weight 64 32 1 1",
                                             "features.0.downsample.1.bias 64",
                                             "features.1.conv.1.weight 192",
                                             "features.2.conv.4.weight 384",
                                             "features.7.conv.7.bias 256",
                                             "out.1.weight 1280",
                                             NULL};
    const pada_space space = macro_space(NULL);
    const pada_path path = read_path(&space, "01201201", NULL);
    pada_space final;

    (void)state;
    check_declared(&space, of_supernet);
    assert_int_equal(space.ops->n_sites(&space), 8);
    assert_int_equal(space.ops->site_slot(&space, 7), 7);
    pada_space_finalise(&final, &space, &path);
    check_declared(&final, of_network);
}

/* With scale and shift for every batch norm, of which there are as many numbers as running statistics. */
static void test_size_of_the_supernet(void **state)
{
    const pada_space space = macro_space(NULL);
    pada_params *params, *statistics;

    (void)state;
    CHECK_OK(pada_params_create(&params));
    CHECK_OK(pada_params_create(&statistics));
    CHECK_OK(pada_space_declare(&space, params));
    CHECK_OK(pada_space_declare_statistics(&space, statistics));
    int64_t n = 0;
    for (int i = 0; i < pada_params_count(params); i++)
        n += pada_params_get(params, i)->count;
    for (int i = 0; i < pada_params_count(statistics); i++)
        n += pada_params_get(statistics, i)->count;
    assert_int_equal(n, 4221386);
    pada_params_destroy(statistics);
    pada_params_destroy(params);
}

static void test_codes_are_strict(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "0 digits instead of 8"},
        {"0120120", "7 digits instead of 8"},
        {"012012011", "9 digits instead of 8"},
        {"01201231", "character 7: not a digit 0 to 2"},
        {"0120120\n", "character 8: not a digit 0 to 2"},
        {"0,1,2,0,1,2,0,1", "character 2: not a digit"},
    };
    const pada_space space = macro_space(NULL);
    pada_path path = read_path(&space, "22222222", NULL);

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(space.ops->parse(&space, bad[i].text, NULL, &path), PADA_EINVAL);
        assert_non_null(strstr(pada_message(), bad[i].message));
        check_text(&space, &path, NULL, "22222222");
    }
    assert_int_equal(space.ops->parse(&space, "01201201", "list", &path), PADA_EINVAL);
}

static void test_sizes_are_checked(void **state)
{
    static const pada_space_config bad[] = {
        {.channels = 513}, {.image_size = 36}, {.image_size = 4}, {.cells = 2}, {.blocks = 2}};
    const pada_space_ops *ops;
    pada_space space;

    (void)state;
    CHECK_OK(pada_space_find(&ops, "macro"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(pada_space_init(&space, ops, &bad[i]), PADA_EINVAL);
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){.image_size = 8, .channels = 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_costs),
        cmocka_unit_test(test_costs_and_forms_of_the_whole_table),
        cmocka_unit_test(test_canonical_forms),
        cmocka_unit_test(test_names_and_shapes),
        cmocka_unit_test(test_size_of_the_supernet),
        cmocka_unit_test(test_codes_are_strict),
        cmocka_unit_test(test_sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
