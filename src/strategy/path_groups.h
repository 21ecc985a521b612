/* path_groups.h - paths in groups of depth or cost, which are drawn as often as weights say.
 *
 * Groups have equal width between the smallest and the largest value of any path. A group is drawn by its weight, then a path
 * of it, all equally likely: rare paths, such as the deep ones of NAS-Bench-201, get their share of the training. Weights may
 * move from those of the first epoch to others in the last one. */
#ifndef PADA_STRATEGY_PATH_GROUPS_H
#define PADA_STRATEGY_PATH_GROUPS_H

#include "base/option.h"
#include "sampler/path_sampler.h"

typedef enum pada_groups_of {
    PADA_GROUPS_DEPTH, /* a score of the space: convolutions on the longest way, or layers that are there */
    PADA_GROUPS_MACS /* multiply-adds of what is live */
} pada_groups_of;

typedef struct pada_group_settings {
    int of; /* pada_groups_of */
    pada_int_list
        weights;       /* of the groups, those of small values first; as many as there are groups */
    pada_int_list end; /* in the last epoch; none: the same */
} pada_group_settings;

extern const pada_opt
    pada_group_options[]; /* of that struct: --groups --group-weights --group-weights-end */

/* Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_path_groups {
    const pada_space *space;
    pada_group_settings settings;
    int n_groups;
    int32_t *paths; /* [n_paths] path_number.h, by group, owned */
    int32_t first[PADA_MAX_INTS], count[PADA_MAX_INTS]; /* of each group in `paths` */
    double shares[PADA_MAX_INTS];                       /* of the groups, now; their sum is 1 */
    pada_path_sampler sampler; /* how often each choice is drawn; slots depend on each other */
} pada_path_groups;

/* `method` is for messages. Spaces of more than a million paths, groups without a path, weights that are all 0
 * and lists of different lengths are PADA_EINVAL. */
pada_status pada_path_groups_init(pada_path_groups *groups, const pada_space *space,
                                  const pada_group_settings *settings, const char *method);
void pada_path_groups_deinit(pada_path_groups *groups);

/* Sets the shares of an epoch. */
void pada_path_groups_begin_epoch(pada_path_groups *groups, int epoch, int n_epochs);
/* The path of one training step: stream (seed, "path", step). */
void pada_path_groups_draw(const pada_path_groups *groups, uint64_t seed, int64_t step,
                           pada_path *path);

#endif
