/* study_plan.c - what a study asks for. */
#include "study/study_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml_tree.h"
#include "study/study_seeds.h"

enum { MAX_NAME = 64, MAX_RUNS = 1000 };

static const char *const stage_names[] = {"train", "rank", "search", "retrain", "random"};

const char *pada_study_stage_name(pada_study_stage stage)
{
    return stage_names[stage];
}

/* -1: it is no name of a stage. */
static int find_stage(const char *name, size_t bytes)
{
    for (int i = 0; i < PADA_STUDY_STAGES; i++)
        if (strlen(stage_names[i]) == bytes && memcmp(stage_names[i], name, bytes) == 0) return i;
    return -1;
}

/* ---- options ---- */

static pada_study_option *find_option(const pada_study_part *part, const char *key)
{
    for (int i = 0; i < part->n; i++)
        if (strcmp(part->options[i].key, key) == 0) return &part->options[i];
    return NULL;
}

const pada_study_option *pada_study_part_find(const pada_study_part *part, const char *key)
{
    return find_option(part, key);
}

/* Adds it, in the place of one with this key. */
static pada_status put_option(pada_study_part *part, pada_study_option option)
{
    pada_study_option *there = find_option(part, option.key);
    void *options = part->options;

    if (there) {
        option.is_of_file = option.is_of_file || there->is_of_file;
        *there = option;
        return PADA_OK;
    }
    PADA_TRY(pada_grow(&options, &part->cap, part->n + 1, sizeof *part->options));
    part->options = options;
    part->options[part->n++] = option;
    return PADA_OK;
}

/* ---- values ---- */

static pada_status read_text(const pada_study_plan *plan, const pada_yaml *node, const char **out)
{
    if (node->kind != PADA_YAML_SCALAR)
        return PADA_FAIL(PADA_EDATA, "%s:%d: the value of '%.100s' is not a scalar", plan->file,
                         node->line, node->key);
    if (!node->text || !node->text[0])
        return PADA_FAIL(PADA_EDATA, "%s:%d: key '%.100s' has no value", plan->file, node->key_line,
                         node->key);
    *out = node->text;
    return PADA_OK;
}

/* A scalar, or a list of them. They replace those that are there. */
static pada_status read_seeds(const pada_study_plan *plan, const pada_yaml *node,
                              pada_study_seeds *seeds)
{
    const pada_yaml *member = node->kind == PADA_YAML_LIST ? node->first : node;
    char what[512];

    seeds->n = 0;
    snprintf(what, sizeof what, "%s:%d: seeds", plan->file, node->line);
    if (!member) return PADA_FAIL(PADA_EINVAL, "%s: there are none", what);
    for (; member; member = node->kind == PADA_YAML_LIST ? member->next : NULL) {
        if (member->kind != PADA_YAML_SCALAR || !member->text)
            return PADA_FAIL(PADA_EDATA, "%s: a seed is not a number", what);
        PADA_TRY(pada_study_seeds_add(seeds, member->text, what));
    }
    return PADA_OK;
}

static bool has_seeds(pada_study_stage stage)
{
    return stage != PADA_STUDY_RANK && stage != PADA_STUDY_SEARCH;
}

/* Options that are given by the program. `where` is for messages. */
static pada_status refuse_own(const char *where, const char *key)
{
    static const char *const own[] = {"out",     "from", "config",      "seed", "json",
                                      "dry-run", "help", "max-seconds", "truth"};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(key, own[i]) == 0)
            return PADA_FAIL(PADA_EINVAL, "%s: '%s' is given by the study itself%s", where, key,
                             strcmp(key, "seed") == 0     ? "; write seeds"
                             : strcmp(key, "config") == 0 ? "; write recipe"
                             : strcmp(key, "truth") == 0  ? "; give --truth"
                                                          : "");
    return PADA_OK;
}

static pada_status read_option(const pada_study_plan *plan, const pada_yaml *node,
                               pada_study_stage stage, pada_study_part *part)
{
    const char *value = NULL;
    char where[512];

    if (strcmp(node->key, "seeds") == 0 && has_seeds(stage))
        return read_seeds(plan, node, &part->seeds);
    snprintf(where, sizeof where, "%s:%d", plan->file, node->key_line);
    PADA_TRY(refuse_own(where, node->key));
    PADA_TRY(read_text(plan, node, &value));
    return put_option(part, (pada_study_option){node->key, value, node->key_line, true});
}

/* What is said about a stage: a map of options, or whether it is done. */
static pada_status read_part(const pada_study_plan *plan, const pada_yaml *node,
                             pada_study_stage stage, pada_study_part *part)
{
    const char *value = NULL;

    part->line = node->key_line;
    if (node->kind != PADA_YAML_MAP) {
        char what[512];
        PADA_TRY(read_text(plan, node, &value));
        snprintf(what, sizeof what, "%s:%d: %s", plan->file, node->line, node->key);
        return pada_parse_bool(value, what, &part->is_wanted);
    }
    part->is_wanted = true;
    for (const pada_yaml *member = node->first; member; member = member->next)
        PADA_TRY(read_option(plan, member, stage, part));
    return PADA_OK;
}

/* What a run that trains nothing has from the defaults, or may say itself. */
static bool is_of_combined(const char *key)
{
    return strcmp(key, "name") == 0 || strcmp(key, "of") == 0 || strcmp(key, "seeds") == 0 ||
           strcmp(key, stage_names[PADA_STUDY_RANK]) == 0;
}

/* What the defaults or a run say. */
static pada_status read_settings(const pada_study_plan *plan, const pada_yaml *map,
                                 pada_study_run *run)
{
    if (map->kind != PADA_YAML_MAP)
        return PADA_FAIL(PADA_EDATA, "%s:%d: not a mapping of names to values", plan->file,
                         map->line);
    for (const pada_yaml *member = map->first; member; member = member->next) {
        const int stage = find_stage(member->key, strlen(member->key));
        if (strcmp(member->key, "name") == 0 || strcmp(member->key, "of") == 0) continue;
        if (run->n_members > 0 && !is_of_combined(member->key)) continue;
        if (stage == PADA_STUDY_TRAIN)
            return PADA_FAIL(PADA_EINVAL, "%s:%d: options of the training stand in the run itself",
                             plan->file, member->key_line);
        if (stage > 0)
            PADA_TRY(read_part(plan, member, (pada_study_stage)stage, &run->parts[stage]));
        else
            PADA_TRY(read_option(plan, member, PADA_STUDY_TRAIN, &run->parts[PADA_STUDY_TRAIN]));
    }
    return PADA_OK;
}

/* ---- runs ---- */

static pada_status check_name(const pada_study_plan *plan, const char *name, int line)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._+-";

    if (strlen(name) > MAX_NAME || name[0] == '.' || name[0] == '-' ||
        name[strspn(name, allowed)] != '\0')
        return PADA_FAIL(PADA_EINVAL,
                         "%s:%d: '%.100s' is no name: letters, digits and ._+- only, at "
                         "most %d, and no dot or dash first",
                         plan->file, line, name, MAX_NAME);
    return PADA_OK;
}

static pada_status read_name(const pada_study_plan *plan, const pada_yaml *map, pada_study_run *run)
{
    const pada_yaml *node = map->kind == PADA_YAML_MAP ? pada_yaml_find(map, "name") : NULL;

    run->line = map->line;
    if (!node) return PADA_FAIL(PADA_EINVAL, "%s:%d: a run without name", plan->file, map->line);
    PADA_TRY(read_text(plan, node, &run->name));
    PADA_TRY(check_name(plan, run->name, node->line));
    for (const pada_study_run *other = plan->runs; other != run; other++)
        if (strcmp(other->name, run->name) == 0)
            return PADA_FAIL(PADA_EINVAL, "%s:%d: a run '%s' stands already on line %d", plan->file,
                             node->line, run->name, other->line);
    return PADA_OK;
}

/* What retrain says, random need not repeat. */
static pada_status inherit(pada_study_run *run)
{
    const pada_study_part *retrain = &run->parts[PADA_STUDY_RETRAIN];
    pada_study_part *random = &run->parts[PADA_STUDY_RANDOM];

    for (int i = 0; i < retrain->n; i++)
        if (!find_option(random, retrain->options[i].key))
            PADA_TRY(put_option(random, retrain->options[i]));
    return random->seeds.n > 0 ? PADA_OK : pada_study_seeds_copy(&random->seeds, &retrain->seeds);
}

/* ---- runs that rank others ---- */

static pada_status add_member(const pada_study_plan *plan, const pada_yaml *node,
                              pada_study_run *run)
{
    int member;

    if (node->kind != PADA_YAML_SCALAR || !node->text)
        return PADA_FAIL(PADA_EDATA, "%s:%d: of: not the name of a run", plan->file, node->line);
    const pada_status st = pada_study_plan_find(plan, node->text, &member);
    if (st == PADA_EINVAL)
        return PADA_FAIL(st, "%s:%d: of: %s", plan->file, node->line, pada_message());
    PADA_TRY(st);
    const pada_study_run *its = &plan->runs[member];
    if (its == run || its->is_alone || its->n_members > 0)
        return PADA_FAIL(PADA_EINVAL, "%s:%d: of: run '%s' trains no supernet", plan->file,
                         node->line, its->name);
    if (pada_study_run_has(plan, (int)(run - plan->runs), member))
        return PADA_FAIL(PADA_EINVAL, "%s:%d: of: run '%s' twice", plan->file, node->line,
                         its->name);
    if (run->n_members == PADA_STUDY_MEMBERS)
        return PADA_FAIL(PADA_EINVAL, "%s:%d: of: more than %d runs", plan->file, node->line,
                         PADA_STUDY_MEMBERS);
    run->members[run->n_members++] = member;
    return PADA_OK;
}

/* The runs that it is of, which stand above; and whether it says anything else that it cannot have. */
static pada_status read_members(const pada_study_plan *plan, const pada_yaml *map,
                                pada_study_run *run)
{
    const pada_yaml *list = pada_yaml_find(map, "of");

    if (!list) return PADA_OK;
    if (list->kind != PADA_YAML_LIST || list->n == 0)
        return PADA_FAIL(PADA_EDATA, "%s:%d: of: not a list of runs", plan->file, list->line);
    for (const pada_yaml *node = list->first; node; node = node->next)
        PADA_TRY(add_member(plan, node, run));
    for (const pada_yaml *node = map->first; node; node = node->next)
        if (!is_of_combined(node->key))
            return PADA_FAIL(PADA_EINVAL, "%s:%d: run '%s' only ranks others; it has no '%.100s'",
                             plan->file, node->key_line, run->name, node->key);
    return PADA_OK;
}

bool pada_study_run_has(const pada_study_plan *plan, int run, int member)
{
    const pada_study_run *r = &plan->runs[run];

    for (int i = 0; i < r->n_members; i++)
        if (r->members[i] == member) return true;
    return r->n_members == 0 && run == member;
}

/* Its members train with all of its seeds. */
static pada_status finish_combined(pada_study_run *run)
{
    pada_study_part *rank = &run->parts[PADA_STUDY_RANK];
    pada_study_seeds *seeds = &run->parts[PADA_STUDY_TRAIN].seeds;

    run->parts[PADA_STUDY_TRAIN].line = run->line;
    if (rank->line == 0) rank->line = run->line;
    rank->is_wanted = true;
    return seeds->n > 0 ? PADA_OK : pada_study_seeds_add(seeds, "0", run->name);
}

static pada_status finish_run(const pada_study_plan *plan, pada_study_run *run)
{
    const bool has_choice =
        run->parts[PADA_STUDY_RANK].is_wanted || run->parts[PADA_STUDY_SEARCH].is_wanted;

    run->parts[PADA_STUDY_TRAIN].is_wanted = true;
    run->parts[PADA_STUDY_TRAIN].line = run->line;
    run->is_alone = find_option(&run->parts[PADA_STUDY_TRAIN], "arch") != NULL &&
                    !find_option(&run->parts[PADA_STUDY_TRAIN], "method");
    if (run->parts[PADA_STUDY_RANDOM].is_wanted) PADA_TRY(inherit(run));
    for (int i = PADA_STUDY_RANK; i < PADA_STUDY_STAGES; i++) {
        if (!run->parts[i].is_wanted) continue;
        if (run->is_alone)
            return PADA_FAIL(PADA_EINVAL, "%s:%d: run '%s' trains one network alone; it has no %s",
                             plan->file, run->line, run->name, stage_names[i]);
        if (i >= PADA_STUDY_RETRAIN && !has_choice)
            return PADA_FAIL(
                PADA_EINVAL,
                "%s:%d: run '%s' has neither rank nor search, so no best network to %s", plan->file,
                run->line, run->name,
                i == PADA_STUDY_RETRAIN ? "retrain" : "draw a random one for");
    }
    for (int i = 0; i < PADA_STUDY_STAGES; i++)
        if (has_seeds((pada_study_stage)i) && run->parts[i].seeds.n == 0)
            PADA_TRY(pada_study_seeds_add(&run->parts[i].seeds, "0", run->name));
    return PADA_OK;
}

static pada_status read_run(pada_study_plan *plan, const pada_yaml *map, const pada_yaml *defaults)
{
    void *runs = plan->runs;

    if (plan->n_runs == MAX_RUNS)
        return PADA_FAIL(PADA_EINVAL, "%s:%d: more than %d runs", plan->file, map->line, MAX_RUNS);
    PADA_TRY(pada_grow(&runs, &plan->cap_runs, plan->n_runs + 1, sizeof *plan->runs));
    plan->runs = runs;
    pada_study_run *run = &plan->runs[plan->n_runs++];
    *run = (pada_study_run){0};
    PADA_TRY(read_name(plan, map, run));
    PADA_TRY(read_members(plan, map, run));
    if (defaults) PADA_TRY(read_settings(plan, defaults, run));
    PADA_TRY(read_settings(plan, map, run));
    return run->n_members > 0 ? finish_combined(run) : finish_run(plan, run);
}

static pada_status read_runs(pada_study_plan *plan, const pada_yaml *list,
                             const pada_yaml *defaults)
{
    if (!list || list->kind != PADA_YAML_LIST || list->n == 0)
        return PADA_FAIL(PADA_EDATA, "%s:%d: runs: not a list of runs", plan->file,
                         list ? list->line : 1);
    for (const pada_yaml *map = list->first; map; map = map->next)
        PADA_TRY(read_run(plan, map, defaults));
    return PADA_OK;
}

/* ---- pairs ---- */

pada_status pada_study_plan_find(const pada_study_plan *plan, const char *name, int *run)
{
    const char **names;
    void *memory;

    for (*run = 0; *run < plan->n_runs; ++*run)
        if (strcmp(plan->runs[*run].name, name) == 0) return PADA_OK;
    PADA_TRY(pada_calloc(&memory, (size_t)plan->n_runs, sizeof *names));
    names = memory;
    for (int i = 0; i < plan->n_runs; i++)
        names[i] = plan->runs[i].name;
    const char *near = pada_nearest(name, names, plan->n_runs);
    pada_free(memory);
    if (near) return PADA_FAIL(PADA_EINVAL, "no run '%.100s' (did you mean %s?)", name, near);
    return PADA_FAIL(PADA_EINVAL, "no run '%.100s'", name);
}

static pada_status find_member(const pada_study_plan *plan, const pada_yaml *node, int *run)
{
    if (node->kind != PADA_YAML_SCALAR || !node->text)
        return PADA_FAIL(PADA_EDATA, "%s:%d: compare: not the name of a run", plan->file,
                         node->line);
    const pada_status st = pada_study_plan_find(plan, node->text, run);
    return st == PADA_EINVAL
               ? PADA_FAIL(st, "%s:%d: compare: %s", plan->file, node->line, pada_message())
               : st;
}

static pada_status read_pair(pada_study_plan *plan, const pada_yaml *node)
{
    pada_study_pair pair;
    void *pairs = plan->pairs;

    if (node->kind != PADA_YAML_LIST || node->n != 2)
        return PADA_FAIL(PADA_EDATA, "%s:%d: compare: not a list of two runs", plan->file,
                         node->line);
    PADA_TRY(find_member(plan, node->first, &pair.run));
    PADA_TRY(find_member(plan, node->first->next, &pair.against));
    if (pair.run == pair.against)
        return PADA_FAIL(PADA_EINVAL, "%s:%d: compare: %s with itself", plan->file, node->line,
                         node->first->text);
    PADA_TRY(pada_grow(&pairs, &plan->cap_pairs, plan->n_pairs + 1, sizeof *plan->pairs));
    plan->pairs = pairs;
    plan->pairs[plan->n_pairs++] = pair;
    return PADA_OK;
}

static pada_status read_pairs(pada_study_plan *plan, const pada_yaml *list)
{
    if (!list) return PADA_OK;
    if (list->kind != PADA_YAML_LIST)
        return PADA_FAIL(PADA_EDATA, "%s:%d: compare: not a list of pairs of runs", plan->file,
                         list->line);
    for (const pada_yaml *node = list->first; node; node = node->next)
        PADA_TRY(read_pair(plan, node));
    return PADA_OK;
}

/* ---- the whole ---- */

static pada_status read_plan(pada_study_plan *plan, const pada_yaml *root)
{
    static const char *const keys[] = {"name", "about", "defaults", "runs", "compare"};
    enum { N_KEYS = sizeof keys / sizeof *keys };
    const pada_yaml *node;

    if (!root || root->kind != PADA_YAML_MAP)
        return PADA_FAIL(PADA_EDATA, "%s:%d: no study: not a mapping of names to values",
                         plan->file, root ? root->line : 1);
    for (node = root->first; node; node = node->next) {
        char lead[512];
        bool is_known = false;
        for (int i = 0; i < N_KEYS; i++)
            is_known = is_known || strcmp(node->key, keys[i]) == 0;
        snprintf(lead, sizeof lead, "%s:%d: unknown key", plan->file, node->key_line);
        if (!is_known) return pada_fail_unknown(PADA_EINVAL, lead, node->key, keys, N_KEYS);
    }
    if (!(node = pada_yaml_find(root, "name")))
        return PADA_FAIL(PADA_EINVAL, "%s:%d: a study without name", plan->file, root->line);
    PADA_TRY(read_text(plan, node, &plan->name));
    PADA_TRY(check_name(plan, plan->name, node->line));
    if ((node = pada_yaml_find(root, "about"))) PADA_TRY(read_text(plan, node, &plan->about));
    PADA_TRY(read_runs(plan, pada_yaml_find(root, "runs"), pada_yaml_find(root, "defaults")));
    return read_pairs(plan, pada_yaml_find(root, "compare"));
}

pada_status pada_study_plan_read(pada_study_plan *plan, const char *file, const void *text,
                                 size_t bytes)
{
    pada_yaml *root;

    *plan = (pada_study_plan){.file = file};
    PADA_TRY(pada_yaml_read(&root, file, text, bytes));
    plan->document = root;
    const pada_status st = read_plan(plan, root);
    if (st != PADA_OK) pada_study_plan_deinit(plan);
    return st;
}

pada_status pada_study_plan_open(pada_study_plan *plan, const char *file)
{
    pada_file text;

    *plan = (pada_study_plan){0};
    PADA_TRY(pada_file_open(&text, file));
    const pada_status st = pada_study_plan_read(plan, file, text.data, text.bytes);
    pada_file_close(&text);
    return st;
}

void pada_study_plan_deinit(pada_study_plan *plan)
{
    for (int i = 0; i < plan->n_runs; i++)
        for (int k = 0; k < PADA_STUDY_STAGES; k++) {
            pada_free(plan->runs[i].parts[k].options);
            pada_free(plan->runs[i].parts[k].seeds.of);
        }
    pada_free(plan->runs);
    pada_free(plan->pairs);
    pada_yaml_destroy(plan->document);
    *plan = (pada_study_plan){0};
}

/* ---- other values ---- */

static pada_status set_seeds(pada_study_part *part, const char *text)
{
    part->seeds.n = 0;
    return pada_study_seeds_add(&part->seeds, text, "seeds");
}

/* What is said to retrain is said to random, too. */
static bool is_meant(pada_study_stage stage, pada_study_stage said)
{
    return stage == said || (stage == PADA_STUDY_RANDOM && said == PADA_STUDY_RETRAIN);
}

pada_status pada_study_plan_set(pada_study_plan *plan, const char *key, const char *value)
{
    const char *dot = strchr(key, '.');
    const int stage = dot ? find_stage(key, (size_t)(dot - key)) : PADA_STUDY_TRAIN;
    const char *name = dot ? dot + 1 : key;

    if (stage < 0)
        return PADA_FAIL(PADA_EINVAL,
                         "--set %.100s: a stage is train, rank, search, retrain or random", key);
    const bool are_seeds = strcmp(name, "seeds") == 0 && has_seeds((pada_study_stage)stage);
    PADA_TRY(refuse_own("--set", name));
    for (int i = 0; i < plan->n_runs; i++)
        for (int k = 0; k < PADA_STUDY_STAGES; k++) {
            pada_study_part *part = &plan->runs[i].parts[k];
            const bool is_asked = part->is_wanted || (are_seeds && k == PADA_STUDY_TRAIN);
            if (!is_asked || !is_meant((pada_study_stage)k, (pada_study_stage)stage)) continue;
            PADA_TRY(are_seeds ? set_seeds(part, value)
                               : put_option(part, (pada_study_option){name, value, 0, false}));
        }
    return PADA_OK;
}
