/* test_api_search.c - spaces, rankings and searches of include/pada.h, used as a program outside uses them. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <pada.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N_IMAGES = 32, N_PATHS = 6 };

static void spaces_say_what_is_in_them(void **state)
{
    pada_space *space;

    (void)state;
    assert_string_equal(pada_space_known(0), "nb201");
    assert_null(pada_space_known(-1));
    assert_null(pada_space_known(1000));
    assert_int_equal(pada_space_open(&space, "nb201", NULL), PADA_OK);
    assert_true(pada_space_n_networks(space) == 15625);
    assert_true(pada_space_n_networks(NULL) == 0);
    assert_string_equal(pada_space_choice_label(space, 0, 3), "nor_conv_3x3");
    assert_null(pada_space_choice_label(space, 0, 5));
    assert_null(pada_space_choice_label(space, 6, 0));
    assert_null(pada_space_choice_label(space, 0, -1));
    assert_null(pada_space_choice_label(NULL, 0, 0));
    assert_non_null(pada_space_dialect(space, 0));
    assert_null(pada_space_dialect(space, 100));
    assert_null(pada_space_dialect(space, -1));
    assert_null(pada_space_dialect(NULL, 0));
    pada_space_close(space);
}

/* The costs are those of NAS-Bench-201. */
static void paths_are_drawn_counted_and_simplified(void **state)
{
    const pada_path all_conv = {{3, 3, 3, 3, 3, 3}}, dead = {{3, 0, 0, 0, 0, 3}};
    pada_path wrong = {{9}}, a, b, form;
    pada_space *space;
    pada_cost cost = {-1, -1};

    (void)state;
    assert_int_equal(pada_space_open(&space, "nb201", NULL), PADA_OK);
    assert_int_equal(pada_path_costs(space, &all_conv, &cost), PADA_OK);
    assert_int_equal(cost.params, 1531546);
    assert_true(cost.macs > 220000000 && cost.macs < 230000000);
    cost.macs = -1;
    assert_int_equal(pada_path_costs(space, &wrong, &cost), PADA_EINVAL);
    assert_int_equal(cost.macs, -1);
    assert_int_equal(pada_path_costs(space, NULL, &cost), PADA_EINVAL);

    assert_int_equal(pada_path_draw(space, 7, 0, &a), PADA_OK);
    assert_int_equal(pada_path_draw(space, 7, 0, &b), PADA_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(pada_path_draw(space, 7, 1, &b), PADA_OK);
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_int_equal(pada_path_draw(NULL, 7, 1, &b), PADA_EINVAL);

    assert_int_equal(pada_path_canonical(space, &dead, &form), PADA_OK);
    assert_memory_not_equal(&form, &dead, sizeof form);
    assert_int_equal(pada_path_canonical(space, &wrong, &form), PADA_EINVAL);
    assert_int_equal(pada_path_canonical(space, &dead, NULL), PADA_EINVAL);
    pada_space_close(space);
}

/* A small supernet for the built-in images, and its images. */
typedef struct fixture {
    pada_space *space;
    pada_images *images;
    pada_net *net;
} fixture;

static void open_fixture(fixture *f)
{
    assert_int_equal(pada_images_open(&f->images, "builtin", PADA_SPLIT_TEST, 0), PADA_OK);
    const pada_space_config sizes = {.channels = 4,
                                     .cells = 1,
                                     .classes = pada_images_classes(f->images),
                                     .image_size = pada_images_size(f->images)};
    assert_int_equal(pada_space_open(&f->space, "nb201", &sizes), PADA_OK);
    assert_int_equal(pada_net_create(&f->net, f->space, &(pada_net_config){.batch_size = N_IMAGES}),
                     PADA_OK);
    assert_int_equal(pada_net_init(f->net, 3), PADA_OK);
}

static void close_fixture(fixture *f)
{
    pada_net_destroy(f->net);
    pada_space_close(f->space);
    pada_images_close(f->images);
}

/* What an observer saw, and when it wants to stop. */
typedef struct seen {
    int n_calls, stop_after;
    pada_standing last;
} seen;

static int watch(void *user, const pada_standing *standing)
{
    seen *s = user;

    s->last = *standing;
    return ++s->n_calls == s->stop_after;
}

static void rankings_agree_with_evaluations(void **state)
{
    /* The last is a copy of the first, which has a dead edge more. */
    pada_path paths[N_PATHS] = {{{3, 0, 0, 3, 0, 0}}, {{3, 3, 3, 3, 3, 3}}, {{1, 1, 1, 1, 1, 1}},
                                {{2, 3, 4, 1, 0, 3}}, {{4, 3, 4, 1, 3, 3}}, {{0, 0, 0, 3, 0, 0}}};
    pada_evaluation found[N_PATHS], one;
    int order[N_PATHS];
    seen s = {0};
    fixture f;
    pada_path form;

    (void)state;
    open_fixture(&f);
    assert_int_equal(pada_net_rank(f.net, paths, N_PATHS, f.images, N_IMAGES,
                                   &(pada_observer){.user = &s, .progress = watch}, found, order),
                     PADA_OK);
    assert_int_equal(s.n_calls, N_PATHS - 1);
    assert_int_equal(s.last.n_done, N_PATHS - 1);
    assert_int_equal(s.last.n_total, N_PATHS - 1);
    assert_true(s.last.seconds_left == 0);
    for (int i = 0; i < N_PATHS; i++) {
        assert_int_equal(pada_path_canonical(f.space, &paths[i], &form), PADA_OK);
        assert_int_equal(pada_net_evaluate(f.net, &form, f.images, N_IMAGES, &one), PADA_OK);
        assert_memory_equal(&one.loss, &found[i].loss, sizeof one.loss);
        assert_int_equal(one.top1, found[i].top1);
    }
    for (int i = 1; i < N_PATHS; i++) {
        const pada_evaluation *a = &found[order[i - 1]], *b = &found[order[i]];
        assert_true(a->top1 > b->top1 || (a->top1 == b->top1 && a->loss <= b->loss));
    }
    assert_true(s.last.loss == found[order[0]].loss);

    s = (seen){.stop_after = 2};
    one = found[0];
    found[0].top1 = -7;
    assert_int_equal(pada_net_rank(f.net, paths, N_PATHS, f.images, N_IMAGES,
                                   &(pada_observer){.user = &s, .progress = watch}, found, NULL),
                     PADA_ESTOPPED);
    assert_int_equal(found[0].top1, -7);
    assert_string_equal(pada_message(), "stopped after 2 of 5 evaluations");
    assert_int_equal(pada_net_rank(f.net, paths, 0, f.images, 0, NULL, found, NULL), PADA_EINVAL);
    assert_int_equal(pada_net_rank(f.net, NULL, 1, f.images, 0, NULL, found, NULL), PADA_EINVAL);
    assert_int_equal(pada_net_rank(f.net, paths, 1, f.images, -1, NULL, found, NULL), PADA_EINVAL);
    paths[1].choice[0] = 77;
    assert_int_equal(pada_net_rank(f.net, paths, 2, f.images, 0, NULL, found, NULL), PADA_EINVAL);
    /* Nobody holds the net after all that. */
    assert_int_equal(pada_net_evaluate(f.net, &paths[0], f.images, N_IMAGES, &one), PADA_OK);
    close_fixture(&f);
}

#define SMALL_SEARCH                                             \
    (const char *const[])                                        \
    {                                                            \
        "--population=6", "--generations=2", "--parents=3", NULL \
    }

static void searches_keep_their_limits(void **state)
{
    const pada_search_config config = {
        .seed = 5, .limit = N_IMAGES, .max_params = 9000, .flags = SMALL_SEARCH};
    pada_network found[10], again[10];
    int n = 0, n_again = 0;
    seen s = {0};
    fixture f;
    pada_cost cost;

    (void)state;
    open_fixture(&f);
    assert_int_equal(pada_net_search(f.net, f.images, &config,
                                     &(pada_observer){.user = &s, .progress = watch}, found, 10,
                                     &n),
                     PADA_OK);
    assert_int_equal(n, 10);
    assert_int_equal(s.n_calls, s.last.n_done);
    assert_true(s.n_calls >= n && s.last.n_total >= s.n_calls);
    assert_true(s.last.top1 == found[0].top1);
    for (int i = 0; i < n; i++) {
        assert_int_equal(pada_path_costs(f.space, &found[i].path, &cost), PADA_OK);
        assert_true(cost.params == found[i].params && cost.macs == found[i].macs);
        assert_true(cost.params <= 9000);
        assert_true(i == 0 || found[i].top1 <= found[i - 1].top1);
    }
    assert_int_equal(pada_net_search(f.net, f.images, &config, NULL, again, 3, &n_again), PADA_OK);
    assert_int_equal(n_again, 3);
    assert_memory_equal(again, found, 3 * sizeof *again);

    s = (seen){.stop_after = 4};
    n = -1;
    assert_int_equal(pada_net_search(f.net, f.images, &config,
                                     &(pada_observer){.user = &s, .progress = watch}, found, 10,
                                     &n),
                     PADA_ESTOPPED);
    assert_int_equal(s.n_calls, 4);
    assert_int_equal(n, -1);
    close_fixture(&f);
}

static void wrong_searches_are_refused(void **state)
{
    const char *const unknown[] = {"--populace=6", NULL}, *const word[] = {"six", NULL};
    const pada_search_config wrong[] = {
        {.algorithm = "evolutoin"}, {.max_params = 10}, {.min_macs = -1},
        {.flags = unknown},         {.flags = word},    {.limit = -1}};
    pada_network found[1];
    fixture f;
    int n = -1;

    (void)state;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(pada_net_search(f.net, f.images, &wrong[i], NULL, found, 1, &n),
                         PADA_EINVAL);
    assert_int_equal(pada_net_search(f.net, f.images, NULL, NULL, found, 0, &n), PADA_EINVAL);
    assert_int_equal(pada_net_search(f.net, f.images, NULL, NULL, NULL, 1, &n), PADA_EINVAL);
    assert_int_equal(pada_net_search(NULL, f.images, NULL, NULL, found, 1, &n), PADA_EINVAL);
    assert_int_equal(n, -1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_say_what_is_in_them),
        cmocka_unit_test(paths_are_drawn_counted_and_simplified),
        cmocka_unit_test(rankings_agree_with_evaluations),
        cmocka_unit_test(searches_keep_their_limits),
        cmocka_unit_test(wrong_searches_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
