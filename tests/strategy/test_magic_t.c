/* test_magic_t.c - MAGIC-T: one slot changes per step, any slot, to any other choice. */
#include "strategy/small_run.h"

enum { STEPS = 30000 };

/* Walks; counts changes by slot and by choice before and after, and dead paths. */
static int walk(const char *flags, int slots[SMALL_SLOTS],
                int changes[SMALL_CHOICES][SMALL_CHOICES])
{
    pada_path before = {{0}};
    int n, dead = 0;
    small_run r;

    small_run_open_on(&r, "null", "magic_t", flags);
    for (int i = 0; i < STEPS; i++) {
        const pada_path path = *small_run_step(&r, 0, i, &n);
        int changed = 0;
        assert_int_equal(n, 1);
        dead += r.space.ops->dead(&r.space, &path);
        for (int slot = 0; slot < SMALL_SLOTS && i > 0; slot++) {
            if (path.choice[slot] == before.choice[slot]) continue;
            changed++;
            slots[slot]++;
            changes[before.choice[slot]][path.choice[slot]]++;
        }
        assert_int_equal(changed, i > 0);
        before = path;
    }
    small_run_close(&r);
    return dead;
}

static void one_slot_changes_per_step(void **state)
{
    int slots[SMALL_SLOTS] = {0}, changes[SMALL_CHOICES][SMALL_CHOICES] = {{0}};

    (void)state;
    const int dead = walk("", slots, changes);
    CHECK_CLOSE((double)dead / STEPS, 341 / 15625.0, 0.01); /* as often as among all paths */
    for (int slot = 0; slot < SMALL_SLOTS; slot++)
        CHECK_CLOSE((double)slots[slot] / STEPS, 1 / 6.0, 0.011); /* five deviations */
    for (int from = 0; from < SMALL_CHOICES; from++)
        for (int to = 0; to < SMALL_CHOICES; to++)
            if (from != to) CHECK_CLOSE((double)changes[from][to] / STEPS, 0.05, 0.01);
}

static void dead_paths_can_be_skipped(void **state)
{
    int slots[SMALL_SLOTS] = {0}, changes[SMALL_CHOICES][SMALL_CHOICES] = {{0}};

    (void)state;
    assert_int_equal(walk("--skip-dead-cells", slots, changes), 0);
}

/* The first path is that of SPOS; the next depend on the walk so far. */
static void the_walk_starts_anywhere(void **state)
{
    small_run r, spos;
    int n;

    (void)state;
    small_run_open_on(&r, "null", "magic_t", "");
    small_run_open_on(&spos, "null", "spos", "");
    assert_true(
        pada_path_equal(&r.space, small_run_step(&r, 0, 0, &n), small_run_step(&spos, 0, 0, &n)));
    small_run_close(&r);
    small_run_close(&spos);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_slot_changes_per_step),
        cmocka_unit_test(dead_paths_can_be_skipped),
        cmocka_unit_test(the_walk_starts_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
