/* from_run.h - what later commands take from the papers of a run: RUN/config.yaml and RUN/data.json. */
#ifndef PADA_RUN_FROM_RUN_H
#define PADA_RUN_FROM_RUN_H

#include "data/data_card.h"
#include "run/data_args.h"
#include "run/space_args.h"
#include "space/subspace.h"

/* What is taken from the config.yaml of a run. */
typedef struct pada_run_config {
    pada_space_args space;
    pada_data_args images;
    const char *data; /* NULL: not there */
    int form;         /* 1: of one network in its final form, */
    const char *arch; /* this one */
    const char *ops;  /* the operators that a supernet trained; NULL: all */
    double hold_out;  /* share of the training images that no step trained on */
} pada_run_config;

/* Reads it, with the options of a space. *owner owns the strings, also after a failure. */
pada_status pada_run_config_read(pada_run_config *config, pada_options **owner,
                                 const pada_space_ops *ops, const char *run);
/* What no flag gave becomes what the run says. */
void pada_run_config_merge(const pada_run_config *config, const pada_options *options,
                           pada_space_args *space, pada_data_args *images, const char **data);
/* The space of a run folder, with its sizes. */
pada_status pada_space_of_run(pada_space *space, const char *run);
/* The part of that space that the run trained (--ops); *is_narrow: not all of it. */
pada_status pada_part_of_run(pada_subspace *part, bool *is_narrow, const pada_space *space,
                             const char *run);
/* Without --data, the images of the training, by the card of the run, wherever this command is run; *data is what its
 * configuration says. Images that are not there are PADA_ENOENT. */
pada_status pada_run_find_data(const pada_data_card *card, const char *run, const char **data);

#endif
