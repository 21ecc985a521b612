/* cuda_level_match.c - divides the instructions of a stage into levels, whose parts run in a few launches.
 *
 * An instruction stands in the level behind those of its operands. Contributions to one gradient come one after the other:
 * what flows through sums and concatenations first, as one part, then what only general kernels know, pools, and
 * convolutions. The last of them also takes the sums that batch norms need. Gradients of weights come as soon as they
 * can, beside others. Tensors of a stage do not share memory (plan_places.c), so that nothing else is to be waited for. */
#include "backend/cuda/cuda_known.h"
#include "backend/cuda/cuda_level.h"
#include "backend/cuda/cuda_level_known.h"
#include "backend/cuda/cuda_match_parts.h"

/* ---- parts ---- */

static int level_of(const cuda_matcher *k, cuda_when when)
{
    return when.stage == k->stage ? when.level : -1;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* One more, before there is another part. */
static void add_instr(const cuda_matcher *k, cuda_level_part *part, int instr)
{
    k->m->members[k->m->n_members++] = instr;
    part->count++;
}

static cuda_level_part *add_part(const cuda_matcher *k, cuda_part_kind kind, int level, int instr)
{
    cuda_match *m = k->m;
    cuda_level_part *part = &m->parts[m->n_parts++];

    *part = (cuda_level_part){
        .kind = kind, .level = level, .first = m->n_members, .term = -1, .norms = -1};
    add_instr(k, part, instr);
    return part;
}

/* ---- forward ---- */

static int operands_level(const cuda_matcher *k, pada_value v)
{
    const pada_node *node = &k->q->nodes[v];
    int level = node->x == PADA_ZERO ? -1 : level_of(k, k->m->nodes[node->x].ready);

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        level = most(level, level_of(k, k->m->nodes[k->q->terms[t].x].ready));
    return level;
}

static void want_fragment(const cuda_matcher *k, pada_value v)
{
    cuda_node_match *node = &k->m->nodes[v];

    if (node->fragment >= 0) return;
    node->fragment = k->m->fragment_bytes;
    k->m->fragment_bytes += pada_cuda_dense_pack_bytes(&k->q->nodes[v].conv);
}

static cuda_part_kind forward_kind(const cuda_matcher *k, pada_value v)
{
    if (pada_cuda_is_level_depth(k->q, v)) return CUDA_PART_DEPTH_FORWARD;
    if (pada_cuda_is_level_dense(k->q, v)) return CUDA_PART_DENSE_FORWARD;
    if (pada_cuda_is_level_pool(k->q, v)) return CUDA_PART_POOL_FORWARD;
    if (pada_cuda_is_level_sum(k->q, v) || pada_cuda_is_level_concat(k->q, v)) return CUDA_PART_SUM;
    return CUDA_PART_GENERAL;
}

/* A concatenation: every operand by itself, also the sums of its channels. Those that are there already need nothing; the
 * level of the others, or of none. */
static int add_operands(const cuda_matcher *k, int i, int level)
{
    const pada_node *node = &k->q->nodes[k->q->instrs[i].v];
    bool any = false;

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const pada_value x = k->q->terms[t].x;
        const bool housed = k->m->nodes[x].home == t;
        if (!housed) add_part(k, CUDA_PART_SUM, level, i)->term = t;
        any = any || !housed;
        if (k->q->instrs[i].stats)
            k->m->terms[t].sums = pada_cuda_take_sums(k, k->q->nodes[x].shape.c);
    }
    return any ? level : level - 1;
}

static void match_forward(const cuda_matcher *k)
{
    const pada_program *q = k->q;
    const int begin = q->stages[k->stage].first, end = begin + q->stages[k->stage].count;

    for (int i = begin; i < end; i++) {
        const pada_value v = q->instrs[i].v;
        const pada_node *node = &q->nodes[v];
        const int level = 1 + operands_level(k, v);
        if (k->m->nodes[v].viewed) continue;
        if (pada_cuda_is_head_forward(q, i, end)) {
            cuda_level_part *head = add_part(k, CUDA_PART_HEAD_FORWARD, level, i);
            add_instr(k, head, ++i);
            add_instr(k, head, ++i);
            continue;
        }
        const bool value = pada_op_get(node->op)->role == PADA_ROLE_VALUE;
        const cuda_part_kind kind = value ? forward_kind(k, v) : CUDA_PART_GENERAL;
        k->m->nodes[v].ready = (cuda_when){k->stage, level};
        if (kind == CUDA_PART_DENSE_FORWARD) want_fragment(k, v);
        if (kind == CUDA_PART_SUM && node->op == PADA_OP_CONCAT) {
            k->m->nodes[v].ready.level = add_operands(k, i, level);
            continue;
        }
        add_part(k, kind, level, i);
        if (kind != CUDA_PART_GENERAL && q->instrs[i].stats)
            k->m->nodes[v].sums = pada_cuda_take_sums(k, node->shape.c);
    }
}

/* ---- backward ---- */

/* A gradient that is being put together. */
typedef struct gradient {
    pada_value x;
    int n;                 /* contributions so far */
    int level;             /* of the last one */
    cuda_level_part *last; /* which it is, unless it is a general one */
} gradient;

static cuda_level_part *contribute(const cuda_matcher *k, gradient *g, cuda_part_kind kind, int i)
{
    const int from = level_of(k, k->m->nodes[k->q->instrs[i].dy].complete);
    cuda_level_part *part = add_part(k, kind, 1 + most(from, g->level), i);

    part->accumulate = g->n++ > 0;
    g->level = part->level;
    g->last = kind < CUDA_PART_GENERAL ? part : NULL;
    return part;
}

static bool is_flow(const pada_program *q, const pada_instr *instr)
{
    return (instr->code == PADA_CODE_COMBINE_BWD && pada_cuda_is_level_sum(q, instr->v)) ||
           (instr->code == PADA_CODE_CONCAT_BWD && pada_cuda_is_level_concat(q, instr->v));
}

/* Whether a part takes this instruction; which kind. */
static cuda_part_kind backward_kind(const pada_program *q, const pada_instr *instr)
{
    if (is_flow(q, instr)) return CUDA_PART_SUM;
    if (instr->code == PADA_CODE_POOL_BWD && pada_cuda_is_level_pool(q, instr->v))
        return CUDA_PART_POOL_GRAD;
    if (instr->code == PADA_CODE_CONV_BWD && pada_cuda_is_level_depth(q, instr->v))
        return CUDA_PART_DEPTH_BACK;
    if (instr->code == PADA_CODE_CONV_BWD && pada_cuda_is_level_dense(q, instr->v))
        return CUDA_PART_DENSE_GRAD_IN;
    return CUDA_PART_GENERAL;
}

/* All that flows as it is. Their gradients may be complete in different levels. */
static void add_flows(const cuda_matcher *k, gradient *g, int begin, int end)
{
    cuda_level_part *part = NULL;

    for (int i = begin; i < end; i++) {
        if (!is_flow(k->q, &k->q->instrs[i])) continue;
        if (!part || part->count == CUDA_LEVEL_TERMS) {
            part = contribute(k, g, CUDA_PART_SUM, i);
            continue;
        }
        const int from = level_of(k, k->m->nodes[k->q->instrs[i].dy].complete);
        part->level = g->level = most(g->level, 1 + from);
        add_instr(k, part, i);
    }
}

/* The gradient of the weights of a convolution. That of a depthwise one is made with the gradient of x, if there is one. */
static void add_weights(const cuda_matcher *k, int i)
{
    const pada_instr *instr = &k->q->instrs[i];
    const bool depth = pada_cuda_is_level_depth(k->q, instr->v);

    if (!depth || instr->no_grad_in)
        add_part(k, depth ? CUDA_PART_DEPTH_BACK : CUDA_PART_DENSE_WEIGHTS,
                 1 + level_of(k, k->m->nodes[instr->dy].complete), i);
    k->m->nodes[instr->v].plain = true;
}

/* Whether kernels of levels can take the sums over the gradient of x. */
static bool has_level_norms(const pada_program *q, pada_value x)
{
    const pada_node *node = &q->nodes[x];
    int n = 0;

    if (!pada_cuda_is_paired(node->shape)) return false;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        n += q->terms[t].kind == PADA_TERM_BATCHNORM;
    return n <= CUDA_FINISHES;
}

static void add_norm_sums(const cuda_matcher *k, gradient *g, int i)
{
    const pada_instr *instr = &k->q->instrs[i];
    const pada_node *node = &k->q->nodes[instr->v];

    if (instr->v != g->x || !g->last || !has_level_norms(k->q, g->x)) {
        add_part(k, CUDA_PART_GENERAL, g->level + 1, i);
        return;
    }
    g->last->norms = g->x;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (k->q->terms[t].kind == PADA_TERM_BATCHNORM)
            k->m->terms[t].sums = pada_cuda_take_sums(k, node->shape.c);
}

/* The instructions [begin, end), all for the gradient of x. */
static void match_gradient(const cuda_matcher *k, gradient g, int begin, int end)
{
    const pada_program *q = k->q;

    add_flows(k, &g, begin, end);
    for (int pass = 0; pass < 2; pass++) /* general ones first */
        for (int i = begin; i < end; i++) {
            const pada_instr *instr = &q->instrs[i];
            const cuda_part_kind kind = backward_kind(q, instr);
            const bool conv = kind == CUDA_PART_DENSE_GRAD_IN || kind == CUDA_PART_DEPTH_BACK;
            if (instr->code == PADA_CODE_NORM_SUMS || kind == CUDA_PART_SUM ||
                (kind == CUDA_PART_GENERAL) != (pass == 0))
                continue;
            if (!conv || !instr->no_grad_in) contribute(k, &g, kind, i);
            if (kind == CUDA_PART_DENSE_GRAD_IN && !instr->no_grad_in) want_fragment(k, instr->v);
            if (conv) add_weights(k, i);
        }
    k->m->nodes[g.x].complete = (cuda_when){k->stage, g.level};
    for (int i = begin; i < end; i++)
        if (q->instrs[i].code == PADA_CODE_NORM_SUMS) add_norm_sums(k, &g, i);
}

static void match_backward(const cuda_matcher *k)
{
    const pada_program *q = k->q;
    const int begin = q->stages[k->stage].first, end = begin + q->stages[k->stage].count;

    for (int i = begin, next; i < end; i = next) {
        gradient g = {.level = -1};
        if (pada_cuda_is_head_backward(q, i, end)) {
            add_instr(k, add_part(k, CUDA_PART_HEAD_BACKWARD, 0, i), i + 1);
            g.n = 1;
            g.level = 0;
            i++;
        }
        g.x = pada_cuda_receiver(q, &q->instrs[i]);
        for (next = i + 1;
             next < end && g.x != PADA_ZERO && pada_cuda_receiver(q, &q->instrs[next]) == g.x;)
            next++;
        if (g.x == PADA_ZERO)
            add_part(k, CUDA_PART_GENERAL, 1 + level_of(k, k->m->nodes[q->instrs[i].dy].complete),
                     i);
        else
            match_gradient(k, g, g.n > 0 ? i + 1 : i, next);
    }
}

/* ---- steps ---- */

/* Parts of a stage by level, then by kind; their members stay where they are. */
static void sort_parts(cuda_level_part *parts, int n)
{
    for (int i = 1; i < n; i++) {
        const cuda_level_part part = parts[i];
        int at = i;
        for (; at > 0 && (parts[at - 1].level > part.level ||
                          (parts[at - 1].level == part.level && parts[at - 1].kind > part.kind));
             at--)
            parts[at] = parts[at - 1];
        parts[at] = part;
    }
}

/* The convolution of a part. */
static pada_value conv_of(const cuda_matcher *k, const cuda_level_part *part)
{
    return k->q->instrs[k->m->members[part->first]].v;
}

/* What the gradient of the weights of v reads, in elements of an image. */
static double count_read(const cuda_matcher *k, pada_value v)
{
    const pada_node *node = &k->q->nodes[v];

    return (double)pada_shape_count(k->q->nodes[node->x].shape) +
           2 * (double)pada_shape_count(node->shape);
}

/* Into how many partial sums the gradient of the weights of v is divided. */
static int splits_of(const cuda_matcher *k, pada_value v, double share)
{
    const pada_node *node = &k->q->nodes[v];

    return pada_cuda_is_level_depth(k->q, v)
               ? pada_cuda_level_depth_splits(&node->conv, k->q->nodes[node->x].shape,
                                              k->q->n_images, share)
               : pada_cuda_level_dense_splits(&node->conv, node->shape, k->q->n_images, share);
}

/* The gradients of weights that a step makes share its blocks by what they read. */
static void share_blocks(const cuda_matcher *k, const cuda_step *step)
{
    const cuda_level_part *parts = k->m->parts + step->first;
    double all = 0;

    if (parts[0].kind != CUDA_PART_DEPTH_BACK && parts[0].kind != CUDA_PART_DENSE_WEIGHTS) return;
    for (int p = 0; p < step->count; p++)
        all += count_read(k, conv_of(k, &parts[p]));
    for (int p = 0; p < step->count; p++) {
        const pada_value v = conv_of(k, &parts[p]);
        pada_cuda_want_partial(k, v, splits_of(k, v, count_read(k, v) / all));
    }
}

static void make_steps(const cuda_matcher *k, int first)
{
    const int before = k->m->n_steps;
    cuda_match *m = k->m;
    cuda_step *step = NULL;

    sort_parts(m->parts + first, m->n_parts - first);
    for (int p = first; p < m->n_parts; p++) {
        const cuda_level_part *part = &m->parts[p];
        const cuda_level_part *before = p > first ? part - 1 : NULL;
        if (part->kind >= CUDA_PART_GENERAL) {
            static const cuda_step_kind kinds[] = {CUDA_STEP_INSTR, CUDA_STEP_HEAD_FORWARD,
                                                   CUDA_STEP_HEAD_BACKWARD};
            step = pada_cuda_begin_step(k, kinds[part->kind - CUDA_PART_GENERAL], -1);
            step->first = part->first;
            step->accumulate = part->accumulate;
        } else if (!before || before->kind != part->kind || before->level != part->level) {
            step = pada_cuda_begin_step(k, CUDA_STEP_LEVEL, -1);
            step->first = p;
        }
        step->count++;
    }
    for (int i = before; i < m->n_steps; i++)
        if (m->steps[i].kind == CUDA_STEP_LEVEL) share_blocks(k, &m->steps[i]);
}

void pada_cuda_match_level_stage(const cuda_matcher *k)
{
    const int first = k->m->n_parts;

    pada_cuda_end_batch(k);
    if (k->stage < k->q->n_forward)
        match_forward(k);
    else
        match_backward(k);
    make_steps(k, first);
}
