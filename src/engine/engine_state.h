/* engine_state.h - what an engine owns; shared by the files of this folder only. */
#ifndef PADA_ENGINE_ENGINE_STATE_H
#define PADA_ENGINE_ENGINE_STATE_H

#include "engine/engine_align.h"
#include "engine/engine_blocks.h"
#include "engine/engine_ema.h"
#include "engine/engine_gradients.h"
#include "engine/engine_log.h"
#include "engine/engine_results.h"
#include "engine/engine_snapshot.h"
#include "engine/engine_variance.h"
#include "engine/engine_weights.h"
#include "graph/plan.h"

/* A group is the unit of bookkeeping: one shared parameter, or all parameters of one (site,
 * choice). */
typedef struct param_group {
    pada_range range;
    int site, choice;                     /* PADA_SHARED: always used */
    int first_param, n_params, n_weights; /* its tensors; those of them that are no vectors */
    bool active;                          /* has a gradient since zero_grad */
    bool sampled;                         /* was active at least once in this run */
    bool saved;                           /* `sampled` at the time of the snapshot */
    /* how often a step moved it: with the states of now, of the snapshot, of the other set */
    int64_t moves, saved_moves, other_moves;
    bool differs; /* has a part in the differences that were added up */
} param_group;

/* The log of an epoch: pada_log with its room. Passes and, where the backend has clip_update, steps leave
 * their numbers in memory of the backend; those behind the first n_read_images and n_read_steps have not
 * been brought here yet. */
typedef struct engine_log {
    int n_images, n_passes, n_steps, cap_images, cap_passes, cap_steps;
    int n_read_images, n_read_steps;
    pada_results results; /* [cap_images] */
    void *records;    /* [cap_steps, 2 + ranges of a step] as clip_update writes them, or NULL */
    double *fetched;  /* room for them here, or NULL */
    bool *active;     /* [cap_steps, n_groups] who had a gradient */
    pada_path *paths; /* [cap_passes] of the host, which chose them */
    double *losses, *norms; /* [cap_images] */
    int32_t *ranks;
    double *grad_norms, *clip_factors; /* [cap_steps] */
    double *site_norms;                /* [cap_steps, n_sites] */
    double macs;                       /* of all forward passes */
    bool by_tensor;                    /* norms are sums over tensors */
} engine_log;

/* Running moments of the gradients; the two buffers are NULL until variance_begin. */
typedef struct engine_variance {
    void *mean, *spread;   /* with the map of the parameters */
    int64_t *counts;       /* [n_groups] steps in which the group had a gradient */
    int64_t *range_counts; /* room for n_groups: of the active ones, in order */
} engine_variance;

/* The moving average of the weights; NULL until ema_begin. */
typedef struct engine_ema {
    void *average;
    void *statistics; /* of the running statistics, or NULL */
    double decay;
    bool is_swapped; /* it is where the weights belong, and they are here */
} engine_ema;

/* Results of evaluations, one behind the other; NULL until tally_begin. */
typedef struct engine_tally {
    pada_results results; /* [cap] */
    double *losses;       /* [cap] scratch */
    int cap, n;
    bool open; /* between begin and end */
} engine_tally;

/* Training passes in shards (engine.h); n 0: they are not. */
typedef struct engine_shards {
    pada_team *team;
    int n, first, end;      /* all; own ones */
    int last;               /* whose backward pass is to come; -1: none */
    pada_bindings bindings; /* of that one */
    void *grads;            /* its gradient, with the map of the parameters */
    pada_range *ranges;     /* of the path, n_sums numbers together */
    int n_ranges;
    int64_t n_sums;
    void *sums;      /* [own ones + 1, n_sums] in the backend's element type */
    double *numbers; /* for conversions */
} engine_shards;

/* What a pass does besides the usual. */
typedef struct forward_options {
    bool taps;    /* kept (PADA_EVAL) or compared (PADA_TRAIN) */
    double align; /* factor of what the comparison gives */
    bool routed;  /* the path has its blocks; the gate is not asked */
    int probes;   /* blocks that are probed at every slot */
    double share; /* PADA_EVAL: of the batch in the statistics, which are collected; 0: read */
} forward_options;

/* One buffer for each state of the optimiser. */
typedef struct optim_states {
    void *at[PADA_MAX_STATES];
} optim_states;

/* What a program depends on. */
typedef struct plan_key {
    pada_path path; /* with its blocks */
    int n_images;   /* 0: nothing is planned */
    pada_mode mode;
    bool taps;
    int probes;
    bool has_statistics, fixed_norms;
    double label_smoothing; /* 0 in evaluation */
    uint64_t drops;         /* set of pada_drop_kind; likewise */
} plan_key;

typedef struct kept_plan {
    pada_graph *graph; /* the plan refers to it */
    pada_plan *plan;
    plan_key key;
} kept_plan;

enum { N_PLANS = 2 };

struct pada_engine {
    pada_space space;
    const pada_backend *backend;
    pada_device *device;
    int batch_size;
    int n_threads; /* as asked for */
    pada_mode mode;
    pada_params *params;
    kept_plan plans[N_PLANS];
    int current;      /* the one that ran last */
    bool is_prepared; /* the device is, for that one */
    bool is_divided;  /* among processes */
    /* Buffers of the backend, all with the map of `params` but for the work buffer. */
    void *weights, *grads, *work;
    const pada_optimizer *optimizer;
    optim_states states;
    void *saved_weights; /* snapshot, or NULL */
    optim_states saved_states;
    void *differences; /* these two are NULL until they are needed */
    optim_states other_states;
    void *kept_grads[PADA_MAX_KEPT];
    int64_t work_bytes, buffer_bytes;
    /* Running statistics: their map, empty where the space declares none, and the buffer, NULL without. */
    pada_params *statistics_map;
    void *statistics_buffer;
    pada_statistics wanted_statistics,
        statistics; /* by the caller; by the weights that are there */
    void *taps;     /* what was kept, or NULL */
    int64_t taps_bytes;
    int n_kept; /* images that it is of */
    /* Where weights belong to blocks and there is a choice: the gate, NULL if not. */
    pada_block_gate *gate;
    pada_range gate_range;  /* its parameters */
    bool gate_is_read;      /* it has the weights of now, and `routed` is what they say */
    pada_path routed;       /* the last path that the gate was asked about */
    double *probe_room;     /* for pada_program_probes */
    double label_smoothing; /* of training passes, as the next two */
    pada_drops drops;
    uint64_t dropped; /* set of the kinds that have a rate */
    pada_results results;
    param_group *groups;
    int n_groups;
    int *group_of; /* [site * most choices + choice], -1: no parameters */
    int most_choices;
    pada_range *active, *moved; /* room for all parameters */
    int64_t *moves;             /* likewise: how often those of `moved` were moved */
    double *sums;
    double *staging;           /* the largest parameter or a number per image, for conversions */
    void *held[PADA_N_SPLITS]; /* images in the memory of the backend, or NULL */
    const pada_dataset *held_data[PADA_N_SPLITS]; /* that they are from */
    /* The last forward pass. */
    pada_mode last_mode;
    int last_n;
    pada_path last_path;
    pada_bindings bindings;
    engine_log log;
    engine_variance variance;
    engine_ema ema;
    engine_tally tally;
    engine_shards shards;
};

/* engine_plan.c: builds, simplifies and plans the network of a path and makes room for it, unless that
 * has just been done. */
pada_status pada__plan_path(pada_engine *e, const pada_path *path, int n_images, pada_mode mode,
                            const forward_options *options);
/* The program of the last call. */
const pada_program *pada__program(const pada_engine *e);
pada_status pada__plans_create(pada_engine *e, int cap_nodes, int cap_terms);
void pada__plans_free(pada_engine *e);

/* engine.c: pada_engine_forward and more. */
pada_status pada__forward(pada_engine *e, const pada_path *path, const pada_batch *batch,
                          pada_mode mode, const forward_options *options);
/* Plans a pass of a path that has its blocks, and sets e->bindings for it. */
pada_status pada__bind_pass(pada_engine *e, const pada_path *path, const pada_batch *batch,
                            pada_mode mode, const forward_options *options,
                            const pada_results *results);
/* Waits for the backend; a failure there, or of the team that has shards. */
pada_status pada__finish(pada_engine *e);

/* engine_shards.c: n 0 or 1 ends it. The images of a training pass that this process reads; the two halves of such a
 * pass, for a path that has its blocks. */
pada_status pada__shards_begin(pada_engine *e, pada_team *team, int n);
void pada__shards_free(pada_engine *e);
void pada__shards_share(const pada_engine *e, int n, int *first, int *end);
pada_status pada__shards_forward(pada_engine *e, const pada_path *path, const pada_batch *batch,
                                 const forward_options *options, const pada_results *results);
void pada__shards_backward(pada_engine *e);

/* engine_statistics.c: declares them and makes the buffer; gives it back. */
pada_status pada__statistics_create(pada_engine *e);
void pada__statistics_free(pada_engine *e);
/* For fresh weights: mean 0, variance 1. */
void pada__statistics_reset(pada_engine *e);
/* What a pass does with them: whether it is normalised by them, and by what share it moves them; NULL: neither. */
bool pada__statistics_are_read(const pada_engine *e, pada_mode mode,
                               const forward_options *options);
void pada__statistics_bind(const pada_engine *e, pada_mode mode, const forward_options *options,
                           pada_bindings *bindings);
/* Whether a tensor of a file belongs to them. */
bool pada__statistics_have(const pada_engine *e, const char *name);

/* engine_weights.c: of the float32 bytes of a buffer with this map, tensor by tensor. */
uint64_t pada__hash_buffer(const pada_engine *e, const void *buffer, const pada_params *map);

/* engine_blocks.c: the gate of a space that has one; and the blocks of a path, by the gate. */
pada_status pada__route_create(pada_engine *e);
void pada__route_free(pada_engine *e);
void pada__route(pada_engine *e, const pada_path *path, pada_path *out);
/* Called by whatever writes weights. */
void pada__weights_changed(pada_engine *e);

/* engine_log.c: where the next training pass of n images leaves its results, and the next step its
 * norms (NULL: it has to bring them along); called after every training pass, and after every step, where
 * there is no record with the squared norms of the measured ranges in e->sums. */
pada_results pada__log_results(const pada_engine *e, int n);
void *pada__log_record(const pada_engine *e);
void pada__log_pass(pada_engine *e);
/* Whether the gradient of a group is measured tensor by tensor. */
bool pada__log_splits(const pada_engine *e, const param_group *group);
/* After every forward pass. */
void pada__log_work(pada_engine *e);
void pada__log_step(pada_engine *e, const pada_step_stats *stats);
/* Brings everything here. A failure of the device, or a gradient that was not finite, is reported. */
pada_status pada__log_fetch(pada_engine *e);
void pada__log_free(pada_engine *e);
void pada__log_visit(pada_engine *e, pada_state *s);

/* engine_results.c: room for losses, norms and ranks of n images, from zeros; gives it back, also after a failure,
 * and what the last pass left in it is gone; what begins at image `first` of it. */
pada_status pada__results_alloc(pada_engine *e, pada_results *results, int64_t n);
void pada__results_free(pada_engine *e, pada_results *results, int64_t n);
pada_results pada__results_from(const pada_engine *e, const pada_results *results, int64_t first);
/* Where the next evaluation of n images leaves its results. */
pada_results pada__tally_results(pada_engine *e, int n);
void pada__tally_free(pada_engine *e);

/* engine_snapshot.c: for fresh weights; gives up the other states and drops the differences. */
void pada__snapshot_forget(pada_engine *e);

/* engine_states.c: sets of buffers for the states of the optimiser. Those of a failed alloc are released
 * like others; a set that was never made is copied from as nothing. */
pada_status pada__states_alloc(pada_engine *e, optim_states *set);
void pada__states_release(pada_engine *e, optim_states *set);
void pada__states_reset(pada_engine *e, const optim_states *set); /* to what they start with */
void pada__states_copy(pada_engine *e, const optim_states *to, const optim_states *from);
int pada__states_count(const pada_engine *e, const optim_states *set); /* buffers */
void pada__states_visit(pada_engine *e, pada_state *s, float *floats);

/* engine_visit.c: all tensors of a buffer with this map, or all parameters of a buffer, named prefix + parameter; `floats` is room for the largest. */
void pada__visit_map(pada_engine *e, pada_state *s, const char *prefix, const pada_params *map,
                     void *buffer, float *floats);
void pada__visit_buffer(pada_engine *e, pada_state *s, const char *prefix, void *buffer,
                        float *floats);

/* engine_gradients.c */
void pada__kept_grads_free(pada_engine *e);
int pada__kept_grads_count(const pada_engine *e);

/* engine_ema.c: after every step; and after the weights were made afresh. */
#define PADA_EMA_PREFIX PADA_STATE_PREFIX "ema/"
void pada__ema_add(pada_engine *e);
void pada__ema_restart(pada_engine *e);
void pada__ema_visit(pada_engine *e, pada_state *s, float *floats);

/* engine_variance.c: called before every step; n_active ranges are in e->active. */
void pada__variance_add(pada_engine *e, int n_active);
void pada__variance_free(pada_engine *e);

#endif
