/* fuzz_study_plan.c - study files, and values of --set. */
#include "fuzz/fuzz.h"
#include "study/study_plan.h"

/* What a plan that was read promises. */
static void check(const pada_study_plan *plan)
{
    for (int i = 0; i < plan->n_runs; i++) {
        const pada_study_run *run = &plan->runs[i];
        FUZZ_CHECK(!strchr(run->name, '/') && run->name[0] != '.' && run->name[0] != '-');
        FUZZ_CHECK(run->parts[PADA_STUDY_TRAIN].seeds.n > 0);
        for (int k = 0; k < PADA_STUDY_STAGES; k++)
            for (int j = 0; j < run->parts[k].n; j++) {
                const pada_study_option *option = &run->parts[k].options[j];
                FUZZ_CHECK(pada_study_part_find(&run->parts[k], option->key) == option);
            }
    }
    for (int i = 0; i < plan->n_pairs; i++)
        FUZZ_CHECK(plan->pairs[i].run != plan->pairs[i].against &&
                   plan->pairs[i].run < plan->n_runs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    pada_study_plan plan;
    char key[32] = "";

    if (pada_study_plan_read(&plan, "input", data, n) != PADA_OK) return 0;
    check(&plan);
    memcpy(key, data, n < sizeof key - 1 ? n : sizeof key - 1);
    (void)pada_study_plan_set(&plan, key, "0-3");
    (void)pada_study_plan_set(&plan, "retrain.seeds", key);
    pada_study_plan_deinit(&plan);
    return 0;
}
