/* draws_dump.c - writes what `pada train --method spos` draws, for trajectory.py: images, their cuts, paths.
 *
 *   draws_dump --data DIR --seed S --epochs E --batch-size B --out FOLDER [--image-size N]
 *
 * FOLDER, which must exist, gets the training images as they are stored, `images.u8` [n, 3, h, w] and `labels.i32`
 * [n]; `steps.i32`, per step its path (6 numbers) and its number of images; `draws.i32`, per image its number, row,
 * column and flip (augment.h). One line of JSON on stdout says the sizes and how bytes become numbers. */
#include <stdio.h>

#include "base/mem.h"
#include "base/option.h"
#include "data/augment.h"
#include "sampler/data_sampler.h"
#include "sampler/path_sampler.h"

typedef struct dump_args {
    const char *data, *out;
    int64_t epochs, batch_size, image_size;
    uint64_t seed;
} dump_args;

#define FIELD(member) offsetof(dump_args, member)

static const pada_opt options_table[] = {
    {.name = "data", .type = PADA_OPT_STRING, .offset = FIELD(data), .default_value = "builtin"},
    {.name = "out", .type = PADA_OPT_STRING, .offset = FIELD(out), .default_value = "."},
    {.name = "epochs", .type = PADA_OPT_INT, .offset = FIELD(epochs), .min = 1, .max = 1000},
    {.name = "batch-size", .type = PADA_OPT_INT, .offset = FIELD(batch_size), .min = 1, .max = 1e6},
    {.name = "image-size", .type = PADA_OPT_INT, .offset = FIELD(image_size), .max = 4096},
    {.name = "seed", .type = PADA_OPT_U64, .offset = FIELD(seed), .default_value = "0"},
    {.name = NULL},
};

static pada_status open_file(FILE **out, const char *folder, const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    *out = fopen(path, "wb");
    return *out ? PADA_OK : PADA_FAIL(PADA_EIO, "%s: cannot write", path);
}

static void put(FILE *file, int32_t x)
{
    fwrite(&x, sizeof x, 1, file);
}

static pada_status write_images(const pada_dataset *data, const char *folder)
{
    FILE *images, *labels;

    PADA_TRY(open_file(&images, folder, "images.u8"));
    PADA_TRY(open_file(&labels, folder, "labels.i32"));
    for (int i = 0; i < data->n_images[PADA_SPLIT_TRAIN]; i++) {
        fwrite(data->ops->image(data, PADA_SPLIT_TRAIN, i), 1,
               (size_t)pada_shape_count(data->shape), images);
        put(labels, data->ops->label(data, PADA_SPLIT_TRAIN, i));
    }
    const bool bad = ferror(images) || ferror(labels);
    return fclose(images) || fclose(labels) || bad ? PADA_FAIL(PADA_EIO, "%s: write error", folder)
                                                   : PADA_OK;
}

static pada_status write_draws(const pada_dataset *data, const pada_space *space,
                               const dump_args *args)
{
    const int n = data->n_images[PADA_SPLIT_TRAIN], batch = (int)args->batch_size;
    pada_path_sampler sampler;
    FILE *steps, *draws;
    int32_t *order;
    int64_t step = 0;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *order));
    order = mem;
    PADA_TRY(open_file(&steps, args->out, "steps.i32"));
    PADA_TRY(open_file(&draws, args->out, "draws.i32"));
    pada_path_sampler_init(&sampler, space);
    for (int epoch = 0; epoch < args->epochs; epoch++) {
        pada_data_permute(args->seed, epoch, order, n);
        for (int first = 0; first < n; first += batch, step++) {
            const int count = n - first < batch ? n - first : batch;
            pada_path path;
            pada_path_sampler_draw(&sampler, args->seed, step, false, &path);
            for (int e = 0; e < 6; e++)
                put(steps, path.choice[e]);
            put(steps, count);
            for (int i = first; i < first + count; i++) {
                const pada_augmentation how = pada_augment_draw(
                    data, &(pada_draw){.seed = args->seed, .epoch = epoch, .position = i});
                put(draws, order[i]);
                put(draws, how.row);
                put(draws, how.column);
                put(draws, how.flip);
            }
        }
    }
    pada_free(order);
    const bool bad = ferror(steps) || ferror(draws);
    return fclose(steps) || fclose(draws) || bad ? PADA_FAIL(PADA_EIO, "%s: write error", args->out)
                                                 : PADA_OK;
}

static pada_status dump(const dump_args *args)
{
    const pada_dataset_desc desc = {.where = args->data,
                                    .splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN),
                                    .image_size = (int)args->image_size};
    const pada_space_ops *ops;
    pada_dataset *data;
    pada_space space;

    PADA_TRY(pada_space_find(&ops, "nb201"));
    PADA_TRY(pada_space_init(&space, ops, &(pada_space_config){0}));
    PADA_TRY(pada_dataset_open(&data, &desc));
    PADA_TRY(write_images(data, args->out));
    PADA_TRY(write_draws(data, &space, args));
    printf("{\"n\": %d, \"size\": %d, \"classes\": %d, \"pad\": %d, \"flip_first\": %d, "
           "\"mean\": [%.17g, %.17g, %.17g], \"deviation\": [%.17g, %.17g, %.17g]}\n",
           data->n_images[PADA_SPLIT_TRAIN], data->shape.h, data->n_classes, data->pad,
           data->flip_first, data->mean[0], data->mean[1], data->mean[2], data->deviation[0],
           data->deviation[1], data->deviation[2]);
    pada_dataset_close(data);
    return PADA_OK;
}

int main(int argc, char **argv)
{
    dump_args args = {0};
    pada_options *options = NULL;
    pada_status st;

    if ((st = pada_options_create(&options)) != PADA_OK) goto out;
    if ((st = pada_options_bind(options, options_table, &args)) != PADA_OK) goto out;
    st = pada_options_parse(options, argc - 1, (const char *const *)argv + 1);
    if (st != PADA_OK) goto out;
    st = dump(&args);
out:
    pada_options_destroy(options);
    if (st != PADA_OK) fprintf(stderr, "draws_dump: %s\n", pada_message());
    return pada_status_exit_code(st);
}
