/* test_draw.c - drawings of every cell of NAS-Bench-201 and of other graphs: nothing lies over anything
 * or outside the picture; and what happens without memory. */
#include <math.h>

#include "base/rng.h"
#include "base/scratch.h"
#include "report/draw.h"
#include "report/draw_layout.h"

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

/* ---- layout ---- */

static bool overlap(const pada_draw_box *a, const pada_draw_box *b)
{
    return fabs(a->x - b->x) < (a->width + b->width) / 2 + 1 &&
           fabs(a->y - b->y) < (a->height + b->height) / 2 + 1;
}

static bool is_inside(const pada_draw_layout *layout, const pada_draw_box *box)
{
    return box->x - box->width / 2 >= 1 && box->x + box->width / 2 <= layout->width - 1 &&
           box->y - box->height / 2 >= 1 && box->y + box->height / 2 <= layout->height - 1;
}

/* Arrows go down, from the lower edge of a node to the upper edge of another, row by row. */
static void check_arrow(const pada_sketch *sketch, const pada_draw_layout *layout, int i)
{
    const pada_draw_arrow *arrow = &layout->arrows[i];
    const pada_draw_box *boxes = layout->boxes, *from = &boxes[sketch->arrows[i].from],
                        *to = &boxes[sketch->arrows[i].to];

    assert_true(fabs(arrow->from_x - from->x) < from->width / 2);
    assert_true(fabs(arrow->to_x - to->x) < to->width / 2);
    assert_int_equal(to->row, from->row + arrow->n_boxes + 1);
    for (int k = 0; k < arrow->n_boxes; k++)
        assert_int_equal(boxes[arrow->first_box + k].row, from->row + 1 + k);
    if (!*sketch->arrows[i].label) {
        assert_int_equal(arrow->label, -1);
        return;
    }
    assert_in_range(arrow->label, arrow->first_box, arrow->first_box + arrow->n_boxes - 1);
    assert_int_equal(boxes[arrow->label].row % 2, 1);
    /* A character is 0.6 em wide. */
    assert_true(boxes[arrow->label].width > 0.6 * 11 * (double)strlen(sketch->arrows[i].label));
}

static void check_layout(const pada_sketch *sketch)
{
    pada_draw_layout layout;

    assert_ok(pada_draw_layout_init(&layout, sketch));
    for (int i = 0; i < layout.n_boxes; i++) {
        assert_true(is_inside(&layout, &layout.boxes[i]));
        for (int k = 0; k < i; k++)
            assert_false(overlap(&layout.boxes[i], &layout.boxes[k]));
    }
    for (int i = 0; i < sketch->n_arrows; i++)
        check_arrow(sketch, &layout, i);
    pada_draw_layout_deinit(&layout);
}

static void test_layout_of_cells(void **state)
{
    pada_path path;
    pada_sketch sketch;

    (void)state;
    for (int index = 0; index < 15625; index += 7) { /* every choice on every edge */
        for (int slot = 0, rest = index; slot < 6; slot++, rest /= 5)
            path.choice[slot] = (uint8_t)(rest % 5);
        assert_ok(pada_sketch_path(&sketch, &space, &path));
        check_layout(&sketch);
    }
}

/* Chains, complete graphs and random ones, with and without labels, nodes that nothing reaches. */
static void test_layout_of_graphs(void **state)
{
    static const char *const labels[] = {"", "x", "dil_conv_5x5", "mb6 k5 s2"};
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 0, "graphs", 0);
    for (int i = 0; i < 300; i++) {
        const int n_nodes = 1 + i % 12, n_of = i < 12 ? 1 : 1 + i % 4;
        pada_sketch sketch = {.n_nodes = n_nodes};
        for (int to = 0; to < n_nodes; to++) {
            sketch.nodes[to] = to % 3 ? "n" : "a longer name";
            for (int from = 0; from < to; from++) {
                if (i < 12 ? from + 1 != to : pada_rng_below(&rng, (uint32_t)n_of) > 0) continue;
                sketch.arrows[sketch.n_arrows++] =
                    (pada_sketch_arrow){from, to, labels[pada_rng_below(&rng, 4)], i % 5 == 0};
            }
        }
        check_layout(&sketch);
    }
}

/* The shortest way through a cell is a straight line. */
static void test_chain_is_straight(void **state)
{
    pada_sketch sketch;
    pada_draw_layout layout;

    (void)state;
    space.ops->sketch(&space, &(pada_path){{3, 0, 1, 0, 0, 2}}, &sketch);
    assert_ok(pada_draw_layout_init(&layout, &sketch));
    assert_int_equal(layout.n_rows, 7);
    for (int i = 0; i < layout.n_boxes; i++)
        assert_true(fabs(layout.boxes[i].x - layout.width / 2) < 1);
    pada_draw_layout_deinit(&layout);
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
    assert_survives_oom(draw(pada_draw_svg), );
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_cells),
        cmocka_unit_test(test_layout_of_cells),
        cmocka_unit_test(test_layout_of_graphs),
        cmocka_unit_test(test_chain_is_straight),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_drawing),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
