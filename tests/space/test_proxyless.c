/* test_proxyless.c - ProxylessNAS: dialects, canonical forms, costs of published networks, names. */
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "space/proxyless_codec.h"
#include "space/space_checks.h"

#define GPU_WIDTHS "40,24,32,56,112,128,256,432,1728"
#define CPU_WIDTHS "40,24,32,48,88,104,216,360,1432"
#define LARGE      "48,24,40,56,112,136,256,448,1792"
#define MOBILE \
    "5.3 3.3 Z Z | 7.3 3.3 5.3 5.3 | 7.6 5.3 5.3 5.3 | 5.6 5.3 5.3 5.3 | 7.6 7.6 7.3 7.3 | 7.6"
#define GENES "0 6 2 5 3 6 4 1 0 1 6 2 3 4 5 6 0 1 2 3 5"

static pada_space proxyless_space(const char *flag)
{
    const char *const flags[] = {flag, NULL};
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_space_find(&ops, "proxyless"));
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){.flags = flag ? flags : NULL}));
    return space;
}

static void check_cost(const pada_space *space, const pada_path *path, int64_t params, int64_t macs)
{
    pada_cost cost;

    pada_space_cost(space, path, &cost);
    assert_int_equal(cost.params, params);
    assert_int_equal(cost.macs, macs);
}

static void test_costs_of_published_networks(void **state)
{
    static const struct {
        const char *flag, *blocks;
        int64_t params, macs;
    } known[] = {
        {"--width=32", MOBILE, 4080512, 320427584},
        {"--widths=" LARGE, MOBILE, 6857568, 580883408},
        {"--widths=" GPU_WIDTHS,
         "5.3 Z Z Z | 7.3 Z Z 3.3 | 7.6 Z Z 5.3 | 5.6 Z 3.3 5.3 | 7.6 7.6 7.6 5.6 | 7.6", 7119848,
         465260160},
        {"--widths=" CPU_WIDTHS,
         "3.6 3.3 3.3 3.3 | 3.6 3.3 3.3 5.3 | 3.6 Z Z 3.3 | 5.6 3.3 3.3 3.3 | 5.6 5.3 5.3 3.3 | "
         "5.6",
         4361648, 439243864},
        {"--width=24",
         "7.6 5.6 5.6 5.6 | 7.6 5.6 3.6 5.6 | 7.6 3.6 5.6 3.6 | 5.6 3.6 3.6 3.6 | 7.6 7.6 7.6 7.6 "
         "| 3.6",
         4895208, 529670912},
        {"--width=24", GENES, 4135920, 351088256},
        {NULL, "3.3 Z Z Z | 3.3 Z Z Z | 3.3 Z Z Z | 3.3 Z Z Z | 3.3 Z Z Z | 3.3", 2154984,
         102528896},
        {"--width=32", "3.3 Z Z Z | 3.3 Z Z Z | 3.3 Z Z Z | 3.3 Z Z Z | 3.3 Z Z Z | 3.3", 2158000,
         108869888},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const pada_space space = proxyless_space(known[i].flag);
        const pada_path path = read_path(&space, known[i].blocks, NULL);
        check_cost(&space, &path, known[i].params, known[i].macs);
    }
}

/* The same block everywhere: 3.3, 3.6, 5.3, 5.6, 7.3, 7.6. */
static void test_costs_of_uniform_networks(void **state)
{
    static const int64_t known[2][6][2] = {{{3191928, 257422208},
                                            {4684776, 472620800},
                                            {3275640, 284216192},
                                            {4852200, 526208768},
                                            {3401208, 324407168},
                                            {5103336, 606590720}},
                                           {{3203992, 291084032},
                                            {4708840, 539944448},
                                            {3289240, 321791744},
                                            {4879336, 601359872},
                                            {3417112, 367853312},
                                            {5135080, 693483008}}};

    (void)state;
    for (int w = 0; w < 2; w++) {
        const pada_space space = proxyless_space(w == 0 ? "--width=24" : "--width=32");
        for (int op = 0; op < 6; op++) {
            pada_path path = {{0}};
            for (int layer = 0; layer < PADA_PROXYLESS_LAYERS; layer++)
                path.choice[layer] = (uint8_t)op;
            check_cost(&space, &path, known[w][op][0], known[w][op][1]);
        }
    }
}

/* What squeeze and excitation add, counted by hand: two 1x1 convolutions with biases of one pixel in every block, the first
 * one (32 channels, expansion 1) and the layers (expansion 3). */
static void test_costs_of_squeeze_and_excitation(void **state)
{
    static const int widths[] = {16, 24, 40, 80, 96, 192};
    static const int repeats[] = {
        1, 4, 4, 4, 4, 4}; /* layers that read the width: 3 of its stage, 1 of the next */
    const pada_space space = proxyless_space("--se=0.25");
    const pada_path path = {{0}};
    int64_t macs = 2 * 32 * 8, params = macs + 32 + 8;

    (void)state;
    for (int i = 0; i < 6; i++) {
        const int c = widths[i], hidden = 3 * c, squeeze = c / 4;
        macs += repeats[i] * 2 * hidden * squeeze;
        params += repeats[i] * (2 * hidden * squeeze + hidden + squeeze);
    }
    check_cost(&space, &path, 3191928 + params, 257422208 + macs);
}

/* Networks that were retrained on ImageNet, with costs counted elsewhere. */
static void test_costs_of_retrained_networks(void **state)
{
    const pada_space narrow = proxyless_space("--width=24"), wide = proxyless_space("--width=32");
    const char *source = getenv("PADA_SOURCE");
    char name[4096], fields[18][PADA_CSV_FIELD];
    pada_file file = {0};
    pada_csv csv;
    int n = 0;

    (void)state;
    snprintf(name, sizeof name, "%s/../shared/data/recipes/chain_imagenet_retrain.csv",
             source ? source : ".");
    if (!pada_path_exists(name)) skip();
    CHECK_OK(pada_file_open(&file, name));
    CHECK_OK(pada_csv_init_foreign(&csv, name, &file));
    assert_true(pada_csv_row(&csv)); /* the header */
    while (pada_csv_row(&csv)) {
        for (int i = 0; i < 18; i++)
            CHECK_OK(pada_csv_field(&csv, fields[i]));
        if (strcmp(fields[1], "proxyless") != 0 || fields[4][0] == '\0') continue;
        const pada_space *space = strcmp(fields[17], "32") == 0 ? &wide : &narrow;
        const pada_path path = read_path(space, fields[2], NULL);
        check_cost(space, &path, strtoll(fields[4], NULL, 10), strtoll(fields[5], NULL, 10));
        n++;
    }
    assert_true(n >= 10);
    pada_file_close(&file);
}

static void test_dialects(void **state)
{
    const pada_space space = proxyless_space("--width=32");
    const pada_path path = read_path(&space, MOBILE, NULL), genes = read_path(&space, GENES, NULL);
    pada_path again;

    (void)state;
    check_text(&space, &path, "blocks", MOBILE);
    check_text(&space, &path, NULL, "2 0 6 6 4 0 2 2 5 2 2 2 3 2 2 2 5 5 4 4 5");
    check_text(&space, &path, "list",
               "[2, 0, 6, 6, 4, 0, 2, 2, 5, 2, 2, 2, 3, 2, 2, 2, 5, 5, 4, 4, 5]");
    again =
        read_path(&space, "[2, 0, 6, 6, 4, 0, 2, 2, 5, 2, 2, 2, 3, 2, 2, 2, 5, 5, 4, 4, 5]", NULL);
    assert_true(pada_path_equal(&space, &path, &again));
    again = read_path(&space, "0,6,2,5,3,6,4,1,0,1,6,2,3,4,5,6,0,1,2,3,5", NULL);
    assert_true(pada_path_equal(&space, &genes, &again));
}

static void test_texts_are_strict(void **state)
{
    static const struct {
        const char *text, *dialect, *message;
    } bad[] = {
        {"", NULL, "character 1: expected a number 0 to 6"},
        {"0 6 2", NULL, "character 6: expected 21 layers, found the end"},
        {GENES " 1", NULL, "character 42: expected the end"},
        {"0 7 2", NULL, "character 3: expected a number 0 to 6"},
        {"0  6", NULL, "character 3: expected a number"},
        {"6 " GENES, NULL, "character 1: layer 1 changes the shape and cannot be left out"},
        {"0 0 0 0 6", NULL, "character 9: layer 5 changes the shape"},
        {"5.3 3.3 Z Z 7.3", NULL, "character 12: expected the next of 21 layers"},
        {"5.4 3.3", NULL, "expected 3.3, 3.6"},
        {GENES, "blocks", "expected 3.3, 3.6"},
        {GENES, "nb201", "unknown dialect 'nb201'"},
        {"[0,6,2,5,3,6,4,1,0,1,6,2,3,4,5,6,0,1,2,3,5", NULL, "expected ']'"},
    };
    const pada_space space = proxyless_space(NULL);
    pada_path path = read_path(&space, GENES, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(space.ops->parse(&space, bad[i].text, bad[i].dialect, &path), PADA_EINVAL);
        if (!strstr(pada_message(), bad[i].message))
            fail_msg("'%s', not '%s'", pada_message(), bad[i].message);
        check_text(&space, &path, NULL, GENES);
    }
}

static void test_slots_and_forms(void **state)
{
    const pada_space space = proxyless_space(NULL);
    /* the fourth stage, 80 channels like the third, begins with a layer that can be left out */
    const pada_space even = proxyless_space("--widths=32,16,24,40,80,80,192,320,1280");
    double n = 1;
    pada_path form;

    (void)state;
    for (int slot = 0; slot < PADA_PROXYLESS_LAYERS; slot++) {
        n *= space.ops->n_choices(&space, slot);
        assert_int_equal(space.ops->n_choices(&space, slot), slot % 4 == 0 ? 6 : 7);
        assert_int_equal(even.ops->n_choices(&even, slot), slot % 4 == 0 && slot != 12 ? 6 : 7);
    }
    assert_true(n == 221502229807900608.0);
    pada_path path = read_path(&space, "0 6 6 1 0 6 1 6 0 0 6 6 0 6 6 6 1 1 6 2 5", NULL);
    space.ops->canonical(&space, &path, &form);
    check_text(&space, &form, NULL, "0 1 6 6 0 1 6 6 0 0 6 6 0 6 6 6 1 1 2 6 5");
    space.ops->canonical(&even, &path, &form);
    check_text(&even, &form, NULL, "0 1 6 6 0 1 6 6 0 0 0 6 6 6 6 6 1 1 2 6 5");
}

/* Those of the published PyTorch code. */
static void test_names_and_shapes(void **state)
{
    static const char *const of_supernet[] = {
        "first_conv.conv.weight 32 3 3 3",
        "blocks.0.mobile_inverted_conv.depth_conv.conv.weight 32 1 3 3",
        "blocks.0.mobile_inverted_conv.point_linear.conv.weight 16 32 1 1",
        "blocks.1.mobile_inverted_conv.candidate_ops.1.inverted_bottleneck.conv.weight 96 16 1 1",
        "blocks.21.mobile_inverted_conv.candidate_ops.5.depth_conv.conv.weight 1152 1 7 7",
        "feature_mix_layer.conv.weight 1280 320 1 1",
        "classifier.linear.weight 1000 1280",
        NULL};
    static const char *const of_network[] = {
        "first_conv.bn.weight 32",
        "blocks.1.mobile_inverted_conv.inverted_bottleneck.bn.bias 48",
        "blocks.3.mobile_inverted_conv.depth_conv.conv.weight 72 1 5 5",
        "blocks.21.mobile_inverted_conv.point_linear.bn.weight 320",
        "classifier.linear.bias 1000",
        NULL};
    const pada_space space = proxyless_space(NULL);
    const pada_path path = read_path(&space, GENES, NULL);
    pada_space final;

    (void)state;
    check_declared(&space, of_supernet);
    assert_int_equal(space.ops->n_sites(&space), 21);
    assert_int_equal(space.ops->site_slot(&space, 20), 20);
    pada_space_finalise(&final, &space, &path);
    check_declared(&final, of_network);
}

/* How many drops the training graph of a network has. */
static int count_drops(const pada_space *space, const pada_path *path, uint64_t kinds)
{
    pada_params *params;
    pada_graph *graph;
    int n = 0;

    CHECK_OK(pada_params_create(&params));
    CHECK_OK(pada_space_declare(space, params));
    CHECK_OK(pada_graph_create(&graph, 512, 512));
    graph->drops = kinds;
    pada_space_build(space, params, path, graph);
    CHECK_OK(pada_graph_status(graph));
    for (int i = 0; i < graph->n_nodes; i++)
        n += graph->nodes[i].op == PADA_OP_DROP;
    pada_graph_destroy(graph);
    pada_params_destroy(params);
    return n;
}

/* Final networks drop what inner layers add, 11 here, and elements before the classifier. */
static void test_drops(void **state)
{
    const pada_space space = proxyless_space(NULL);
    const pada_path path = read_path(&space, GENES, NULL);
    const uint64_t both = PADA_ONE(PADA_DROP_IMAGES) | PADA_ONE(PADA_DROP_ELEMENTS);
    pada_space final;

    (void)state;
    pada_space_finalise(&final, &space, &path);
    assert_int_equal(count_drops(&space, &path, both), 0);
    assert_int_equal(count_drops(&final, &path, 0), 0);
    assert_int_equal(count_drops(&final, &path, PADA_ONE(PADA_DROP_IMAGES)), 11);
    assert_int_equal(count_drops(&final, &path, both), 12);
}

/* Batch norms of ProxylessNAS add 1e-3 to variances; a graph that has been used for it is not spoilt for other spaces. */
static void test_epsilon(void **state)
{
    static const struct {
        const char *space;
        double epsilon;
    } known[] = {{"proxyless", 1e-3}, {"nb201", 1e-5}, {"macro", 1e-5}, {"darts", 1e-5}};
    pada_graph *graph;

    (void)state;
    CHECK_OK(pada_graph_create(&graph, 1024, 1024));
    for (int i = 0; i < 4; i++) {
        const pada_space_ops *ops;
        pada_params *params;
        pada_space space;
        pada_path path;
        CHECK_OK(pada_space_find(&ops, known[i].space));
        CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){0}));
        assert_true(pada_space_extreme(&space, 0, &path));
        CHECK_OK(pada_params_create(&params));
        CHECK_OK(pada_space_declare(&space, params));
        pada_graph_reset(graph);
        pada_space_build(&space, params, &path, graph);
        CHECK_OK(pada_graph_status(graph));
        assert_true(graph->norm_epsilon == known[i].epsilon);
        pada_params_destroy(params);
    }
    pada_graph_destroy(graph);
}

static int64_t count(const pada_params *params)
{
    int64_t n = 0;

    for (int i = 0; i < pada_params_count(params); i++)
        n += pada_params_get(params, i)->count;
    return n;
}

/* Scales and shifts of batch norms are as many numbers as their running statistics. */
static void test_sizes_of_supernets(void **state)
{
    static const struct {
        const char *flag;
        int64_t plain, affine;
    } known[] = {{"--width=24", 15818520, 16034168}, {"--width=32", 15939192, 16158680}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const pada_space space = proxyless_space(known[i].flag);
        pada_params *params, *statistics;
        CHECK_OK(pada_params_create(&params));
        CHECK_OK(pada_params_create(&statistics));
        CHECK_OK(pada_space_declare(&space, params));
        CHECK_OK(pada_space_declare_statistics(&space, statistics));
        assert_int_equal(count(params), known[i].plain);
        assert_int_equal(count(params) + count(statistics), known[i].affine);
        pada_params_destroy(statistics);
        pada_params_destroy(params);
    }
}

static void test_sizes_are_checked(void **state)
{
    static const struct {
        const char *flags[4], *message;
    } bad[] = {
        {{"--width=4097", NULL}, "width 4097"},
        {{"--se=2", NULL}, "--se: 2 is outside"},
        {{"--widths=1,2,3", NULL}, "widths: 3 numbers instead of 9"},
        {{"--width=24", "--widths=" GPU_WIDTHS, NULL}, "give one of them"},
        {{"--widths=40,24,32,56,112,128,256,432,9999", NULL}, "9999 is not in 1..4096"},
        {{"--widths=40,24,32,x,112,128,256,432,9999", NULL}, "'x'"},
    };
    const pada_space_ops *ops;
    pada_text text = {0};
    pada_space space;

    (void)state;
    CHECK_OK(pada_space_find(&ops, "proxyless"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pada_space_init(&space, ops, &(pada_space_config){.flags = bad[i].flags}),
                         PADA_EINVAL);
        if (!strstr(pada_message(), bad[i].message))
            fail_msg("'%s', not '%s'", pada_message(), bad[i].message);
    }
    for (int size = 4; size <= 65; size++) /* odd ones too */
        CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){.image_size = size}));
    space = proxyless_space("--widths=" GPU_WIDTHS);
    pada_space_describe(&space, &text);
    assert_string_equal(text.data, "proxyless widths " GPU_WIDTHS " classes 1000 image size 224");
    pada_text_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_of_published_networks),
        cmocka_unit_test(test_costs_of_uniform_networks),
        cmocka_unit_test(test_costs_of_squeeze_and_excitation),
        cmocka_unit_test(test_costs_of_retrained_networks),
        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_texts_are_strict),
        cmocka_unit_test(test_slots_and_forms),
        cmocka_unit_test(test_names_and_shapes),
        cmocka_unit_test(test_drops),
        cmocka_unit_test(test_epsilon),
        cmocka_unit_test(test_sizes_of_supernets),
        cmocka_unit_test(test_sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
