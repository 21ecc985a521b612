/* test_held_images.c - images that a backend holds are those that a batch would have brought. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/augment.h"

#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "train/tiny_engine.h"

enum { N = 20 };

static tiny_data data;

/* The same images twice: as picks, and as numbers [N, 3, h, w]. */
static void make_batch(const pada_changes *changes, pada_pick *picks, float *images,
                       int32_t *labels)
{
    const pada_dataset *ds = &data.base;

    for (int i = 0; i < N; i++, images += 3 * TINY_SIDE * TINY_SIDE) {
        const pada_draw draw = {.seed = 5, .epoch = 2, .position = 100 + i, .changes = *changes};
        const int image = (7 * i + 3) % TINY_TRAIN;
        picks[i] = pada_augment_pick(ds, image, pada_augment_draw(ds, &draw));
        CHECK_OK(pada_augment_image(ds, PADA_SPLIT_TRAIN, image, &draw, images));
        labels[i] = ds->ops->label(ds, PADA_SPLIT_TRAIN, image);
    }
}

static void check_backend(const pada_backend *backend)
{
    static float images[N * 3 * TINY_SIDE * TINY_SIDE];
    const pada_path path = {{3, 2, 1, 4, 3, 1}};
    double brought[N * TINY_CLASSES], held[N * TINY_CLASSES];
    int32_t labels[N];
    pada_pick picks[N];
    pada_space space;
    pada_engine *e = tiny_engine(&space, backend, 0, N);

    CHECK_OK(pada_engine_init_weights(e, 3));
    for (int k = 0; k < 4; k++) {
        const pada_changes changes = {.flip_order = k & 1 ? PADA_FLIP_FIRST : PADA_FLIP_LAST,
                                      .cutout = k & 2 ? TINY_SIDE / 2 : 0};
        make_batch(&changes, picks, images, labels);
        assert_false(pada_engine_holds(e, &data.base, PADA_SPLIT_TEST));
        CHECK_OK(pada_engine_hold(e, &data.base, PADA_SPLIT_TRAIN));
        assert_true(pada_engine_holds(e, &data.base, PADA_SPLIT_TRAIN));
        CHECK_OK(pada_engine_forward(
            e, &path, &(pada_batch){.n = N, .images = images, .labels = labels}, PADA_EVAL));
        pada_engine_logits(e, brought);
        CHECK_OK(pada_engine_forward(
            e, &path,
            &(pada_batch){.n = N, .picks = picks, .split = PADA_SPLIT_TRAIN, .labels = labels},
            PADA_EVAL));
        pada_engine_logits(e, held);
        assert_memory_equal(held, brought, sizeof held);
        if (changes.cutout > 0) /* and it matters */
            picks[0].hole_top = picks[0].hole_bottom;
        else
            picks[0].flip = !picks[0].flip;
        CHECK_OK(pada_engine_forward(
            e, &path,
            &(pada_batch){.n = N, .picks = picks, .split = PADA_SPLIT_TRAIN, .labels = labels},
            PADA_EVAL));
        pada_engine_logits(e, held);
        assert_memory_not_equal(held, brought, sizeof held);
    }
    pada_engine_destroy(e);
}

static void held_images_are_the_same(void **state)
{
    int n_checked = 0;

    (void)state;
    tiny_data_init(&data);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        if (!backend->hold || (backend->present && !backend->present())) continue;
        check_backend(backend);
        n_checked++;
    }
    if (n_checked == 0) skip(); /* no backend here holds images */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(held_images_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
