/* export_dump.c - models and what the engine makes of images, for check_exports.py: export_dump DIR NETWORKS
 *
 *   DIR/SPACE.npy             images [256, 3, side, side]; SPACE: the number of small_spaces
 *   DIR/SPACE-I.safetensors   a network, in the final form if I is even
 *   DIR/SPACE-I.npy           its logits [256, classes] */
#include <stdlib.h>

#include "model/small_models.h"
#include "tensor/npy.h"

enum { N_IMAGES = 256 };

static char path[1024];

static const char *path_of(const char *folder, int space, const char *rest)
{
    snprintf(path, sizeof path, "%s/%d%s", folder, space, rest);
    return path;
}

static float *dump_images(const char *folder, int space)
{
    const int side = small_spaces[space].side;
    const int64_t dims[] = {N_IMAGES, 3, side, side}, n = (int64_t)N_IMAGES * 3 * side * side;
    double *pixels = calloc((size_t)n, sizeof *pixels);
    float *images = calloc((size_t)n, sizeof *images);

    random_normal(pixels, n, 8);
    for (int64_t i = 0; i < n; i++)
        images[i] = (float)pixels[i];
    CHECK_OK(pada_npy_write_f32(path_of(folder, space, ".npy"), images, dims, 4));
    free(pixels);
    return images;
}

static void dump_network(const char *folder, int space, int i, const float *images)
{
    static float logits[N_IMAGES * SMALL_CLASSES];
    static const int32_t labels[SMALL_BATCH];
    static const int64_t dims[] = {N_IMAGES, SMALL_CLASSES};
    double of_batch[SMALL_BATCH * SMALL_CLASSES];
    const int64_t count = (int64_t)3 * small_spaces[space].side * small_spaces[space].side;
    pada_model_about about;
    char rest[40];

    make_small_about(&about, &small_spaces[space], i, i % 2 == 0);
    pada_engine *e = make_small_engine(&about, (uint64_t)i);
    for (int first = 0; first < N_IMAGES; first += SMALL_BATCH) {
        const int n = N_IMAGES - first < SMALL_BATCH ? N_IMAGES - first : SMALL_BATCH;
        CHECK_OK(pada_engine_forward(
            e, &about.path,
            &(pada_batch){.n = n, .images = images + first * count, .labels = labels}, PADA_EVAL));
        pada_engine_logits(e, of_batch);
        for (int k = 0; k < n * SMALL_CLASSES; k++)
            logits[first * SMALL_CLASSES + k] = (float)of_batch[k];
    }
    snprintf(rest, sizeof rest, "-%d.npy", i);
    CHECK_OK(pada_npy_write_f32(path_of(folder, space, rest), logits, dims, 2));
    snprintf(rest, sizeof rest, "-%d.safetensors", i);
    CHECK_OK(pada_model_write(path_of(folder, space, rest), &about, e));
    pada_engine_destroy(e);
    pada_model_about_deinit(&about);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    for (int space = 0; space < N_SMALL_SPACES; space++) {
        float *images = dump_images(argv[1], space);
        for (int i = 0; i < atoi(argv[2]); i++)
            dump_network(argv[1], space, i, images);
        free(images);
    }
    return 0;
}
