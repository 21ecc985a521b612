/* cuda_level_depth_back.cu - both gradients of depthwise convolutions of a level.
 *
 * A tile is of the gradient of x, its window of dz. A thread has a patch: each value of dz that it reads is used for the
 * gradient of x, with the weight of a tap, and for that of this weight, with x, which the patch needs anyway for the
 * slope of the activation. Sums of weights stay in registers over all tiles of a block; then the slots of the block
 * are added up in order. Design note 0025. */
#include "backend/cuda/cuda_level_depth_load.cuh"

enum {
    SPLITS = 4 * DEPTH_DEVICE, /* at most: partial sums have to be added up */
    TAPS_AT_ONCE = 32,         /* added up */
    SUM_WORDS = TAPS_AT_ONCE * DEPTH_THREADS * 2,
    ALL = (1 << DEPTH_PATCH) - 1 /* pixels of a patch, a bit for each */
};

static_assert((int)SUM_WORDS <= (int)DEPTH_WORDS, "sums of taps fit");

/* Sums of weights take registers: warps of a multiprocessor. */
static constexpr int warps_of(int kernel)
{
    return kernel == 3 ? 16 : kernel == 5 ? 12 : 8;
}

/* As many blocks as run at a time, where there are enough tiles. */
int pada_cuda_level_depth_splits(const pada_conv *conv, pada_shape in, int n_images)
{
    cuda_level_conv j = {};

    j.conv = *conv;
    j.in = in;
    j.n_images = n_images;
    const depth_plan plan = depth_make_plan(j, true);
    const int blocks = DEPTH_DEVICE * (warps_of(conv->kernel) / (depth_threads(plan.chunks) / 32));
    const int wanted = min(SPLITS, max(1, blocks / plan.chunks.n));
    return min(wanted, plan.tiles.n);
}

/* ---- patches ---- */

/* Adds the products of a patch. `from` is the first word of its window; x has zeros outside of the image. */
template <int K, int STRIDE, int DILATION>
static __device__ __forceinline__ void correlate(const float *from, int pitch, const float *weights,
                                                 const depth_pair x[DEPTH_PATCH],
                                                 depth_pair dx[DEPTH_PATCH], depth_pair *dw)
{
    constexpr int ROWS = (DEPTH_HIGH - 1 + (K - 1) * DILATION) / STRIDE + 1;
    constexpr int N = (DEPTH_STRIP - 1 + (K - 1) * DILATION) / STRIDE + 1;

#pragma unroll
    for (int i = 0; i < ROWS; i++, from += pitch) {
        depth_pair dz[N];
        depth_read<N>(from, dz);
#pragma unroll
        for (int r = 0; r < DEPTH_HIGH; r++) {
            const int ahead = i * STRIDE - r, kh = ahead / DILATION;
            if (ahead < 0 || ahead % DILATION != 0 || kh >= K) continue;
#pragma unroll
            for (int kw = 0; kw < K; kw++) {
                const depth_pair w = depth_weight(weights, kh * K + kw);
                depth_pair *const sum = &dw[kh * K + kw];
#pragma unroll
                for (int p = 0; p < DEPTH_STRIP; p++) {
                    if ((p + kw * DILATION) % STRIDE != 0) continue;
                    const int q = r * DEPTH_STRIP + p;
                    const depth_pair d = dz[(p + kw * DILATION) / STRIDE];
                    dx[q].a += w.a * d.a;
                    dx[q].b += w.b * d.b;
                    sum->a += x[q].a * d.a;
                    sum->b += x[q].b * d.b;
                }
            }
        }
    }
}

/* MOST is the largest kernel of the launch. */
template <int MOST>
static __device__ __forceinline__ void correlate_any(int kind, const float *from, int pitch,
                                                     const float *weights,
                                                     const depth_pair x[DEPTH_PATCH],
                                                     depth_pair dx[DEPTH_PATCH], depth_pair *dw)
{
    switch (kind) {
#define CASE(K, STRIDE, DILATION)                                                              \
    case depth_kind(K, STRIDE, DILATION):                                                      \
        if (K <= MOST)                                                                         \
            correlate<(K <= MOST ? K : 3), STRIDE, DILATION>(from, pitch, weights, x, dx, dw); \
        break;
        DEPTH_KINDS(CASE, 3)
        DEPTH_KINDS(CASE, 5)
        DEPTH_KINDS(CASE, 7)
#undef CASE
    default: break;
    }
}

/* A patch of two channels from c on, whose first pixel this is in an image. A bit for each pixel: which of them are
 * in rows that there are, and which are there. */
typedef struct patch {
    int image, pixel, c;
    int row, column; /* in its tile */
    uint32_t in_rows, is;
} patch;

/* Those of its columns that an image has, if it begins at column w. */
static __device__ __forceinline__ void see_columns(patch *s, int w, int width)
{
    const uint32_t row = (0xfu >> max(0, w + DEPTH_STRIP - width)) & (0xfu << max(0, -w));

    s->is = s->in_rows & (row | row << DEPTH_STRIP);
}

static __device__ __forceinline__ patch find_patch(const cuda_level_conv &j,
                                                   const depth_tiles &tiles,
                                                   const depth_corner &corner, int i, int c)
{
    const depth_spot at = depth_find_patch(tiles, i);
    const int h = corner.h + at.row, w = corner.w + at.column;
    patch s = {corner.image, h * j.in.w + w, c, at.row, at.column, 0, 0};

    if ((unsigned)h < (unsigned)j.in.h) s.in_rows = 0xf;
    if ((unsigned)(h + 1) < (unsigned)j.in.h) s.in_rows |= 0xf << DEPTH_STRIP;
    see_columns(&s, w, j.in.w);
    return s;
}

/* The patch so many columns further. */
static __device__ __forceinline__ void move_patch(patch *s, int columns, int first, int width)
{
    s->pixel += columns;
    s->column += columns;
    see_columns(s, first + s->column, width);
}

/* Whether pixel p is there. FULL: all are, so that nothing has to be asked. */
template <bool FULL> static __device__ __forceinline__ bool has_pixel(const patch &s, int p)
{
    return FULL || (s.is >> p & 1);
}

/* A patch in memory: its rows, and bytes from one pixel to the next. */
typedef struct place {
    char *row[DEPTH_HIGH];
    int pitch;
} place;

static __device__ __forceinline__ place find_place(const void *data, int64_t image, int pitch,
                                                   int width, const patch &s)
{
    place to;

    to.row[0] = depth_find_image(data, image, s.image, s.pixel * pitch + s.c);
    to.row[1] = to.row[0] + (int64_t)width * (2 * pitch);
    to.pitch = pitch;
    depth_pin(&to.row[0]);
    depth_pin(&to.row[1]);
    return to;
}

static __device__ __forceinline__ uint32_t *find_pixel(const place &to, int p)
{
    return (uint32_t *)(to.row[p / DEPTH_STRIP] + (int64_t)to.pitch * (p % DEPTH_STRIP * 2));
}

template <bool FULL>
static __device__ __forceinline__ void fetch_pixels(const place &from, const patch &s,
                                                    uint32_t v[DEPTH_PATCH])
{
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++)
        v[p] = has_pixel<FULL>(s, p) ? *find_pixel(from, p) : 0;
}

static __device__ __forceinline__ void fetch_x(const cuda_level_conv &j, const patch &s,
                                               uint32_t v[DEPTH_PATCH])
{
    const place from = find_place(j.x.data, j.x.image, j.x.pitch, j.in.w, s);

    if (s.is == ALL)
        fetch_pixels<true>(from, s, v);
    else
        fetch_pixels<false>(from, s, v);
}

/* act(norm(x)), and zero where there is none. */
template <bool FULL>
static __device__ __forceinline__ void see_patch(pada_act act, const cuda_norm<2> &norm,
                                                 const patch &s, const uint32_t raw[DEPTH_PATCH],
                                                 depth_pair x[DEPTH_PATCH])
{
    float v[2 * DEPTH_PATCH];

#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        v[2 * p] = norm.factor[0] * cuda_low(raw[p]) + norm.shift[0];
        v[2 * p + 1] = norm.factor[1] * cuda_high(raw[p]) + norm.shift[1];
    }
    depth_activate<2 * DEPTH_PATCH>(act, v);
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        x[p].a = has_pixel<FULL>(s, p) ? v[2 * p] : 0;
        x[p].b = has_pixel<FULL>(s, p) ? v[2 * p + 1] : 0;
    }
}

/* What belongs to the gradients of a patch: earlier contributions, and the operands of batch norms. */
typedef struct company {
    uint32_t there[DEPTH_PATCH], z[CUDA_FINISHES][DEPTH_PATCH];
} company;

/* `has_z`: the operand of the first norm is there already, since it is x. */
template <bool FULL>
static __device__ __forceinline__ void meet_patch(const cuda_result &to, const place &at, int width,
                                                  const patch &s, bool has_z, company *with)
{
    if (to.accumulate) fetch_pixels<FULL>(at, s, with->there);
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++)
        if (f < to.n_finishes && !(f == 0 && has_z))
            fetch_pixels<FULL>(
                find_place(to.finishes[f].z, to.finishes[f].z_image, to.pitch, width, s), s,
                with->z[f]);
}

/* Times the slope of an activation at x = act(norm(..)), and zero where there is no pixel. CAPPED: x ends at 6. */
template <bool FULL, bool CAPPED>
static __device__ __forceinline__ void slope_patch(float low, const patch &s,
                                                   const depth_pair x[DEPTH_PATCH],
                                                   depth_pair dx[DEPTH_PATCH])
{
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        const bool is = has_pixel<FULL>(s, p);
        dx[p].a = is && x[p].a > low && (!CAPPED || x[p].a < 6) ? dx[p].a : 0;
        dx[p].b = is && x[p].b > low && (!CAPPED || x[p].b < 6) ? dx[p].b : 0;
    }
}

/* Gradients of a patch, which are zero where there is no pixel: their sums, with what belongs to them. */
static __device__ __forceinline__ void count_patch(const cuda_result &to, const company &with,
                                                   const depth_pair v[DEPTH_PATCH],
                                                   cuda_tally<2> *tally)
{
    if (to.n_finishes == 0) return;
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        tally->u[0] += v[p].a;
        tally->u[1] += v[p].b;
    }
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++) {
        if (f >= to.n_finishes) break;
#pragma unroll
        for (int p = 0; p < DEPTH_PATCH; p++) {
            tally->product[f][0] += v[p].a * cuda_low(with.z[f][p]);
            tally->product[f][1] += v[p].b * cuda_high(with.z[f][p]);
        }
    }
}

/* Writes the gradients of a patch after what belongs to them. */
template <bool FULL>
static __device__ __forceinline__ void write_patch(const cuda_level_conv &j, const patch &s,
                                                   bool has_z, const depth_pair x[DEPTH_PATCH],
                                                   company *with, depth_pair dx[DEPTH_PATCH])
{
    const place to = find_place(j.to.data, j.to.image, j.to.pitch, j.in.w, s);

    meet_patch<FULL>(j.to, to, j.in.w, s, has_z, with);
    if (j.x.act == PADA_ACT_RELU6)
        slope_patch<FULL, true>(0, s, x, dx);
    else
        slope_patch<FULL, false>(depth_low(j.x.act), s, x, dx);
    if (j.to.accumulate)
#pragma unroll
        for (int p = 0; p < DEPTH_PATCH; p++) {
            dx[p].a += cuda_low(with->there[p]);
            dx[p].b += cuda_high(with->there[p]);
        }
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++)
        if (has_pixel<FULL>(s, p)) *find_pixel(to, p) = cuda_pair(dx[p].a, dx[p].b);
}

/* ---- blocks ---- */

/* Adds up the sums of weights of all slots, TAPS_AT_ONCE at a time, as [tap][slot][lane]. */
template <int MOST>
static __device__ __forceinline__ void put_weights(const cuda_level_conv &j, const depth_block &b,
                                                   const depth_pair *dw, depth_pair *shared)
{
    const int taps = b.plan.taps, threads = (int)blockDim.x, thread = (int)threadIdx.x;

#pragma unroll
    for (int first = 0; first < MOST * MOST; first += TAPS_AT_ONCE) {
        __syncthreads(); /* what was there has been read */
#pragma unroll
        for (int t = first; t < MOST * MOST && t < first + TAPS_AT_ONCE; t++)
            shared[(t - first) * threads + thread] = dw[t];
        __syncthreads();
        const int n = min(taps - first, (int)TAPS_AT_ONCE);
        for (int i = thread; i < n * b.channels; i += threads) {
            const int t = i / b.channels, c = i - t * b.channels;
            const float *of = (const float *)(shared + t * threads) + c;
            float sum = 0;
            for (int s = 0; s < b.slots; s++)
                sum += of[s * b.channels];
            /* taps were from the last to the first */
            j.partial[((int64_t)b.turn * j.conv.c_in + b.first + c) * taps + taps - 1 - first - t] =
                sum;
        }
    }
}

template <int MOST>
__global__ static void __launch_bounds__(MOST == 5 ? 192 : 256, MOST == 7 ? 1 : 2)
    depth_back_kernel(const __grid_constant__ depth_jobs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ depth_block b;
    const int k = cuda_find_job(jobs.convs);
    const cuda_level_conv &j = jobs.convs.at[k];
    const int half = j.conv.stride - 1; /* >> half: divided by the stride */
    const int before = j.conv.pad - (j.conv.kernel - 1) * j.conv.dilation;
    depth_pair dw[MOST * MOST] = {};
    cuda_tally<2> tally = {};

    depth_begin(j, true, (int)blockIdx.x - jobs.convs.first[k], jobs.vectors[k], &b);
    const depth_part part = depth_locate(b);
    cuda_begin_beside(jobs.convs.beside);
    depth_stage<true>(j, b.plan.taps, depth_own(b, shared));
    const cuda_norm<2> norm = cuda_read_norm<2>(j.x, part.c, part.slot < 0 ? 0 : 2);
    for (int t = b.turn; t < b.plan.tiles.n; t += j.splits) {
        const depth_corner corner = depth_find_tile(b, t);
        const int patches = depth_count_patches(b.plan.tiles, corner.w, j.in.w);
        int i = part.slot < 0 ? patches : part.slot;
        patch at;
        company with; /* the first z is x, as it lies in memory, until the products are made */
        if (i < patches) {
            at = find_patch(j, b.plan.tiles, corner, i, part.c);
            if (at.in_rows)
                fetch_x(j, at, with.z[0]);
            else
                i = patches; /* all of this slot are below the image */
        }
        __syncthreads(); /* coefficients are there, the window before has been read */
        depth_load<true>(j, b, part, depth_own(b, shared), corner.image,
                         (corner.h + before) >> half, (corner.w + before) >> half, shared);
        __syncthreads();
        while (i < patches) {
            const int pitch = b.plan.window.pitch;
            depth_pair x[DEPTH_PATCH], dx[DEPTH_PATCH] = {};
            if (at.is == ALL)
                see_patch<true>(j.x.act, norm, at, with.z[0], x);
            else
                see_patch<false>(j.x.act, norm, at, with.z[0], x);
            correlate_any<MOST>(b.kind,
                                (const float *)shared + (at.row >> half) * pitch +
                                    (at.column >> half) * DEPTH_PIXEL + 2 * part.lane,
                                pitch, depth_weights(b, shared) + 2 * part.lane, x, dx, dw);
            if (j.to.data) {
                if (at.is == ALL)
                    write_patch<true>(j, at, jobs.z_is_x[k], x, &with, dx);
                else
                    write_patch<false>(j, at, jobs.z_is_x[k], x, &with, dx);
                count_patch(j.to, with, dx, &tally);
            }
            i += b.slots;
            if (i >= patches) break;
            /* slots are whole columns of patches */
            move_patch(&at, (b.slots >> b.plan.tiles.log) * DEPTH_STRIP, corner.w, j.in.w);
            fetch_x(j, at, with.z[0]);
        }
    }
    put_weights<MOST>(j, b, dw, (depth_pair *)shared);
    __syncthreads();
    if (j.to.data)
        cuda_end_results<2>(j.to, j.conv.c_in, b.first, part.lane, b.lanes,
                            part.slot < 0 ? b.slots : part.slot, b.slots,
                            j.splits * b.plan.chunks.n, tally, (float *)shared);
    cuda_end(jobs.convs.beside);
}

/* Whether the operand of the first norm of the results is what x is before its norm. */
static bool reads_x(const cuda_level_conv &j)
{
    const cuda_finish &f = j.to.finishes[0];

    return j.to.data && j.to.n_finishes > 0 && f.z == j.x.data && f.z_image == j.x.image &&
           j.to.pitch == j.x.pitch;
}

cudaError_t pada_cuda_level_depth_back(cudaStream_t stream, const cuda_level_convs *from)
{
    depth_jobs jobs;
    int words = cuda_tally_floats<2>(DEPTH_THREADS), kernel = 0, threads = 0;

    jobs.convs = *from;
    jobs.convs.first[0] = 0;
    for (int k = 0; k < from->n; k++) {
        const cuda_level_conv &j = from->at[k];
        const depth_plan plan = depth_make_plan(j, true);
        int vector =
            depth_aligned(j.dz.dy, j.dz.dy_image, j.dz.dy_pitch, depth_vector(j.conv.c_in));
        if (j.dz.z) vector = depth_aligned(j.dz.z, j.dz.z_image, j.dz.z_pitch, vector);
        words = max(words, depth_words(plan));
        kernel = max(kernel, j.conv.kernel);
        threads = max(threads, depth_threads(plan.chunks));
        jobs.vectors[k] = (uint8_t)vector;
        jobs.z_is_x[k] = reads_x(j);
        jobs.convs.first[k + 1] = jobs.convs.first[k] + plan.chunks.n * j.splits;
    }
    words = max(words, min(kernel * kernel, (int)TAPS_AT_ONCE) * threads * 2);
    const auto chosen = kernel == 3   ? depth_back_kernel<3>
                        : kernel == 5 ? depth_back_kernel<5>
                                      : depth_back_kernel<7>;
    return cuda_launch(chosen, (unsigned)jobs.convs.first[from->n], (unsigned)threads,
                       (size_t)words * 4, stream, jobs);
}
