/* run_args.h - a supernet and the images to evaluate it on, from options and a run folder.
 *
 *   RUN                      config.yaml has the space and its sizes, data.json the images; the newest
 *                            checkpoint has the weights, or each of several supernets has its own
 *   --weights, --space, ..   the same without a run folder; with one, a flag overrides it
 *
 * The batch size of an evaluation is an option of its own and never that of the training. */
#ifndef PADA_CLI_RUN_ARGS_H
#define PADA_CLI_RUN_ARGS_H

#include "base/option.h"
#include "dist/team.h"
#include "engine/engine.h"
#include "run/engine_args.h"
#include "run/from_run.h"
#include "study/evaluate.h"
#include "study/ranking.h"
#include "train/family.h"

typedef struct pada_run_args {
    pada_space_args space;
    pada_data_args images;
    pada_engine_args engine;
    const char *weights, *data;
    int split;      /* 0: by to_choose, else 1 + pada_split, or after these the images held out */
    bool to_choose; /* by the caller: networks are chosen, so that val comes before test */
    int64_t limit, batch_size;
    int statistics; /* 0: by the weights, else 1 + pada_statistics */
    int64_t statistics_images;
    int views;    /* of each image, by the caller; 0: 1 */
    bool margins; /* are wanted by the caller */
} pada_run_args;

/* --weights --data --split --limit --batch-size --statistics --statistics-images, and those of space_args.h, data_args.h and engine_args.h. */
pada_status pada_run_args_bind(pada_options *options, pada_run_args *args);

/* Zero-initialise; close accepts that and half-made ones. */
typedef struct pada_supernet {
    pada_run_args args; /* resolved */
    pada_run_config from_run;
    pada_options *config; /* bound to from_run; owns its strings */
    pada_text checkpoint; /* of the run folder, if it has one supernet */
    const char *weights;  /* the file; NULL: fresh weights, or a family */
    pada_space space;
    bool is_narrow;       /* the run trained only a part of the choices: */
    pada_subspace within; /* this one */
    pada_family *family;  /* of a run with several supernets; else NULL */
    pada_dataset *data;
    pada_split split;      /* the one of it that is open */
    pada_data_card card;   /* of the images of the training; json NULL: nobody says */
    pada_data_card images; /* of those in `data` */
    /* The first has its evaluator, and no engine, until all are loaded. */
    pada_eval_worker workers[PADA_MAX_IN_FLIGHT];
    int n_workers;
} pada_supernet;

/* Whether a word of the command line is a run folder. */
bool pada_is_run(const char *word);

/* Finds out what it is and opens the images: everything that is cheap. `run` may be NULL. Images are
 * normalised as those of the training were; other classes than its own are PADA_EDATA. Standard error
 * is told of damaged checkpoints that were passed over, and of images that have changed. */
pada_status pada_supernet_open(pada_supernet *net, const pada_run_args *args,
                               const pada_options *options, const char *run);
/* Makes n_workers engines and loads the weights into each; without a file they are fresh ones of this seed,
 * and those of a family are loaded when they are needed. */
pada_status pada_supernet_load(pada_supernet *net, uint64_t seed, int n_workers);
/* Whether all processes of a team have loaded the same. Every process calls it. */
pada_status pada_supernet_check_team(const pada_supernet *net, const pada_options *options,
                                     pada_team *team);
/* Destroys the engines, for when others need the room; what is known about the images stays. */
void pada_supernet_unload(pada_supernet *net);
void pada_supernet_close(pada_supernet *net);

#endif
