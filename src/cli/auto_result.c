/* auto_result.c - what `pada auto` has found: the winner, and whether searching was worth it. */
#include "cli/auto_result.h"

#include <inttypes.h>

#include "base/file.h"
#include "cli/auto_stages.h"
#include "cli/print.h"
#include "study/test_results.h"

/* A network that was trained alone. */
typedef struct entrant {
    bool is_there;
    pada_path path;
    pada_text arch;
    pada_cost cost;
    int64_t latency_us;     /* -1: not known */
    pada_test_results test; /* of at least one model */
} entrant;

typedef struct results {
    entrant winner, rival;
    double difference, low, high; /* of their accuracies, in points; with a rival */
    bool is_optimistic;           /* the winner was chosen on the images that it was tested on */
} results;

static const char *const file_names[] = {"network/", "model.onnx", "model.safetensors",
                                         "report.html", "supernet/search/best.csv"};
enum { N_FILES = sizeof file_names / sizeof *file_names };

static const pada_tested_share *top1_of(const entrant *e)
{
    return &pada_test_results_model(&e->test)->top1;
}

/* ---- collecting ---- */

/* Fills in all but the path. `folder` is that of its training. */
static pada_status describe(entrant *e, const pada_auto *a, const pada_space *space,
                            const pada_cost_limit *latency, const char *folder)
{
    pada_text run = {0};
    pada_status st;

    e->is_there = true;
    pada_space_cost(space, &e->path, &e->cost);
    e->latency_us = latency->is_known ? pada_slot_costs_of(&latency->costs, space, &e->path) : -1;
    PADA_TRY(space->ops->format(space, &e->path, space->ops->dialects[0], &e->arch));
    pada_text_add(&run, "%s/%s", a->out, folder);
    if ((st = run.status) == PADA_OK) st = pada_test_results_read(&e->test, run.data);
    if (st == PADA_OK && !pada_test_results_model(&e->test))
        st = PADA_FAIL(PADA_ENOENT, "%s: no " PADA_TEST_FILE, run.data);
    pada_text_deinit(&run);
    return st;
}

static pada_status collect(results *r, const pada_auto *a)
{
    pada_cost_limit limits[PADA_COST_KINDS];
    pada_space space;
    unsigned splits;
    bool has_rival;

    PADA_TRY(pada_auto_space(a, &space));
    PADA_TRY(pada_auto_limits(a, &space, limits));
    PADA_TRY(pada_dataset_splits(a->data, &splits));
    r->is_optimistic = pada_split_to_choose(splits) == pada_split_to_report(splits);
    PADA_TRY(pada_auto_winner(a, &space, &r->winner.path));
    PADA_TRY(describe(&r->winner, a, &space, &limits[PADA_COST_LATENCY], "network"));
    PADA_TRY(pada_auto_rival(a, &space, &has_rival, &r->rival.path));
    if (!has_rival) return PADA_OK;
    PADA_TRY(describe(&r->rival, a, &space, &limits[PADA_COST_LATENCY], "random"));
    r->difference = top1_of(&r->winner)->percent - top1_of(&r->rival)->percent;
    pada_tested_difference(top1_of(&r->winner), top1_of(&r->rival), &r->low, &r->high);
    return PADA_OK;
}

/* Whether searching was worth it: what the interval says. */
typedef enum worth { WORTH_YES, WORTH_NO, WORTH_UNCLEAR } worth;

static worth judge(const results *r)
{
    if (r->low > 0) return WORTH_YES;
    return r->high < 0 ? WORTH_NO : WORTH_UNCLEAR;
}

/* Whether a file of the run is there: a build without charts has no page. */
static bool find_file(const pada_auto *a, const char *name, pada_text *path)
{
    pada_text_add(path, "%s/%s", a->out, name);
    return path->status == PADA_OK && pada_path_exists(path->data);
}

/* ---- for programs ---- */

static json_t *entrant_object(const entrant *e, pada_text *out)
{
    json_t *object = json_object();

    pada_json_set(out, object, "arch", json_string(pada_text_str(&e->arch)));
    pada_json_set(out, object, "macs", json_integer(e->cost.macs));
    pada_json_set(out, object, "params", json_integer(e->cost.params));
    if (e->latency_us >= 0)
        pada_json_set(out, object, "latency_ms", json_real((double)e->latency_us / 1000));
    pada_json_set(out, object, "top1", json_real(top1_of(e)->percent));
    pada_json_set(out, object, "top1_lo", json_real(top1_of(e)->low));
    pada_json_set(out, object, "top1_hi", json_real(top1_of(e)->high));
    return object;
}

static json_t *files_array(const pada_auto *a, pada_text *out)
{
    json_t *files = json_array();

    for (int i = 0; i < N_FILES; i++) {
        pada_text path = {0};
        if (find_file(a, file_names[i], &path))
            pada_json_append(out, files, json_string(path.data));
        if (path.status != PADA_OK) out->status = path.status;
        pada_text_deinit(&path);
    }
    return files;
}

static void add_json(const results *r, const pada_auto *a, pada_text *out)
{
    static const char *const words[] = {"yes", "no", "unclear"};
    json_t *object = json_object();

    pada_json_set(out, object, "run", json_string(a->out));
    pada_json_set(out, object, "data", json_string(a->data));
    pada_json_set(out, object, "space", json_string(a->space.ops->name));
    pada_json_set(out, object, "image_size", json_integer(a->space.image_size));
    pada_json_set(out, object, "classes", json_integer(a->space.classes));
    pada_json_set(out, object, "split", json_string(r->winner.test.split));
    pada_json_set(out, object, "images", json_integer(r->winner.test.images));
    pada_json_set(out, object, "optimistic", json_boolean(r->is_optimistic));
    pada_json_set(out, object, "winner", entrant_object(&r->winner, out));
    if (r->rival.is_there) {
        pada_json_set(out, object, "random", entrant_object(&r->rival, out));
        pada_json_set(out, object, "difference", json_real(r->difference));
        pada_json_set(out, object, "difference_lo", json_real(r->low));
        pada_json_set(out, object, "difference_hi", json_real(r->high));
        pada_json_set(out, object, "worth_it", json_string(words[judge(r)]));
    }
    pada_json_set(out, object, "files", files_array(a, out));
    pada_json_line(out, object);
}

/* ---- for people ---- */

static void add_entrant(const entrant *e, const char *name, pada_text *out)
{
    pada_text_add(out, "%-8s %s\n         ", name, pada_text_str(&e->arch));
    pada_add_count(out, e->cost.macs, 0);
    pada_text_add(out, " multiply-adds, ");
    pada_add_count(out, e->cost.params, 0);
    pada_text_add(out, " parameters");
    if (e->latency_us >= 0) pada_text_add(out, ", %.3f ms", (double)e->latency_us / 1000);
    pada_text_add(out, "\n         top-1 %.2f %% [%.2f, %.2f] of %d %s images\n",
                  top1_of(e)->percent, top1_of(e)->low, top1_of(e)->high, e->test.images,
                  e->test.split);
}

static void add_verdict(const results *r, pada_text *out)
{
    static const char *const words[] = {
        "searching was worth it", "searching was not worth it: the random network is better",
        "nobody can tell from these test images whether searching was worth it"};

    if (!r->rival.is_there) {
        pada_text_add(out, "verdict  no other network costs as much as the winner\n");
        return;
    }
    pada_text_add(out, "verdict  %s: %+.2f points [%+.2f, %+.2f]\n", words[judge(r)], r->difference,
                  r->low, r->high);
    pada_text_add(out, "         the interval is about the images; another seed differs, too\n");
}

static void add_text(const results *r, const pada_auto *a, pada_text *out)
{
    pada_text_add(out, "%s: space %s, %" PRId64 " classes, images of %" PRId64 " pixels\n\n",
                  a->out, a->space.ops->name, a->space.classes, a->space.image_size);
    add_entrant(&r->winner, "winner", out);
    if (r->is_optimistic)
        pada_text_add(out, "         optimistic: the data set has no val, so that the winner was "
                           "chosen on these images\n");
    if (r->rival.is_there) add_entrant(&r->rival, "random", out);
    add_verdict(r, out);
    for (int i = 0; i < N_FILES; i++) {
        pada_text path = {0};
        if (find_file(a, file_names[i], &path))
            pada_text_add(out, "%-8s %s\n", i == 0 ? "files" : "", path.data);
        if (path.status != PADA_OK) out->status = path.status;
        pada_text_deinit(&path);
    }
    pada_text_add(out, "next     pada predict %s/network photo.jpg\n", a->out);
}

static void deinit_entrant(entrant *e)
{
    pada_text_deinit(&e->arch);
    pada_test_results_deinit(&e->test);
}

pada_status pada_auto_report(const pada_auto *a, pada_text *out)
{
    results r = {0};
    const pada_status st = collect(&r, a);

    if (st == PADA_OK && a->json) add_json(&r, a, out);
    if (st == PADA_OK && !a->json) add_text(&r, a, out);
    deinit_entrant(&r.winner);
    deinit_entrant(&r.rival);
    return st != PADA_OK ? st : out->status;
}
