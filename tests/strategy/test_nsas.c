/* test_nsas.c - NSAS: the archive by hand-made cases, and the weights of the gradients. */
#include <string.h>

#include "base/scratch.h"
#include "engine/engine_weights.h"
#include "strategy/novelty_archive.h"
#include "strategy/small_run.h"

static pada_space space;
static pada_novelty_archive archive;

static pada_path path_of(const char *list)
{
    pada_path path;

    CHECK_OK(space.ops->parse(&space, list, "list", &path));
    return path;
}

static int open_space(void **state)
{
    const pada_space_ops *ops;

    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(&space, ops, &(pada_space_config){0}));
    return scratch_setup(state);
}

static int close_archive(void **state)
{
    (void)state;
    pada_novelty_archive_deinit(&archive);
    archive = (pada_novelty_archive){0};
    return 0;
}

static void open_archive(int members, int neighbours, int recent, int candidates)
{
    CHECK_OK(pada_novelty_archive_init(&archive, &space, 1,
                                       &(pada_novelty_settings){.members = members,
                                                                .neighbours = neighbours,
                                                                .recent = recent,
                                                                .candidates = candidates}));
}

static void add_member(const char *list)
{
    archive.members[archive.n_members++] = path_of(list);
}

static void check_members(const char *const *lists, int n)
{
    assert_int_equal(archive.n_members, n);
    for (int i = 0; i < n; i++) {
        const pada_path want = path_of(lists[i]);
        assert_true(pada_path_equal(&space, &archive.members[i], &want));
    }
}

static void novelty_is_a_mean_of_small_distances(void **state)
{
    const pada_path x = path_of("[0,0,0,0,0,0]"), y = path_of("[0,1,0,2,0,3]");

    (void)state;
    CHECK_CLOSE(pada_path_distance(&space, &x, &x), 0, 0);
    CHECK_CLOSE(pada_path_distance(&space, &x, &y), 0.5, 0);
    open_archive(4, 2, 1, 1);
    CHECK_CLOSE(pada_novelty_archive_novelty(&archive, &x, -1), 0, 0);
    add_member("[1,1,1,1,1,1]"); /* 6 of 6 */
    CHECK_CLOSE(pada_novelty_archive_novelty(&archive, &x, -1), 1, 0);
    add_member("[1,0,0,0,0,0]"); /* 1 of 6 */
    add_member("[1,1,1,1,0,0]"); /* 4 of 6 */
    CHECK_CLOSE(pada_novelty_archive_novelty(&archive, &x, -1), (1 + 4) / 12.0, 1e-15);
    CHECK_CLOSE(pada_novelty_archive_novelty(&archive, &x, 1), (4 + 6) / 12.0, 1e-15);
    archive.settings.neighbours = 10; /* more than there are: all */
    CHECK_CLOSE(pada_novelty_archive_novelty(&archive, &x, -1), (1 + 4 + 6) / 18.0, 1e-15);
}

/* Among so many candidates is the best there can be. */
static void an_archive_grows_by_novelty(void **state)
{
    const pada_path current = path_of("[0,0,0,0,0,0]");

    (void)state;
    open_archive(4, 10, 3, 20000);
    for (int step = 0; step < 4; step++) {
        assert_int_equal(archive.n_members, step);
        pada_novelty_archive_update(&archive, &current, step);
    }
    assert_int_equal(archive.n_members, 4);
    /* Up to five paths over five choices can differ everywhere. */
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(pada_novelty_archive_novelty(&archive, &archive.members[i], i), 1, 1e-15);
    pada_novelty_archive_update(&archive, &current, 4);
    assert_int_equal(archive.n_members, 4);
}

static void the_closest_member_makes_room(void **state)
{
    const pada_path current = path_of("[1,1,1,1,2,2]");

    (void)state;
    open_archive(3, 10, 2, 1);
    add_member("[0,0,0,0,0,0]");
    add_member("[1,1,1,0,0,0]");
    add_member("[2,2,2,2,2,2]");
    /* Nothing is remembered: all stay, but the current path is remembered. */
    pada_novelty_archive_update(&archive, &current, 0);
    check_members((const char *const[]){"[0,0,0,0,0,0]", "[1,1,1,0,0,0]", "[2,2,2,2,2,2]"}, 3);
    assert_int_equal(archive.n_recent, 1);
    assert_true(pada_path_equal(&space, &archive.recent[0], &current));
    /* Member 1 is closest to [1,1,1,0,0,3]; without it the novelties are (3+6)/12 for itself and
     * (6+4)/12 for the remembered path. */
    const pada_path next = path_of("[1,1,1,0,0,3]");
    pada_novelty_archive_update(&archive, &next, 1);
    check_members((const char *const[]){"[0,0,0,0,0,0]", "[1,1,1,1,2,2]", "[2,2,2,2,2,2]"}, 3);
    /* Of the two that are remembered, only the more novel counts; the other members stay. */
    archive.recent[0] = path_of("[3,3,3,3,3,3]");
    archive.recent[1] = path_of("[4,3,3,3,3,0]"); /* more novel than the member, too */
    const pada_path last = path_of("[2,2,2,2,2,0]");
    pada_novelty_archive_update(&archive, &last, 2);
    check_members((const char *const[]){"[0,0,0,0,0,0]", "[1,1,1,1,2,2]", "[3,3,3,3,3,3]"}, 3);
}

/* Equals change nothing: a member stays if a recent path is only as novel as it is. */
static void ties_keep_the_member(void **state)
{
    const pada_path current = path_of("[1,1,1,1,1,0]");

    (void)state;
    open_archive(2, 10, 1, 1);
    add_member("[0,0,0,0,0,0]");
    add_member("[1,1,1,1,1,1]");
    archive.recent[0] = path_of("[2,2,2,2,2,2]");
    archive.n_recent = 1;
    pada_novelty_archive_update(&archive, &current, 0);
    check_members((const char *const[]){"[0,0,0,0,0,0]", "[1,1,1,1,1,1]"}, 2);
}

/* Of candidates that are equally novel, and of members that are equally close, the first. */
static void the_first_of_equals_counts(void **state)
{
    const pada_path current = path_of("[0,0,0,1,1,1]");
    pada_path first;
    pada_rng rng;

    (void)state;
    open_archive(2, 10, 1, 10);
    pada_rng_init(&rng, 1, "novelty", 7);
    pada_path_random(&space, &rng, &first);
    pada_novelty_archive_update(&archive, &current, 7); /* to nothing all are equally far */
    assert_true(pada_path_equal(&space, &archive.members[0], &first));
    archive.members[0] = path_of("[0,0,0,0,0,0]");
    archive.members[1] = path_of("[0,1,1,1,1,0]"); /* neither is closer to the current path */
    archive.n_members = 2;
    archive.recent[0] = path_of("[4,4,4,4,4,4]");
    archive.n_recent = 1;
    CHECK_CLOSE(pada_path_distance(&space, &current, &archive.members[0]),
                pada_path_distance(&space, &current, &archive.members[1]), 0);
    pada_novelty_archive_update(&archive, &current, 8);
    check_members((const char *const[]){"[4,4,4,4,4,4]", "[0,1,1,1,1,0]"}, 2);
}

static void the_oldest_path_is_forgotten(void **state)
{
    static const char *const lists[] = {"[0,0,0,0,0,0]", "[1,1,1,1,1,1]", "[2,2,2,2,2,2]",
                                        "[3,3,3,3,3,3]"};

    (void)state;
    open_archive(1, 10, 3, 1);
    for (int i = 0; i < 4; i++) {
        const pada_path path = path_of(lists[i]);
        pada_novelty_archive_update(&archive, &path, i);
    }
    assert_int_equal(archive.n_recent, 3);
    for (int i = 1; i < 4; i++) {
        const pada_path want = path_of(lists[i]);
        int found = 0;
        for (int k = 0; k < 3; k++)
            found += pada_path_equal(&space, &archive.recent[k], &want);
        assert_int_equal(found, 1);
    }
}

/* ---- steps ---- */

/* Checks the second step of a run: what it moved, and how many passes that took. */
static void check_step(const char *flags, double current_weight, double archived_weight,
                       int want_passes)
{
    pada_path paths[16];
    small_run r;
    int n;

    small_run_open(&r, "nsas", flags);
    const int64_t count = pada_params_elements(r.env.params);
    r.optim.lr = 0; /* the weights stay, the archive grows */
    small_run_step(&r, 0, 0, &n);
    r.optim.lr = 1;
    double *before = small_run_weights(&r), *want = calloc((size_t)count, sizeof *want);
    memcpy(paths, small_run_step(&r, 0, 1, &n), sizeof paths);
    double *moved = small_run_weights(&r);
    for (int64_t i = 0; i < count; i++)
        moved[i] = before[i] - moved[i];
    assert_int_equal(n, want_passes);
    CHECK_OK(pada_engine_init_weights(r.engine, 3));
    for (int k = 0; k < n; k++)
        small_run_add_grad(&r, &paths[k],
                           k == 0 && current_weight > 0 ? current_weight : archived_weight, want);
    assert_true(relative_error(moved, want, count) < 1e-12);
    free(before), free(moved), free(want);
    small_run_close(&r);
}

/* Reads the open archive from a checkpoint with these counts and paths. */
static pada_status read_archive(const int32_t counts[3], const pada_path *paths, int n)
{
    const char *file = scratch_path("nsas.safetensors");
    const int64_t bytes = (int64_t)sizeof *paths;
    pada_state *state;

    CHECK_OK(pada_state_create(&state));
    pada_state_array(state, "archive/counts", PADA_STATE_I32, (int32_t *)counts, 3);
    pada_state_array(state, "archive/members", PADA_STATE_U8, (pada_path *)paths, n * bytes);
    pada_state_array(state, "archive/recent", PADA_STATE_U8, (pada_path *)paths, n * bytes);
    CHECK_OK(pada_state_write(state, file));
    pada_state_destroy(state);
    CHECK_OK(pada_state_open(&state, file));
    pada_novelty_archive_visit(&archive, state);
    const pada_status st = pada_state_finish(state);
    pada_state_destroy(state);
    return st;
}

static void damaged_archives_are_refused(void **state)
{
    static const struct {
        int32_t counts[3];
        pada_status want;
    } cases[] = {
        {{0, 0, 0}, PADA_OK},     {{2, 2, 1}, PADA_OK},     {{3, 0, 0}, PADA_EDATA},
        {{-1, 0, 0}, PADA_EDATA}, {{0, 3, 0}, PADA_EDATA},  {{0, -1, 0}, PADA_EDATA},
        {{0, 0, 2}, PADA_EDATA},  {{0, 0, -1}, PADA_EDATA},
    };
    pada_path paths[2] = {path_of("[0,1,2,3,4,0]"), path_of("[4,4,4,4,4,4]")};

    (void)state;
    open_archive(2, 10, 2, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(read_archive(cases[i].counts, paths, 2), cases[i].want);
    CHECK_OK(read_archive((const int32_t[]){2, 1, 1}, paths, 2));
    check_members((const char *const[]){"[0,1,2,3,4,0]", "[4,4,4,4,4,4]"}, 2);
    assert_int_equal(archive.n_recent, 1);
    paths[1].choice[5] = 5; /* there are five */
    assert_int_equal(read_archive((const int32_t[]){1, 1, 0}, paths, 2), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "paths that space nb201 does not have"));
}

static void losses_are_weighted(void **state)
{
    (void)state;
    check_step("", 0.5, 0.25, 3);
    check_step("--nsas-beta 0.2", 0.8, 0.1, 3);
    check_step("--nsas-beta 0", 1, 0, 1);
    check_step("--nsas-beta 1", 0, 0.5, 2);
    check_step("--nsas-beta 0.2 --nsas-as-released", 0.8, 0, 1);
}

/* M + 1 passes from the step that fills the archive on; the first is the path that SPOS draws. */
static void steps_train_the_archive(void **state)
{
    const pada_path *paths;
    small_run r, spos;
    int n, one;

    (void)state;
    small_run_open(&r, "nsas", "--nsas-archive 3");
    small_run_open(&spos, "spos", "");
    assert_int_equal(r.ops->passes(r.self), 4);
    for (int i = 0; i < 8; i++) {
        const pada_path *uniform = small_run_step(&spos, 0, i, &one);
        paths = small_run_step(&r, 0, i, &n);
        assert_int_equal(n, i < 3 ? 2 + i : 4);
        assert_true(pada_path_equal(&space, &paths[0], uniform));
    }
    small_run_close(&r);
    small_run_close(&spos);
    small_run_open(&r, "nsas", "--nsas-as-released");
    assert_int_equal(r.ops->passes(r.self), 1);
    small_run_close(&r);
}

int main(void)
{
#define unit(f) cmocka_unit_test_teardown(f, close_archive)
    const struct CMUnitTest tests[] = {
        unit(novelty_is_a_mean_of_small_distances),
        unit(an_archive_grows_by_novelty),
        unit(the_closest_member_makes_room),
        unit(ties_keep_the_member),
        unit(the_first_of_equals_counts),
        unit(the_oldest_path_is_forgotten),
        unit(damaged_archives_are_refused),
        unit(losses_are_weighted),
        unit(steps_train_the_archive),
    };
    return cmocka_run_group_tests(tests, open_space, scratch_teardown);
}
