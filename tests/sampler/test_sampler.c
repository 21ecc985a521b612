/* test_sampler.c - draws follow their distribution, and nothing else. */
#include <string.h>

#include "base/mem.h"
#include "base/scratch.h"
#include "check.h"
#include "sampler/data_sampler.h"
#include "sampler/path_sampler.h"

enum { N = 1000, DRAWS = 400000 };

static pada_space nb201(void)
{
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){0}));
    return space;
}

/* Chi-square of the draws; its mean is the number of items less one, its deviation sqrt(2 n). */
static void alias_follows_the_weights(void **state)
{
    static double weights[N];
    static int counts[N];
    pada_alias *alias;
    pada_rng rng;
    double sum = 0, chi = 0;
    int items = 0;

    (void)state;
    CHECK_OK(pada_alias_create(&alias, N));
    for (int i = 0; i < N; i++) {
        weights[i] = i % 7 == 0 ? 0 : i % 50 == 1 ? 500 : i;
        sum += weights[i];
    }
    CHECK_OK(pada_alias_build(alias, weights));
    pada_rng_init(&rng, 1, "test", 0);
    for (int i = 0; i < DRAWS; i++)
        counts[pada_alias_draw(alias, &rng)]++;
    for (int i = 0; i < N; i++) {
        const double want = DRAWS * weights[i] / sum;
        if (weights[i] == 0) {
            assert_int_equal(counts[i], 0);
            continue;
        }
        chi += (counts[i] - want) * (counts[i] - want) / want;
        items++;
    }
    CHECK_CLOSE(chi, items - 1, 6 * sqrt(2.0 * items));
    pada_alias_destroy(alias);
}

static void bad_weights_are_refused(void **state)
{
    const double bad[][3] = {{1, -1, 1}, {1, NAN, 1}, {1, INFINITY, 1}, {0, 0, 0}};
    pada_alias *alias;

    (void)state;
    CHECK_OK(pada_alias_create(&alias, 3));
    for (int i = 0; i < 4; i++)
        assert_int_equal(pada_alias_build(alias, bad[i]), PADA_ENUMERIC);
    CHECK_OK(pada_alias_build(alias, (const double[]){1e-300, 1e-300, 0}));
    pada_alias_destroy(alias);
    assert_survives_oom(pada_alias_create(&alias, 100), pada_alias_destroy(alias));
}

static void permutations_have_every_image_once(void **state)
{
    int32_t a[N], b[N], seen[N] = {0};
    int same = 0;

    (void)state;
    pada_data_permute(3, 0, a, N);
    for (int i = 0; i < N; i++)
        seen[a[i]]++;
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
    pada_data_permute(3, 0, b, N);
    assert_memory_equal(a, b, sizeof a);
    pada_data_permute(3, 1, b, N); /* another epoch, another order */
    for (int i = 0; i < N; i++)
        same += a[i] == b[i];
    assert_true(same < 20);
}

static void permutations_are_equally_likely(void **state)
{
    enum { EPOCHS = 6000, GUARD = 77 };
    int counts[27] = {0};

    (void)state;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        int32_t order[4] = {0, 0, 0, GUARD};
        pada_data_permute(1, epoch, order, 3);
        assert_int_equal(order[3], GUARD);
        counts[order[0] * 9 + order[1] * 3 + order[2]]++;
    }
    for (int i = 0; i < 27; i++) {
        const bool permutation = i / 9 != i / 3 % 3 && i / 3 % 3 != i % 3 && i % 3 != i / 9;
        CHECK_CLOSE(counts[i], permutation ? 1000 : 0, permutation ? 145 : 0); /* 5 deviations */
    }
}

static void draws_with_replacement_depend_on_seed_and_epoch(void **state)
{
    double weights[N];
    int32_t a[N], b[N];
    pada_alias *alias;

    (void)state;
    for (int i = 0; i < N; i++)
        weights[i] = i < N / 2 ? 1 : 0;
    CHECK_OK(pada_alias_create(&alias, N));
    CHECK_OK(pada_data_draw(alias, weights, 5, 2, a, N));
    CHECK_OK(pada_data_draw(alias, weights, 5, 2, b, N));
    assert_memory_equal(a, b, sizeof a);
    CHECK_OK(pada_data_draw(alias, weights, 5, 3, b, N));
    assert_memory_not_equal(a, b, sizeof a);
    for (int i = 0; i < N; i++)
        assert_true(a[i] >= 0 && a[i] < N / 2);
    pada_alias_destroy(alias);
}

static void distributions_are_measured(void **state)
{
    const double uniform[] = {0.25, 0.25, 0.25, 0.25}, half[] = {0.5, 0.5, 0, 0};

    (void)state;
    CHECK_CLOSE(pada_data_entropy(uniform, 4), 1, 1e-15);
    CHECK_CLOSE(pada_data_entropy(half, 4), 0.5, 1e-15);
    CHECK_CLOSE(pada_data_effective_share(uniform, 4), 1, 1e-15);
    CHECK_CLOSE(pada_data_effective_share(half, 4), 0.5, 1e-15);
}

static void paths_follow_their_distribution(void **state)
{
    const pada_space space = nb201();
    const double p[] = {0, 0.1, 0.2, 0.3, 0.4};
    pada_path_sampler sampler;
    int counts[6][5] = {{0}};
    pada_path path;

    (void)state;
    pada_path_sampler_init(&sampler, &space);
    CHECK_CLOSE(pada_path_sampler_entropy(&sampler), 1, 1e-15);
    pada_path_sampler_draw(&sampler, 0, 0, false, &path);
    CHECK_CLOSE(pada_path_sampler_ratio(&sampler, &path), 1, 1e-12);
    memcpy(sampler.p[2], p, sizeof p);
    for (int step = 0; step < 50000; step++) {
        pada_path_sampler_draw(&sampler, 9, step, false, &path);
        for (int slot = 0; slot < 6; slot++)
            counts[slot][path.choice[slot]]++;
    }
    for (int slot = 0; slot < 6; slot++)
        for (int c = 0; c < 5; c++)
            CHECK_CLOSE(counts[slot][c] / 50000.0, slot == 2 ? p[c] : 0.2, 0.01);
    assert_int_equal(counts[2][0], 0);
    path = (pada_path){{1, 1, 4, 1, 1, 1}};
    CHECK_CLOSE(pada_path_sampler_ratio(&sampler, &path), 0.2 / 0.4, 1e-12);
}

static void dead_paths_can_be_skipped(void **state)
{
    const pada_space space = nb201();
    pada_path_sampler sampler;
    int dead = 0, different = 0;

    (void)state;
    pada_path_sampler_init(&sampler, &space);
    for (int step = 0; step < 20000; step++) {
        pada_path any, live;
        pada_path_sampler_draw(&sampler, 4, step, false, &any);
        pada_path_sampler_draw(&sampler, 4, step, true, &live);
        assert_false(space.ops->dead(&space, &live));
        dead += space.ops->dead(&space, &any);
        different += !pada_path_equal(&space, &any, &live);
    }
    assert_int_equal(dead, different);
    CHECK_CLOSE(dead / 20000.0, 341.0 / 15625, 0.004);
    /* A distribution without a live path is drawn from all the same. */
    for (int slot = 0; slot < 6; slot++)
        for (int c = 0; c < 5; c++)
            sampler.p[slot][c] = c == 0;
    pada_path path;
    pada_path_sampler_draw(&sampler, 4, 0, true, &path);
    assert_true(space.ops->dead(&space, &path));
}

/* Only what is allowed comes, evenly, and entropy and ratio are those of the part. */
static void parts_of_a_space_are_drawn_from(void **state)
{
    const pada_space space = nb201();
    pada_path_sampler sampler;
    int counts[6][5] = {{0}};
    pada_subspace part;
    pada_path path;

    (void)state;
    pada_path_sampler_init(&sampler, &space);
    pada_subspace_init(&part, &space);
    part.allowed[1] = 1u << 1 | 1u << 4;
    part.allowed[3] = 1u << 2;
    pada_path_sampler_restrict(&sampler, &part);
    CHECK_CLOSE(pada_path_sampler_entropy(&sampler), 1, 1e-15);
    for (int step = 0; step < 20000; step++) {
        pada_path_sampler_draw(&sampler, 9, step, true, &path);
        assert_true(pada_subspace_has(&part, &space, &path));
        assert_false(space.ops->dead(&space, &path));
        pada_path_sampler_draw(&sampler, 9, step, false, &path);
        assert_true(pada_subspace_has(&part, &space, &path));
        for (int slot = 0; slot < 6; slot++)
            counts[slot][path.choice[slot]]++;
    }
    CHECK_CLOSE(pada_path_sampler_ratio(&sampler, &path), 1, 1e-12);
    for (int slot = 0; slot < 6; slot++)
        for (int c = 0; c < 5; c++)
            if (part.allowed[slot] >> c & 1)
                CHECK_CLOSE(counts[slot][c] / 20000.0, 1.0 / pada_subspace_choices(&part, slot),
                            0.015);
    sampler.p[1][1] = 1; /* as a strategy may change it */
    sampler.p[1][4] = 0;
    CHECK_CLOSE(pada_path_sampler_entropy(&sampler), 5.0 / 6, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alias_follows_the_weights),
        cmocka_unit_test(bad_weights_are_refused),
        cmocka_unit_test(permutations_have_every_image_once),
        cmocka_unit_test(permutations_are_equally_likely),
        cmocka_unit_test(draws_with_replacement_depend_on_seed_and_epoch),
        cmocka_unit_test(distributions_are_measured),
        cmocka_unit_test(paths_follow_their_distribution),
        cmocka_unit_test(dead_paths_can_be_skipped),
        cmocka_unit_test(parts_of_a_space_are_drawn_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
