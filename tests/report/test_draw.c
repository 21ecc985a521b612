/* test_draw.c - drawings of every cell of NAS-Bench-201, and what happens without memory. */
#include "base/scratch.h"
#include "report/draw.h"

static pada_space space;

static int setup(void **state)
{
    const pada_space_ops *ops;

    (void)state;
    return pada_space_find(&ops, "nb201") == PADA_OK &&
                   pada_space_init(&space, ops, &(pada_space_config){0}) == PADA_OK
               ? 0
               : -1;
}

/* Every choice that computes something is one arrow, with its label, dead exactly if the canonical
 * form lacks it. */
static void test_all_cells(void **state)
{
    pada_path path = {0}, live;
    pada_sketch sketch;

    (void)state;
    for (int index = 0; index < 15625; index++) {
        int n_arrows = 0, n_dead = 0;
        for (int slot = 0, rest = index; slot < 6; slot++, rest /= 5)
            path.choice[slot] = (uint8_t)(rest % 5);
        space.ops->canonical(&space, &path, &live);
        assert_ok(pada_sketch_path(&sketch, &space, &path));
        for (int slot = 0; slot < 6; slot++) {
            n_arrows += path.choice[slot] != 0;
            n_dead += path.choice[slot] != live.choice[slot];
        }
        assert_int_equal(sketch.n_arrows, n_arrows);
        for (int i = 0; i < sketch.n_arrows; i++) {
            assert_true(sketch.arrows[i].from < sketch.arrows[i].to);
            assert_true(sketch.arrows[i].to < sketch.n_nodes);
            n_dead -= sketch.arrows[i].is_dead;
        }
        assert_int_equal(n_dead, 0);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_true(pada_draw_find("text") == pada_draw_text);
    assert_true(pada_draw_find("dot") == pada_draw_dot);
    assert_true(pada_draw_find("svg") == pada_draw_svg);
    assert_null(pada_draw_find("png"));
}

static void test_no_drawing(void **state)
{
    pada_space_ops without = *space.ops;
    pada_space other = {.ops = &without, .config = space.config};
    pada_sketch sketch;

    (void)state;
    without.sketch = NULL;
    assert_fails(pada_sketch_path(&sketch, &other, &(pada_path){0}), PADA_EUNSUPPORTED,
                 "space nb201 has no drawing");
}

static pada_status draw(pada_draw how)
{
    pada_sketch sketch;
    pada_text out = {0};

    space.ops->sketch(&space, &(pada_path){{3, 0, 1, 2, 3, 4}}, &sketch);
    const pada_status st = how(&sketch, &out);
    pada_text_deinit(&out);
    return st;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_survives_oom(draw(pada_draw_text), );
    assert_survives_oom(draw(pada_draw_dot), );
    if (!pada_draw_has_graphviz()) return;
    assert_survives_oom(draw(pada_draw_svg), );
    assert_survives_oom(draw(pada_draw_png), );
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_cells),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_drawing),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
