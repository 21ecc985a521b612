/* test_study_plan.c - study files: what they ask for, and what is refused. */
#include "study/study_plan.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "check.h"

static const char whole[] = "name: small\n"
                            "about: which ranks better\n"
                            "defaults:\n"
                            "  epochs: 40\n"
                            "  seeds: 0-2\n"
                            "  rank: {networks: 100}\n"
                            "runs:\n"
                            "  - name: spos\n"
                            "    recipe: ../a.yaml\n"
                            "    batch_size: 32\n"
                            "    seeds: [7, 1-2]\n"
                            "    rank: {split: test}\n"
                            "    search: true\n"
                            "    retrain: {epochs: 600, lr: 0.1, seeds: 3}\n"
                            "    random: {lr: 0.2}\n"
                            "  - {name: pada, epochs: 50, rank: false}\n"
                            "  - {name: cell, arch: x, rank: no}\n"
                            "compare: [[pada, spos]]\n";

static pada_study_plan read_plan(const char *text)
{
    pada_study_plan plan;

    CHECK_OK(pada_study_plan_read(&plan, "s.yaml", text, strlen(text)));
    return plan;
}

static void assert_value(const pada_study_part *part, const char *key, const char *value, int line)
{
    const pada_study_option *option = pada_study_part_find(part, key);

    assert_non_null(option);
    assert_string_equal(option->value, value);
    assert_int_equal(option->line, line);
}

static void runs_have_defaults_and_their_own(void **state)
{
    pada_study_plan plan = read_plan(whole);
    const pada_study_run *spos = &plan.runs[0], *pada = &plan.runs[1], *cell = &plan.runs[2];

    (void)state;
    assert_string_equal(plan.name, "small");
    assert_string_equal(plan.about, "which ranks better");
    assert_int_equal(plan.n_runs, 3);
    assert_value(&spos->parts[PADA_STUDY_TRAIN], "epochs", "40", 4);
    assert_value(&spos->parts[PADA_STUDY_TRAIN], "batch-size", "32", 10);
    assert_value(&spos->parts[PADA_STUDY_RANK], "networks", "100", 6);
    assert_value(&spos->parts[PADA_STUDY_RANK], "split", "test", 12);
    assert_true(spos->parts[PADA_STUDY_SEARCH].is_wanted);
    assert_value(&pada->parts[PADA_STUDY_TRAIN], "epochs", "50", 16);
    assert_false(pada->parts[PADA_STUDY_RANK].is_wanted);
    assert_false(pada->parts[PADA_STUDY_SEARCH].is_wanted);
    assert_false(pada->is_alone);
    assert_true(cell->is_alone);
    assert_int_equal(plan.n_pairs, 1);
    assert_int_equal(plan.pairs[0].run, 1);
    assert_int_equal(plan.pairs[0].against, 0);
    pada_study_plan_deinit(&plan);
}

static void seeds_are_lists_and_ranges(void **state)
{
    pada_study_plan plan = read_plan(whole);
    const pada_study_part *parts = plan.runs[0].parts;

    (void)state;
    assert_int_equal(parts[PADA_STUDY_TRAIN].seeds.n, 3);
    assert_int_equal(parts[PADA_STUDY_TRAIN].seeds.of[0], 7);
    assert_int_equal(parts[PADA_STUDY_TRAIN].seeds.of[2], 2);
    assert_int_equal(plan.runs[1].parts[PADA_STUDY_TRAIN].seeds.n, 3);   /* of the defaults */
    assert_int_equal(plan.runs[1].parts[PADA_STUDY_RETRAIN].seeds.n, 1); /* without any: 0 */
    assert_int_equal(plan.runs[1].parts[PADA_STUDY_RETRAIN].seeds.of[0], 0);
    pada_study_plan_deinit(&plan);
}

static void random_networks_are_trained_as_the_best(void **state)
{
    pada_study_plan plan = read_plan(whole);
    const pada_study_part *random = &plan.runs[0].parts[PADA_STUDY_RANDOM];

    (void)state;
    assert_value(random, "epochs", "600", 14);
    assert_value(random, "lr", "0.2", 15);
    assert_int_equal(random->seeds.n, 1);
    assert_int_equal(random->seeds.of[0], 3);
    pada_study_plan_deinit(&plan);
}

static void values_can_be_given_for_all_runs(void **state)
{
    pada_study_plan plan = read_plan(whole);

    (void)state;
    CHECK_OK(pada_study_plan_set(&plan, "epochs", "2"));
    CHECK_OK(pada_study_plan_set(&plan, "retrain.epochs", "1"));
    CHECK_OK(pada_study_plan_set(&plan, "retrain.seeds", "8,9"));
    CHECK_OK(pada_study_plan_set(&plan, "rank.limit", "9"));
    CHECK_OK(pada_study_plan_set(&plan, "seeds", "5"));
    assert_value(&plan.runs[0].parts[PADA_STUDY_TRAIN], "epochs", "2", 0);
    assert_true(pada_study_part_find(&plan.runs[0].parts[PADA_STUDY_TRAIN], "epochs")->is_of_file);
    assert_value(&plan.runs[0].parts[PADA_STUDY_RANDOM], "epochs", "1", 0);
    assert_int_equal(plan.runs[0].parts[PADA_STUDY_RANDOM].seeds.n, 2);
    assert_value(&plan.runs[0].parts[PADA_STUDY_RANK], "limit", "9", 0);
    assert_false(pada_study_part_find(&plan.runs[0].parts[PADA_STUDY_RANK], "limit")->is_of_file);
    assert_null(pada_study_part_find(&plan.runs[1].parts[PADA_STUDY_RANK], "limit"));
    assert_int_equal(plan.runs[2].parts[PADA_STUDY_TRAIN].seeds.of[0], 5);
    assert_int_equal(pada_study_plan_set(&plan, "rnak.limit", "9"), PADA_EINVAL);
    assert_int_equal(pada_study_plan_set(&plan, "seed", "9"), PADA_EINVAL);
    assert_int_equal(pada_study_plan_set(&plan, "seeds", "3-1"), PADA_EINVAL);
    pada_study_plan_deinit(&plan);
}

/* The document is `head`, then a list of runs, and the message is that after "s.yaml:". */
static void assert_refused(const char *text, pada_status status, const char *message)
{
    pada_study_plan plan;

    assert_int_equal(pada_study_plan_read(&plan, "s.yaml", text, strlen(text)), status);
    assert_null(plan.runs);
    assert_memory_equal(pada_message(), "s.yaml:", 7);
    assert_string_equal(pada_message() + 7, message);
}

#define RUN "name: s\nruns:\n  - {name: a}\n"

static void what_is_no_study_is_refused(void **state)
{
    (void)state;
    assert_refused("", PADA_EDATA, "1: no study: not a mapping of names to values");
    assert_refused("- a\n", PADA_EDATA, "1: no study: not a mapping of names to values");
    assert_refused("name: s\n", PADA_EDATA, "1: runs: not a list of runs");
    assert_refused("name: s\nruns: []\n", PADA_EDATA, "2: runs: not a list of runs");
    assert_refused("runs: [{name: a}]\n", PADA_EINVAL, "1: a study without name");
    assert_refused("name: s\nrnus: []\n", PADA_EINVAL,
                   "2: unknown key 'rnus'; did you mean 'runs'?");
    assert_refused("name: s\nruns: [3]\n", PADA_EINVAL, "2: a run without name");
    assert_refused("name: s\nruns:\n  - epochs: 3\n", PADA_EINVAL, "3: a run without name");
    assert_refused(RUN "  - {name: a}\n", PADA_EINVAL, "4: a run 'a' stands already on line 3");
    assert_refused("name: ../s\nruns: [{name: a}]\n", PADA_EINVAL,
                   "1: '../s' is no name: letters, digits and ._+- only, at most 64, and no dot or "
                   "dash first");
    assert_refused("name: s\ndefaults: 3\nruns: [{name: a}]\n", PADA_EDATA,
                   "2: not a mapping of names to values");
    assert_refused("name: s\nruns: [{name: a, epochs: [1]}]\n", PADA_EDATA,
                   "2: the value of 'epochs' is not a scalar");
    assert_refused("name: s\nruns: [{name: a, epochs: }]\n", PADA_EDATA,
                   "2: key 'epochs' has no value");
    assert_refused(RUN "compare: [[a, b]]\n", PADA_EINVAL, "4: compare: no run 'b'");
    assert_refused(RUN "compare: [[a, a]]\n", PADA_EINVAL, "4: compare: a with itself");
    assert_refused(RUN "compare: [a]\n", PADA_EDATA, "4: compare: not a list of two runs");
}

static void runs_that_cannot_be_are_refused(void **state)
{
    (void)state;
    assert_refused("name: s\nruns: [{name: a, seeds: []}]\n", PADA_EINVAL,
                   "2: seeds: there are none");
    assert_refused("name: s\nruns: [{name: a, seeds: [1, 1]}]\n", PADA_EINVAL,
                   "2: seeds: 1 is there twice");
    assert_refused("name: s\nruns: [{name: a, seeds: 0-5000}]\n", PADA_EINVAL,
                   "2: seeds: more than 1000");
    assert_refused("name: s\nruns: [{name: a, seeds: two}]\n", PADA_EINVAL,
                   "2: seeds: 'two' is not a whole number of 0 or more");
    assert_refused("name: s\nruns: [{name: a, seed: 3}]\n", PADA_EINVAL,
                   "2: 'seed' is given by the study itself; write seeds");
    assert_refused("name: s\nruns: [{name: a, rank: 7}]\n", PADA_EINVAL,
                   "2: rank: '7' is not true or false");
    assert_refused("name: s\nruns: [{name: a, train: {epochs: 3}}]\n", PADA_EINVAL,
                   "2: options of the training stand in the run itself");
    assert_refused("name: s\nruns: [{name: a, retrain: yes}]\n", PADA_EINVAL,
                   "2: run 'a' has neither rank nor search, so no best network to retrain");
    assert_refused("name: s\nruns: [{name: a, arch: x, rank: yes}]\n", PADA_EINVAL,
                   "2: run 'a' trains one network alone; it has no rank");
}

static void memory_may_end(void **state)
{
    pada_study_plan plan;

    (void)state;
    for (int64_t n = 0;; n++) {
        pada_mem_fail_after(n);
        const pada_status st = pada_study_plan_read(&plan, "s.yaml", whole, strlen(whole));
        pada_mem_fail_after(-1);
        pada_study_plan_deinit(&plan);
        if (st == PADA_OK) break;
        assert_int_equal(st, PADA_ENOMEM);
    }
}

/* What trains nothing has the seeds and the ranking of the defaults, and nothing else of them. */
static void runs_rank_others(void **state)
{
    static const char text[] =
        "name: s\n"
        "defaults: {epochs: 4, seeds: 1-2, search: true, rank: {networks: 9}}\n"
        "runs:\n"
        "  - {name: a, method: spos}\n"
        "  - {name: b, method: pa}\n"
        "  - {name: both, of: [b, a], rank: {prior: 'macs:auto'}}\n";
    pada_study_plan plan = read_plan(text);
    const pada_study_run *both = &plan.runs[2];

    (void)state;
    assert_int_equal(both->n_members, 2);
    assert_int_equal(both->members[0], 1);
    assert_int_equal(both->members[1], 0);
    assert_false(both->parts[PADA_STUDY_TRAIN].is_wanted);
    assert_int_equal(both->parts[PADA_STUDY_TRAIN].n, 0);
    assert_int_equal(both->parts[PADA_STUDY_TRAIN].seeds.n, 2);
    assert_true(both->parts[PADA_STUDY_RANK].is_wanted);
    assert_value(&both->parts[PADA_STUDY_RANK], "networks", "9", 2);
    assert_value(&both->parts[PADA_STUDY_RANK], "prior", "macs:auto", 6);
    assert_false(both->parts[PADA_STUDY_SEARCH].is_wanted);
    assert_true(pada_study_run_has(&plan, 2, 0));
    assert_false(pada_study_run_has(&plan, 2, 2));
    assert_true(pada_study_run_has(&plan, 0, 0));
    assert_false(pada_study_run_has(&plan, 0, 1));
    CHECK_OK(pada_study_plan_set(&plan, "seeds", "7"));
    CHECK_OK(pada_study_plan_set(&plan, "epochs", "9"));
    assert_int_equal(both->parts[PADA_STUDY_TRAIN].seeds.n, 1);
    assert_int_equal(both->parts[PADA_STUDY_TRAIN].n, 0);
    pada_study_plan_deinit(&plan);
}

static void wrong_members_are_refused(void **state)
{
    static const struct {
        const char *run, *message;
    } cases[] = {
        {"{name: c, of: a}", "s.yaml:5: of: not a list of runs"},
        {"{name: c, of: []}", "s.yaml:5: of: not a list of runs"},
        {"{name: c, of: [[a]]}", "s.yaml:5: of: not the name of a run"},
        {"{name: c, of: [aa]}", "s.yaml:5: of: no run 'aa' (did you mean a?)"},
        {"{name: c, of: [c]}", "s.yaml:5: of: run 'c' trains no supernet"},
        {"{name: c, of: [one]}", "s.yaml:5: of: run 'one' trains no supernet"},
        {"{name: c, of: [a, a]}", "s.yaml:5: of: run 'a' twice"},
        {"{name: c, of: [a], epochs: 4}",
         "s.yaml:5: run 'c' only ranks others; it has no 'epochs'"},
        {"{name: c, of: [a], search: true}",
         "s.yaml:5: run 'c' only ranks others; it has no 'search'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pada_study_plan plan;
        char text[512];
        snprintf(text, sizeof text,
                 "name: s\nruns:\n  - {name: a}\n  - {name: one, arch: x}\n  - %s\n", cases[i].run);
        assert_int_not_equal(pada_study_plan_read(&plan, "s.yaml", text, strlen(text)), PADA_OK);
        assert_string_equal(pada_message(), cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_rank_others),
        cmocka_unit_test(wrong_members_are_refused),
        cmocka_unit_test(runs_have_defaults_and_their_own),
        cmocka_unit_test(seeds_are_lists_and_ranges),
        cmocka_unit_test(random_networks_are_trained_as_the_best),
        cmocka_unit_test(values_can_be_given_for_all_runs),
        cmocka_unit_test(what_is_no_study_is_refused),
        cmocka_unit_test(runs_that_cannot_be_are_refused),
        cmocka_unit_test(memory_may_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
