/* test_trainer.c - runs: the same bits however often they are interrupted, for every strategy. */
#include <inttypes.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "check.h"
#include "strategy/importance.h"
#include "strategy/method_flags.h"
#include "strategy/strategy_fewshot.h"
#include "strategy/strategy_single.h"
#include "tensor/safetensors.h"
#include "tensor/state.h"
#include "train/checkpoint.h"
#include "train/family.h"
#include "train/run_config.h"
#include "train/trainer.h"

#include "engine/engine_weights.h"
#include "train/checkpoint_hash.h"
#include "train/tiny_engine.h"

enum { EPOCHS = 4, BATCH = 12, STEPS = 4 /* per epoch: 12, 12, 12, 8 */, N_BLOCKS = 3 };

static tiny_data data;
static pada_space space;
static pada_engine *engine;
static pada_space block_space; /* weights belong to blocks */
static pada_engine *block_engine;
static pada_recipe recipe;

static int open_all(void **state)
{
    const pada_backend *backend;

    tiny_data_init(&data);
    CHECK_OK(pada_backend_find(&backend, "cpu"));
    engine = tiny_engine(&space, backend, 2, BATCH);
    block_engine = tiny_block_engine(&block_space, backend, 2, BATCH, N_BLOCKS);
    recipe = (pada_recipe){.epochs = EPOCHS,
                           .batch_size = BATCH,
                           .lr = 0.1,
                           .momentum = 0.9,
                           .weight_decay = 1e-3,
                           .clip = 0.5, /* low, so that clipping happens */
                           .augment = true,
                           .variance = true,
                           .validate = TINY_TEST};
    return scratch_setup(state);
}

static int close_all(void **state)
{
    pada_engine_destroy(engine);
    pada_engine_destroy(block_engine);
    return scratch_teardown(state);
}

/* ---- running ---- */

static const volatile sig_atomic_t *no_stop = NULL;
static volatile sig_atomic_t stop_now;
static int stop_after; /* steps of this process */

static void count_step(void *context, const pada_progress *progress)
{
    int *steps = context;

    (void)progress;
    if (++*steps == stop_after) stop_now = 1;
}

static void count_epoch(void *context, const pada_progress *progress,
                        const pada_epoch_metrics *metrics)
{
    (void)metrics;
    count_step(context, progress);
}

static char told[4096];

static void keep_message(void *context, const char *text)
{
    (void)context;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", text);
}

/* Trains in a folder; stops after `steps` steps unless that is 0. */
static pada_status run(const char *folder, const pada_strategy_ops *strategy, const void *settings,
                       int steps)
{
    int done = 0;

    stop_now = 0;
    stop_after = steps;
    told[0] = '\0';
    return pada_train(&(pada_train_desc){
        .engine = engine,
        .data = &data.base,
        .recipe = &recipe,
        .strategy = strategy,
        .settings = settings,
        .run = folder,
        .stop = steps > 0 ? &stop_now : no_stop,
        .listener = {
            .context = &done, .step = count_step, .epoch = count_epoch, .message = keep_message}});
}

static const pada_strategy_ops *method(const char *name)
{
    const pada_strategy_ops *ops;

    CHECK_OK(pada_strategy_find(&ops, name));
    return ops;
}

/* Of the newest checkpoint: everything that the run would go on from. And of the supernets that it has
 * left behind. */
static uint64_t hash_run(const char *folder)
{
    pada_family *family;

    CHECK_OK(pada_family_open(&family, folder, &space));
    const uint64_t supernets = family ? pada_family_hash(family) : 0;
    pada_family_close(family);
    return hash_checkpoint(folder) ^ supernets;
}

/* metrics.csv without the column `seconds`. */
static void read_metrics(const char *folder, char *to, size_t bytes)
{
    char path[1300];
    pada_file file = {0};
    size_t n = 0;
    int column = 0, seconds = -1;

    snprintf(path, sizeof path, "%s/metrics.csv", folder);
    CHECK_OK(pada_file_open(&file, path));
    const char *text = (const char *)file.data, *header = strstr(text, ",seconds,");
    assert_non_null(header);
    for (const char *c = text; c <= header; c++)
        if (*c == ',') seconds = column++ + 1;
    column = 0;
    for (size_t i = 0; i < file.bytes && n + 1 < bytes; i++) {
        if (text[i] == ',') column++;
        if (text[i] == '\n') column = 0;
        if (column != seconds) to[n++] = text[i];
    }
    to[n] = '\0';
    pada_file_close(&file);
}

/* ---- settings ---- */

static const pada_importance_settings official = {.path = {.tau_max = 1},
                                                  .data = {.tau_max = 1, .replacement = true}};
/* The other end of every switch. */
static const pada_importance_settings opposite = {.path = {.scope = 1,
                                                           .norm = 1,
                                                           .accumulate = 1,
                                                           .reset = 1,
                                                           .update = 1,
                                                           .schedule = 2,
                                                           .tau_max = 0.7,
                                                           .reweight = true,
                                                           .skip_dead = true},
                                                  .data = {.accumulate = 1,
                                                           .memory = 1,
                                                           .schedule = 1,
                                                           .tau_max = 0.8,
                                                           .reweight = true,
                                                           .replacement = true}};
static const pada_single_settings one_network = {
    "|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_3x3~1|none~2|"};
static const pada_fewshot_settings five_children = {.split_edges = "0", .child_epochs = 1};

typedef struct variant {
    const char *name, *method;
    const void *settings;
    const char *flags; /* instead of settings */
    double hold_out;   /* of the recipe */
    int blocks;        /* of the space: 0 or N_BLOCKS */
} variant;

static const variant variants[] = {
    {"spos", "spos", NULL, "", 0, 0},
    {"pada", "pada", &official, NULL, 0, 0},
    {"opposite", "pada", &opposite, NULL, 0, 0},
    {"as-written", "pada", NULL,
     "--path-scope per_slot --path-norm unweighted --path-accumulate sum --path-reweight "
     "--data-accumulate mean --data-reweight",
     0, 0},
    {"pa", "pa", &opposite.path, NULL, 0, 0},
    {"pa-steps", "pa", NULL, "--path-update step", 0, 0},
    {"pa-memory", "pa", NULL, "--path-reset never", 0, 0},
    {"da", "da", &opposite.data, NULL, 0, 0},
    {"uniform_replacement", "uniform_replacement", NULL, "", 0, 0},
    {"conv_anneal", "conv_anneal", NULL, "", 0, 0},
    {"single", "single", &one_network, NULL, 0, 0},
    {"fairnas", "fairnas", NULL, "", 0, 0},
    {"fairnas-released", "fairnas", NULL, "--fairnas-as-released", 0, 0},
    {"sumnas", "sumnas", NULL, "--sumnas-anneal-inner", 0, 0},
    {"sumnas-released", "sumnas", NULL, "--sumnas-as-released", 0, 0},
    {"nsas", "nsas", NULL, "--nsas-archive 4 --nsas-recent 6 --nsas-candidates 1", 0, 0},
    {"nsas-released", "nsas", NULL, "--nsas-as-released", 0, 0},
    {"magic_t", "magic_t", NULL, "", 0, 0},
    {"magic_a", "magic_a", NULL, "--anchor-every 3", 0.1, 0},
    {"magic_at", "magic_at", NULL, "--align 0.2", 0.1, 0},
    {"conv_anneal-back", "conv_anneal", NULL, "--path-schedule dec", 0, 0},
    {"spos_depth", "spos_depth", NULL, "", 0, 0},
    {"spos_macs", "spos_macs", NULL, "", 0, 0},
    {"spos_depth-macs", "spos_depth", NULL,
     "--groups macs --group-weights 0,1,3 --group-weights-end 2,1,1", 0, 0},
    {"close", "close", NULL, "--close-temperature 0.2", 0, N_BLOCKS},
    {"close-groups", "close", NULL,
     "--close-paths groups --group-weights 1,2,3,4 --group-weights-end 1,1,1,1", 0, N_BLOCKS},
    {"fewshot", "fewshot", &five_children, NULL, 0, 0},
    {"fewshot-blocks", "fewshot", &five_children, NULL, 0, N_BLOCKS},
    {"gm", "gm", NULL, "--splits 2 --split-repeats 5 --warmup-epochs 1 --final-epochs 1", 0, 0},
    {"gm-held-out", "gm", NULL, "--splits 1 --split-repeats 9 --final-epochs 1", 0.1, 0},
};

/* Borrowed until the next call. */
static const void *settings_of(const variant *v)
{
    static max_align_t settings[64];

    if (v->settings) return v->settings;
    CHECK_OK(method_settings(method(v->method), v->flags, settings, sizeof settings));
    return settings;
}

static pada_status run_variant(const char *folder, const variant *v, int steps)
{
    const pada_recipe usual = recipe;

    if (v->hold_out > 0) { /* far enough for anchors to change */
        recipe.hold_out = v->hold_out;
        recipe.lr = 1;
        recipe.clip = 5;
    }
    pada_engine *const plain = engine;
    if (v->blocks > 0) engine = block_engine;
    const pada_status st = run(folder, method(v->method), settings_of(v), steps);
    engine = plain;
    recipe = usual;
    return st;
}

/* ---- tests ---- */

static void runs_repeat(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant *v = &variants[i];
        char a[64], b[64], first[8192], second[8192];
        snprintf(a, sizeof a, "repeat-a-%s", v->name);
        snprintf(b, sizeof b, "repeat-b-%s", v->name);
        CHECK_OK(run_variant(scratch_path(a), v, 0));
        CHECK_OK(run_variant(scratch_path(b), v, 0));
        assert_true(hash_run(scratch_path(a)) == hash_run(scratch_path(b)));
        read_metrics(scratch_path(a), first, sizeof first);
        read_metrics(scratch_path(b), second, sizeof second);
        assert_string_equal(first, second);
        /* A finished run has nothing left to do. */
        CHECK_OK(run_variant(scratch_path(a), v, 0));
        assert_true(hash_run(scratch_path(a)) == hash_run(scratch_path(b)));
    }
}

/* Of the rows of metrics.csv, the smallest share of the images that was seen. */
static double least_coverage(const char *metrics)
{
    const char *header = strstr(metrics, ",data_coverage,");
    double least = 2;
    int column = 1;

    assert_non_null(header);
    for (const char *c = metrics; c < header; c++)
        column += *c == ',';
    for (const char *row = strchr(metrics, '\n') + 1; *row; row = strchr(row, '\n') + 1) {
        const char *field = row;
        for (int i = 0; i < column; i++)
            field = strchr(field, ',') + 1;
        least = fmin(least, strtod(field, NULL));
    }
    return least;
}

/* Unless a method draws them, every image is in every epoch. */
static void epochs_have_all_images(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant *v = &variants[i];
        char metrics[8192];
        const bool draws = strcmp(v->method, "pada") == 0 || strcmp(v->method, "da") == 0 ||
                           strcmp(v->method, "uniform_replacement") == 0;
        CHECK_OK(run_variant(scratch_path(v->name), v, 0));
        read_metrics(scratch_path(v->name), metrics, sizeof metrics);
        const double coverage = least_coverage(metrics);
        if (draws ? coverage > 0.9 || coverage < 0.2 : coverage != 1)
            fail_msg("%s: %g of the images", v->name, coverage);
    }
}

/* Stopped after every `n`-th step, again and again, until it is done. */
static void stopped_runs_end_the_same(void **state)
{
    static const int strides[] = {1, 2, 3, 5, 7};

    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant *v = &variants[i];
        char name[64], whole[8192], parts[8192];
        snprintf(name, sizeof name, "whole-%s", v->name);
        CHECK_OK(run_variant(scratch_path(name), v, 0));
        const uint64_t want = hash_run(scratch_path(name));
        read_metrics(scratch_path(name), whole, sizeof whole);
        for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
            pada_status st;
            int starts = 0;
            /* A gate is large, and a checkpoint after every step is all that it takes. */
            if (v->blocks > 0 && strides[s] > 1) break;
            snprintf(name, sizeof name, "stopped-%s-%d", v->name, strides[s]);
            while ((st = run_variant(scratch_path(name), v, strides[s])) == PADA_ESTOPPED)
                starts++;
            CHECK_OK(st);
            assert_true(starts >= EPOCHS * STEPS / strides[s] - 1);
            assert_true(hash_run(scratch_path(name)) == want);
            read_metrics(scratch_path(name), parts, sizeof parts);
            assert_string_equal(parts, whole);
        }
    }
}

static uint64_t weights_after(const char *name, const char *method_name, const void *settings)
{
    CHECK_OK(run(scratch_path(name), method(method_name), settings, 0));
    return pada_engine_weights_hash(engine);
}

/* The invariants of the specification. */
static void uniform_importance_is_spos(void **state)
{
    const pada_importance_settings off = {.path = {.tau_max = 0},
                                          .data = {.tau_max = 0, .replacement = false}};
    pada_importance_settings replace = off;
    const uint64_t spos = weights_after("eq-spos", "spos", NULL);

    (void)state;
    replace.data.replacement = true;
    assert_true(weights_after("eq-pada", "pada", &off) == spos);
    assert_true(weights_after("eq-pa", "pa", &off.path) == spos);
    assert_true(weights_after("eq-da", "da", &off.data) == spos);
    assert_true(weights_after("eq-replace", "pada", &replace) != spos);
    assert_true(weights_after("eq-replace2", "pada", &replace) ==
                weights_after("eq-control", "uniform_replacement", NULL));
    assert_true(weights_after("eq-official", "pada", &official) != spos);
    /* An archive without weight is no archive. */
    const variant no_archive = {.method = "nsas", .flags = "--nsas-beta 0"};
    const variant archive = {.method = "nsas", .flags = "--nsas-beta 0.1"};
    assert_true(weights_after("eq-nsas", "nsas", settings_of(&no_archive)) == spos);
    assert_true(weights_after("eq-nsas2", "nsas", settings_of(&archive)) != spos);
}

/* Label smoothing is the recipe's, also on an engine that a run with another one has used. */
static void labels_are_smoothed(void **state)
{
    const uint64_t plain = weights_after("smooth-0", "single", &one_network);
    pada_status st;

    (void)state;
    recipe.label_smoothing = 0.1;
    const uint64_t smoothed = weights_after("smooth-a", "single", &one_network);
    while ((st = run(scratch_path("smooth-b"), method("single"), &one_network, 3)) == PADA_ESTOPPED)
        continue;
    recipe.label_smoothing = 0;
    CHECK_OK(st);
    assert_true(smoothed != plain);
    assert_true(pada_engine_weights_hash(engine) == smoothed);
    assert_true(weights_after("smooth-c", "single", &one_network) == plain);
}

/* An anchor without weight is no anchor. */
static void alignment_without_weight_is_none(void **state)
{
    const variant off = {.method = "magic_at", .flags = "--align 0"},
                  on = {.method = "magic_at", .flags = "--align 0.1", .hold_out = 0.1};
    const variant off_a = {.method = "magic_a", .flags = "--align 0"},
                  plain = {.method = "magic_t", .flags = ""};
    const uint64_t walk = weights_after("eq-magic_t", "magic_t", settings_of(&plain));

    (void)state;
    assert_true(weights_after("eq-magic_at", "magic_at", settings_of(&off)) == walk);
    assert_true(weights_after("eq-magic_a", "magic_a", settings_of(&off_a)) ==
                weights_after("eq-spos2", "spos", NULL));
    CHECK_OK(run_variant(scratch_path("eq-aligned"), &on, 0));
    assert_true(pada_engine_weights_hash(engine) != walk);
    /* Nothing to compare on. */
    assert_int_equal(run(NULL, method("magic_at"), settings_of(&on), 0), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "--hold-out"));
}

/* Eleven images of each class, one class after the other. */
static int sorted_label(const pada_dataset *ds, pada_split split, int i)
{
    (void)ds, (void)split;
    return i / (TINY_TRAIN / TINY_CLASSES);
}

/* Images that are held out change nothing, and an epoch is shorter. They are the last ones of each
 * class, wherever they are in the data set. */
static void held_out_images_are_not_trained_on(void **state)
{
    const pada_dataset_ops sorted = {
        .name = "tiny", .image = data.base.ops->image, .label = sorted_label};
    char metrics[8192];
    uint8_t pixels[sizeof data.pixels[0][0]];

    (void)state;
    recipe.hold_out = 0.25;
    data.base.ops = &sorted;
    const uint64_t before = weights_after("held-a", "pada", &official);
    for (int image = 7; image <= 11; image++) { /* of class 0 the last three, then of class 1 */
        const bool held = image > 7 && image < 11;
        char name[40];
        snprintf(name, sizeof name, "held-%d", image);
        memcpy(pixels, data.pixels[0][image], sizeof pixels);
        memset(data.pixels[0][image], 77, sizeof pixels);
        assert_true((weights_after(name, "pada", &official) == before) == held);
        memcpy(data.pixels[0][image], pixels, sizeof pixels);
    }
    read_metrics(scratch_path("held-a"), metrics, sizeof metrics);
    assert_non_null(strstr(metrics, "\n0,0,3,3,32,")); /* epoch, supernet, steps, passes, images */
    tiny_data_init(&data);
    recipe.hold_out = 0.9;
    assert_int_equal(run(NULL, method("spos"), NULL, 0), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "there are 4 to train on"));
    recipe.hold_out = 0;
}

/* ---- each saved field is needed ---- */

/* Writes the checkpoint again with one tensor changed, under a right hash. */
static void spoil(const char *from, const char *to, const char *name)
{
    static const struct {
        const char *dtype;
        pada_state_type type;
    } types[] = {{"F32", PADA_STATE_F32},
                 {"F64", PADA_STATE_F64},
                 {"I32", PADA_STATE_I32},
                 {"I64", PADA_STATE_I64},
                 {"U8", PADA_STATE_U8}};
    pada_safetensors *file;
    pada_state *state;

    CHECK_OK(pada_safetensors_open(&file, from));
    CHECK_OK(pada_state_create(&state));
    for (int i = 0; i < pada_safetensors_count(file); i++) {
        const pada_st_tensor *t = pada_safetensors_get(file, i);
        int dims[8], type = 0;
        void *copy;
        CHECK_OK(pada_calloc(&copy, t->bytes, 1));
        memcpy(copy, t->data, t->bytes);
        if (strcmp(t->name, name) == 0) {
            memset(copy, 0, t->bytes);
            if (t->bytes > 0 && memcmp(copy, t->data, t->bytes) == 0) memset(copy, 0x3f, t->bytes);
        }
        for (int k = 0; k < t->n_dims; k++)
            dims[k] = (int)t->dims[k];
        while (strcmp(types[type].dtype, t->dtype) != 0)
            type++;
        pada_state_tensor(state, t->name, types[type].type, dims, t->n_dims, copy);
        pada_free(copy);
    }
    CHECK_OK(pada_state_finish(state));
    CHECK_OK(pada_state_write(state, to));
    pada_state_destroy(state);
    pada_safetensors_close(file);
}

/* A run that is stopped, to go on from checkpoints that lack something. */
typedef struct stopped_run {
    const char *name; /* of the variant */
    int steps;        /* after which it is stopped */
    const char *row;  /* how the row of that epoch begins: "\n1," */
    int n_supernets;  /* that are done by then */
} stopped_run;

static void copy_file(const char *from_folder, const char *to_folder, const char *name)
{
    char path[1500];
    pada_file file = {0};

    snprintf(path, sizeof path, "%s/%s", from_folder, name);
    CHECK_OK(pada_file_open(&file, path));
    snprintf(path, sizeof path, "%s/%s", to_folder, name);
    CHECK_OK(pada_file_replace(path, file.data, file.bytes));
    pada_file_close(&file);
}

/* Whether a run that goes on from a checkpoint without `name` ends differently, or fails. */
static bool is_needed(const variant *v, const stopped_run *stopped, const char *checkpoint,
                      const char *name, uint64_t want, const char *metrics)
{
    static int number;
    char folder[64], from[64], file[200], have[8192];

    snprintf(folder, sizeof folder, "spoiled-%d", number++);
    snprintf(from, sizeof from, "fields-%s", v->name);
    snprintf(file, sizeof file, "%s/ckpt", folder);
    CHECK_OK(pada_make_dirs(scratch_path(file)));
    snprintf(file, sizeof file, "%s/supernets", folder);
    if (stopped->n_supernets > 0) CHECK_OK(pada_make_dirs(scratch_path(file)));
    for (int i = 0; i < stopped->n_supernets; i++) {
        snprintf(file, sizeof file, "supernets/%04d.safetensors", i);
        copy_file(scratch_path(from), scratch_path(folder), file);
    }
    snprintf(file, sizeof file, "%s/ckpt/%08d.safetensors", folder, stopped->steps);
    spoil(checkpoint, scratch_path(file), name);
    if (run_variant(scratch_path(folder), v, 0) != PADA_OK) return true;
    if (hash_run(scratch_path(folder)) != want) return true;
    read_metrics(scratch_path(folder), have, sizeof have);
    /* The rows of earlier epochs are missing here; compare the others. */
    const char *row = strstr(metrics, stopped->row), *other = strstr(have, stopped->row);
    assert_non_null(row);
    assert_non_null(other);
    return strcmp(row, other) != 0;
}

static void every_saved_field_is_needed(void **state)
{
    /* In the middle of the second epoch; in the second epoch of the first child; among the probes of
     * the second supernet, in the second epoch of which they are made. */
    static const stopped_run used[] = {
        {"pada", 6, "\n1,", 0}, {"opposite", 6, "\n1,", 0}, {"sumnas-released", 6, "\n1,", 0},
        {"nsas", 6, "\n1,", 0}, {"magic_at", 6, "\n1,", 0}, {"fewshot", 18, "\n4,", 1},
        {"gm", 17, "\n5,", 1},
    };
    static char names[60][128];
    static bool needed[60];
    int n_names = 0;

    (void)state;
    for (size_t u = 0; u < sizeof used / sizeof *used; u++) {
        const variant *v = variants;
        while (strcmp(v->name, used[u].name) != 0)
            v++;
        char folder[64], metrics[8192];
        pada_text path = {0};
        pada_safetensors *file;
        snprintf(folder, sizeof folder, "fields-whole-%s", v->name);
        CHECK_OK(run_variant(scratch_path(folder), v, 0));
        const uint64_t want = hash_run(scratch_path(folder));
        read_metrics(scratch_path(folder), metrics, sizeof metrics);
        snprintf(folder, sizeof folder, "fields-%s", v->name);
        assert_int_equal(run_variant(scratch_path(folder), v, used[u].steps), PADA_ESTOPPED);
        CHECK_OK(pada_checkpoint_newest(scratch_path(folder), &path, NULL));
        /* The way itself changes nothing. */
        assert_false(is_needed(v, &used[u], pada_text_str(&path), "", want, metrics));
        CHECK_OK(pada_safetensors_open(&file, pada_text_str(&path)));
        for (int i = 0; i < pada_safetensors_count(file); i++) {
            const char *name = pada_safetensors_get(file, i)->name;
            const char *slash = strrchr(name, '/');
            char kind[128];
            int k = 0;
            /* What is stored per parameter is one field, of which some members are tried. */
            if (strchr(name, '.') && i % 9 != 0) continue;
            snprintf(kind, sizeof kind, "%.*s",
                     strchr(name, '.') ? (slash ? (int)(slash - name) : 0) : 127, name);
            while (k < n_names && strcmp(names[k], kind) != 0)
                k++;
            assert_true(k < 60);
            if (k == n_names) snprintf(names[n_names++], sizeof names[0], "%s", kind);
            if (needed[k]) continue;
            needed[k] = is_needed(v, &used[u], pada_text_str(&path), name, want, metrics);
        }
        pada_safetensors_close(file);
        pada_text_deinit(&path);
    }
    assert_true(n_names > 15);
    for (int k = 0; k < n_names; k++)
        if (!needed[k]) fail_msg("%s is saved but nothing depends on it", names[k]);
}

/* ---- what can go wrong ---- */

static void a_damaged_checkpoint_falls_back(void **state)
{
    const char *folder = scratch_path("damaged");
    char path[1300];

    (void)state;
    const uint64_t want = weights_after("undamaged", "pada", &official);
    assert_int_equal(run(folder, method("pada"), &official, 5), PADA_ESTOPPED);
    assert_int_equal(run(folder, method("pada"), &official, 2), PADA_ESTOPPED);
    snprintf(path, sizeof path, "%s/ckpt/00000007.safetensors", folder);
    pada_file file = {0};
    CHECK_OK(pada_file_open(&file, path));
    uint8_t *copy;
    void *memory;
    CHECK_OK(pada_calloc(&memory, file.bytes, 1));
    copy = memory;
    memcpy(copy, file.data, file.bytes);
    copy[file.bytes - 10] ^= 4; /* one bit */
    CHECK_OK(pada_file_replace(path, copy, file.bytes));
    pada_file_close(&file);
    pada_free(memory);
    CHECK_OK(run(folder, method("pada"), &official, 0));
    assert_non_null(strstr(told, "00000007.safetensors: damaged"));
    assert_non_null(strstr(told, "going on at epoch 2, step 2\n"));
    assert_true(pada_engine_weights_hash(engine) == want);
    snprintf(path, sizeof path, "%s/ckpt/00000007.safetensors.damaged", folder);
    assert_true(pada_path_exists(path));
}

static void only_two_checkpoints_are_kept(void **state)
{
    char path[1300];
    int kept = 0;

    (void)state;
    while (run(scratch_path("kept"), method("spos"), NULL, 1) == PADA_ESTOPPED) {}
    for (int step = 0; step <= EPOCHS * STEPS; step++) {
        snprintf(path, sizeof path, "%s/ckpt/%08d.safetensors", scratch_path("kept"), step);
        kept += pada_path_exists(path);
    }
    assert_int_equal(kept, 2);
    assert_true(pada_path_exists(path)); /* the last one */
}

static void wrong_data_is_refused(void **state)
{
    const pada_recipe good = recipe;

    (void)state;
    recipe.batch_size = TINY_TRAIN + 1;
    assert_int_equal(run(NULL, method("spos"), NULL, 0), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "45"));
    recipe = good;
    data.base.n_classes++;
    assert_int_equal(run(NULL, method("spos"), NULL, 0), PADA_EINVAL);
    data.base.n_classes--;
    recipe.lr = 1e30; /* the loss explodes, and that is a failure */
    recipe.clip = 0;
    assert_int_equal(run(NULL, method("spos"), NULL, 0), PADA_ENUMERIC);
    recipe = good;
}

static void a_full_disk_keeps_the_checkpoint(void **state)
{
    const char *folder = scratch_path("full");
    char ckpt[1300];

    (void)state;
    assert_int_equal(run(folder, method("spos"), NULL, 3), PADA_ESTOPPED);
    const uint64_t before = hash_run(folder);
    /* The next checkpoint would be 00000004.safetensors.tmp.PID; a folder of that name stops it. */
    snprintf(ckpt, sizeof ckpt, "%s/ckpt/00000004.safetensors.tmp.%d", folder, (int)getpid());
    CHECK_OK(pada_make_dirs(ckpt));
    assert_int_equal(run(folder, method("spos"), NULL, 1), PADA_EIO);
    assert_true(hash_run(folder) == before);
    rmdir(ckpt);
    CHECK_OK(run(folder, method("spos"), NULL, 0));
}

static void configurations_are_compared(void **state)
{
    static const char *const except[] = {"extra", "method", "lr", NULL};
    const char *folder = scratch_path("config"), *mine = "lr: 0.05\nseed: 3\nmethod: \"pada\"\n";
    pada_run_lock lock = {0}, second = {0};

    (void)state;
    CHECK_OK(pada_run_lock_take(&lock, folder));
    assert_int_equal(pada_run_lock_take(&second, folder), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "another process"));
    CHECK_OK(
        pada_run_store(folder, &(pada_run_papers){.config = mine})); /* nothing to compare with */
    CHECK_OK(pada_run_store(folder, &(pada_run_papers){.config = mine}));
    CHECK_OK(pada_run_check_config(folder, "seed: 3\nlr: 0.05\nmethod: \"pada\"\n", NULL));
    assert_int_equal(pada_run_check_config(folder, "lr: 0.1\nseed: 3\nextra: 1\n", NULL),
                     PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "lr ( 0.05 there, 0.1 here), extra (only here), "
                                           "method (only there)"));
    CHECK_OK(pada_run_check_config(folder, "lr: 0.1\nseed: 3\nextra: 1\n", except));
    pada_run_lock_release(&lock);
    CHECK_OK(pada_run_lock_take(&second, folder));
    pada_run_lock_release(&second);
}

static void out_of_memory(void **state)
{
    max_align_t settings[64];

    (void)state;
    recipe.epochs = 1;
    /* Without a folder: the engine keeps what it has. The first run makes its buffers. */
    CHECK_OK(run(NULL, method("pada"), &official, 0));
    assert_survives_oom(run(NULL, method("pada"), &official, 0), (void)0);
    CHECK_OK(method_settings(method("nsas"), "", settings, sizeof settings));
    CHECK_OK(run(NULL, method("nsas"), settings, 0));
    assert_survives_oom(run(NULL, method("nsas"), settings, 0), (void)0);
    recipe.hold_out = 0.1;
    CHECK_OK(method_settings(method("magic_at"), "", settings, sizeof settings));
    CHECK_OK(run(NULL, method("magic_at"), settings, 0));
    assert_survives_oom(run(NULL, method("magic_at"), settings, 0), (void)0);
    recipe.hold_out = 0;
    recipe.epochs = EPOCHS;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_repeat),
        cmocka_unit_test(epochs_have_all_images),
        cmocka_unit_test(stopped_runs_end_the_same),
        cmocka_unit_test(uniform_importance_is_spos),
        cmocka_unit_test(labels_are_smoothed),
        cmocka_unit_test(alignment_without_weight_is_none),
        cmocka_unit_test(held_out_images_are_not_trained_on),
        cmocka_unit_test(every_saved_field_is_needed),
        cmocka_unit_test(a_damaged_checkpoint_falls_back),
        cmocka_unit_test(only_two_checkpoints_are_kept),
        cmocka_unit_test(wrong_data_is_refused),
        cmocka_unit_test(a_full_disk_keeps_the_checkpoint),
        cmocka_unit_test(configurations_are_compared),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
