/* cpu_backend.c - the cpu backend: memory, layout, preparing programs. Running them is in cpu_run.c,
 * vectors are in cpu_ranges.c. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu_device.h"
#include "base/clock.h"
#include "base/instruction_set.h"
#include "base/text.h"
#include "base/threads.h"

enum {
    GROUP_BYTES = 64 * 1024, /* one tensor of a group */
    MAX_SPINNERS = 256
};

/* ---- opening ---- */

static void cpu_close(pada_device *d)
{
    if (!d) return;
    pada_pool_destroy(d->pool);
    pada_free(d->layers);
    pada_free(d->packed.data);
    pada_free(d->partials.data);
    pada_free(d->threads.data);
    pada_free(d->sums.data);
    pada_free(d->spreads.data);
    pada_free(d->kept.data);
    pada_free(d->incoming.data);
    pada_free(d->outcome.data);
    pada_free(d);
}

static pada_status open_with(pada_device **out, const cpu_kernels *kernels, int n_threads)
{
    void *mem;
    pada_status st;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_device *d = mem;
    d->k = kernels;
    d->n_threads = n_threads > 0 ? n_threads : pada_threads_default();
    snprintf(d->description, sizeof d->description, "%s, %d thread%s", kernels->name, d->n_threads,
             d->n_threads == 1 ? "" : "s");
    if ((st = pada_pool_create(&d->pool, d->n_threads)) != PADA_OK) {
        cpu_close(d);
        return st;
    }
    *out = d;
    return PADA_OK;
}

static const char *cpu_describe(const pada_device *d)
{
    return d->description;
}

/* ---- memory and layout ---- */

static pada_status cpu_alloc(pada_device *d, void **out, int64_t bytes)
{
    (void)d;
    return pada_alloc_aligned(out, (size_t)bytes);
}

static void cpu_release(pada_device *d, void *memory)
{
    (void)d;
    pada_free(memory);
}

static void cpu_write(pada_device *d, void *buffer, pada_range range, const double *from)
{
    (void)d;
    for (int64_t i = 0; i < range.count; i++)
        ((float *)buffer)[range.first + i] = (float)from[i];
}

static void cpu_read(pada_device *d, const void *buffer, pada_range range, double *to)
{
    (void)d;
    for (int64_t i = 0; i < range.count; i++)
        to[i] = ((const float *)buffer)[range.first + i];
}

static void cpu_read_i32(pada_device *d, const int32_t *buffer, pada_range range, int32_t *to)
{
    (void)d;
    memcpy(to, buffer + range.first, (size_t)range.count * sizeof *to);
}

static void cpu_write_i32(pada_device *d, int32_t *buffer, pada_range range, const int32_t *from)
{
    (void)d;
    memcpy(buffer + range.first, from, (size_t)range.count * sizeof *from);
}

static void cpu_read_raw(pada_device *d, const void *buffer, const pada_range *ranges, int n,
                         void *to)
{
    float *at = to;

    (void)d;
    for (int r = 0; r < n; at += ranges[r++].count)
        memcpy(at, (const float *)buffer + ranges[r].first, (size_t)ranges[r].count * sizeof *at);
}

static void cpu_write_raw(pada_device *d, void *buffer, const pada_range *ranges, int n,
                          const void *from)
{
    const float *at = from;

    (void)d;
    for (int r = 0; r < n; at += ranges[r++].count)
        memcpy((float *)buffer + ranges[r].first, at, (size_t)ranges[r].count * sizeof *at);
}

static int64_t cpu_channel_bytes(const pada_device *d, int channels)
{
    (void)d;
    return cpu_vector_floats(channels) * (int64_t)sizeof(float);
}

int64_t pada_cpu_image_bytes(const pada_device *d, pada_shape shape)
{
    const int64_t channels = cpu_round_up(shape.c, d->k->width);
    return cpu_round_up(channels * shape.h * shape.w * (int64_t)sizeof(float), PADA_ALIGN);
}

static void cpu_unpack(pada_device *d, const void *tensor, int64_t n, pada_shape shape, double *to)
{
    for (int64_t i = 0; i < n; i++)
        d->k->unpack((const float *)((const char *)tensor + i * pada_cpu_image_bytes(d, shape)),
                     shape, to + i * pada_shape_count(shape));
}

static void cpu_pack(pada_device *d, void *tensor, int64_t n, pada_shape shape, const double *from)
{
    for (int64_t i = 0; i < n; i++)
        d->k->pack(from + i * pada_shape_count(shape), shape,
                   (float *)((char *)tensor + i * pada_cpu_image_bytes(d, shape)));
}

/* ---- preparing ---- */

/* Images that a stage runs together: as many as keep its largest tensor inside GROUP_BYTES. Counted
 * in blocks of 16 channels for every instruction set, because the order of groups is part of the
 * order of sums. */
int pada_cpu_group_size(const pada_program *q, const pada_stage *stage)
{
    const int n_chunks = cpu_chunk_count(q->n_images),
              chunk = (q->n_images + n_chunks - 1) / n_chunks; /* the longest */
    int64_t most = 1;

    for (int i = stage->first; i < stage->first + stage->count; i++) {
        const pada_shape shape = q->nodes[q->instrs[i].v].shape;
        const int64_t bytes =
            cpu_vector_floats(shape.c) * shape.h * shape.w * (int64_t)sizeof(float);
        if (bytes > most) most = bytes;
    }
    const int64_t group = GROUP_BYTES / most;
    return group < 1 ? 1 : (int)(group > chunk ? chunk : group);
}

/* The first kernel that lists this convolution. */
static pada_status choose(const pada_device *d, const pada_conv *conv, bool planar,
                          const cpu_conv_kernel **out)
{
    const cpu_conv_kernel *const *k = d->k->convs;
    char text[128];

    while (*k && !(*k)->fits(conv, planar))
        k++;
    *out = *k;
    if (*k) return PADA_OK;
    return PADA_FAIL(PADA_EUNSUPPORTED, "the cpu backend has no kernel for a %s",
                     pada_conv_text(conv, text, sizeof text));
}

/* Refuses what the kernels of sums and means do not know. */
static pada_status check_node(const pada_program *q, const pada_node *node)
{
    if (node->n_terms > CPU_MAX_TERMS)
        return PADA_FAIL(PADA_EUNSUPPORTED, "sum of %d terms; the cpu backend takes %d",
                         node->n_terms, CPU_MAX_TERMS);
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (!pada_set_has(CPU_TERMS, (int)q->terms[t].kind))
            return PADA_FAIL(PADA_EUNSUPPORTED, "the cpu backend has no terms of kind %d",
                             (int)q->terms[t].kind);
    if (node->op == PADA_OP_POOL && !pada_set_has(CPU_POOLS, (int)node->pool_kind))
        return PADA_FAIL(PADA_EUNSUPPORTED, "the cpu backend has no pools of kind %d",
                         (int)node->pool_kind);
    if (node->op == PADA_OP_DROP && !pada_set_has(CPU_DROPS, (int)node->drop.kind))
        return PADA_FAIL(PADA_EUNSUPPORTED, "the cpu backend has no drops of kind %d",
                         (int)node->drop.kind);
    if ((node->op == PADA_OP_GAP || node->op == PADA_OP_POOL || node->op == PADA_OP_GATE) &&
        !pada_set_has(CPU_ACTS, (int)node->act))
        return PADA_FAIL(PADA_EUNSUPPORTED, "the cpu backend has no activation %d", (int)node->act);
    return PADA_OK;
}

static pada_status grow(cpu_buffer *buffer, int64_t floats)
{
    void *mem;

    if (floats <= buffer->cap) return PADA_OK;
    PADA_TRY(pada_alloc_aligned(&mem, (size_t)floats * sizeof(float)));
    pada_free(buffer->data);
    *buffer = (cpu_buffer){mem, floats};
    return PADA_OK;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Room for `sums` doubles of a stage, and for what a team sends of a pass. */
static pada_status grow_for_sums(pada_device *d, const pada_program *q, int64_t sums)
{
    const int64_t floats = cpu_round_up(2 * sums, CPU_UNIT);

    PADA_TRY(grow(&d->sums, floats));
    PADA_TRY(grow(&d->spreads, floats));
    if (!d->team) return PADA_OK;
    PADA_TRY(grow(&d->kept, d->kept_floats));
    PADA_TRY(grow(&d->incoming, most(floats, d->kept_floats)));
    return grow(&d->outcome, 4 * (int64_t)q->n_images);
}

static pada_status cpu_prepare(pada_device *d, const pada_program *q)
{
    int64_t packed = 0, accumulators = 0, scratch = 0, partials = 0, local = 0, sums = 0, kept = 0;
    void *layers = d->layers;

    PADA_TRY(pada_grow(&layers, &d->cap_layers, q->n_instrs, sizeof *d->layers));
    d->layers = layers;
    for (int s = 0; s < q->n_stages; s++) {
        const int group = pada_cpu_group_size(q, &q->stages[s]);
        const cpu_layer *last = NULL;
        const pada_node *last_node = NULL;
        int64_t accumulator = 0, partial = 0, sum = 0;
        for (int i = q->stages[s].first; i < q->stages[s].first + q->stages[s].count; i++) {
            const pada_code code = q->instrs[i].code;
            const pada_node *node = &q->nodes[q->instrs[i].v];
            cpu_layer *layer = &d->layers[i];
            const bool backward = pada_cpu_is_layer_grad(&q->instrs[i]);
            *layer = (cpu_layer){.accumulator = accumulator,
                                 .partial = partial,
                                 .packed = packed,
                                 .kept = kept,
                                 .sums = sum};
            sum += pada_cpu_count_sums(q, &q->instrs[i]);
            if (code == PADA_CODE_CONV_FWD || code == PADA_CODE_CONV_BWD) {
                const pada_shape in = q->nodes[node->x].shape;
                PADA_TRY(
                    choose(d, &node->conv, q->nodes[node->x].op == PADA_OP_INPUT, &layer->kernel));
                layer->weights = pada_conv_weights(&node->conv);
                layer->same_x = last && last->kernel == layer->kernel && last_node->x == node->x &&
                                last_node->conv.act == node->conv.act;
                packed +=
                    cpu_round_up(layer->kernel->weight_floats(&node->conv, backward), CPU_UNIT);
                scratch = most(scratch,
                               layer->kernel->scratch_floats(&node->conv, in, node->shape, group));
                if (backward)
                    accumulator +=
                        cpu_round_up(layer->kernel->accumulator_floats(&node->conv), CPU_UNIT);
                last = backward ? NULL : layer;
                last_node = node;
            } else if (code == PADA_CODE_NORM_SUMS) {
                PADA_TRY(check_node(q, node));
            } else if (code == PADA_CODE_LINEAR_BWD && node->x != PADA_ZERO) {
                layer->weights = (int64_t)node->shape.c * q->nodes[node->x].shape.c;
            } else {
                PADA_TRY(check_node(q, node));
                /* pooling: three rows */
                scratch = most(scratch, 3 * (int64_t)node->shape.w * d->k->width);
                if (node->op == PADA_OP_COMBINE) last = NULL;
            }
            if (backward) {
                /* Weights and bias gradients; linear layers add into their partials directly. */
                const int64_t floats =
                    cpu_round_up(layer->weights, CPU_UNIT) + cpu_vector_floats(node->shape.c);
                partial += floats;
                kept += floats;
            }
        }
        local = most(local, q->local_bytes / (int64_t)sizeof(float) * group);
        accumulators = most(accumulators, accumulator);
        partials = most(partials, partial);
        sums = most(sums, sum);
    }
    d->local_floats = cpu_round_up(local, CPU_UNIT);
    d->scratch_floats = cpu_round_up(scratch, CPU_UNIT);
    d->thread_floats = d->local_floats + d->scratch_floats + accumulators;
    d->chunk_floats = partials;
    d->kept_floats = kept;
    PADA_TRY(grow_for_sums(d, q, sums));
    PADA_TRY(grow(&d->packed, packed));
    PADA_TRY(grow(&d->threads, d->thread_floats * d->n_threads));
    return grow(&d->partials, partials * cpu_chunk_count(q->n_images));
}

typedef struct spin_loop {
    const pada_device *d;
    int64_t macs[MAX_SPINNERS];
} spin_loop;

static void spin_item(void *context, int item, int thread)
{
    spin_loop *l = context;

    (void)thread;
    l->macs[item] = l->d->k->spin(1000000);
}

static double cpu_peak_macs(pada_device *d)
{
    const int n = d->n_threads < MAX_SPINNERS ? d->n_threads : MAX_SPINNERS;
    double best = 0;

    for (int repeat = 0; repeat < 5; repeat++) {
        spin_loop l = {.d = d};
        double macs = 0;
        const double start = pada_clock_seconds();
        pada_pool_run(d->pool, n, spin_item, &l);
        const double seconds = pada_clock_seconds() - start;
        for (int i = 0; i < n; i++)
            macs += (double)l.macs[i];
        if (macs / seconds > best) best = macs / seconds;
    }
    return best;
}

/* ---- the backends: the best instruction set of this machine, and each one by name ---- */

/* A set of instructions, with kernels where the compiler can make them. */
typedef struct cpu_set {
    const char *name, *what;
    bool (*present)(void);
    const cpu_kernels *kernels;
} cpu_set;

static bool has_always(void)
{
    return true;
}

#if defined(__x86_64__)
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_fma(void)
{
    return __builtin_cpu_supports("fma");
}

#define X86_SET(label, what)                                 \
    {                                                        \
#label, what, has_##label, &pada_cpu_kernels_##label \
    }
#else
static bool has_never(void)
{
    return false;
}

#define X86_SET(label, what)          \
    {                                 \
#label, what, has_never, NULL \
    }
#endif

enum { SET_AVX512, SET_AVX2, SET_FMA, SET_PLAIN, N_SETS };

/* Best first; all give the same bits. */
static const cpu_set sets[N_SETS] = {
    [SET_AVX512] = X86_SET(avx512, "AVX-512"),
    [SET_AVX2] = X86_SET(avx2, "AVX2 with FMA"),
    [SET_FMA] = X86_SET(fma, "FMA"),
    [SET_PLAIN] = {"plain", "plain C", has_always, &pada_cpu_kernels_plain},
};

static pada_status open_set(pada_device **out, int set, int n_threads)
{
    *out = NULL;
    if (!sets[set].present()) return PADA_FAIL(PADA_EDEVICE, "this CPU has no %s", sets[set].what);
    return open_with(out, sets[set].kernels, n_threads);
}

static pada_status cpu_open(pada_device **out, int n_threads)
{
    const char *wanted = pada_instruction_set_wanted(), *names[N_SETS];
    int set = 0;

    *out = NULL;
    for (int i = 0; i < N_SETS; i++)
        names[i] = sets[i].name;
    while (set < N_SETS && (wanted ? strcmp(wanted, names[set]) != 0 : !sets[set].present()))
        set++;
    if (set == N_SETS)
        return pada_fail_unknown(PADA_EDEVICE, "PADA_CPU: unknown instruction set", wanted, names,
                                 N_SETS);
    return open_set(out, set, n_threads);
}

static pada_status cpu_avx512_open(pada_device **out, int n_threads)
{
    return open_set(out, SET_AVX512, n_threads);
}

static pada_status cpu_avx2_open(pada_device **out, int n_threads)
{
    return open_set(out, SET_AVX2, n_threads);
}

static pada_status cpu_fma_open(pada_device **out, int n_threads)
{
    return open_set(out, SET_FMA, n_threads);
}

static pada_status cpu_plain_open(pada_device **out, int n_threads)
{
    return open_set(out, SET_PLAIN, n_threads);
}

/* clang-format off */
#define CPU_BACKEND(symbol, label, text, open_function)                                              \
    extern const pada_backend symbol;                                                                \
    const pada_backend symbol = {                                                                    \
        .name = label, .summary = text, .dtype = PADA_F32, .open = open_function, .close = cpu_close, \
        .describe = cpu_describe, .alloc = cpu_alloc, .release = cpu_release, .write = cpu_write,     \
        .read = cpu_read, .read_i32 = cpu_read_i32, .write_i32 = cpu_write_i32, .read_raw = cpu_read_raw, .write_raw = cpu_write_raw, .image_bytes = pada_cpu_image_bytes, .channel_bytes = cpu_channel_bytes,         \
        .unpack = cpu_unpack, .pack = cpu_pack, .prepare = cpu_prepare, .run = pada_cpu_run,               \
        .divide = pada_cpu_divide, .share = pada_cpu_share_of, .finish = pada_cpu_finish, \
        .peak_macs = cpu_peak_macs, \
        .fill_zero = pada_cpu_fill_zero, .sum_squares = pada_cpu_sum_squares, .dot = pada_cpu_dot, \
        .update = pada_cpu_update, .copy = pada_cpu_copy, .axpy = pada_cpu_axpy,     \
        .blend = pada_cpu_blend, .welford = pada_cpu_welford}
/* clang-format on */

CPU_BACKEND(pada_backend_cpu, "cpu",
            "fused float32 kernels, the best instruction set of this machine", cpu_open);
CPU_BACKEND(pada_backend_cpu_avx512, "cpu-avx512", "the cpu backend with AVX-512", cpu_avx512_open);
CPU_BACKEND(pada_backend_cpu_avx2, "cpu-avx2", "the cpu backend with AVX2 and FMA", cpu_avx2_open);
CPU_BACKEND(pada_backend_cpu_fma, "cpu-fma", "the cpu backend in plain C compiled for FMA",
            cpu_fma_open);
CPU_BACKEND(pada_backend_cpu_plain, "cpu-plain", "the cpu backend in plain C", cpu_plain_open);
