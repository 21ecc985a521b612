/* strategy_close.c - CLOSE: edges share blocks of weights, and share less as training goes on.
 *
 * Weights belong to blocks of the cells (--blocks). Training begins with one block, which all edges
 * run; from time to time another one is opened, as a copy of the block before it plus its own random
 * start. Which of the open ones an edge runs is up to the gate (block_gate.h):
 *
 *   p = softmax((logits + Gumbel noise) / temperature),    the edge runs argmax p
 *
 * and the gate gets the gradient as if the edge had run sum of p_i block_i (straight through), which
 * takes the blocks that were not chosen forward, too. Logits of blocks that are not open yet have a
 * bias that no noise makes up for, so that weights alone say which are: whoever evaluates them takes
 * the highest logit. */
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/mem.h"
#include "engine/engine_blocks.h"
#include "engine/engine_snapshot.h"
#include "engine/engine_weights.h"
#include "sampler/data_sampler.h"
#include "strategy/iso_paths.h"
#include "strategy/path_groups.h"
#include "strategy/strategy.h"

#define CLOSED (-1e4) /* bias of a block that is not open */

enum { OF_CLASSES, OF_GROUPS };

typedef struct close_settings {
    double grow, restart;
    double temperature, dropout;
    int paths; /* OF_ */
    pada_group_settings groups;
} close_settings;

#define REAL(option_name, field, value, low, high, text)                                         \
    {                                                                                            \
        .name = option_name, .type = PADA_OPT_DOUBLE, .offset = offsetof(close_settings, field), \
        .default_value = value, .min = low, .max = high, .meta = "X", .help = text               \
    }

static const pada_opt options_table[] = {
    REAL("close-grow", grow, "0.2", 0, 1, "share of the epochs from one new block to the next"),
    REAL("close-restart", restart, "0.4", 0, 1,
         "share of the epochs before momentum and learning rates start anew; 0: they do not"),
    REAL("close-temperature", temperature, "5", 1e-3, 1e6, "of the softmax over blocks"),
    REAL("close-dropout", dropout, "0.1", 0, 0.99, "share of the gate's hidden numbers to drop"),
    {.name = "close-paths",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(close_settings, paths),
     .default_value = "classes",
     .choices = "classes|groups",
     .help = "classes of isomorphic paths are equally likely, or groups of paths (--groups)"},
    {.name = NULL},
};

static const pada_strategy_default defaults[] = {
    {"blocks", "3"}, {"weight-decay", "0.0005"}, {"hold-out", "0.2"}, {NULL, NULL}};

typedef struct close_run {
    const pada_strategy_env *env;
    close_settings settings;
    pada_iso_paths classes; /* one of both is there */
    pada_path_groups groups;
    pada_block_gate *gate; /* NULL: one block */
    int gate_first;        /* parameter */
    double *mask;          /* of the gate */
    double *values[2];     /* room for any parameter */
} close_run;

static int n_blocks(const close_run *s)
{
    return s->env->space->config.blocks;
}

static pada_status bind_settings(void *settings, pada_options *options)
{
    close_settings *s = settings;

    PADA_TRY(pada_options_bind(options, options_table, s));
    return pada_options_bind(options, pada_group_options, &s->groups);
}

/* ---- making and giving back ---- */

static pada_status make_room(close_run *s)
{
    int64_t largest = 0;
    void *memory;

    for (int i = 0; i < pada_params_count(s->env->params); i++) {
        const int64_t count = pada_params_get(s->env->params, i)->count;
        if (count > largest) largest = count;
    }
    for (int k = 0; k < 2; k++) {
        PADA_TRY(pada_calloc(&memory, (size_t)largest, sizeof *s->values[k]));
        s->values[k] = memory;
    }
    if (s->gate_first < 0) return PADA_OK;
    PADA_TRY(pada_calloc(&memory,
                         PADA_GATE_MAX_EDGES * PADA_GATE_HIDDEN_LAYERS * (size_t)PADA_GATE_HIDDEN,
                         sizeof *s->mask));
    s->mask = memory;
    return pada_block_gate_create(&s->gate, s->env->space->ops->n_choices(s->env->space, 0),
                                  n_blocks(s));
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    close_run *s = self;

    s->env = env;
    s->settings = *(const close_settings *)settings;
    if (n_blocks(s) < 1)
        return PADA_FAIL(PADA_EINVAL, "method close: the slots of space %s share no weights%s",
                         env->space->ops->name,
                         env->space->ops->gate_cell ? "; give --blocks" : "");
    s->gate_first = pada_block_gate_first_param(env->params);
    PADA_TRY(make_room(s));
    return s->settings.paths == OF_CLASSES
               ? pada_iso_paths_init(&s->classes, env->space)
               : pada_path_groups_init(&s->groups, env->space, &s->settings.groups, "close");
}

static void deinit(void *self)
{
    close_run *s = self;

    pada_iso_paths_deinit(&s->classes);
    pada_path_groups_deinit(&s->groups);
    pada_block_gate_destroy(s->gate);
    pada_free(s->mask);
    pada_free(s->values[0]);
    pada_free(s->values[1]);
}

/* ---- the curriculum ---- */

static int epoch_at(const close_run *s, double share)
{
    return (int)lround(share * s->env->n_epochs);
}

static int opening_epoch(const close_run *s, int block)
{
    return epoch_at(s, block * s->settings.grow);
}

/* Blocks that are open in an epoch. */
static int open_blocks(const close_run *s, int epoch)
{
    int n = 1;

    while (n < n_blocks(s) && opening_epoch(s, n) <= epoch)
        n++;
    return n;
}

static int schedule_start(const void *self, int epoch)
{
    const close_run *s = self;
    const int restart = epoch_at(s, s->settings.restart);

    return epoch >= restart ? restart : 0;
}

/* w[i] += w[i - back] for all parameters of a block, in every cell. */
static void add_previous_block(close_run *s, pada_engine *e, int block)
{
    const pada_params *params = s->env->params;
    int per_site = 0;

    for (int i = 0; i < pada_params_count(params); i++)
        per_site += pada_params_get(params, i)->site == 0;
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        if (p->site == PADA_SHARED || p->site % n_blocks(s) != block) continue;
        pada_engine_read_weight(e, i, s->values[0]);
        pada_engine_read_weight(e, i - per_site, s->values[1]);
        for (int64_t k = 0; k < p->count; k++)
            s->values[0][k] += s->values[1][k];
        pada_engine_write_weight(e, i, s->values[0]);
    }
}

static void write_bias(const close_run *s, pada_engine *e, int block, double value)
{
    const int param = s->gate_first + PADA_GATE_OUT_BIAS;

    pada_engine_read_weight(e, param, s->values[0]);
    s->values[0][block] = value;
    pada_engine_write_weight(e, param, s->values[0]);
}

/* The logit of the new block is that of the one before, plus its own random start. The bias of its own
 * was given up when it was closed. */
static void open_logit(const close_run *s, pada_engine *e, int block)
{
    const int weight = s->gate_first + PADA_GATE_OUT_WEIGHT;
    const double bound = pada_params_get(s->env->params, weight + 1)->bound;
    double *row = s->values[0] + (int64_t)block * PADA_GATE_HIDDEN;
    pada_rng rng;

    pada_engine_read_weight(e, weight, s->values[0]);
    for (int i = 0; i < PADA_GATE_HIDDEN; i++)
        row[i] += row[i - PADA_GATE_HIDDEN];
    pada_engine_write_weight(e, weight, s->values[0]);
    pada_rng_init(&rng, s->env->seed, "block", (uint64_t)block);
    pada_engine_read_weight(e, weight + 1, s->values[0]);
    write_bias(s, e, block, s->values[0][block - 1] + (2 * pada_rng_uniform(&rng) - 1) * bound);
}

/* What happens in front of the first step of an epoch. */
static void follow_curriculum(close_run *s, pada_engine *e, const pada_epoch *epoch)
{
    for (int block = 1; block < n_blocks(s) && epoch->index == 0; block++)
        write_bias(s, e, block, CLOSED);
    for (int block = 1; block < n_blocks(s); block++) {
        if (opening_epoch(s, block) != epoch->index) continue;
        add_previous_block(s, e, block);
        open_logit(s, e, block);
    }
    if (epoch->index > 0 && epoch->index == epoch_at(s, s->settings.restart))
        pada_engine_reset_states(e);
}

/* ---- steps ---- */

static pada_status begin_epoch(void *self, const pada_epoch *epoch, int32_t *order)
{
    close_run *s = self;

    if (s->settings.paths == OF_GROUPS)
        pada_path_groups_begin_epoch(&s->groups, epoch->index, s->env->n_epochs);
    pada_data_permute(s->env->seed, epoch->index, order, s->env->n_images);
    return PADA_OK;
}

/* What the gate says about the edges of a cell, with noise. */
typedef struct routes {
    pada_gate_cell cell;
    double p[PADA_GATE_MAX_EDGES][PADA_MAX_BLOCKS];
} routes;

static void draw_mask(const close_run *s, pada_rng *rng, int n_edges)
{
    const double drop = s->settings.dropout;

    for (int i = 0; i < n_edges * PADA_GATE_HIDDEN_LAYERS * PADA_GATE_HIDDEN; i++)
        s->mask[i] = pada_rng_uniform(rng) < drop ? 0 : 1 / (1 - drop);
}

static double gumbel(pada_rng *rng)
{
    return -pada_ln(-pada_ln(fmax(pada_rng_uniform(rng), 1e-300)));
}

/* Softmax over the first n logits. */
static void softmax(const double *logits, int n, double *p)
{
    double top = logits[0], sum = 0;

    for (int i = 1; i < n; i++)
        top = fmax(top, logits[i]);
    for (int i = 0; i < n; i++)
        sum += p[i] = pada_exp(logits[i] - top);
    for (int i = 0; i < n; i++)
        p[i] /= sum;
}

/* Asks the gate, and writes the blocks of the edges into the path. */
static void route(close_run *s, pada_engine *e, int n_open, int64_t number, pada_path *path,
                  routes *r)
{
    const pada_space *space = s->env->space;
    double logits[PADA_GATE_MAX_EDGES * PADA_MAX_BLOCKS];
    pada_rng rng;

    space->ops->gate_cell(space, path, &r->cell);
    pada_rng_init(&rng, s->env->seed, "gate", (uint64_t)number);
    draw_mask(s, &rng, r->cell.n_edges);
    pada_engine_read_gate(e, s->gate);
    pada_block_gate_forward(s->gate, &r->cell, s->mask, logits);
    for (int k = 0; k < r->cell.n_edges; k++) {
        double *row = logits + (int64_t)k * n_blocks(s);
        int best = 0;
        for (int i = 0; i < n_open; i++)
            row[i] = (row[i] + gumbel(&rng)) / s->settings.temperature;
        softmax(row, n_open, r->p[k]);
        for (int i = 1; i < n_open; i++)
            if (row[i] > row[best]) best = i;
        path->choice[space->ops->n_slots + r->cell.slot[k]] = (uint8_t)best;
    }
}

/* From the derivatives by p to those by the weights of the gate. */
static void add_gate_gradient(close_run *s, pada_engine *e, const pada_draws *draws, int n_open,
                              const routes *r)
{
    double derivatives[PADA_MAX_SLOTS * PADA_MAX_BLOCKS];
    double grads[PADA_GATE_MAX_EDGES * PADA_MAX_BLOCKS] = {0};

    /* while the device is busy; the next line waits for it */
    if (!draws->joins) pada_block_gate_zero_grads(s->gate);
    pada_engine_probes(e, derivatives);
    for (int k = 0; k < r->cell.n_edges; k++) {
        const double *d = derivatives + (int64_t)r->cell.slot[k] * n_blocks(s);
        double mean = 0;
        for (int i = 0; i < n_open; i++)
            mean += r->p[k][i] * d[i];
        for (int i = 0; i < n_open; i++)
            grads[k * n_blocks(s) + i] = r->p[k][i] * (d[i] - mean) / s->settings.temperature;
    }
    pada_block_gate_backward(s->gate, grads);
    pada_engine_write_gate_grad(e, s->gate);
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    close_run *s = self;
    const int n_open = open_blocks(s, epoch->index);
    pada_path path;
    routes r;

    if (number == epoch->first_step && !draws->joins) follow_curriculum(s, e, epoch);
    if (s->settings.paths == OF_CLASSES)
        pada_iso_paths_draw(&s->classes, s->env->seed, number, &path);
    else
        pada_path_groups_draw(&s->groups, s->env->seed, number, &path);
    if (n_open > 1) route(s, e, n_open, number, &path, &r);
    pada_strategy_begin_step(e, draws);
    PADA_TRY(pada_engine_forward_routed(e, &path, &draws->batch, n_open > 1 ? n_open : 0));
    pada_engine_backward(e);
    if (n_open > 1) add_gate_gradient(s, e, draws, n_open, &r);
    return pada_strategy_end_step(e, draws, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const close_run *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = s->settings.paths == OF_CLASSES ? &s->classes.sampler
                                                                         : &s->groups.sampler};
}

extern const pada_strategy_ops pada_strategy_close;
const pada_strategy_ops pada_strategy_close = {
    .name = "close",
    .summary = "blocks of weights that edges share, less and less, by a gate (CLOSE)",
    .settings_bytes = sizeof(close_settings),
    .bind_settings = bind_settings,
    .defaults = defaults,
    .state_bytes = sizeof(close_run),
    .init = init,
    .deinit = deinit,
    .begin_epoch = begin_epoch,
    .schedule_start = schedule_start,
    .step = step,
    .distributions = distributions,
};
