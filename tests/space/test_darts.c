/* test_darts.c - DARTS: slots, dialects, canonical forms, counts, costs of published genotypes, names. */
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "sampler/path_sampler.h"
#include "space/choice_labels.h"
#include "space/darts_codec.h"
#include "space/path_number.h"
#include "space/space_checks.h"

#define CELL                                                                                          \
    "|sep_conv_3x3~0|skip_connect~1|+|max_pool_3x3~0|dil_conv_5x5~2|+|avg_pool_3x3~1|sep_conv_5x5~3|" \
    "+|dil_conv_3x3~2|sep_conv_3x3~4|"
#define OTHER                                                                                        \
    "|none~0|skip_connect~1|+|sep_conv_5x5~1|dil_conv_3x3~2|+|avg_pool_3x3~0|none~1|+|skip_connect~" \
    "0|max_pool_3x3~3|"
#define BOTH CELL "/" OTHER

static pada_space darts_space(const char *flag)
{
    const char *const flags[] = {flag, NULL};
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_space_find(&ops, "darts"));
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){.flags = flag ? flags : NULL}));
    return space;
}

/* ---- text ---- */

static const char genotype[] =
    "Genotype(normal=[('sep_conv_3x3', 0), ('skip_connect', 1), ('max_pool_3x3', 0), "
    "('dil_conv_5x5', 2), ('avg_pool_3x3', 1), ('sep_conv_5x5', 3), ('dil_conv_3x3', 2), "
    "('sep_conv_3x3', 4)], normal_concat=[2, 3, 4, 5], reduce=[('none', 0), ('skip_connect', 1), "
    "('sep_conv_5x5', 1), ('dil_conv_3x3', 2), ('avg_pool_3x3', 0), ('none', 1), "
    "('skip_connect', 0), ('max_pool_3x3', 3)], reduce_concat=[2, 3, 4, 5])";
static const char nested[] =
    "Genotype(normal=[[('sep_conv_3x3', 0), ('skip_connect', 1)], [('max_pool_3x3', 0), "
    "('dil_conv_5x5', 2)], [('avg_pool_3x3', 1), ('sep_conv_5x5', 3)], [('dil_conv_3x3', 2), "
    "('sep_conv_3x3', 4)]], normal_concat=range(2, 6), reduce=[[('none', 0), ('skip_connect', 1)], "
    "[('sep_conv_5x5', 1), ('dil_conv_3x3', 2)], [('avg_pool_3x3', 0), ('none', 1)], "
    "[('skip_connect', 0), ('max_pool_3x3', 3)]], reduce_concat=range(2, 6))";
static const char numbers[] = "([(0, 4), (1, 3), (0, 1), (2, 7), (1, 2), (3, 5), (2, 6), (4, 4)], "
                              "[(0, 0), (1, 3), (1, 5), (2, 6), (0, 2), (1, 0), (0, 3), (3, 1)])";
static const char ops_first[] =
    "([(4, 0), (3, 1), (1, 0), (7, 2), (2, 1), (5, 3), (6, 2), (4, 4)], "
    "[(0, 0), (3, 1), (5, 1), (6, 2), (2, 0), (0, 1), (3, 0), (1, 3)])";

static void test_dialects(void **state)
{
    static const struct {
        const char *dialect, *text;
        bool is_ambiguous;
    } known[] = {{"darts", BOTH, false},
                 {"genotype", genotype, false},
                 {"pt_darts", nested, false},
                 {"randomnas", numbers, true},
                 {"nsas", ops_first, true}};
    const pada_space space = darts_space(NULL);
    const pada_path path = read_path(&space, BOTH, NULL);
    pada_text text = {0};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        pada_path same = read_path(&space, known[i].text, known[i].dialect);
        assert_true(pada_path_equal(&space, &path, &same));
        check_text(&space, &path, known[i].dialect, known[i].text);
        assert_int_equal(space.ops->parse(&space, known[i].text, NULL, &same),
                         known[i].is_ambiguous ? PADA_EINVAL : PADA_OK);
    }
    /* either dialect of genotypes reads both */
    pada_path same = read_path(&space, nested, "genotype");
    assert_true(pada_path_equal(&space, &path, &same));
    assert_int_equal(space.ops->format(&space, &path, "nb301", &text), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "nb301 has no number for the operator none"));
    same = read_path(&space, CELL "/" CELL, NULL);
    check_text(&space, &same, "nb301",
               "([(0, 3), (1, 2), (0, 0), (2, 6), (1, 1), (3, 4), (2, 5), (4, 3)], "
               "[(0, 3), (1, 2), (0, 0), (2, 6), (1, 1), (3, 4), (2, 5), (4, 3)])");
    pada_text_deinit(&text);
}

/* The order of the pairs of a node, the kind of brackets and quotes, and spaces carry no meaning. */
static void test_other_ways_to_write_it(void **state)
{
    static const char other[] =
        "Genotype(normal=(['skip_connect',1],[\"sep_conv_3x3\",0],('dil_conv_5x5', 2),"
        "('max_pool_3x3', 0),('sep_conv_5x5', 3),('avg_pool_3x3', 1),('sep_conv_3x3', 4),"
        "('dil_conv_3x3', 2)),normal_concat=(2,3,4,5),reduce=[('skip_connect', 1), ('none', 0), "
        "('dil_conv_3x3', 2), ('sep_conv_5x5', 1), ('none', 1), ('avg_pool_3x3', 0), "
        "('max_pool_3x3', 3), ('skip_connect', 0)], reduce_concat=range(2,6))";
    const pada_space space = darts_space(NULL);
    const pada_path path = read_path(&space, other, NULL);

    (void)state;
    check_text(&space, &path, NULL, BOTH);
}

static void test_texts_are_strict(void **state)
{
    static const struct {
        const char *flag, *text, *dialect, *message;
    } bad[] = {
        {NULL, "", NULL, "character 1: expected '|', found the end"},
        {NULL, CELL, NULL, "expected '/', found the end"},
        {NULL, BOTH "|", NULL, "expected the end, found '|'"},
        {NULL, "|sep_conv_7x7~0|", NULL, "character 2: unknown operator 'sep_conv_7x7'"},
        {NULL, "|none~2|", NULL, "character 7: expected a value before the node, found '2'"},
        {NULL, "|none~1|none~1|", NULL,
         "character 14: expected another input than the first one of the node, found '1'"},
        {NULL, "|none~9|", NULL, "expected an input 0 to 5, found '9'"},
        {NULL, "Genotype(", NULL, "character 10: expected 'n', found the end"},
        {NULL, "Genotype(normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1)], ", NULL,
         "character 58: expected ',', found ']'"},
        {NULL, "Genotype(normal=[('sep_conv_3x3\", 0)", NULL, "expected '''"},
        {NULL, "Genotype(normal=[[('none', 0), ('none', 1), ", NULL, "expected ']', found ','"},
        {NULL, numbers, "nb301", "expected an operator number 0 to 6, found '7'"},
        {NULL, numbers, "nsas", "expected"},
        {NULL, numbers, NULL, "ambiguous"},
        {NULL, BOTH, "list", "unknown dialect 'list'"},
        {"--no-none", BOTH, NULL,
         "expected an operator of the space, which is --no-none, found 'none'"},
        {"--no-none", numbers, "randomnas", "which is --no-none, found '0'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const pada_space space = darts_space(bad[i].flag);
        const pada_path before = read_path(&space, CELL "/" CELL, NULL);
        pada_path path = before;
        assert_int_equal(space.ops->parse(&space, bad[i].text, bad[i].dialect, &path), PADA_EINVAL);
        if (!strstr(pada_message(), bad[i].message))
            fail_msg("'%s', not '%s'", pada_message(), bad[i].message);
        assert_memory_equal(&path, &before, sizeof path);
    }
}

/* A genotype with another concatenation, or cut off anywhere, is none. */
static void test_genotypes_that_are_cut_or_changed(void **state)
{
    const pada_space space = darts_space(NULL);
    char text[sizeof genotype];
    pada_path path;

    (void)state;
    for (size_t n = 0; n + 1 < sizeof genotype; n++) {
        memcpy(text, genotype, n);
        text[n] = '\0';
        assert_int_equal(space.ops->parse(&space, text, "genotype", &path), PADA_EINVAL);
    }
    strcpy(text, genotype);
    *strstr(text, "3, 4, 5]") = '2';
    assert_int_equal(space.ops->parse(&space, text, NULL, &path), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "expected '3', found '2'"));
}

/* ---- slots ---- */

static void test_slots(void **state)
{
    const pada_space space = darts_space(NULL), seven = darts_space("--no-none");
    pada_choice_labels labels;

    (void)state;
    assert_int_equal(space.ops->n_slots, 34);
    for (int slot = 0; slot < 34; slot++) {
        static const int pairs[] = {3, 6, 10};
        const int k = slot % 17;
        assert_int_equal(space.ops->n_choices(&space, slot), k < 14 ? 8 : pairs[k - 14]);
        assert_int_equal(seven.ops->n_choices(&seven, slot), k < 14 ? 7 : pairs[k - 14]);
        assert_int_equal(space.ops->slot_group(&space, slot), slot / 17);
    }
    assert_string_equal(seven.ops->choice_label(&seven, 0, 0), "max_pool_3x3");
    assert_string_equal(space.ops->choice_label(&space, 0, 0), "max_pool_3x3");
    assert_string_equal(space.ops->choice_label(&space, 0, 7), "none");
    const pada_path of_eight = read_path(&space, CELL "/" CELL, NULL),
                    of_seven = read_path(&seven, CELL "/" CELL, NULL);
    assert_memory_equal(&of_eight, &of_seven, sizeof of_eight); /* tables fit both */
    assert_true(space.ops->n_networks(&space) == 3019898880.0 * 3019898880.0);
    assert_true(seven.ops->n_networks(&seven) == 1037664180.0 * 1037664180.0);
    assert_int_equal(pada_path_count(&space, 1000), 1001);
    pada_choice_labels_init(&labels, &space, true);
    assert_int_equal(labels.n, 2 * (8 + 10));
    pada_choice_labels_init(&labels, &space, false);
    assert_int_equal(labels.n, 8 + 10);
    assert_int_equal(labels.n_slots[0], 28);
    /* cells 2 and 5 of 8 are reductions */
    assert_int_equal(space.ops->n_sites(&space), 8 * 14);
    for (int site = 0; site < 8 * 14; site++)
        assert_int_equal(space.ops->site_slot(&space, site),
                         (site / 14 == 2 || site / 14 == 5 ? 17 : 0) + site % 14);
}

/* An edge into node i is used with probability 2 / (i + 2), operators are uniform, and what is not used is zero. */
static void test_draws(void **state)
{
    enum { N = 20000 };
    const pada_space space = darts_space(NULL);
    int n_taken[34] = {0}, n_sep[34] = {0};
    pada_path_sampler sampler;
    pada_path path, settled;

    (void)state;
    pada_path_sampler_init(&sampler, &space);
    for (int i = 0; i < N; i++) {
        int n = 0;
        pada_path_sampler_draw(&sampler, 3, i, false, &path);
        settled = path;
        pada_path_settle(&space, &settled);
        assert_true(pada_path_equal(&space, &path, &settled));
        for (int slot = 0; slot < 34; slot++) {
            const bool takes = pada_path_takes(&space, &path, slot);
            n += takes;
            n_taken[slot] += takes;
            n_sep[slot] += takes && path.choice[slot] == pada_darts_choice_of(PADA_DARTS_SEP3);
            if (!takes) assert_int_equal(path.choice[slot], 0);
        }
        assert_int_equal(n, 2 * (8 + 3));
    }
    for (int slot = 0; slot < 34; slot++) {
        const int edge = slot % 17, node = edge < 2 ? 0 : edge < 5 ? 1 : edge < 9 ? 2 : 3;
        if (edge >= 14) continue;
        /* the seed is fixed, so this passes always or never */
        CHECK_CLOSE((double)n_taken[slot] / N, 2.0 / (node + 2), 0.015);
        CHECK_CLOSE((double)n_sep[slot] / n_taken[slot], 0.125, 0.015);
    }
}

static void test_paths_and_cells(void **state)
{
    const pada_space space = darts_space("--no-none");
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 1, "test", 0);
    for (int i = 0; i < 1000; i++) {
        pada_path path, again = {{0}};
        pada_path_random(&space, &rng, &path);
        for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
            pada_darts_cell cell;
            pada_darts_get(&path, kind, &cell);
            for (int k = 0; k < 8; k += 2) {
                assert_true(cell.input[k] < cell.input[k + 1] && cell.input[k + 1] < k / 2 + 2);
                assert_true(cell.op[k] != PADA_DARTS_NONE);
            }
            pada_darts_set(&again, kind, &cell);
        }
        assert_memory_equal(&path, &again, sizeof path);
    }
}

/* Of each node, all its pairs: 64, 169, 323 and 526 different ones, whose product is 1,837,616,768. */
static void test_canonical_forms(void **state)
{
    static const int wanted[PADA_DARTS_NODES] = {64, 169, 323, 526};
    const pada_space space = darts_space(NULL);
    const pada_path rest = read_path(&space, CELL "/" CELL, NULL);

    (void)state;
    for (int node = 0; node < PADA_DARTS_NODES; node++) {
        const int n_pairs = (node + 2) * (node + 1) / 2;
        int n = 0;
        for (int i = 0; i < n_pairs * 64; i++) {
            pada_darts_cell cell;
            pada_path path = rest, form, again;
            pada_darts_get(&rest, 0, &cell);
            if (node > 0) path.choice[pada_darts_pair_slot(0, node)] = (uint8_t)(i / 64);
            pada_darts_get(&path, 0, &cell);
            cell.op[2 * node] = (uint8_t)(i % 8);
            cell.op[2 * node + 1] = (uint8_t)(i / 8 % 8);
            pada_darts_set(&path, 0, &cell);
            space.ops->canonical(&space, &path, &form);
            space.ops->canonical(&space, &form, &again);
            assert_memory_equal(&form, &again, sizeof form);
            n += pada_path_equal(&space, &path, &form);
        }
        assert_int_equal(n, wanted[node]);
    }
    pada_path path = read_path(&space,
                               "|none~0|none~1|+|none~1|none~2|+|none~1|sep_conv_3x3~3|+|"
                               "dil_conv_5x5~0|none~4|/" OTHER,
                               NULL);
    space.ops->canonical(&space, &path, &path);
    check_text(&space, &path, NULL,
               "|none~0|none~1|+|none~0|none~1|+|none~0|sep_conv_3x3~3|+|dil_conv_5x5~0|none~1|/"
               "|none~0|skip_connect~1|+|sep_conv_5x5~1|dil_conv_3x3~2|+|avg_pool_3x3~0|none~1|+|"
               "skip_connect~0|max_pool_3x3~3|");
}

#define NOTHING "|none~0|none~1|+|none~0|none~1|+|none~0|none~1|+|none~0|none~1|"
#define LAST \
    "|none~0|none~1|+|none~0|none~1|+|none~0|none~1|+|skip_connect~2|none~0|" /* of zeros */

static void test_dead_paths(void **state)
{
    const pada_space space = darts_space(NULL);
    const struct {
        const char *text;
        bool is_dead;
    } known[] = {
        {BOTH, false},
        {NOTHING "/" CELL, true},
        {LAST "/" CELL, true},
        /* normal cells that read both inputs carry on past a dead reduction */
        {CELL "/" NOTHING, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const pada_path path = read_path(&space, known[i].text, NULL);
        assert_int_equal(space.ops->dead(&space, &path), known[i].is_dead);
    }
}

/* ---- costs ---- */

static void check_cost(const pada_space *space, const pada_path *path, bool is_final,
                       int64_t params, int64_t macs)
{
    pada_cost cost;

    if (is_final)
        pada_space_cost(space, path, &cost);
    else
        pada_space_search_cost(space, path, &cost);
    assert_int_equal(cost.params, params);
    assert_int_equal(cost.macs, macs);
}

/* The same operator everywhere, on inputs 0 and 1. */
static void test_costs_of_uniform_cells(void **state)
{
    static const int64_t known[PADA_DARTS_OPS][2] = {
        [PADA_DARTS_NONE] = {1370134, 227272320},     [PADA_DARTS_MAX_POOL] = {1370134, 227272320},
        [PADA_DARTS_AVG_POOL] = {1370134, 227272320}, [PADA_DARTS_SKIP] = {1580950, 248505984},
        [PADA_DARTS_SEP3] = {4701718, 711665280},     [PADA_DARTS_SEP5] = {5144086, 817833600},
        [PADA_DARTS_DIL3] = {3035926, 469468800},     [PADA_DARTS_DIL5] = {3257110, 522552960}};
    const pada_space space = darts_space(NULL);

    (void)state;
    for (int op = 0; op < PADA_DARTS_OPS; op++) {
        pada_darts_cell cell;
        pada_path path = {{0}};
        for (int k = 0; k < 8; k++) {
            cell.input[k] = (uint8_t)(k % 2);
            cell.op[k] = (uint8_t)op;
        }
        for (int kind = 0; kind < PADA_DARTS_KINDS; kind++)
            pada_darts_set(&path, kind, &cell);
        check_cost(&space, &path, true, known[op][0], known[op][1]);
    }
}

static void open_table(const char *name, pada_file *file, pada_csv *csv)
{
    const char *source = getenv("PADA_SOURCE");
    char path[4096];

    snprintf(path, sizeof path, "%s/../shared/data/darts/%s", source ? source : ".", name);
    if (!pada_path_exists(path)) skip();
    CHECK_OK(pada_file_open(file, path));
    CHECK_OK(pada_csv_init_foreign(csv, name, file));
    assert_true(pada_csv_row(csv)); /* the header */
}

/* name, params, macs, params and macs of the search size, genotype */
static void test_costs_of_published_genotypes(void **state)
{
    const pada_space space = darts_space(NULL);
    char fields[6][PADA_CSV_FIELD];
    pada_file file = {0};
    pada_csv csv;
    int n = 0;

    (void)state;
    open_table("genotypes.csv", &file, &csv);
    for (; pada_csv_row(&csv); n++) {
        for (int i = 0; i < 6; i++)
            CHECK_OK(pada_csv_field(&csv, fields[i]));
        const pada_path path = read_path(&space, fields[5], NULL);
        check_cost(&space, &path, true, strtoll(fields[1], NULL, 10), strtoll(fields[2], NULL, 10));
        check_cost(&space, &path, false, strtoll(fields[3], NULL, 10),
                   strtoll(fields[4], NULL, 10));
    }
    assert_true(n >= 20);
    pada_file_close(&file);
}

/* id, three accuracies, params, params with the norms of pools, macs, genotype */
static void test_costs_of_trained_networks(void **state)
{
    const pada_space space = darts_space("--no-none");
    char fields[8][PADA_CSV_FIELD];
    pada_file file = {0};
    pada_csv csv;
    int n = 0;

    (void)state;
    open_table("truth.csv", &file, &csv);
    for (; pada_csv_row(&csv); n++) {
        for (int i = 0; i < 8; i++)
            CHECK_OK(pada_csv_field(&csv, fields[i]));
        const pada_path path = read_path(&space, fields[7], NULL);
        check_cost(&space, &path, true, strtoll(fields[4], NULL, 10), strtoll(fields[6], NULL, 10));
    }
    assert_true(n >= 150);
    pada_file_close(&file);
}

/* ---- parameters ---- */

static int64_t count(const pada_params *params)
{
    int64_t n = 0;

    for (int i = 0; i < pada_params_count(params); i++)
        n += pada_params_get(params, i)->count;
    return n;
}

/* Those of the official PyTorch code. */
static void test_names_and_shapes(void **state)
{
    static const char *const of_supernet[] = {"stem.0.weight 48 3 3 3",
                                              "stem.1.weight 48",
                                              "cells.0.preprocess0.op.1.weight 16 48 1 1",
                                              "cells.3.preprocess0.conv_1.weight 16 64 1 1",
                                              "cells.3.preprocess0.conv_2.weight 16 64 1 1",
                                              "cells.0._ops.0._ops.4.op.1.weight 16 1 3 3",
                                              "cells.0._ops.13._ops.5.op.6.weight 16 16 1 1",
                                              "cells.5._ops.9._ops.3.conv_1.weight 32 64 1 1",
                                              "cells.7._ops.13._ops.7.op.1.weight 64 1 5 5",
                                              "classifier.weight 10 256",
                                              NULL};
    static const char *const of_network[] = {"stem.1.bias 108",
                                             "cells.0.preprocess1.op.2.weight 36",
                                             "cells.0._ops.0.op.7.weight 36",
                                             "cells.0._ops.3.op.1.weight 36 1 5 5",
                                             "cells.6._ops.1.conv_2.weight 36 72 1 1",
                                             "cells.6._ops.1.bn.weight 72",
                                             "cells.19._ops.7.op.5.weight 144 1 3 3",
                                             "auxiliary_head.features.2.weight 128 576 1 1",
                                             "auxiliary_head.features.5.weight 768 128 2 2",
                                             "auxiliary_head.features.6.bias 768",
                                             "auxiliary_head.classifier.weight 10 768",
                                             NULL};
    static const char *const of_norms[] = {"cells.0._ops.0._ops.1.1.running_mean 16",
                                           "cells.2._ops.2._ops.2.1.running_var 32", NULL};
    const pada_space space = darts_space(NULL);
    const pada_path path = read_path(&space, BOTH, NULL);
    pada_params *params, *statistics, *finals;
    pada_space final;
    pada_cost cost;

    (void)state;
    CHECK_OK(pada_params_create(&params));
    CHECK_OK(pada_params_create(&statistics));
    CHECK_OK(pada_params_create(&finals));
    CHECK_OK(pada_space_declare(&space, params));
    CHECK_OK(pada_space_declare_statistics(&space, statistics));
    assert_int_equal(count(params), 1930618);
    check_shapes(params, of_supernet);
    check_shapes(statistics, of_norms);
    pada_space_finalise(&final, &space, &path);
    CHECK_OK(pada_space_declare(&final, finals));
    pada_space_cost(&space, &path, &cost);
    assert_int_equal(count(finals), cost.params + 476426); /* of the auxiliary head */
    check_shapes(finals, of_network);
    pada_params_destroy(finals);
    pada_params_destroy(statistics);
    pada_params_destroy(params);
}

static void test_wider_supernet(void **state)
{
    const pada_space space = darts_space("--channels=24");
    pada_params *params;

    (void)state;
    CHECK_OK(pada_params_create(&params));
    CHECK_OK(pada_space_declare(&space, params));
    assert_int_equal(count(params), 3998194);
    pada_params_destroy(params);
}

static void test_sizes_are_checked(void **state)
{
    static const struct {
        const char *flag;
        int image_size;
        const char *message;
    } bad[] = {{"--cells=2", 0, "cells 2 is not in 3..64"},
               {"--channels=1", 0, "channels 1"},
               {"--final-cells=65", 0, "final cells 65"},
               {NULL, 30, "image size 30 is not a multiple of 4"}};
    const pada_space_ops *ops;
    pada_space space;

    (void)state;
    CHECK_OK(pada_space_find(&ops, "darts"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const flags[] = {bad[i].flag, NULL};
        assert_int_equal(
            pada_space_init(&space, ops,
                            &(pada_space_config){.flags = flags, .image_size = bad[i].image_size}),
            PADA_EINVAL);
        if (!strstr(pada_message(), bad[i].message))
            fail_msg("'%s', not '%s'", pada_message(), bad[i].message);
    }
}

/* How many drops the training graph of a final network has. */
static int count_drops(const pada_space *final, const pada_params *params, uint64_t kinds)
{
    pada_graph *graph;
    int n = 0;

    CHECK_OK(pada_graph_create(&graph, 4096, 4096));
    graph->drops = kinds;
    pada_space_build(final, params, &final->network, graph);
    CHECK_OK(pada_graph_status(graph));
    for (int i = 0; i < graph->n_nodes; i++)
        n += graph->nodes[i].op == PADA_OP_DROP;
    pada_graph_destroy(graph);
    return n;
}

/* All operators but none and the identity: 7 of a normal cell; of a reduction cell 4, and two skips of stride 2. */
static void test_drop_path(void **state)
{
    const pada_space space = darts_space(NULL);
    const pada_path path = read_path(&space, BOTH, NULL);
    pada_params *params;
    pada_space final;

    (void)state;
    pada_space_finalise(&final, &space, &path);
    CHECK_OK(pada_params_create(&params));
    CHECK_OK(pada_space_declare(&final, params));
    assert_int_equal(count_drops(&final, params, 0), 0);
    assert_int_equal(count_drops(&final, params, PADA_ONE(PADA_DROP_IMAGES)), 18 * 7 + 2 * 6);
    pada_params_destroy(params);
}

/* What makes the same space again. */
static void test_flags(void **state)
{
    const pada_space space = darts_space("--no-none");
    const pada_space_ops *ops;
    pada_text text = {0};
    pada_space other;

    (void)state;
    pada_space_flags(&space, &text);
    assert_string_equal(text.data, " --space darts --channels 16 --cells 8 --final-channels 36 "
                                   "--final-cells 20 --auxiliary 0.4 --no-none");
    pada_text_deinit(&text);
    CHECK_OK(pada_space_find(&ops, "proxyless"));
    CHECK_OK(pada_space_init(
        &other, ops,
        &(pada_space_config){.flags = (const char *[]){"--widths=4,4,4,6,8,10,12,14,20", NULL}}));
    pada_space_flags(&other, &text);
    assert_string_equal(text.data, " --space proxyless --widths 4,4,4,6,8,10,12,14,20");
    pada_text_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_other_ways_to_write_it),
        cmocka_unit_test(test_texts_are_strict),
        cmocka_unit_test(test_genotypes_that_are_cut_or_changed),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_paths_and_cells),
        cmocka_unit_test(test_canonical_forms),
        cmocka_unit_test(test_dead_paths),
        cmocka_unit_test(test_costs_of_uniform_cells),
        cmocka_unit_test(test_costs_of_published_genotypes),
        cmocka_unit_test(test_costs_of_trained_networks),
        cmocka_unit_test(test_names_and_shapes),
        cmocka_unit_test(test_wider_supernet),
        cmocka_unit_test(test_drop_path),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
