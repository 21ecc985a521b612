/* study_plan.h - what a study asks for: a file with runs, their options and seeds, and what is done to each.
 *
 *   name: small                             of the folder, and for headings
 *   about: which ranks better               the same; may be left out
 *   defaults: {epochs: 40, seeds: 0-2}      what a run does not say
 *   runs:
 *     - name: spos                          of its folders, NAME-sSEED
 *       recipe: ../nb201-spos.yaml          of `pada train --config`; any option of it may follow
 *       seeds: [0, 1, 2-4]
 *       rank: {networks: 3000}              options of `pada rank`; true: none, false: not done
 *       search: {algorithm: random}         of `pada search`
 *       retrain: {epochs: 600, seeds: 0-2}  of `pada retrain`, the best network of the run
 *       random: true                        the same for a random network of its cost; what it does not say, retrain says
 *     - {name: cell, arch: ARCH}            one network alone: the options are those of `pada retrain`
 *     - name: both                          trains nothing: runs above, of the same seed, ranked together
 *       of: [spos, pada]
 *       rank: {prior: macs:auto}
 *   compare: [[spos, pada]]                 differences that are asked for
 *
 * Values of options that name a file are relative to the folder of the study. */
#ifndef PADA_STUDY_STUDY_PLAN_H
#define PADA_STUDY_STUDY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the order in which they are done; train is `pada retrain` for a network alone. */
typedef enum pada_study_stage {
    PADA_STUDY_TRAIN,
    PADA_STUDY_RANK,
    PADA_STUDY_SEARCH,
    PADA_STUDY_RETRAIN,
    PADA_STUDY_RANDOM,
    PADA_STUDY_STAGES
} pada_study_stage;

/* "train", "rank", .. */
const char *pada_study_stage_name(pada_study_stage stage);

typedef struct pada_study_option {
    const char *key, *value;
    int line;        /* in the file; 0: of pada_study_plan_set */
    bool is_of_file; /* the file has it, too, so that it must be an option of the run */
} pada_study_option;

typedef struct pada_study_seeds {
    uint64_t *of; /* [n], owned, no two the same */
    int n, cap;
} pada_study_seeds;

typedef struct pada_study_part {
    bool is_wanted;
    int line;
    pada_study_option *options; /* [n], owned; no key twice */
    int n, cap;
    pada_study_seeds seeds; /* of train, retrain and random */
} pada_study_part;

enum { PADA_STUDY_MEMBERS = 16 };

typedef struct pada_study_run {
    const char *name;
    int line;
    bool is_alone; /* one network, trained alone */
    int n_members; /* runs that it ranks together, in place of a training; 0: it trains */
    int members[PADA_STUDY_MEMBERS];
    pada_study_part parts[PADA_STUDY_STAGES];
} pada_study_run;

typedef struct pada_study_pair {
    int run, against; /* of `runs` */
} pada_study_pair;

/* Strings are borrowed from the document. Zero-initialise; deinit accepts that and a failed open. */
typedef struct pada_study_plan {
    const char *file, *name, *about; /* about NULL: not there */
    pada_study_run *runs;            /* [n_runs], owned */
    int n_runs, cap_runs;
    pada_study_pair *pairs; /* [n_pairs], owned */
    int n_pairs, cap_pairs;
    void *document; /* pada_yaml, owned */
} pada_study_plan;

/* `file` is borrowed. PADA_EDATA for what is no YAML of this form, PADA_EINVAL for unknown keys, names that are used twice or
 * are no names of folders, bad seeds, and runs that ask for what cannot be; "file:line: ..". Whether options exist is not known here. */
pada_status pada_study_plan_open(pada_study_plan *plan, const char *file);
/* The same of a text, which may go afterwards; `file` stands for its name. */
pada_status pada_study_plan_read(pada_study_plan *plan, const char *file, const void *text,
                                 size_t bytes);
void pada_study_plan_deinit(pada_study_plan *plan);

/* Gives an option another value in all runs: "key" for the training, "rank.key" for a stage that they ask for (what is
 * said to retrain is said to random, too); borrowed. "seeds", "retrain.seeds" are seeds: "0-2,7". What is no name of a
 * stage, and bad seeds, are PADA_EINVAL. */
pada_status pada_study_plan_set(pada_study_plan *plan, const char *key, const char *value);
/* The run of this name; an unknown one is PADA_EINVAL and offers the nearest. */
pada_status pada_study_plan_find(const pada_study_plan *plan, const char *name, int *run);

/* The runs that a run trains or ranks: its members, or itself. */
bool pada_study_run_has(const pada_study_plan *plan, int run, int member);

/* The option of a part; NULL: it does not have it. */
const pada_study_option *pada_study_part_find(const pada_study_part *part, const char *key);

#ifdef __cplusplus
}
#endif
#endif
