/* bench_data.c - how fast the training images of a data set are made. */
#include "cli/bench_data.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cli/print.h"
#include "data/augment.h"
#include "data/loader.h"
#include "data/resized_crop.h"

#define FEW    400                            /* images of what is timed on one thread */
#define JITTER ((pada_jitter){0.4, 0.4, 0.4}) /* ImageNet's usual one */

typedef enum stage { READ, WHOLE, PART, COLOURS, N_STAGES } stage;

static const struct {
    const char *name, *what;
} stages[N_STAGES] = {
    [READ] = {"read", "files read and hashed"},
    [WHOLE] = {"whole", "whole pictures decoded, a part scaled"},
    [PART] = {"part", "parts decoded and scaled"},
    [COLOURS] = {"colours", "the same, mirrored, colours changed"},
};

static pada_cut draw_part(void *context, int width, int height)
{
    return pada_resized_crop_draw(context, width, height);
}

/* One image, up to a stage; out [3, size, size]. */
static pada_status make_image(const pada_bench_data *b, int i, stage up_to, uint8_t *out)
{
    const pada_dataset *ds = b->data;
    const char *path = ds->ops->file(ds, PADA_SPLIT_TRAIN, i);
    const pada_draw draw = {.seed = b->seed, .position = i, .changes.jitter = JITTER};
    pada_status st = PADA_OK;
    pada_file file;
    pada_rng rng;

    if (up_to == COLOURS) return pada_augment_photo(ds, PADA_SPLIT_TRAIN, i, &draw, out);
    pada_rng_init(&rng, b->seed, "augment", (uint64_t)i);
    const pada_cutter cutter = {
        .choose = draw_part, .context = &rng, .size = ds->shape.h, .all_of_it = up_to == WHOLE};
    PADA_TRY(pada_file_load(&file, path));
    (void)pada_hash(file.data, file.bytes, 0);
    if (up_to != READ)
        st = pada_image_cut(
            &(pada_image_source){.path = path, .data = file.data, .bytes = file.bytes}, &cutter,
            out);
    pada_file_close(&file);
    return st;
}

typedef struct moment {
    double seconds, work; /* of the clock, and of processors for this process */
} moment;

static moment now(void)
{
    return (moment){.seconds = pada_clock_seconds(), .work = pada_clock_work_seconds()};
}

/* The second rate is what one processor makes in a second of its work: other programs do not matter. */
static void report(const pada_bench_data *b, const char *name, const char *what, int n_threads,
                   int n, moment start, pada_text *out)
{
    const moment end = now();
    const double seconds = end.seconds - start.seconds, work = end.work - start.work;

    if (!b->json) {
        pada_text_add(out, "%-8s %9.0f images/s  %7.0f a processor  %2d threads  %s\n", name,
                      n / seconds, n / work, n_threads, what);
        return;
    }
    json_t *object = json_object();
    pada_json_set(out, object, "stage", json_string(name));
    pada_json_set(out, object, "image_size", json_integer(b->data->shape.h));
    pada_json_set(out, object, "images", json_integer(n));
    pada_json_set(out, object, "threads", json_integer(n_threads));
    pada_json_set(out, object, "seconds", json_real(seconds));
    pada_json_set(out, object, "processor_seconds", json_real(work));
    pada_json_set(out, object, "images_per_second", json_real(n / seconds));
    pada_json_line(out, object);
}

static pada_status time_stages(const pada_bench_data *b, int n, pada_text *out)
{
    const int n_timed = n < FEW ? n : FEW;
    pada_status st = PADA_OK;
    void *pixels;

    PADA_TRY(pada_calloc(&pixels, (size_t)pada_shape_count(b->data->shape), 1));
    for (int s = 0; s < N_STAGES && st == PADA_OK; s++) {
        const moment start = now();
        for (int i = 0; i < n_timed && st == PADA_OK; i++)
            st = make_image(b, i, (stage)s, pixels);
        report(b, stages[s].name, stages[s].what, 1, n_timed, start, out);
    }
    pada_free(pixels);
    return st;
}

/* One epoch of the first n images. */
static pada_status read_batches(pada_loader *loader, const int32_t *order, int n)
{
    pada_draws draws;

    PADA_TRY(pada_loader_begin(loader, 0, order, n, 0));
    do
        PADA_TRY(pada_loader_next(loader, &draws));
    while (draws.batch.n > 0);
    return PADA_OK;
}

static pada_status time_batches(const pada_bench_data *b, int n, pada_text *out)
{
    pada_changes changes = b->changes;
    pada_loader *loader = NULL;
    void *order;

    if (b->data->is_cut && changes.policy == PADA_POLICY_NONE) changes.jitter = JITTER;
    PADA_TRY(pada_calloc(&order, (size_t)n, sizeof(int32_t)));
    for (int i = 0; i < n; i++)
        ((int32_t *)order)[i] = i;
    pada_status st =
        pada_loader_create(&loader, &(pada_loader_desc){.data = b->data,
                                                        .split = PADA_SPLIT_TRAIN,
                                                        .batch_size = b->batch < n ? b->batch : n,
                                                        .seed = b->seed,
                                                        .augment = true,
                                                        .changes = changes,
                                                        .n_threads = b->n_threads});
    const moment start = now();
    if (st == PADA_OK) st = read_batches(loader, order, n);
    if (st == PADA_OK)
        report(b, "fed", "batches of numbers, as a training gets them",
               pada_loader_n_threads(loader), n, start, out);
    pada_loader_destroy(loader);
    pada_free(order);
    return st;
}

pada_status pada_bench_data_run(const pada_bench_data *b, pada_text *out)
{
    const int available = b->data->n_images[PADA_SPLIT_TRAIN];
    const int n = b->n_images < available ? b->n_images : available;

    if (b->data->is_cut) PADA_TRY(time_stages(b, n, out));
    PADA_TRY(time_batches(b, n, out));
    return out->status;
}
