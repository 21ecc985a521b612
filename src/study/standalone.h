/* standalone.h - networks trained alone, each from fresh weights: a truth table.
 *
 *   arch,builtin,builtin_0,builtin_1       mean over the seeds in percent, then every training
 *
 * A network is the path of the supernet with nothing else in it: batch norm has no affine part, and in evaluation
 * the statistics that the engine says. Networks with the same canonical form
 * compute the same and are trained once. The folder has
 *
 *   results.csv    finished trainings (standalone_results.h); never trained again
 *   training/      the run folders of the trainings under way
 *   truth.csv      the table, written when all is done
 *
 * so that a killed process loses what came after its last checkpoint and nothing else. The files
 * do not depend on interruptions, nor on how many processes share the work. */
#ifndef PADA_STUDY_STANDALONE_H
#define PADA_STUDY_STANDALONE_H

#include <signal.h>

#include "base/status.h"
#include "data/dataset.h"
#include "dist/team.h"
#include "engine/engine.h"
#include "study/evaluate.h"
#include "train/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_STANDALONE_TABLE "truth.csv"

/* A training has ended. */
typedef struct pada_standalone_progress {
    const pada_path *form; /* canonical */
    uint64_t seed;
    double top1;         /* percent */
    int n_done, n_total; /* trainings, those of earlier calls included */
    double seconds_left; /* by the multiply-adds that are left */
} pada_standalone_progress;

/* Everything is borrowed. The functions may be NULL. */
typedef struct pada_standalone_desc {
    pada_team *team; /* whose processes all make the same call; 0 hands out trainings; NULL: one */
    pada_engine *engine;      /* mode PADA_TRAIN, room for the batches of recipe and evaluator */
    const pada_dataset *data; /* the training split open */
    pada_evaluator *evaluator;
    const pada_recipe *recipe; /* its seed is that of the first training */
    int n_seeds;               /* trainings of each network, by consecutive seeds; at least 1 */
    const pada_path *paths;    /* [n_paths], all different; the order of the rows */
    int n_paths;
    const char *weights; /* safetensors file that all trainings begin with; NULL: fresh ones */
    const char *column;  /* of the table; "cifar10" */
    const char *folder;
    double checkpoint_seconds;         /* between checkpoints; 0: none but the last */
    double max_seconds;                /* stop then; 0: never */
    const volatile sig_atomic_t *stop; /* stop as soon as it is not 0; may be NULL */
    void *user;
    void (*progress)(void *user, const pada_standalone_progress *progress);
    void (*note)(void *user, const char *text);    /* one line, without newline */
    void (*resumed)(void *user, const char *text); /* the same about where a training resumes */
} pada_standalone_desc;

/* What the trainer would refuse; nothing is written. */
pada_status pada_standalone_check(const pada_standalone_desc *desc);
/* Trains what is not trained yet and writes the table. PADA_ESTOPPED after a stop: the same call
 * goes on. Of a team, process 0 reads and writes results and tells of all; the others open folders of trainings only. Results of another recipe must not be in the folder: that is the caller's to check
 * (train/run_config.h). */
pada_status pada_standalone_run(const pada_standalone_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
