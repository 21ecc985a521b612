/* test_spos_macs.c - SPOS balanced by multiply-adds: how often which paths are drawn. */
#include "space/path_number.h"
#include "strategy/small_run.h"

enum { STEPS = 30000, PATHS = 15625, RANGES = 3 };

static int counts[PATHS];
static double of_choice[SMALL_SLOTS][SMALL_CHOICES];

static int64_t macs_of(const pada_space *space, int number)
{
    pada_path path;
    pada_cost cost;

    pada_path_of_number(space, number, &path);
    pada_space_search_cost(space, &path, &cost);
    return cost.macs;
}

static void draw(small_run *r)
{
    int n;

    for (int i = 0; i < STEPS; i++) {
        const pada_path *path = small_run_step(r, 0, i, &n);
        int number = 0;
        assert_int_equal(n, 1);
        for (int slot = 0; slot < SMALL_SLOTS; slot++) {
            number = number * SMALL_CHOICES + path->choice[slot];
            of_choice[slot][path->choice[slot]] += 1.0 / STEPS;
        }
        counts[number]++;
    }
}

/* Thirds of the way from the cheapest path, none on all edges, to the most expensive one. */
static int range_of(int64_t macs, int64_t smallest, int64_t largest)
{
    const int64_t width = largest - smallest;

    return macs <= smallest + width / RANGES ? 0 : macs <= smallest + 2 * width / RANGES ? 1 : 2;
}

static void ranges_are_equally_likely(void **state)
{
    int sizes[RANGES] = {0}, draws[RANGES] = {0};
    double chi[RANGES] = {0};
    int64_t smallest = INT64_MAX, largest = 0;
    small_run r;

    (void)state;
    small_run_open_on(&r, "null", "spos_macs", "");
    draw(&r);
    for (int i = 0; i < PATHS; i++) {
        const int64_t macs = macs_of(&r.space, i);
        if (macs < smallest) smallest = macs;
        if (macs > largest) largest = macs;
    }
    for (int i = 0; i < PATHS; i++) {
        const int g = range_of(macs_of(&r.space, i), smallest, largest);
        sizes[g]++;
        draws[g] += counts[i];
    }
    for (int i = 0; i < PATHS; i++) {
        const int g = range_of(macs_of(&r.space, i), smallest, largest);
        const double want = (double)draws[g] / sizes[g];
        chi[g] += (counts[i] - want) * (counts[i] - want) / want;
    }
    assert_in_range(sizes[2], 1, PATHS / 10); /* uniform paths would hardly come here */
    for (int g = 0; g < RANGES; g++) {
        CHECK_CLOSE((double)draws[g] / STEPS, 1 / 3.0, 0.014); /* five deviations */
        /* Uniform inside: chi squared has mean size - 1 and deviation sqrt(2 size). */
        CHECK_CLOSE(chi[g], sizes[g] - 1, 6 * sqrt(2.0 * sizes[g]));
    }
    small_run_close(&r);
}

/* What it says about single choices is what it does, but for chance: 3,000 draws against 30,000. */
static void choices_are_as_told(void **state)
{
    pada_distributions told;
    small_run r;

    (void)state;
    small_run_open_on(&r, "null", "spos_macs", "");
    r.ops->distributions(r.self, &(pada_epoch){0}, &told);
    for (int slot = 0; slot < SMALL_SLOTS; slot++) {
        double sum = 0;
        for (int c = 0; c < SMALL_CHOICES; c++) {
            CHECK_CLOSE(told.paths->p[slot][c], of_choice[slot][c], 0.05);
            sum += told.paths->p[slot][c];
        }
        CHECK_CLOSE(sum, 1, 1e-12);
    }
    small_run_close(&r);
}

static void steps_have_streams_of_their_own(void **state)
{
    small_run a, b;
    int n;

    (void)state;
    small_run_open_on(&a, "null", "spos_macs", "");
    small_run_open_on(&b, "null", "spos_macs", "");
    for (int i = 0; i < 5; i++)
        small_run_step(&a, 0, i, &n);
    const pada_path *x = small_run_step(&a, 0, 5, &n), *y = small_run_step(&b, 0, 5, &n);
    assert_true(pada_path_equal(&a.space, x, y));
    small_run_close(&a);
    small_run_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_equally_likely),
        cmocka_unit_test(choices_are_as_told),
        cmocka_unit_test(steps_have_streams_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
