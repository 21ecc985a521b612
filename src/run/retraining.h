/* retraining.h - the training of one network alone, in its final form, by options: what `pada retrain` does, without its
 * words. Used as pada_training (training.h). */
#ifndef PADA_RUN_RETRAINING_H
#define PADA_RUN_RETRAINING_H

#include "model/model_file.h"
#include "run/from_run.h"
#include "run/retrain_result.h"
#include "run/train_args.h"
#include "run/training_host.h"
#include "study/class_test.h"

/* Zero-initialise. The values of the options first; the rest is there while it runs. */
typedef struct pada_retraining {
    const char *arch, *from, *recipe_name, *data_name, *out;
    pada_space_args space_args; /* to be prepared by the caller */
    pada_data_args data_args;
    pada_engine_args engine_args;
    pada_recipe recipe;
    pada_train_args train_args;
    pada_together_args together_args;
    int64_t checkpoint_steps;
    int keep; /* of --keep-best */
    int form; /* always final; for readers of config.yaml */

    const char *preset; /* the recipe, before the options are bound; NULL: that of the space */
    pada_options *preset_options; /* own it, where it is from a file */
    pada_run_config from_run;
    pada_options *from_options; /* own the strings of from_run */
    pada_data_card from_card;
    pada_text arch_text;
    pada_dataset *data;
    pada_split test;
    pada_model_about about; /* has the space of the network */
    pada_evaluator *evaluator;
    pada_class_test class_test;
    pada_engine *engine;
    pada_run_lock lock;
    uint64_t weights_hash; /* of the last weights, at the end */
} pada_retraining;

pada_status pada_retraining_prepare(pada_retraining *r, int argc, const char *const *argv);
pada_status pada_retraining_bind(pada_retraining *r, pada_options *options);
/* Also writes the models and the files of the results, which the caller zeroes before and deinits, also after a failure.
 * Their strings are valid until the close. */
pada_status pada_retraining_run(pada_retraining *r, const pada_options *options,
                                const pada_training_host *host, pada_retrain_results *results);
void pada_retraining_close(pada_retraining *r);
void pada_retraining_deinit(pada_retraining *r);

#endif
