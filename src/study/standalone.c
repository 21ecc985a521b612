/* standalone.c - networks trained alone, each from fresh weights: a truth table. */
#include "study/standalone.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "dist/farm.h"
#include "engine/engine_ema.h"
#include "space/path_index.h"
#include "strategy/strategy_single.h"
#include "study/standalone_results.h"
#include "train/trainer.h"

enum { NOT_DONE = -1 };
enum { NOTE, RESUMED }; /* what a process says about its training */

/* A training that is handed out. */
typedef struct task {
    pada_path form;
    uint64_t seed;
    int place; /* of its result; of process 0 */
} task;

typedef struct outcome {
    int correct, images;
} outcome;

typedef struct standalone {
    const pada_standalone_desc *desc;
    const pada_space *space;
    pada_farm *farm;
    double start; /* clock */

    /* Process 0. */
    pada_path_index *forms; /* canonical ones */
    int *correct;           /* [forms, n_seeds] images of the test split, or NOT_DONE */
    int n_done;
    bool *taken;    /* [forms, n_seeds] somebody trains it, or has done so */
    int next;       /* all before it, in the order of train_all, are taken */
    bool has_begun; /* a training */
    pada__results *results;
    double macs_left, macs_done; /* of trainings, per image and epoch; done: by this call */
} standalone;

/* ---- what there is to do ---- */

static int n_total(const standalone *s)
{
    return pada_path_index_count(s->forms) * s->desc->n_seeds;
}

static double macs_of(const standalone *s, int form)
{
    pada_cost cost;

    pada_space_search_cost(s->space, pada_path_index_get(s->forms, form), &cost);
    return (double)cost.macs;
}

static pada_status find_forms(standalone *s)
{
    pada_path form;
    void *memory;

    if (s->desc->n_paths > INT32_MAX / s->desc->n_seeds)
        return PADA_FAIL(PADA_EINVAL, "%d networks with %d seeds are more than can be counted",
                         s->desc->n_paths, s->desc->n_seeds);
    PADA_TRY(pada_path_index_create(&s->forms, s->space, s->desc->n_paths));
    for (int i = 0; i < s->desc->n_paths; i++) {
        s->space->ops->canonical(s->space, &s->desc->paths[i], &form);
        (void)pada_path_index_add(s->forms, &form);
    }
    PADA_TRY(pada_calloc(&memory, (size_t)n_total(s), sizeof *s->taken));
    s->taken = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)n_total(s), sizeof *s->correct));
    s->correct = memory;
    for (int i = 0; i < n_total(s); i++)
        s->correct[i] = NOT_DONE;
    return PADA_OK;
}

/* Where the result of a training belongs, or NULL: the list or the seeds do not have it. */
static int *place_of(const standalone *s, const pada_path *form, uint64_t seed)
{
    const int i = pada_path_index_find(s->forms, form);
    const uint64_t k = seed - s->desc->recipe->seed;

    if (i < 0 || k >= (uint64_t)s->desc->n_seeds) return NULL;
    return &s->correct[i * s->desc->n_seeds + (int)k];
}

static void take_result(void *user, const pada__result *result)
{
    standalone *s = user;
    int *place = place_of(s, &result->form, result->seed);

    if (!place || result->images != pada_evaluator_n_images(s->desc->evaluator)) return;
    if (*place == NOT_DONE) s->n_done++;
    *place = result->correct;
    s->taken[place - s->correct] = true;
}

static pada_status add_path(const standalone *s, pada_text *out, const char *name)
{
    pada_text_add(out, "%s/%s", s->desc->folder, name);
    return out->status;
}

static pada_status open_results(standalone *s)
{
    pada_text path = {0};
    pada_status st = add_path(s, &path, "results.csv");

    if (st == PADA_OK) st = pada__results_open(&s->results, s->space, path.data, take_result, s);
    pada_text_deinit(&path);
    return st;
}

/* ---- one training ---- */

/* Every training has a folder of its own, so that it never resumes from the checkpoint of another. */
static pada_status training_folder(const standalone *s, const pada_path *form, uint64_t seed,
                                   pada_text *out)
{
    const uint64_t hash = pada_hash(form->choice, (size_t)s->space->ops->n_slots, 0);

    PADA_TRY(add_path(s, out, "training"));
    pada_text_add(out, "/%016" PRIx64 "-%" PRIu64, hash, seed);
    return out->status;
}

static void tell(void *context, const char *text)
{
    const standalone *s = context;

    pada_farm_say(s->farm, NOTE, text);
}

static void tell_resumed(void *context, const char *text)
{
    const standalone *s = context;

    pada_farm_say(s->farm, RESUMED, text);
}

/* What any process has told; on process 0. */
static void hear(void *user, int kind, const char *text)
{
    const pada_standalone_desc *desc = ((const standalone *)user)->desc;
    void (*const say)(void *, const char *) = kind == RESUMED ? desc->resumed : desc->note;

    if (say) say(desc->user, text);
}

/* Time left, at least a little, since 0 means forever. */
static double seconds_left(const standalone *s)
{
    const double left = s->desc->max_seconds - (pada_clock_seconds() - s->start);

    if (s->desc->max_seconds == 0) return 0;
    return left > 1e-6 ? left : 1e-6;
}

static pada_status train(const standalone *s, const char *arch, uint64_t seed, const char *folder)
{
    const pada_standalone_desc *desc = s->desc;
    const pada_single_settings settings = {.arch = arch};
    pada_recipe recipe = *desc->recipe;

    recipe.seed = seed;
    return pada_train(&(pada_train_desc){
        .engine = desc->engine,
        .data = desc->data,
        .recipe = &recipe,
        .strategy = &pada_strategy_single,
        .settings = &settings,
        .weights = desc->weights,
        .run = folder,
        .checkpoint_seconds = desc->checkpoint_seconds,
        .max_seconds = seconds_left(s),
        .stop = pada_farm_stop(s->farm),
        .listener = {.context = (void *)s, .message = tell, .resumed = tell_resumed}});
}

pada_status pada_standalone_check(const pada_standalone_desc *desc)
{
    const pada_space *space = pada_engine_space(desc->engine);
    pada_text arch = {0};
    pada_status st = space->ops->format(space, &desc->paths[0], NULL, &arch);

    if (st == PADA_OK)
        st = pada_train_check(
            &(pada_train_desc){.engine = desc->engine,
                               .data = desc->data,
                               .recipe = desc->recipe,
                               .strategy = &pada_strategy_single,
                               .weights = desc->weights,
                               .settings = &(pada_single_settings){.arch = pada_text_str(&arch)}});
    pada_text_deinit(&arch);
    return st;
}

/* Trains a network to its end and evaluates it. Its folder is what a training under way needs, and nothing else. */
static pada_status finish(standalone *s, const task *t, outcome *out)
{
    const pada_space_ops *ops = s->space->ops;
    pada_text arch = {0}, folder = {0};
    pada_evaluation found;
    pada_status st;

    if ((st = ops->format(s->space, &t->form, ops->dialects[0], &arch)) != PADA_OK) goto out;
    if ((st = training_folder(s, &t->form, t->seed, &folder)) != PADA_OK) goto out;
    if ((st = train(s, arch.data, t->seed, folder.data)) != PADA_OK) goto out;
    pada_engine_ema_swap(s->desc->engine);
    st = pada_evaluator_run(s->desc->evaluator, s->desc->engine, &t->form, NULL, &found);
    pada_engine_ema_swap(s->desc->engine);
    *out = (outcome){.correct = found.top1, .images = found.n_images};
out:
    pada_text_deinit(&arch);
    pada_text_deinit(&folder);
    return st;
}

/* ---- all of them ---- */

static double percent(const standalone *s, int correct)
{
    return 100.0 * correct / pada_evaluator_n_images(s->desc->evaluator);
}

static bool must_stop(const standalone *s)
{
    const pada_standalone_desc *desc = s->desc;

    if (desc->stop && *desc->stop) return true;
    return desc->max_seconds > 0 && pada_clock_seconds() - s->start >= desc->max_seconds;
}

static void report(standalone *s, const task *t)
{
    const double seconds = pada_clock_seconds() - s->start,
                 macs = macs_of(s, t->place / s->desc->n_seeds);

    s->macs_left -= macs;
    s->macs_done += macs;
    if (!s->desc->progress) return;
    s->desc->progress(s->desc->user, &(pada_standalone_progress){
                                         .form = &t->form,
                                         .seed = t->seed,
                                         .top1 = percent(s, s->correct[t->place]),
                                         .n_done = s->n_done,
                                         .n_total = n_total(s),
                                         .seconds_left = seconds * s->macs_left / s->macs_done});
}

/* The training that comes i-th. All networks with the first seed, then all with the next: what is there after a while is
 * a sample of everything. */
static task training_at(const standalone *s, int i)
{
    const int n_forms = pada_path_index_count(s->forms), form = i % n_forms, k = i / n_forms;

    return (task){.form = *pada_path_index_get(s->forms, form),
                  .seed = s->desc->recipe->seed + (uint64_t)k,
                  .place = form * s->desc->n_seeds + k};
}

/* However short the time is, a training is begun: repeating the command gets on. */
static bool take_training(void *user, void *out)
{
    standalone *s = user;

    while (s->next < n_total(s) && s->taken[training_at(s, s->next).place])
        s->next++;
    if (s->next == n_total(s) || (s->has_begun && must_stop(s))) return false;
    const task t = training_at(s, s->next++);
    s->taken[t.place] = s->has_begun = true;
    *(task *)out = t;
    return true;
}

static void put_training_back(void *user, const void *task_of)
{
    standalone *s = user;

    s->taken[((const task *)task_of)->place] = false;
    s->next = 0;
}

static pada_status keep_training(void *user, const void *task_of, const void *outcome_of)
{
    standalone *s = user;
    const task *t = task_of;
    const outcome *o = outcome_of;
    const pada__result result = {
        .form = t->form, .seed = t->seed, .correct = o->correct, .images = o->images};
    pada_text folder = {0};

    pada_status st = pada__results_append(s->results, &result);
    if (st == PADA_OK) {
        take_result(s, &result);
        report(s, t);
        st = training_folder(s, &t->form, t->seed, &folder);
    }
    if (st == PADA_OK) st = pada_remove_tree(folder.data);
    pada_text_deinit(&folder);
    return st;
}

/* Trains what the farm hands out to this process. */
static pada_status train_tasks(standalone *s)
{
    outcome found;
    task t;

    while (pada_farm_take(s->farm, &t)) {
        const pada_status st = finish(s, &t, &found);
        if (st == PADA_ESTOPPED) {
            pada_farm_put_back(s->farm, &t);
            return st;
        }
        if (st != PADA_OK) return pada_farm_fail(s->farm, st);
        PADA_TRY(pada_farm_keep(s->farm, &t, &found));
    }
    return PADA_OK;
}

static pada_status train_all(standalone *s)
{
    const pada_farm_source source = {
        .user = s, .take = take_training, .put_back = put_training_back, .keep = keep_training};

    for (int i = 0; i < n_total(s); i++)
        if (s->correct[i] == NOT_DONE) s->macs_left += macs_of(s, i / s->desc->n_seeds);
    pada_farm_begin(s->farm, &source);
    const pada_status own = train_tasks(s), all = pada_farm_end(s->farm);
    if (all != PADA_OK) return all;
    if (s->n_done == n_total(s) || own != PADA_OK) return own;
    return PADA_FAIL(PADA_ESTOPPED, "stopped after %d of %d trainings; the same command resumes it",
                     s->n_done, n_total(s));
}

/* ---- the table ---- */

static pada_status add_row(const standalone *s, const pada_path *path, pada_text *out)
{
    const pada_space_ops *ops = s->space->ops;
    const int n = s->desc->n_seeds;
    pada_path form;
    double sum = 0;

    ops->canonical(s->space, path, &form);
    const int *correct = place_of(s, &form, s->desc->recipe->seed);
    for (int k = 0; k < n; k++)
        sum += correct[k];
    PADA_TRY(ops->format(s->space, path, ops->dialects[0], out));
    pada_text_add(out, ",%.6g", 100.0 * sum / n / pada_evaluator_n_images(s->desc->evaluator));
    for (int k = 0; k < n && n > 1; k++)
        pada_text_add(out, ",%.6g", percent(s, correct[k]));
    pada_text_add(out, "\n");
    return out->status;
}

static pada_status add_rows(const standalone *s, pada_text *out)
{
    const pada_standalone_desc *desc = s->desc;

    pada_text_add(out, "arch,%s", desc->column);
    for (int k = 0; k < desc->n_seeds && desc->n_seeds > 1; k++)
        pada_text_add(out, ",%s_%" PRIu64, desc->column, desc->recipe->seed + (uint64_t)k);
    pada_text_add(out, "\n");
    for (int i = 0; i < desc->n_paths; i++)
        PADA_TRY(add_row(s, &desc->paths[i], out));
    return out->status;
}

static pada_status write_table(const standalone *s)
{
    pada_text path = {0}, table = {0};
    pada_status st = add_path(s, &path, PADA_STANDALONE_TABLE);

    if (st == PADA_OK) st = add_rows(s, &table);
    if (st == PADA_OK) st = pada_file_replace(path.data, table.data, table.length);
    pada_text_deinit(&path);
    pada_text_deinit(&table);
    return st;
}

/* Removes what is left of trainings; all of them are finished. */
static pada_status remove_trainings(const standalone *s)
{
    pada_text path = {0};
    pada_status st = add_path(s, &path, "training");

    if (st == PADA_OK) st = pada_remove_tree(path.data);
    pada_text_deinit(&path);
    return st;
}

/* Where a result belongs among those of this call; -1: nowhere. */
static int order_of(void *user, const pada__result *result)
{
    const standalone *s = user;
    const int *place = place_of(s, &result->form, result->seed);

    if (!place) return -1;
    const int at = (int)(place - s->correct), n_seeds = s->desc->n_seeds;
    return at % n_seeds * pada_path_index_count(s->forms) + at / n_seeds;
}

static pada_status make_table(standalone *s)
{
    PADA_TRY(find_forms(s));
    PADA_TRY(open_results(s));
    PADA_TRY(train_all(s));
    PADA_TRY(pada__results_arrange(s->results, order_of, s));
    PADA_TRY(write_table(s));
    return remove_trainings(s);
}

/* The part of the other processes. A request to stop is reported by process 0. */
static pada_status help(standalone *s)
{
    const pada_status st = train_tasks(s);

    return st == PADA_ESTOPPED ? PADA_OK : st;
}

pada_status pada_standalone_run(const pada_standalone_desc *desc)
{
    standalone s = {
        .desc = desc, .space = pada_engine_space(desc->engine), .start = pada_clock_seconds()};

    PADA_ASSERT(desc->n_seeds >= 1 && desc->n_paths >= 1);
    PADA_TRY(pada_farm_open(&s.farm, &(pada_farm_desc){.team = desc->team,
                                                       .task_bytes = sizeof(task),
                                                       .result_bytes = sizeof(outcome),
                                                       .stop = desc->stop,
                                                       .user = &s,
                                                       .hear = hear}));
    pada_status st = pada_farm_leads(s.farm) ? make_table(&s) : help(&s);
    const pada_status others = pada_farm_close(s.farm);
    if (st == PADA_OK) st = others;
    pada__results_close(s.results);
    pada_free(s.correct);
    pada_free(s.taken);
    pada_path_index_destroy(s.forms);
    return st;
}
