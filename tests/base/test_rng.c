/* test_rng.c - Philox against its published vectors, streams, distributions. */
#include "base/rng.h"

#include <Random123/philox.h>
#include <math.h>

#include "base/hash.h"
#include "base/scratch.h"

/* Philox 4x32-10 from Random123's kat_vectors: counter, key, result. */
static const uint32_t vectors[][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
     0xa20bc7c6, 0x6d5451fd},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
     0x5001e420, 0x24126ea1},
};

static void library_gives_the_known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const uint32_t *v = vectors[i];
        const philox4x32_ctr_t counter = {{v[0], v[1], v[2], v[3]}};
        const philox4x32_key_t key = {{v[4], v[5]}};
        const philox4x32_ctr_t block = philox4x32(counter, key);
        for (int k = 0; k < 4; k++)
            assert_int_equal(block.v[k], v[6 + k]);
    }
}

/* A stream counts blocks in the low half of the counter and has its index in the high half; block
 * numbers stay below 2^62, so of the vectors only the first can be reached. */
static void stream_gives_the_known_answer(void **state)
{
    pada_rng rng = {.key = 0, .index = 0};

    (void)state;
    for (int k = 0; k < 4; k++)
        assert_int_equal(pada_rng_u32(&rng), vectors[0][6 + k]);
}

static void stream_lays_out_key_and_counter_as_drawn(void **state)
{
    static const uint64_t blocks[] = {0, 1, 0xffffffff, 0x100000000, 0x3fffffffffffffff};

    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        pada_rng rng = {
            .key = 0x299f31d0a4093822, .index = 0x0370734413198a2e, .position = blocks[i] * 4};
        const philox4x32_ctr_t counter = {
            {(uint32_t)blocks[i], (uint32_t)(blocks[i] >> 32), 0x13198a2e, 0x03707344}};
        const philox4x32_key_t key = {{0xa4093822, 0x299f31d0}};
        const philox4x32_ctr_t block = philox4x32(counter, key);
        for (int k = 0; k < 4; k++)
            assert_int_equal(pada_rng_u32(&rng), block.v[k]);
    }
}

static void key_is_the_seeded_hash_of_the_name(void **state)
{
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 7, "path", 3);
    assert_true(rng.key == pada_hash("path", 4, 7));
    assert_true(rng.index == 3);
    assert_true(rng.position == 0);
}

/* Frozen: a change here changes every result of every seed. */
static void first_numbers_of_a_stream_never_change(void **state)
{
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 0, "path", 0);
    assert_int_equal(pada_rng_u32(&rng), 0xe5738bbc);
    assert_int_equal(pada_rng_u32(&rng), 0xcb792642);
}

static void streams_differ_by_seed_name_and_index(void **state)
{
    static const struct {
        uint64_t seed;
        const char *name;
        uint64_t index;
    } streams[] = {{1, "path", 0}, {2, "path", 0}, {1, "init", 0}, {1, "path", 1}, {1, "", 0}};
    enum { N = sizeof streams / sizeof streams[0] };
    uint64_t first[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        pada_rng rng;
        pada_rng_init(&rng, streams[i].seed, streams[i].name, streams[i].index);
        first[i] = (uint64_t)pada_rng_u32(&rng) << 32;
        first[i] |= pada_rng_u32(&rng);
        for (int k = 0; k < i; k++)
            assert_true(first[i] != first[k]);
    }
}

static void draws_are_counted_as_documented(void **state)
{
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 5, "x", 0);
    (void)pada_rng_uniform(&rng);
    assert_int_equal(rng.position, 2);
    (void)pada_rng_normal(&rng);
    assert_int_equal(rng.position, 6);
}

static void below_stays_below_and_is_even(void **state)
{
    enum { BOUND = 5, N = 100000 };
    int count[BOUND] = {0};
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 11, "below", 0);
    for (int i = 0; i < N; i++) {
        const uint32_t x = pada_rng_below(&rng, BOUND);
        assert_true(x < BOUND);
        count[x]++;
    }
    double chi2 = 0;
    for (int i = 0; i < BOUND; i++)
        chi2 += pow(count[i] - N / (double)BOUND, 2) / (N / (double)BOUND);
    assert_true(chi2 < 18.5); /* 4 degrees of freedom: one in a thousand, and the seed is fixed */
    for (int i = 0; i < 100; i++)
        assert_int_equal(pada_rng_below(&rng, 1), 0);
}

/* With bound = 3 * 2^30 a biased generator gives the numbers under 2^30 half of the time instead of
 * a third. */
static void below_is_unbiased_for_large_bounds(void **state)
{
    enum { N = 60000 };
    int n_low = 0;
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 12, "below", 0);
    for (int i = 0; i < N; i++)
        n_low += pada_rng_below(&rng, 3u << 30) < 1u << 30;
    assert_true(fabs(n_low / (double)N - 1 / 3.0) < 0.01);
    assert_true(pada_rng_below(&rng, UINT32_MAX) < UINT32_MAX);
}

static void uniform_has_the_right_moments(void **state)
{
    enum { N = 100000 };
    double sum = 0, squares = 0;
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 13, "uniform", 0);
    for (int i = 0; i < N; i++) {
        const double x = pada_rng_uniform(&rng);
        assert_true(x >= 0 && x < 1);
        assert_true(x * 9007199254740992.0 == floor(x * 9007199254740992.0));
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / N - 0.5) < 0.005);
    assert_true(fabs(squares / N - 1 / 3.0) < 0.005);
}

static void normal_has_the_right_moments(void **state)
{
    enum { N = 100000 };
    double power[5] = {0};
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 14, "normal", 0);
    for (int i = 0; i < N; i++) {
        const double x = pada_rng_normal(&rng);
        assert_true(isfinite(x));
        for (int k = 1; k <= 4; k++)
            power[k] += pow(x, k) / N;
    }
    assert_true(fabs(power[1]) < 0.02);
    assert_true(fabs(power[2] - 1) < 0.02);
    assert_true(fabs(power[3]) < 0.06);
    assert_true(fabs(power[4] - 3) < 0.15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_gives_the_known_answers),
        cmocka_unit_test(stream_gives_the_known_answer),
        cmocka_unit_test(stream_lays_out_key_and_counter_as_drawn),
        cmocka_unit_test(key_is_the_seeded_hash_of_the_name),
        cmocka_unit_test(first_numbers_of_a_stream_never_change),
        cmocka_unit_test(streams_differ_by_seed_name_and_index),
        cmocka_unit_test(draws_are_counted_as_documented),
        cmocka_unit_test(below_stays_below_and_is_even),
        cmocka_unit_test(below_is_unbiased_for_large_bounds),
        cmocka_unit_test(uniform_has_the_right_moments),
        cmocka_unit_test(normal_has_the_right_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
